#!/usr/bin/env python3
"""Measures what the adapters for Python and TypeScript add to a call of 1 KB.

    python3 tests/interop/adapter_bench.py --tidegate PATH [--cache DIR] [--calls 1000]

For each SDK one server runs with the adapter and one without it. Both stay up and take turns, call by call, so that whatever
else the machine does hits both. The client is hand-written and blocking: it writes a line and waits for the answer. Use a
release build of tidegate. The goal is that at most 2 ms are added.
"""
import argparse
import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from adapters import node_modules
from install import DEFAULT_CACHE, enter

ADAPTERS = Path(__file__).resolve().parents[2] / "adapters"
TEXT = ("0123456789 the quick brown fox jumps over the lazy dog. " * 20)[:1024]
WARM_UP_CALLS = 100
GOAL_MS = 2.0

PYTHON = """
import sys
from SERVER import NAME as Server
mcp = Server("bench")
if sys.argv[1] == "adapter":
    from tidegate import Tidegate
    Tidegate(mcp, ephemeral=True)

@mcp.tool()
def fetch():
    return TEXT

mcp.run()
"""

TYPESCRIPT = """
IMPORT
import { Tidegate } from 'tidegate';
const tidegate = process.argv[2] === 'adapter' ? new Tidegate({ server: 'bench', ephemeral: true }) : undefined;
const built = () => {
  const server = new McpServer({ name: 'bench', version: '1.0.0' });
  server.registerTool('fetch', { description: 'One kilobyte' }, () => ({ content: [{ type: 'text', text: TEXT }] }));
  return tidegate ? tidegate.wrap(server) : server;
};
SERVE
"""

SECOND_SDK = ("import { McpServer } from '@modelcontextprotocol/server';\n"
              "import { serveStdio } from '@modelcontextprotocol/server/stdio';", "serveStdio(built);")
FIRST_SDK = ("import { McpServer } from '@modelcontextprotocol/sdk/server/mcp.js';\n"
             "import { StdioServerTransport } from '@modelcontextprotocol/sdk/server/stdio.js';",
             "await built().connect(new StdioServerTransport());")


class Server:
    """A server on stdin and stdout, with one request at a time."""

    def __init__(self, command, environment):
        self.process = subprocess.Popen(command, env=environment, stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                                        stderr=subprocess.DEVNULL)
        self.number = 0
        self.request("initialize", {"protocolVersion": "2025-06-18", "capabilities": {},
                                    "clientInfo": {"name": "bench", "version": "1"}})
        self.send({"jsonrpc": "2.0", "method": "notifications/initialized"})

    def send(self, message):
        self.process.stdin.write(json.dumps(message).encode() + b"\n")
        self.process.stdin.flush()

    def request(self, method, params):
        """Sends a request; returns its result."""
        self.number += 1
        self.send({"jsonrpc": "2.0", "id": self.number, "method": method, "params": params})
        while line := self.process.stdout.readline():
            answer = json.loads(line)
            if answer.get("id") == self.number:
                return answer["result"]
        raise SystemExit(f"the server ended before it answered {method}")

    def timed_call(self):
        """Calls the tool; returns milliseconds."""
        started = time.perf_counter()
        result = self.request("tools/call", {"name": "fetch", "arguments": {}})
        elapsed = time.perf_counter() - started
        assert result["content"][0]["text"] == TEXT, result
        return elapsed * 1000

    def end(self):
        self.process.stdin.close()
        try:
            self.process.wait(5)
        except subprocess.TimeoutExpired:
            self.process.kill()


def sources(toolchain, folder):
    """The name of each SDK, and the command of its server."""
    for name, module, server in (("Python, official SDK", "mcp.server", "MCPServer"), ("Python, FastMCP", "fastmcp", "FastMCP")):
        source = folder / f"bench_{server}.py"
        source.write_text(PYTHON.replace("SERVER", module).replace("NAME", server).replace("TEXT", json.dumps(TEXT)))
        yield name, [str(toolchain.python), str(source)]
    for name, (imports, serve) in (("TypeScript", SECOND_SDK), ("TypeScript, first SDK", FIRST_SDK)):
        source = folder / f"{'first' if serve.startswith('await') else 'second'}.mjs"
        text = TYPESCRIPT.replace("IMPORT", imports).replace("SERVE", serve)
        source.write_text(text.replace("TEXT", json.dumps(TEXT)))
        yield name, [str(toolchain.node), str(source)]


def measure(command, environment, calls):
    """The times of a call without and with the adapter, in milliseconds."""
    servers = [Server([*command, kind], environment) for kind in ("plain", "adapter")]
    try:
        for _ in range(WARM_UP_CALLS):
            for server in servers:
                server.timed_call()
        rounds = [[server.timed_call() for server in servers] for _ in range(calls)]
    finally:
        for server in servers:
            server.end()
    return zip(*rounds)


def main():
    parser = argparse.ArgumentParser(description="Measures what the adapters add to a call of 1 KB.")
    parser.add_argument("--tidegate", type=Path, required=True, help="the program, built for release")
    parser.add_argument("--adapters", type=Path, default=ADAPTERS, help="the folder `adapters`")
    parser.add_argument("--cache", type=Path, default=DEFAULT_CACHE, help="folder of the installed packages")
    parser.add_argument("--calls", type=int, default=1000, help="calls of each server")
    options = parser.parse_args()
    toolchain = enter(options.cache)
    with tempfile.TemporaryDirectory() as made:
        folder = Path(made)
        node_modules(options, folder)
        environment = {**os.environ, "PYTHONPATH": str(options.adapters / "python" / "src"), "TIDEGATE_HOME": made,
                       "TIDEGATE_PROGRAM": str(options.tidegate.resolve())}
        print(f"{options.calls} calls of 1 KB each, in turns; p50 in ms (goal: at most {GOAL_MS:g} added)\n")
        print("| SDK | without | with | added |\n|---|---:|---:|---:|")
        for name, command in sources(toolchain, folder):
            plain, adapted = (statistics.median(times) for times in measure(command, environment, options.calls))
            print(f"| {name} | {plain:.2f} | {adapted:.2f} | {adapted - plain:.2f} |", flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
