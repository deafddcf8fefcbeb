"""The archives of a release: the program with its manual and completions, the sources, and the formula for Homebrew."""
import subprocess

from .archive import Entry, gz, sha256, tar

SHELLS = {"bash": "tidegate.bash", "zsh": "_tidegate", "fish": "tidegate.fish"}
PAGES = ("README.md", "CHANGELOG.md")


def archives(programs, runnable, project, level):
    """The names and bytes of an archive for each program. `runnable` runs here and prints the manual."""
    extras = {f"completions/{name}": output(runnable, "completions", shell) for shell, name in SHELLS.items()}
    extras["man/tidegate.1"] = output(runnable, "man")
    extras |= {name: (project.root / name).read_bytes() for name in PAGES} | project.licenses()
    for program in programs:
        folder = f"tidegate-{project.version}-{program.target}"
        files = [Entry(f"{folder}/{name}", data) for name, data in sorted(extras.items())]
        files.append(Entry(f"{folder}/tidegate", program.path.read_bytes(), 0o755))
        yield f"{folder}.tar.gz", gz(tar(files, project.time), level)


def output(program, *arguments):
    return subprocess.run([program.path, *arguments], check=True, capture_output=True).stdout


def sources(project, level):
    """The sources of this commit, as the formula downloads them."""
    name = f"tidegate-{project.version}"
    command = ["git", "archive", "--format=tar", f"--prefix={name}/", project.commit]
    data = subprocess.run(command, cwd=project.root, check=True, capture_output=True).stdout
    return f"{name}.tar.gz", gz(data, level)


def formula(built, source, project):
    """The formula with the addresses and checksums of the archives; None without a program for each machine."""
    text = (project.root / "packaging/homebrew/tidegate.rb.in").read_text(encoding="utf-8")
    release = f"{project.repository}/releases/download/v{project.version}"
    values = {"version": project.version, "description": project.description.rstrip("."), "repository": project.repository,
              "license": 'any_of: ["MIT", "Apache-2.0"]', "source": f"{release}/{source[0]}",
              "source_sha256": sha256(source[1])}
    for machine, block in (("x86_64", "intel"), ("aarch64", "arm")):
        name, data = next(((name, data) for name, data in built if f"-{machine}-" in name), (None, None))
        if name is None:
            return None
        values |= {f"{block}_url": f"{release}/{name}", f"{block}_sha256": sha256(data)}
    for name, value in values.items():
        text = text.replace(f"@{name}@", value)
    if "@" in "".join(line for line in text.splitlines() if not line.lstrip().startswith("#")):
        raise SystemExit("packaging/homebrew/tidegate.rb.in has a placeholder without a value")
    return text.encode()

