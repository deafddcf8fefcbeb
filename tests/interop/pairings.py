"""The servers under test, and the pairings of transports in which tidegate connects a client to one."""
import json
import tempfile
from dataclasses import dataclass
from pathlib import Path

from install import Toolchain
from listeners import Listener

FIXTURES = Path(__file__).resolve().parent / "fixtures"
# Listen on a free port; the program prints which.
ANY_PORT = "127.0.0.1:0"


@dataclass(frozen=True)
class Pairing:
    """The transports of the client and the server."""

    name: str
    http_client: bool
    http_server: bool

    def command(self, tidegate: Path, mode: str, server: list[str], url: str | None) -> list[str]:
        """Returns the command of tidegate for this pairing, given the command and the URL of the server."""
        observe = ["--observe"] if mode == "observe" else []
        listen = ["--http", ANY_PORT] if self.http_client else []
        upstream = ["--url", url] if self.http_server else ["--", *server]
        return [str(tidegate), "run", *observe, *listen, *upstream]


@dataclass(frozen=True)
class GatewayPairing(Pairing):
    """A gateway in front of one server that keeps its names, or of that one and others."""

    def command(self, tidegate: Path, mode: str, server: list[str], url: str | None) -> list[str]:
        if self.http_server:
            section = f"url = {json.dumps(url)}\n"
        else:
            section = f"command = {json.dumps(server[0])}\nargs = {json.dumps(server[1:])}\n"
        config = Path(tempfile.mkdtemp(prefix="tidegate-gateway-")) / "gateway.toml"
        config.write_text(f'[upstream.conf]\nprefix = ""\n{section}')
        return [str(tidegate), "gateway", "--http", ANY_PORT, "--config", str(config)]


STDIO = Pairing("stdio", http_client=False, http_server=False)
REVERSE = Pairing("reverse", http_client=True, http_server=True)
BRIDGE = Pairing("bridge", http_client=True, http_server=False)
REMOTE = Pairing("remote", http_client=False, http_server=True)
GATEWAY = GatewayPairing("gateway", http_client=True, http_server=True)
GATEWAY_BRIDGE = GatewayPairing("gateway-bridge", http_client=True, http_server=False)


class Servers:
    """Starts the servers under test, on stdio and over HTTP."""

    def __init__(self, toolchain: Toolchain):
        self.toolchain = toolchain
        self.listening: dict[str, Listener] = {}

    def __enter__(self) -> "Servers":
        return self

    def __exit__(self, *_) -> None:
        for listener in self.listening.values():
            listener.__exit__()

    def on_stdio(self, name: str) -> list[str]:
        """Returns the command of a server on stdio."""
        return [*self._program(name), "stdio"]

    def over_http(self, name: str) -> str:
        """Returns the URL of a server, which runs until the context ends."""
        if name not in self.listening:
            self.listening[name] = self._listen(name)
        return self.listening[name].url

    def _listen(self, name: str) -> Listener:
        if name != "everything":
            return Listener([*self._program(name), "http", "0"])
        # The official server would listen on every interface.
        node, script = self._program(name)
        preload = str(FIXTURES / "bind_localhost.cjs")
        return Listener([node, "-r", preload, script, "streamableHttp"], {"PORT": "0"})

    def _program(self, name: str) -> list[str]:
        official = self.toolchain.js / "node_modules" / "@modelcontextprotocol" / "server-everything"
        return {
            "everything": [str(self.toolchain.node), str(official / "dist" / "index.js")],
            "conf": [str(self.toolchain.python), str(FIXTURES / "conf_server.py")],
            "raw": [str(self.toolchain.node), str(FIXTURES / "raw_server.mjs")],
        }[name]
