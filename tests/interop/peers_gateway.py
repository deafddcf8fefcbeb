#!/usr/bin/env python3
"""Compares `tidegate gateway` with two other gateways: calls per second of a tool that returns 1 KB.

    python3 tests/interop/peers_gateway.py --tidegate PATH [--cache DIR] [--callers 8] [--seconds 10] [--rounds 3]
                                           [--workers N] [--least 3.0]

Three servers over HTTP are behind each gateway: `tidegate gateway`, mcp-contextforge-gateway, and a proxy of fastmcp. All
three gateways run all the time and take turns, so whatever else the machine does hits each of them. The same callers send
the same calls to each: every caller has a connection and a session of its own (protocol 2025-11-25), and calls the tools
of the three servers in turn. Every answer is checked.

Nobody is authenticated, limits are off, and the others log errors only. Each of them is set up in the fastest of the ways that
it documents: contextforge with sessions, and therefore with one process, the proxy of fastmcp with connections that stay and as many
processes as there are processors (--workers). Use a release build of tidegate with the feature gateway. The exit code is 1
if it answers fewer than 3 times as many calls per second as the faster of the two (--least).
"""
import argparse
import json
import os
import secrets
import socket
import statistics
import subprocess
import sys
import tempfile
import threading
import time
import urllib.request
from contextlib import ExitStack
from dataclasses import dataclass, field
from pathlib import Path
from urllib.parse import urlsplit

from install import DEFAULT_CACHE, SetupError, Toolchain, call, empty_folder, install
from listeners import Listener, ListenerError
from pairings import ANY_PORT, FIXTURES, upstream

CONTEXTFORGE = "mcp-contextforge-gateway==1.0.7.post20260921"
NAMES = ("one", "two", "three")
VERSION = "2025-11-25"
WARM_UP_SECONDS = 2
START_SECONDS = 120
# The fastest of the ways that its documentation shows: a proxy that connects to its servers for each call answers a fifth as many.
FASTMCP_APP = """
import json, os
from contextlib import AsyncExitStack, asynccontextmanager
from fastmcp import Client, FastMCP
from fastmcp.server import create_proxy
clients = {name: Client(url) for name, url in json.loads(os.environ["SERVERS"]).items()}

@asynccontextmanager
async def connected(server):
    async with AsyncExitStack() as stack:
        for name, client in clients.items():
            await stack.enter_async_context(client)
            server.mount(create_proxy(client), namespace=name)
        yield

app = FastMCP("gateway", lifespan=connected).http_app(json_response=True, stateless_http=True)
"""
# With sessions it keeps its connections to the servers, and answers three times as many calls as without.
CONTEXTFORGE_SETTINGS = {
    "AUTH_REQUIRED": "false", "MCP_REQUIRE_AUTH": "false", "ALLOW_UNAUTHENTICATED_ADMIN": "true",
    "MCPGATEWAY_UI_ENABLED": "false", "MCPGATEWAY_ADMIN_API_ENABLED": "false", "RATE_LIMITING_ENABLED": "false",
    "PLUGINS_ENABLED": "false", "LOG_LEVEL": "ERROR", "CACHE_TYPE": "memory", "SSRF_PROTECTION_ENABLED": "false",
    "USE_STATEFUL_SESSIONS": "true",
}


class WrongAnswer(Exception):
    """A gateway did not answer a call with what the server returned."""


class Caller:
    """A client with one connection and one session, which waits for each answer. Requests are bytes made beforehand."""

    def __init__(self, url: str):
        parts = urlsplit(url)
        self.host, self.path, self.session = parts.netloc, parts.path, ""
        self.socket = socket.create_connection((parts.hostname, parts.port), timeout=60)
        self.socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self.reader = self.socket.makefile("rb")
        introduction = {"protocolVersion": VERSION, "capabilities": {}, "clientInfo": {"name": "bench", "version": "1"}}
        self.send(self.prepared({"id": 0, "method": "initialize", "params": introduction}))
        self.send(self.prepared({"method": "notifications/initialized"}))

    def prepared(self, message: dict) -> bytes:
        """Returns the bytes of a request."""
        body = json.dumps({"jsonrpc": "2.0", **message}).encode()
        session = f"Mcp-Session-Id: {self.session}\r\n" if self.session else ""
        return (f"POST {self.path} HTTP/1.1\r\nHost: {self.host}\r\nContent-Type: application/json\r\n"
                f"Accept: application/json, text/event-stream\r\nMcp-Protocol-Version: {VERSION}\r\n{session}"
                f"Content-Length: {len(body)}\r\n\r\n").encode() + body

    def send(self, request: bytes) -> bytes:
        """Sends a request and returns the body of the response."""
        self.socket.sendall(request)
        status, length = self.reader.readline().split()[1], None
        while (line := self.reader.readline()) not in (b"\r\n", b""):
            name, _, value = line.partition(b":")
            name, value = name.lower(), value.strip()
            if name == b"content-length":
                length = int(value)
            elif name == b"mcp-session-id":
                self.session = value.decode()
        body = self.reader.read(length) if length is not None else b"".join(self._chunks())
        if not status.startswith(b"2"):
            raise WrongAnswer(f"status {status.decode()}: {body[:300].decode(errors='replace')}")
        return body

    def _chunks(self):
        while size := int(self.reader.readline(), 16):
            yield self.reader.read(size)
            self.reader.readline()
        self.reader.readline()

    def tools(self) -> dict[str, str]:
        """Returns the listed name of the tool of each server."""
        body = self.send(self.prepared({"id": 1, "method": "tools/list", "params": {}}))
        listed = json.loads(body[body.index(b"{"):])["result"]["tools"]
        return {server: tool["name"] for server in NAMES for tool in listed
                if tool["description"] == f"One kilobyte of {server}"}

    def calls(self) -> list[tuple[bytes, bytes]]:
        """Returns a call for each server, and how the text of its answer begins."""
        return [(self.prepared({"id": 2, "method": "tools/call", "params": {"name": name, "arguments": {}}}),
                 f'"{server} the quick brown fox'.encode()) for server, name in self.tools().items()]


@dataclass
class Gateway:
    """A gateway that runs, and how long its calls took in each round."""

    name: str
    url: str
    rounds: list[list[float]] = field(default_factory=list)
    """The milliseconds of each call."""

    def measure(self, callers: int, seconds: float) -> list[float]:
        """Calls for some seconds; returns the milliseconds of each call."""
        deadline, taken, problems = time.monotonic() + seconds, [], []

        def keep_calling(caller: Caller):
            calls, mine = caller.calls(), []
            try:
                while time.monotonic() < deadline:
                    for request, beginning in calls:
                        began = time.perf_counter()
                        body = caller.send(request)
                        mine.append((time.perf_counter() - began) * 1000)
                        if beginning not in body:
                            raise WrongAnswer(body[:300].decode(errors="replace"))
            except (WrongAnswer, OSError, ValueError, IndexError) as error:
                problems.append(f"{self.name}: {error!r}")
            taken.extend(mine)

        threads = [threading.Thread(target=keep_calling, args=(Caller(self.url),)) for _ in range(callers)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        if problems:
            raise WrongAnswer(problems[0])
        return taken


class Server:
    """A program that listens on a port that it was given; it is ready once all servers are listed."""

    def __init__(self, name: str, command: list[str], environment: dict[str, str], url: str, log: Path):
        self.name, self.url, self.log = name, url, log
        with open(log, "wb") as output:
            self.process = subprocess.Popen(command, env=os.environ | environment, stdin=subprocess.DEVNULL, stdout=output,
                                            stderr=subprocess.STDOUT, start_new_session=True, cwd=log.parent)

    def __enter__(self) -> "Server":
        return self

    def __exit__(self, *_) -> None:
        os.killpg(self.process.pid, 9)
        self.process.wait()

    def wait(self, is_ready) -> None:
        """Waits until a function returns true."""
        deadline = time.monotonic() + START_SECONDS
        while time.monotonic() < deadline and self.process.poll() is None:
            try:
                if is_ready():
                    return
            except (OSError, WrongAnswer, ValueError, IndexError, KeyError):
                pass
            time.sleep(0.3)
        raise SetupError(f"{self.name} did not start: {self.log.read_text(errors='replace')[-1500:]}")

    def lists_all(self) -> bool:
        return len(Caller(self.url).tools()) == len(NAMES)


def free_port() -> int:
    with socket.create_server(("127.0.0.1", 0)) as listener:
        return listener.getsockname()[1]


def tidegate(program: Path, urls: dict[str, str], folder: Path, stack: ExitStack) -> Gateway:
    config = folder / "gateway.toml"
    config.write_text("\n".join(upstream(name, url) for name, url in urls.items()))
    listener = stack.enter_context(Listener([str(program), "gateway", "--http", ANY_PORT, "--config", str(config)]))
    return Gateway("tidegate gateway", listener.url)


def fastmcp(toolchain: Toolchain, urls: dict[str, str], folder: Path, workers: int, stack: ExitStack) -> Gateway:
    (folder / "proxy_app.py").write_text(FASTMCP_APP)
    port = free_port()
    command = [str(toolchain.python), "-m", "uvicorn", "proxy_app:app", "--host", "127.0.0.1", "--port", str(port),
               "--workers", str(workers), "--log-level", "error"]
    server = stack.enter_context(Server("fastmcp proxy", command, {"SERVERS": json.dumps(urls), "FASTMCP_LOG_LEVEL": "ERROR"},
                                        f"http://127.0.0.1:{port}/mcp", folder / "fastmcp.log"))
    server.wait(server.lists_all)
    return Gateway(server.name, server.url)


def contextforge(venv: Path, urls: dict[str, str], folder: Path, stack: ExitStack) -> Gateway:
    port = free_port()
    made_up = {name: secrets.token_urlsafe(36) for name in (
        "JWT_SECRET_KEY", "AUTH_ENCRYPTION_SECRET", "BASIC_AUTH_PASSWORD", "PLATFORM_ADMIN_PASSWORD")}
    environment = {**CONTEXTFORGE_SETTINGS, **made_up, "DATABASE_URL": f"sqlite:///{folder}/contextforge.db"}
    base = f"http://127.0.0.1:{port}"
    command = [str(venv / "bin" / "mcpgateway"), "--host", "127.0.0.1", "--port", str(port), "--log-level", "error",
               "--no-access-log"]
    server = stack.enter_context(
        Server("contextforge", command, environment, f"{base}/mcp/", folder / "contextforge.log"))
    server.wait(lambda: urllib.request.urlopen(f"{base}/health", timeout=5).status == 200)
    for name, url in urls.items():
        body = json.dumps({"name": name, "url": url, "transport": "STREAMABLEHTTP"}).encode()
        request = urllib.request.Request(f"{base}/gateways", body, {"content-type": "application/json"})
        urllib.request.urlopen(request, timeout=60).read()
    server.wait(server.lists_all)
    return Gateway(server.name, server.url)


def install_contextforge(cache: Path) -> Path:
    """Installs it into an environment of its own, since it needs an older SDK; returns the folder."""
    venv, stamp = cache / "contextforge", cache / "contextforge.txt"
    if not stamp.is_file() or stamp.read_text() != CONTEXTFORGE:
        empty_folder(venv)
        call([sys.executable, "-m", "venv", str(venv)], venv)
        call([str(venv / "bin" / "python"), "-m", "pip", "install", "--quiet", "--disable-pip-version-check", CONTEXTFORGE], venv)
        stamp.write_text(CONTEXTFORGE)
    return venv


def per_second(gateway: Gateway, seconds: float) -> float:
    """Returns the calls per second of the median round."""
    return statistics.median(len(calls) for calls in gateway.rounds) / seconds


def table(gateways: list[Gateway], seconds: float) -> str:
    """Returns the result as a Markdown table."""
    first = per_second(gateways[0], seconds)
    lines = ["| gateway | calls per second | each round | median | 99 % | tidegate answers |", "|---|---:|---:|---:|---:|---:|"]
    for gateway in gateways:
        calls = sorted(call for one in gateway.rounds for call in one)
        speed, rounds = per_second(gateway, seconds), ", ".join(f"{len(one) / seconds:,.0f}" for one in gateway.rounds)
        lines.append(f"| {gateway.name} | {speed:,.0f} | {rounds} | {calls[len(calls) // 2]:.2f} ms "
                     f"| {calls[len(calls) * 99 // 100]:.2f} ms | {first / speed:.1f} x |")
    return "\n".join(lines)


def compare(options: argparse.Namespace, toolchain: Toolchain, venv: Path) -> int:
    with ExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="tidegate-peers-")))
        script = str(FIXTURES / "fetch_server.mjs")
        urls = {name: stack.enter_context(Listener([str(toolchain.node), script, name])).url for name in NAMES}
        gateways = [
            tidegate(options.tidegate.resolve(), urls, folder, stack),
            contextforge(venv, urls, folder, stack),
            fastmcp(toolchain, urls, folder, options.workers, stack),
        ]
        for gateway in gateways:
            gateway.measure(options.callers, WARM_UP_SECONDS)
        for number in range(options.rounds):
            turns = gateways[number % len(gateways):] + gateways[:number % len(gateways)]
            for gateway in turns:
                gateway.rounds.append(gateway.measure(options.callers, options.seconds))
    print(table(gateways, options.seconds))
    speeds = [per_second(gateway, options.seconds) for gateway in gateways]
    ratio = speeds[0] / max(speeds[1:])
    print(f"\n{options.callers} callers, {options.rounds} rounds of {options.seconds:.0f} s, {options.workers} processes of the "
          f"proxy of fastmcp: {ratio:.1f} times as many calls as the faster of the others, at least {options.least} are needed")
    return 0 if ratio >= options.least else 1


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--tidegate", type=Path, required=True, help="a release build with the feature gateway")
    parser.add_argument("--cache", type=Path, default=DEFAULT_CACHE, help="folder of the installed packages")
    parser.add_argument("--callers", type=int, default=8, help="callers at the same time")
    parser.add_argument("--seconds", type=float, default=10, help="length of a round")
    parser.add_argument("--rounds", type=int, default=3, help="rounds of each gateway; the median counts")
    parser.add_argument("--workers", type=int, default=os.cpu_count(), help="processes of the proxy of fastmcp")
    parser.add_argument("--least", type=float, default=3.0, help="how many times as many calls tidegate must answer")
    options = parser.parse_args()
    try:
        return compare(options, install(options.cache), install_contextforge(options.cache.resolve()))
    except (SetupError, ListenerError, WrongAnswer, OSError) as error:
        print(error, file=sys.stderr)
        return 1


if __name__ == "__main__":
    sys.exit(main())
