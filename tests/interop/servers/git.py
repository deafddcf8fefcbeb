"""mcp-server-git, which speaks the stateless protocol: the log of 300 commits."""
import subprocess
from pathlib import Path

from servers.expectations import contains, equals
from servers.setup import Setup

NAME = "git"
COMMITS = 300
LISTED_COMMITS = 200
SEARCHED_COMMIT = 150
FIRST_TIME = 1_700_000_000


async def run(setup: Setup) -> None:
    """Runs the checks."""
    repository = setup.folder / "repository"
    make_repository(repository)
    at = {"repo_path": str(repository)}
    server = setup.python("mcp-server-git")
    async with setup.open(NAME, server) as pair:
        await pair.small("git_status", at)
        await pair.small("git_branch", at | {"branch_type": "local"})
        kept = await pair.large("git_log", at | {"max_count": LISTED_COMMITS})
        wanted = f"step {SEARCHED_COMMIT} of"
        await pair.follow(kept, {"grep": wanted}, contains(wanted, commit_id(repository)))
        await pair.follow(kept, {"jq": "length"}, equals(str(LISTED_COMMITS)))


def make_repository(folder: Path) -> None:
    """Creates a repository with all commits in one import."""
    author = ["-c", "user.name=Keeper", "-c", "user.email=keeper@example.org"]
    subprocess.run(["git", "init", "--quiet", "--initial-branch=main", str(folder)], check=True)
    git = ["git", *author, "-C", str(folder)]
    stream = "".join(commit(number) for number in range(COMMITS))
    subprocess.run([*git, "fast-import", "--quiet"], input=stream.encode(), check=True)
    subprocess.run([*git, "reset", "--quiet", "--hard"], check=True)


def commit(number: int) -> str:
    """Returns one commit in the format of git fast-import."""
    subject = f"gate {number % 12}: step {number} of the spring works"
    message = f"{subject}\n\nThe log of hour {number % 24} was kept.\n"
    content = f"level {number}\n"
    return (f"commit refs/heads/main\n"
            f"committer Keeper <keeper@example.org> {FIRST_TIME + number * 3600} +0000\n"
            f"data {len(message)}\n{message}"
            f"M 100644 inline level.txt\n"
            f"data {len(content)}\n{content}")


def commit_id(folder: Path) -> str:
    """Returns the id of the commit that the follow-up searches for."""
    search = ["git", "-C", str(folder), "log", "--format=%H", f"--grep=step {SEARCHED_COMMIT} of"]
    return subprocess.run(search, check=True, capture_output=True, text=True).stdout.strip()
