"""A connection to an MCP server by the official Python client, with each result as it crossed the wire.

The client hands out typed objects that leave out what they do not know. The checks compare what the server
really sent, so the stream is listened to on its way to the client.
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
    """How a server is started, and what the table calls it."""

    title: str
    command: list[str]
    environment: dict[str, str] = field(default_factory=dict)

    def behind(self, proxy: list[str], environment: dict[str, str]) -> "Server":
        """The same server, started by the proxy."""
        return Server(self.title, [*proxy, *self.command], self.environment | environment)


class Listener:
    """The stream from the server, with a look at what passes."""

    def __init__(self, stream):
        self.stream = stream
        self.tools: list[dict[str, Any]] = []
        self.called: dict[str, Any] = {}

    def note(self, item):
        """Keeps the answer of a tool and the list of tools."""
        message = getattr(item, "message", None)
        result = getattr(message, "result", None)
        if isinstance(result, dict) and "content" in result:
            self.called = result
        if isinstance(result, dict) and "tools" in result:
            self.tools = result["tools"]
        return item

    async def receive(self):
        return self.note(await self.stream.receive())

    async def aclose(self):
        await self.stream.aclose()

    def __aiter__(self):
        return self

    async def __anext__(self):
        return self.note(await self.stream.__anext__())

    async def __aenter__(self):
        await self.stream.__aenter__()
        return self

    async def __aexit__(self, *error):
        return await self.stream.__aexit__(*error)


class Link:
    """An open connection."""

    def __init__(self, client: Client, listener: Listener):
        self.client = client
        self.listener = listener

    async def tools(self) -> list[dict[str, Any]]:
        """The tools as the server lists them."""
        await self.client.list_tools()
        return self.listener.tools

    async def call(self, tool: str, arguments: dict[str, Any]) -> dict[str, Any]:
        """The tool's result as it came; the client has checked it against the tool's output schema."""
        self.listener.called = {}
        await self.client.call_tool(tool, arguments)
        return self.listener.called


@asynccontextmanager
async def connect(server: Server, folder: Path, name: str):
    """Starts the server in the folder and opens a connection; its stderr goes to a file there."""
    listeners: list[Listener] = []

    @asynccontextmanager
    async def transport(errors):
        parameters = StdioServerParameters(
            command=server.command[0], args=server.command[1:], env=server.environment, cwd=folder)
        async with stdio_client(parameters, errlog=errors) as (reading, writing):
            listeners.append(Listener(reading))
            yield listeners[-1], writing

    with open(folder / f"{name}.stderr", "w") as errors:
        async with Client(transport(errors), read_timeout_seconds=TIMEOUT_SECONDS) as client:
            yield Link(client, listeners[-1])
