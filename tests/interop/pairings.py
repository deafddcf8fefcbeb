"""The servers under test, and the pairings of transports in which tidegate connects a client to one."""
import json
import subprocess
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path

from install import Toolchain
from listeners import Listener

FIXTURES = Path(__file__).resolve().parent / "fixtures"
# Listen on a free port; the program prints which.
ANY_PORT = "127.0.0.1:0"
# The server under test between others. A longer name would make names of tools longer than 45 characters, which are cut.
SHORT_NAME = "c"
OTHER_NAMES = ("everything", "raw")


@dataclass(frozen=True)
class Pairing:
    """The transports of the client and the server."""

    name: str
    http_client: bool
    http_server: bool

    @property
    def modes(self) -> list[str]:
        """Returns the modes in which tidegate can be run."""
        return ["observe", "shape"]

    def command(self, tidegate: Path, mode: str, servers: "Servers", name: str) -> list[str]:
        """Returns the command of tidegate in front of the named server."""
        observe = ["--observe"] if mode == "observe" else []
        listen = ["--http", ANY_PORT] if self.http_client else []
        upstream = ["--url", servers.over_http(name)] if self.http_server else ["--", *servers.on_stdio(name)]
        return [str(tidegate), "run", *observe, *listen, *upstream]


@dataclass(frozen=True)
class GatewayPairing(Pairing):
    """A gateway in front of one server that keeps its names, or between two others."""

    others: bool = False

    @property
    def modes(self) -> list[str]:
        return ["shape"]

    def command(self, tidegate: Path, mode: str, servers: "Servers", name: str) -> list[str]:
        under_test = servers.over_http(name) if self.http_server else servers.on_stdio(name)
        if self.others:
            sections = [
                upstream(OTHER_NAMES[0], servers.on_stdio(OTHER_NAMES[0])),
                upstream(SHORT_NAME, under_test),
                upstream(OTHER_NAMES[1], servers.over_http(OTHER_NAMES[1])),
            ]
        else:
            sections = [upstream(name, under_test) + 'prefix = ""\n']
        config = servers.folder / f"{self.name}-{name}.toml"
        config.write_text("\n".join(sections))
        return [str(tidegate), "gateway", "--http", ANY_PORT, "--config", str(config)]


def upstream(name: str, server: str | list[str]) -> str:
    """Returns the section of a gateway's configuration for a server, which is a URL or a command."""
    if isinstance(server, str):
        target = f"url = {json.dumps(server)}"
    else:
        target = f"command = {json.dumps(server[0])}\nargs = {json.dumps(server[1:])}"
    return f"[upstream.{name}]\n{target}\n"


STDIO = Pairing("stdio", http_client=False, http_server=False)
REVERSE = Pairing("reverse", http_client=True, http_server=True)
BRIDGE = Pairing("bridge", http_client=True, http_server=False)
REMOTE = Pairing("remote", http_client=False, http_server=True)
GATEWAY = GatewayPairing("gateway", http_client=True, http_server=True)
GATEWAY_BRIDGE = GatewayPairing("gateway-bridge", http_client=True, http_server=False)
GATEWAY_OF_THREE = GatewayPairing("gateway-of-three", http_client=True, http_server=True, others=True)
GATEWAYS = [GATEWAY, GATEWAY_BRIDGE, GATEWAY_OF_THREE]


def available(pairings: list[Pairing], tidegate: Path) -> list[Pairing]:
    """Returns the pairings that the program has: the gateway is a feature of the build."""
    if subprocess.run([tidegate, "gateway", "--help"], capture_output=True).returncode == 0:
        return pairings
    print("this build has no gateway, so nothing runs through it: build with --features gateway", file=sys.stderr)
    return [pairing for pairing in pairings if pairing not in GATEWAYS]


class Servers:
    """Starts the servers under test, on stdio and over HTTP."""

    def __init__(self, toolchain: Toolchain):
        self.toolchain = toolchain
        self.listening: dict[str, Listener] = {}
        self.temporary = tempfile.TemporaryDirectory(prefix="tidegate-interop-")
        self.folder = Path(self.temporary.name)

    def __enter__(self) -> "Servers":
        return self

    def __exit__(self, *_) -> None:
        for listener in self.listening.values():
            listener.__exit__()
        self.temporary.cleanup()

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
