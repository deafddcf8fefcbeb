"""The packages for npm: `tidegate`, and one for each platform with the program in it.

npm installs the one platform package whose `os` and `cpu` fit, because they are optional dependencies. There are no install
scripts, and no `libc` field: the programs are static, and npm refuses a package with that field where it cannot tell the C
library. `tidegate` also is the adapter for servers in TypeScript, which needs the program.
"""
import json

from .archive import Entry, gz, tar

SCOPE = "@tidegate"
# What the launcher needs: the Node of the oldest Debian. The adapter needs the Node that its own manifest names.
ENGINES = {"node": ">=12"}


def packages(programs, project, level):
    """The names and bytes of the packages."""
    for program in programs:
        name = f"{SCOPE}/{program.npm_name}"
        manifest = common(project) | {
            "name": name,
            "description": f"The program tidegate for {program.npm_name}; install `tidegate` instead",
            "os": ["linux"],
            "cpu": [program.npm_cpu],
            "files": ["bin"],
            "preferUnplugged": True,
        }
        readme = f"# {name}\n\nThe program for the package [tidegate](https://www.npmjs.com/package/tidegate).\n"
        files = {"bin/tidegate": program.path.read_bytes(), "README.md": readme.encode()}
        yield f"tidegate-{program.npm_name}-{project.version}.tgz", pack(manifest, files, project, level)
    yield f"tidegate-{project.version}.tgz", pack(*main_package(programs, project), project, level)


def main_package(programs, project):
    """The manifest and the files of the package that people install."""
    adapter = project.root / "adapters" / "typescript"
    written = json.loads((adapter / "package.json").read_text(encoding="utf-8"))
    manifest = common(project) | {
        "name": "tidegate",
        "description": project.description,
        "keywords": project.keywords,
        "bin": {"tidegate": "bin/tidegate.cjs"},
        "optionalDependencies": {f"{SCOPE}/{program.npm_name}": project.version for program in programs},
        "engines": ENGINES,
    } | {key: written[key] for key in ("type", "exports")}
    files = {f"bin/{path.name}": path.read_bytes() for path in sorted((project.root / "packaging/npm").glob("*.cjs"))}
    files |= {name: (adapter / name).read_bytes() for name in ("index.js", "index.d.ts")}
    files["README.md"] = project.page()
    return manifest, files


def common(project):
    return {
        "version": project.version,
        "license": project.license,
        "homepage": project.repository,
        "repository": {"type": "git", "url": f"git+{project.repository}.git"},
    }


def pack(manifest, files, project, level):
    """A tarball as `npm pack` lays it out."""
    manifest = json.dumps(manifest, indent=2, ensure_ascii=False) + "\n"
    entries = [Entry("package/package.json", manifest.encode())]
    entries += [Entry(f"package/{name}", data, 0o755 if name.startswith("bin/") else 0o644)
                for name, data in sorted((files | project.licenses()).items())]
    return gz(tar(entries, project.time), level)
