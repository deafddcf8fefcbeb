"""Starts a server for the checks, directly and behind tidegate."""
import json
from collections.abc import Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass
from importlib.metadata import version
from pathlib import Path

from install import Toolchain
from servers.connection import Server, connect
from servers.report import Report
from servers.server_pair import ServerPair


@dataclass(frozen=True)
class Setup:
    """What the checks of one server need."""

    toolchain: Toolchain
    tidegate: Path
    folder: Path
    """A temporary folder for this server."""
    report: Report
    tokens: Callable[[str], int]

    def node(self, package: str, *arguments: str, environment: dict[str, str] | None = None) -> Server:
        """Returns a server from an npm package."""
        folder = self.toolchain.js / "node_modules" / package
        about = json.loads((folder / "package.json").read_text())
        script = next(iter(about["bin"].values()))
        command = [str(self.toolchain.node), str(folder / script), *arguments]
        return Server(f"{package} {about['version']}", command, environment or {})

    def python(self, package: str, *arguments: str) -> Server:
        """Returns a server from a PyPI package."""
        module = package.replace("-", "_")
        command = [str(self.toolchain.python), "-m", module, *arguments]
        return Server(f"{package} {version(package)}", command)

    @asynccontextmanager
    async def open(self, name: str, server: Server, upstream: Server | None = None):
        """Connects to the server directly and behind tidegate; `upstream` is the server behind tidegate if it differs."""
        store = self.folder / "tidegate"
        # Keeps the servers from reading or writing the user's own files.
        home = {"HOME": str(self.folder)}
        proxy = [str(self.tidegate), "run", "--server", name, "--"]
        gated = (upstream or server).behind(proxy, home | {"TIDEGATE_HOME": str(store)})
        direct = server.behind([], home)
        async with connect(direct, self.folder, "direct") as first:
            async with connect(gated, self.folder, "gated") as second:
                pair = ServerPair(
                    name, server.title, first, second, self.report, self.tokens, self.tidegate, store)
                await pair.same_session()
                yield pair
