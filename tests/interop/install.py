#!/usr/bin/env python3
"""Installs what the interop tests run, at pinned versions: Node 22, the official MCP SDKs and real servers.

    python3 tests/interop/install.py [--cache DIR]      installs and prints the paths

Everything goes into one cache folder (by default .cache/interop in the repository). A stamp file, written last,
names every package; if it is missing or differs, the folder is installed again. Requires Python 3.11 with venv, npm
and access to the two package indexes.
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
    "@modelcontextprotocol/server@2.4.0",
    "@modelcontextprotocol/conformance@0.1.16",
    "@modelcontextprotocol/server-everything@2026.8.31",
    "@modelcontextprotocol/server-filesystem@2026.8.31",
    "@modelcontextprotocol/server-memory@2026.8.31",
    "@bytebase/dbhub@1.4.0",
    "@playwright/mcp@0.0.83",
]
# Has the same name as a package above, so it needs its own folder.
NPM_NEXT = ["@modelcontextprotocol/conformance@0.2.0-alpha.12"]
PYPI = [
    "mcp==2.3.0",
    "fastmcp==4.1.2",
    "mcp-server-git==2026.10.19",
    "tiktoken==0.14.0",
]
DEFAULT_CACHE = Path(__file__).resolve().parents[2] / ".cache" / "interop"
STAMP = "installed.txt"
# How many lines of a failed command's output go into the error.
TAIL_LINES = 15


class SetupError(Exception):
    """The packages cannot be installed; the message says what to do."""


@dataclass(frozen=True)
class Toolchain:
    """The paths of the installed programs."""

    node: Path
    """The Node 22 binary."""
    js: Path
    """The folder that holds node_modules."""
    conformance_next: Path
    """Another such folder, with only the next version of the conformance suites."""
    python: Path
    """The Python of the virtual environment."""


def install(cache: Path) -> Toolchain:
    """Installs all packages into the folder unless they are already there."""
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
        if not is_complete(toolchain, stamp):
            stamp.unlink(missing_ok=True)
            install_npm(toolchain.js, NPM)
            install_npm(toolchain.conformance_next, NPM_NEXT)
            install_pypi(cache / "venv")
            stamp.write_text(stamp_text())
    return toolchain


def is_complete(toolchain: Toolchain, stamp: Path) -> bool:
    """Returns whether exactly the packages of this file are installed."""
    if not stamp.is_file() or stamp.read_text() != stamp_text():
        return False
    return all(part.exists() for part in (toolchain.node, toolchain.conformance_next, toolchain.python))


def stamp_text() -> str:
    """Returns the stamp of a complete install."""
    interpreter = f"python {sys.version_info.major}.{sys.version_info.minor}"
    return "\n".join([interpreter, *NPM, *NPM_NEXT, *PYPI]) + "\n"


@contextmanager
def locked(path: Path):
    """Locks out other installs into the same folder."""
    with open(path, "w") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        yield


def install_npm(folder: Path, packages: list[str]) -> None:
    """Installs npm packages into an emptied folder."""
    npm = shutil.which("npm")
    if npm is None:
        raise SetupError("npm is not on the PATH: install Node.js with npm (Debian: apt-get install nodejs npm)")
    empty_folder(folder)
    (folder / "package.json").write_text('{"name": "interop", "private": true}\n')
    command = [npm, "install", "--no-audit", "--no-fund", "--save-exact", *packages]
    # The tests use Debian's chromium, not a downloaded one.
    call(command, folder, {"PLAYWRIGHT_SKIP_BROWSER_DOWNLOAD": "1"})


def install_pypi(folder: Path) -> None:
    """Creates a new virtual environment and installs the PyPI packages there."""
    empty_folder(folder)
    call([sys.executable, "-m", "venv", str(folder)], folder)
    pip = [str(folder / "bin" / "python"), "-m", "pip", "install", "--quiet", "--disable-pip-version-check"]
    call([*pip, *PYPI], folder)


def empty_folder(folder: Path) -> None:
    """Makes an empty folder, whatever was there before."""
    if folder.exists():
        shutil.rmtree(folder)
    folder.mkdir(parents=True)


def call(command: list[str], folder: Path, extra: dict[str, str] | None = None) -> None:
    """Runs a command; a failure becomes a SetupError with the end of its output."""
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
    """Returns the path of chromium; installs Debian's package if there is none."""
    found = shutil.which("chromium")
    if found:
        return found
    advice = "install the Debian package `chromium` by hand: apt-get install chromium"
    apt = shutil.which("apt-get")
    if apt is None:
        raise SetupError(f"chromium is not installed, and neither is apt-get; {advice}")
    if os.geteuid() != 0:
        raise SetupError(f"chromium is not installed, and only root can install it; {advice}")
    quiet = {"DEBIAN_FRONTEND": "noninteractive"}
    call([apt, "update", "-q"], Path("/"), quiet)
    call([apt, "install", "-q", "-y", "--no-install-recommends", "chromium"], Path("/"), quiet)
    found = shutil.which("chromium")
    if found is None:
        raise SetupError(f"apt-get installed chromium, but it is not on the PATH; {advice}")
    return found


def enter(cache: Path) -> Toolchain:
    """Installs everything and re-executes the script in the installed Python; exits with a message if that fails."""
    try:
        toolchain = install(cache)
    except SetupError as error:
        sys.exit(str(error))
    if Path(sys.prefix) != toolchain.python.parent.parent:
        os.execv(toolchain.python, [str(toolchain.python), *sys.argv])
    return toolchain


def main() -> int:
    parser = argparse.ArgumentParser(description="Installs what the interop tests run and prints the paths.")
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
