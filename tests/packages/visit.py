"""Calls a server behind tidegate with the official Python client: a large result, a follow-up, a small result.

    python visit.py TOOL EXPECTED SQL ANSWER COMMAND...

TOOL's answer must have EXPECTED in it and a handle, and the query over the stored result must answer ANSWER. Run with the Python
that has the package `mcp`; the exit code is 1 if something is different.
"""
import re
import sys
import warnings

import anyio
from mcp import ClientSession, StdioServerParameters
from mcp.client.stdio import stdio_client


async def main(tool, expected, sql, answer, command):
    parameters = StdioServerParameters(command=command[0], args=command[1:])
    async with stdio_client(parameters) as (read, write), ClientSession(read, write) as session:
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
