"""What every server's checks stand on: how the servers are started, direct and behind the proxy."""
import json
from collections.abc import Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass
from importlib.metadata import version
from pathlib import Path

from install import Toolchain
from servers.case import Case
from servers.link import Server, connect
from servers.report import Report


@dataclass(frozen=True)
class Bench:
    """The tools of one run."""

    toolchain: Toolchain
    tidegate: Path
    folder: Path
    """A temporary folder of the server's own."""
    report: Report
    tokens: Callable[[str], int]

    def node(self, package: str, *arguments: str, environment: dict[str, str] | None = None) -> Server:
        """A server of an npm package."""
        folder = self.toolchain.js / "node_modules" / package
        about = json.loads((folder / "package.json").read_text())
        script = next(iter(about["bin"].values()))
        command = [str(self.toolchain.node), str(folder / script), *arguments]
        return Server(f"{package} {about['version']}", command, environment or {})

    def python(self, package: str, *arguments: str) -> Server:
        """A server of a PyPI package."""
        module = package.replace("-", "_")
        command = [str(self.toolchain.python), "-m", module, *arguments]
        return Server(f"{package} {version(package)}", command)

    @asynccontextmanager
    async def open(self, name: str, server: Server, upstream: Server | None = None):
        """The server, direct and behind the proxy, where it may be started in another way."""
        kept = self.folder / "tidegate"
        # Nothing of the user's own settings, and nothing left behind in the user's folder.
        home = {"HOME": str(self.folder)}
        proxy = [str(self.tidegate), "run", "--server", name, "--"]
        gated = (upstream or server).behind(proxy, home | {"TIDEGATE_HOME": str(kept)})
        direct = server.behind([], home)
        async with connect(direct, self.folder, "direct") as first:
            async with connect(gated, self.folder, "gated") as second:
                case = Case(name, server.title, first, second, self.report, self.tokens, self.tidegate, kept)
                await case.same_session()
                yield case
