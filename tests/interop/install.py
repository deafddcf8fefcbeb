#!/usr/bin/env python3
"""Installs what the lab runs, at pinned versions: Node 22, the official MCP SDKs and the servers under test.

    python3 tests/interop/install.py [--cache DIR]      installs and prints the paths

Everything lands in one cache folder (by default .cache/interop in the repository). A stamp file is written last
and names every package, so that an install that was interrupted or holds other versions is thrown away and
made anew. Needed beforehand: Python 3.11 with venv, npm and access to the two package indexes.
"""
import argparse
import fcntl
import os
import shutil
import subprocess
import sys
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

NPM = [
    "node@22.23.3",
    "@modelcontextprotocol/sdk@1.32.2",
    "@modelcontextprotocol/client@2.4.0",
    "@modelcontextprotocol/conformance@0.1.16",
    "@modelcontextprotocol/server-everything@2026.8.31",
    "@modelcontextprotocol/server-filesystem@2026.8.31",
    "@modelcontextprotocol/server-memory@2026.8.31",
    "@bytebase/dbhub@1.4.0",
    "@playwright/mcp@0.0.83",
]
# Has the name of a package above, and so needs a folder of its own.
NPM_NEXT = ["@modelcontextprotocol/conformance@0.2.0-alpha.12"]
PYPI = [
    "mcp==2.3.0",
    "mcp-server-git==2026.10.19",
    "tiktoken==0.14.0",
]
DEFAULT_CACHE = Path(__file__).resolve().parents[2] / ".cache" / "interop"
STAMP = "installed.txt"
# The end of a failed command's output that goes into the error.
TAIL_LINES = 15


class SetupError(Exception):
    """The lab cannot be set up; the message says what to do."""


@dataclass(frozen=True)
class Toolchain:
    """Where the installed parts are."""

    node: Path
    """The Node 22 binary."""
    js: Path
    """The folder that holds node_modules."""
    conformance_next: Path
    """Another such folder, with the next version of the conformance suites alone."""
    python: Path
    """The Python of the virtual environment."""


def install(cache: Path) -> Toolchain:
    """Installs all packages into the folder, unless they are there already."""
    cache = Path(cache).resolve()
    cache.mkdir(parents=True, exist_ok=True)
    toolchain = Toolchain(
        node=cache / "js" / "node_modules" / "node" / "bin" / "node",
        js=cache / "js",
        conformance_next=cache / "conformance-next",
        python=cache / "venv" / "bin" / "python",
    )
    with locked(cache / "lock"):
        stamp = cache / STAMP
        if not complete(toolchain, stamp):
            stamp.unlink(missing_ok=True)
            install_npm(toolchain.js, NPM)
            install_npm(toolchain.conformance_next, NPM_NEXT)
            install_pypi(cache / "venv")
            stamp.write_text(stamp_text())
    return toolchain


def complete(toolchain: Toolchain, stamp: Path) -> bool:
    """Whether the folder holds exactly the packages of this file."""
    if not stamp.is_file() or stamp.read_text() != stamp_text():
        return False
    return all(part.exists() for part in (toolchain.node, toolchain.conformance_next, toolchain.python))


def stamp_text() -> str:
    """What the stamp of a complete install says."""
    interpreter = f"python {sys.version_info.major}.{sys.version_info.minor}"
    return "\n".join([interpreter, *NPM, *NPM_NEXT, *PYPI]) + "\n"


@contextmanager
def locked(path: Path):
    """Holds off other installs into the same folder."""
    with open(path, "w") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        yield


def install_npm(folder: Path, packages: list[str]) -> None:
    """Installs npm packages, in a folder made anew."""
    npm = shutil.which("npm")
    if npm is None:
        raise SetupError("there is no npm: install Node.js with npm (Debian: apt-get install nodejs npm)")
    fresh(folder)
    (folder / "package.json").write_text('{"name": "interop", "private": true}\n')
    command = [npm, "install", "--no-audit", "--no-fund", "--save-exact", *packages]
    # The tests use Debian's chromium, not a downloaded one.
    call(command, folder, {"PLAYWRIGHT_SKIP_BROWSER_DOWNLOAD": "1"})


def install_pypi(folder: Path) -> None:
    """Makes the virtual environment anew and installs the PyPI packages there."""
    fresh(folder)
    call([sys.executable, "-m", "venv", str(folder)], folder)
    pip = [str(folder / "bin" / "python"), "-m", "pip", "install", "--quiet", "--disable-pip-version-check"]
    call([*pip, *PYPI], folder)


def fresh(folder: Path) -> None:
    """An empty folder, whatever was there before."""
    if folder.exists():
        shutil.rmtree(folder)
    folder.mkdir(parents=True)


def call(command: list[str], folder: Path, extra: dict[str, str] | None = None) -> None:
    """Runs a command of the install; a failure becomes a SetupError with the end of its output."""
    environment = os.environ | (extra or {})
    done = subprocess.run(
        command, cwd=folder, env=environment, stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, errors="replace")
    if done.returncode != 0:
        tail = "\n".join(done.stdout.strip().splitlines()[-TAIL_LINES:])
        raise SetupError(
            f"`{' '.join(command[:4])} ...` failed with exit code {done.returncode}. Check the access to the "
            f"package index and run the install again. The end of its output:\n{tail}")


def chromium() -> str:
    """The path of chromium; installs Debian's package when there is none."""
    found = shutil.which("chromium")
    if found:
        return found
    advice = "install the Debian package `chromium` by hand: apt-get install chromium"
    apt = shutil.which("apt-get")
    if apt is None:
        raise SetupError(f"there is no chromium and no apt-get to install it with; {advice}")
    if os.geteuid() != 0:
        raise SetupError(f"there is no chromium, and only root can install it; {advice}")
    quiet = {"DEBIAN_FRONTEND": "noninteractive"}
    call([apt, "update", "-q"], Path("/"), quiet)
    call([apt, "install", "-q", "-y", "--no-install-recommends", "chromium"], Path("/"), quiet)
    found = shutil.which("chromium")
    if found is None:
        raise SetupError(f"apt-get installed chromium, but it is not on the PATH; {advice}")
    return found


def main() -> int:
    parser = argparse.ArgumentParser(description="Installs what the lab runs and prints the paths.")
    parser.add_argument("--cache", type=Path, default=DEFAULT_CACHE, help="folder to install into")
    options = parser.parse_args()
    try:
        toolchain = install(options.cache)
        browser = chromium()
    except SetupError as error:
        print(error, file=sys.stderr)
        return 1
    print(f"node              {toolchain.node}")
    print(f"js                {toolchain.js}")
    print(f"conformance_next  {toolchain.conformance_next}")
    print(f"python            {toolchain.python}")
    print(f"chromium          {browser}")
    return 0


if __name__ == "__main__":
    sys.exit(main())


def enter(cache: Path) -> Toolchain:
    """Installs the lab and goes on in its Python; where that fails, says why and ends the program."""
    try:
        toolchain = install(cache)
    except SetupError as error:
        sys.exit(str(error))
    if Path(sys.prefix) != toolchain.python.parent.parent:
        os.execv(toolchain.python, [str(toolchain.python), *sys.argv])
    return toolchain
