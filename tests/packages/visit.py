"""Calls a server behind tidegate with the official Python client: a large result, a follow-up, a small result.

    python visit.py TOOL EXPECTED SQL ANSWER COMMAND...
    TOKEN=... python visit.py TOOL EXPECTED SQL ANSWER URL

TOOL's answer must have EXPECTED in it and a handle, and the query over the stored result must answer ANSWER. Run with the Python
that has the package `mcp`; the exit code is 1 if something is different.
"""
import os
import re
import sys
import warnings
from contextlib import asynccontextmanager

import anyio
from mcp import ClientSession, StdioServerParameters
from mcp.client.stdio import stdio_client
from mcp.client.streamable_http import create_mcp_http_client, streamable_http_client


@asynccontextmanager
async def connected(command):
    """The streams to a server that a command starts, or at an address."""
    if not command[0].startswith("http://"):
        async with stdio_client(StdioServerParameters(command=command[0], args=command[1:])) as streams:
            yield streams
        return
    headers = {"Authorization": f"Bearer {os.environ['TOKEN']}"}
    async with create_mcp_http_client(headers=headers) as client, streamable_http_client(command[0], http_client=client) as streams:
        yield streams[:2]


async def main(tool, expected, sql, answer, command):
    async with connected(command) as (read, write), ClientSession(read, write) as session:
        await session.initialize()
        names = {tool.name for tool in (await session.list_tools()).tools}
        assert {tool, "result_query"} <= names, names
        overview = (await session.call_tool(tool, {})).content[0].text
        assert expected in overview, overview[:500]
        assert len(overview.encode()) <= 10_240, len(overview)
        handle = re.search(r'Complete result: "([^"]+)"', overview).group(1)
        found = (await session.call_tool("result_query", {"id": handle, "sql": sql})).content[0].text
        assert answer in found, found[:500]


if __name__ == "__main__":
    warnings.filterwarnings("ignore")
    anyio.run(main, *sys.argv[1:5], sys.argv[5:])
