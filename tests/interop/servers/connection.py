"""A connection of the official Python client to an MCP server that keeps each result as the server sent it.

The client returns typed objects, which drop unknown fields. The checks compare what the server really sent, so
`RecordingStream` records the messages before the client parses them.
"""
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from mcp import Client, StdioServerParameters
from mcp.client.stdio import stdio_client

TIMEOUT_SECONDS = 180


@dataclass(frozen=True)
class Server:
    """The command of a server, and its name in the table of sizes."""

    title: str
    command: list[str]
    environment: dict[str, str] = field(default_factory=dict)

    def behind(self, proxy: list[str], environment: dict[str, str]) -> "Server":
        """Returns the same server, started by the proxy."""
        return Server(self.title, [*proxy, *self.command], self.environment | environment)


class RecordingStream:
    """Wraps the stream from the server and records results."""

    def __init__(self, stream):
        self.inner = stream
        self.tools: list[dict[str, Any]] = []
        self.tool_result: dict[str, Any] = {}

    def record(self, item):
        """Records the item if it is a tool result or a list of tools, and returns it."""
        message = getattr(item, "message", None)
        result = getattr(message, "result", None)
        if isinstance(result, dict) and "content" in result:
            self.tool_result = result
        if isinstance(result, dict) and "tools" in result:
            self.tools = result["tools"]
        return item

    async def receive(self):
        return self.record(await self.inner.receive())

    async def aclose(self):
        await self.inner.aclose()

    def __aiter__(self):
        return self

    async def __anext__(self):
        return self.record(await self.inner.__anext__())

    async def __aenter__(self):
        await self.inner.__aenter__()
        return self

    async def __aexit__(self, *error):
        return await self.inner.__aexit__(*error)


class Connection:
    """An open connection."""

    def __init__(self, client: Client, stream: RecordingStream):
        self.client = client
        self.stream = stream

    async def tools(self) -> list[dict[str, Any]]:
        """Returns the tools as the server lists them."""
        await self.client.list_tools()
        return self.stream.tools

    async def call(self, tool: str, arguments: dict[str, Any]) -> dict[str, Any]:
        """Returns the raw result of a tool; the client has validated it against the output schema."""
        self.stream.tool_result = {}
        await self.client.call_tool(tool, arguments)
        return self.stream.tool_result


@asynccontextmanager
async def connect(server: Server, folder: Path, name: str):
    """Starts the server in the folder and connects to it; its stderr goes to a file there."""
    streams: list[RecordingStream] = []

    @asynccontextmanager
    async def transport(errors):
        parameters = StdioServerParameters(
            command=server.command[0], args=server.command[1:], env=server.environment, cwd=folder)
        async with stdio_client(parameters, errlog=errors) as (reading, writing):
            streams.append(RecordingStream(reading))
            yield streams[-1], writing

    with open(folder / f"{name}.stderr", "w") as errors:
        async with Client(transport(errors), read_timeout_seconds=TIMEOUT_SECONDS) as client:
            yield Connection(client, streams[-1])
