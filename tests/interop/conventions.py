#!/usr/bin/env python3
"""The four conventions of the SDK, visited with the official Python client.

    python3 tests/interop/conventions.py --servers PATH --tidegate PATH [--cache DIR]

PATH is the example `conventions` of crates/sdk. Each of its servers is visited in both protocol eras, directly and behind
`tidegate run`, which must add nothing to answers that are small already. Exits with 1 when a check fails.
"""
import argparse
import json
import os
import sys
import tempfile
import warnings
from pathlib import Path

from install import DEFAULT_CACHE, enter

GONE = ("Continuation token expired or not found. Re-invoke without continuation_token to start a new negotiation.")
MODES = ("legacy", "auto")


class Visit:
    """A connection to one server, and what was found wrong with it."""

    def __init__(self, client, where, report):
        self.client, self.where, self.report = client, where, report

    def check(self, what, holds, seen=""):
        self.report.check(self.where, what, "" if holds else f"{str(seen)[:300] or 'does not hold'}")

    async def call(self, tool, arguments):
        result = await self.client.call_tool(tool, arguments)
        return result.model_dump(by_alias=True, mode="json", exclude_none=True)

    async def told(self, tool, /, **arguments):
        """The text of an answer as JSON; every answer is small."""
        result = await self.call(tool, arguments)
        text = result["content"][0]["text"]
        self.check(f"{tool}: at most 10,240 bytes", len(text.encode()) <= 10_240, len(text))
        return json.loads(text)

    async def text(self, tool, /, **arguments):
        """The text of an answer."""
        return (await self.call(tool, arguments))["content"][0]["text"]

    async def failed(self, tool, /, **arguments):
        """What an error says, of the tool or of the protocol."""
        try:
            result = await self.call(tool, arguments)
        except Exception as error:
            return str(error)
        self.check(f"{tool}: is an error", result.get("isError") is True, result)
        return result["content"][0]["text"]


async def orbit(visit):
    """A summary unless everything is asked for."""
    tools = (await visit.client.list_tools()).tools
    schema = next(tool for tool in tools if tool.name == "porkchop").input_schema["properties"]["output"]
    visit.check("output is in the schema", schema["enum"] == ["summary", "full"], schema)
    summary = await visit.told("porkchop", samples_per_axis=30)
    visit.check("summary has its fields", set(summary) == {"best", "top_cells", "ascii_summary"}, list(summary))
    visit.check("five cells, best first", len(summary["top_cells"]) == 5 and summary["top_cells"][0] == summary["best"])
    few = await visit.told("propagate", minutes=1440)
    visit.check("twelve states, both ends", [len(few["states"]), few["states"][0]["minute"], few["states"][-1]["minute"]]
                == [12, 0, 1440])
    full = await visit.call("porkchop", {"samples_per_axis": 30, "output": "full"})
    link = full["content"][1]
    visit.check("a full output above the cap is attached", link["type"] == "resource_link", full)
    error = await visit.failed("porkchop", samples_per_axis=9, output="brief")
    visit.check("another mode is refused", 'output must be "summary" or "full"' in error, error)


async def shop(visit):
    """Probe and fetch."""
    tool = "inventory.list_all"
    probe = await visit.told(tool, warehouse="WH-01")
    fields = {"preview", "total_size", "available_modes", "continuation_token"}
    visit.check("the probe has its fields", set(probe) == fields, list(probe))
    token = probe["continuation_token"]
    summary = await visit.told(tool, continuation_token=token)
    visit.check("summary: five of 430", [len(summary["summary"]), summary["total"]] == [5, 430], summary)
    page = await visit.told(tool, continuation_token=token, mode="paginated", page=2, page_size=25)
    visit.check("paginated", [page["items"][0]["id"], page["total"], page["has_more"]] == [26, 430, True], page)
    keys = await visit.told(tool, continuation_token=token, mode="filtered", filter_keys=["id", "product.name"])
    visit.check("filtered", keys["items"][0] == {"id": 1, "product.name": "Widget 1"}, keys["items"][:1])
    full = await visit.told(tool, continuation_token=token, mode="full")
    visit.check("full above the cap is a page", "above the cap" in full["note"], full)
    for foreign in (dict(tool="products.search", token=token), dict(tool=tool, token="abc123xyz")):
        error = json.loads(await visit.failed(foreign["tool"], continuation_token=foreign["token"]))
        visit.check("a token that does not hold", error == {"error": GONE}, error)
    error = await visit.failed(tool, continuation_token=token, mode="brief")
    visit.check("another mode is refused", "one of summary, paginated, filtered, full" in error, error)
    through = await visit.told("dispatch", tool=tool, arguments={"items": 400})
    visit.check("through the dispatcher", set(through) == fields, list(through))


async def articles(visit):
    """A budget in the contract."""
    seen, cursor, pages = [], None, 0
    while pages == 0 or cursor:
        page = await visit.told("list_articles", site="harbour", **({"cursor": cursor} if cursor else {}))
        seen += [row["slug"] for row in page["items"]]
        cursor, pages = page.get("nextCursor"), pages + 1
        if pages == 2:
            await visit.call("insert_article", {"slug": "new"})
            await visit.call("delete_article", {"slug": "article-0001"})
    visit.check("41 pages, nothing twice, nothing left out", [pages, len(seen), len(set(seen))] == [41, 820, 820],
                [pages, len(seen)])
    over = await visit.told("all_articles")
    visit.check("over budget", over["error"] == "OUTPUT_BUDGET_EXCEEDED" and over["budget"] == 2000, over)
    visit.check("the hint", over["hint"].startswith("Lower limit or narrow fields and call again"), over["hint"])
    handle = over["hint"].split('"')[1]
    rest = (await visit.call("result_query", {"id": handle, "grep": "article-0700"}))["content"][0]["text"]
    visit.check("what was over budget is kept", "article-0700" in rest, rest)
    error = await visit.failed("list_articles", site="harbour", limit=500)
    visit.check("a limit that is too high", "limit must be a whole number from 1 to 20" in error, error)
    links = (await visit.call("link_articles", {}))["content"]
    visit.check("links", {block["type"] for block in links} == {"resource_link"}, links[:1])


async def bugs(visit):
    """The response contract."""
    scan = await visit.told("bugfix_scan", count=150)
    visit.check("the summary", scan["summary"] == "Found bugs: 150 total (38 critical, 38 high, 37 medium, 37 low)", scan)
    visit.check("the rest is kept", scan["hasMore"] and scan["artifactRef"].startswith("ax://bugfix/"), scan)
    query = {"id": scan["artifactRef"], "path": "/bugs/149/id"}
    rest = (await visit.call("result_query", query))["content"][0]["text"]
    visit.check("and read", "bug-149" in rest, rest)
    listed = await visit.told("bugfix_list", count=34)
    visit.check("a list", [listed["summary"], len(listed["items"]), listed["hasMore"]] == ["34 bug(s)", 10, True], listed)
    trace = await visit.told("trace_get", count=900)
    visit.check("a trace", trace["startEvent"]["at"] == 0 and trace["endEvent"]["at"] == 899, trace)
    error = await visit.failed("artifact_get", reference="nowhere")
    visit.check("a reference that is none", "Invalid artifact ref: nowhere" in error, error)


SERVERS = {"orbit": orbit, "shop": shop, "articles": articles, "bugs": bugs}


async def visit_all(options, report):
    from mcp import Client, StdioServerParameters
    for name, walk in SERVERS.items():
        for behind in (False, True):
            for mode in MODES:
                with tempfile.TemporaryDirectory() as home:
                    command = [str(options.servers), name]
                    if behind:
                        command = [str(options.tidegate), "run", "--", *command]
                    environment = {**os.environ, "TIDEGATE_HOME": home}
                    server = StdioServerParameters(command=command[0], args=command[1:], env=environment)
                    where = f"{name} ({mode}{', behind tidegate' if behind else ''})"
                    async with Client(server, mode=mode) as client:
                        await walk(Visit(client, where, report))


def visit_with(description: str, programs: tuple[str, str], visit_all) -> int:
    """The command line of a script that visits servers: reads its options, walks through all, tells how it went."""
    parser = argparse.ArgumentParser(description=description)
    parser.add_argument(f"--{programs[0]}", type=Path, required=True, help=programs[1])
    parser.add_argument("--tidegate", type=Path, required=True, help="the binary under test")
    parser.add_argument("--cache", type=Path, default=DEFAULT_CACHE, help="folder of the installed packages")
    options = parser.parse_args()
    enter(options.cache)
    import anyio

    from servers.report import Report
    warnings.filterwarnings("ignore")
    report = Report()
    anyio.run(visit_all, options, report)
    print(f"{report.passed} checks passed, {report.failed} failed")
    return 1 if report.failed else 0


if __name__ == "__main__":
    sys.exit(visit_with("Visits the servers of the SDK with the official Python client.",
                        ("servers", "the example `conventions`"), visit_all))
