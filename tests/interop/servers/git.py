"""mcp-server-git, which speaks the stateless revision of the protocol: the log of 300 commits."""
import subprocess
from pathlib import Path

from servers.bench import Bench
from servers.judge import contains, equals

NAME = "git"
COMMITS = 300
SHOWN = 200
WANTED = 150
FIRST_TIME = 1_700_000_000


async def run(bench: Bench) -> None:
    """Runs the checks."""
    repository = bench.folder / "repository"
    make_repository(repository)
    at = {"repo_path": str(repository)}
    server = bench.python("mcp-server-git")
    async with bench.open(NAME, server) as case:
        await case.small("git_status", at)
        await case.small("git_branch", at | {"branch_type": "local"})
        kept = await case.large("git_log", at | {"max_count": SHOWN})
        wanted = f"step {WANTED} of"
        await case.follow(kept, {"grep": wanted}, contains(wanted, commit_id(repository)))
        await case.follow(kept, {"jq": "length"}, equals(str(SHOWN)))


def make_repository(folder: Path) -> None:
    """Makes the commits in one go."""
    author = ["-c", "user.name=Keeper", "-c", "user.email=keeper@example.org"]
    subprocess.run(["git", "init", "--quiet", "--initial-branch=main", str(folder)], check=True)
    git = ["git", *author, "-C", str(folder)]
    stream = "".join(commit(number) for number in range(COMMITS))
    subprocess.run([*git, "fast-import", "--quiet"], input=stream.encode(), check=True)
    subprocess.run([*git, "reset", "--quiet", "--hard"], check=True)


def commit(number: int) -> str:
    """One commit in the form of fast-import."""
    subject = f"gate {number % 12}: step {number} of the spring works"
    message = f"{subject}\n\nThe log of hour {number % 24} was kept.\n"
    content = f"level {number}\n"
    return (f"commit refs/heads/main\n"
            f"committer Keeper <keeper@example.org> {FIRST_TIME + number * 3600} +0000\n"
            f"data {len(message)}\n{message}"
            f"M 100644 inline level.txt\n"
            f"data {len(content)}\n{content}")


def commit_id(folder: Path) -> str:
    """The id of the commit that is looked for."""
    search = ["git", "-C", str(folder), "log", "--format=%H", f"--grep=step {WANTED} of"]
    return subprocess.run(search, check=True, capture_output=True, text=True).stdout.strip()
