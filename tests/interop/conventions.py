#!/usr/bin/env python3
"""Checks the four conventions of the SDK with the official Python client.

    python3 tests/interop/conventions.py --servers PATH --tidegate PATH [--cache DIR]

PATH is the example `conventions` of crates/sdk. Each of its servers is called in both eras of the protocol, directly and
behind `tidegate run`, which must not change answers that are already small. The exit code is 1 if a check fails.
adapters.py makes the same visits to the servers in other languages.
"""
import json
import os
import sys
import tempfile

from checked_client import MODES, PROBE_FIELDS, TOKEN_EXPIRED, CheckedClient, run_script


async def orbit(server):
    """A summary by default, everything on request."""
    tools = (await server.client.list_tools()).tools
    schema = next(tool for tool in tools if tool.name == "porkchop").input_schema["properties"]["output"]
    server.check("output is in the schema", schema["enum"] == ["summary", "full"], schema)
    summary = await server.answer("porkchop", samples_per_axis=30)
    server.check("summary has its fields", set(summary) == {"best", "top_cells", "ascii_summary"}, list(summary))
    server.check("five cells, best first", len(summary["top_cells"]) == 5 and summary["top_cells"][0] == summary["best"])
    few = await server.answer("propagate", minutes=1440)
    server.check("twelve states, first and last included", [len(few["states"]), few["states"][0]["minute"], few["states"][-1]["minute"]]
                == [12, 0, 1440])
    full = await server.call("porkchop", {"samples_per_axis": 30, "output": "full"})
    link = full["content"][1]
    server.check("a full output above the cap is attached as a link", link["type"] == "resource_link", full)
    error = await server.error("porkchop", samples_per_axis=9, output="brief")
    server.check("an unknown mode is refused", 'output must be "summary" or "full"' in error, error)


async def shop(server):
    """Probe and fetch."""
    tool = "inventory.list_all"
    token = await server.probe(tool, 430, warehouse="WH-01")
    keys = await server.answer(tool, continuation_token=token, mode="filtered", filter_keys=["id", "product.name"])
    server.check("filtered values", keys["items"][0] == {"id": 1, "product.name": "Widget 1"}, keys["items"][:1])
    for other_tool, other_token in (("products.search", token), (tool, "abc123xyz")):
        error = json.loads(await server.error(other_tool, continuation_token=other_token))
        server.check("an invalid token is refused", error == {"error": TOKEN_EXPIRED}, error)
    error = await server.error(tool, continuation_token=token, mode="brief")
    server.check("an unknown mode is refused", "one of summary, paginated, filtered, full" in error, error)
    dispatched = await server.answer("dispatch", tool=tool, arguments={"items": 400})
    server.check("through the dispatcher", set(dispatched) == PROBE_FIELDS, list(dispatched))


async def articles(server):
    """A budget in the contract."""
    seen, cursor, pages = [], None, 0
    while pages == 0 or cursor:
        page = await server.answer("list_articles", site="harbour", **({"cursor": cursor} if cursor else {}))
        seen += [row["slug"] for row in page["items"]]
        cursor, pages = page.get("nextCursor"), pages + 1
        if pages == 2:
            await server.call("insert_article", {"slug": "new"})
            await server.call("delete_article", {"slug": "article-0001"})
    server.check("41 pages, every article once", [pages, len(seen), len(set(seen))] == [41, 820, 820],
                [pages, len(seen)])
    over = await server.answer("all_articles")
    server.check("over budget", over["error"] == "OUTPUT_BUDGET_EXCEEDED" and over["budget"] == 1000, over)
    server.check("the hint", over["hint"].startswith("Lower limit or narrow fields and call again"), over["hint"])
    handle = over["hint"].split('"')[1]
    rest = (await server.call("result_query", {"id": handle, "grep": "article-0700"}))["content"][0]["text"]
    server.check("the result over budget is stored", "article-0700" in rest, rest)
    error = await server.error("list_articles", site="harbour", limit=500)
    server.check("a limit that is too high is refused", "limit must be a whole number from 1 to 20" in error, error)
    links = (await server.call("link_articles", {}))["content"]
    server.check("links", {block["type"] for block in links} == {"resource_link"}, links[:1])


async def bugs(server):
    """The response contract."""
    scan = await server.answer("bugfix_scan", count=150)
    server.check("the summary", scan["summary"] == "Found bugs: 150 total (38 critical, 38 high, 37 medium, 37 low)", scan)
    server.check("the rest is stored", scan["hasMore"] and scan["artifactRef"].startswith("ax://bugfix/"), scan)
    query = {"id": scan["artifactRef"], "path": "/bugs/149/id"}
    rest = (await server.call("result_query", query))["content"][0]["text"]
    server.check("the rest can be read", "bug-149" in rest, rest)
    listed = await server.answer("bugfix_list", count=34)
    server.check("a list", [listed["summary"], len(listed["items"]), listed["hasMore"]] == ["34 bug(s)", 10, True], listed)
    trace = await server.answer("trace_get", count=900)
    server.check("a trace", trace["startEvent"]["at"] == 0 and trace["endEvent"]["at"] == 899, trace)
    error = await server.error("artifact_get", reference="nowhere")
    server.check("an invalid reference is refused", "Invalid artifact ref: nowhere" in error, error)


VISITS = {"orbit": orbit, "shop": shop, "articles": articles, "bugs": bugs}


async def visit(name, command, options, report, *, title=None, modes=MODES, environment=None):
    """Visits the server of one convention in each era, directly and behind `tidegate run`."""
    from mcp import Client, StdioServerParameters
    for behind in (False, True):
        for mode in modes:
            with tempfile.TemporaryDirectory() as home:
                line = [str(options.tidegate), "run", "--", *command] if behind else command
                variables = {**os.environ, **(environment or {}), "TIDEGATE_HOME": home}
                server = StdioServerParameters(command=line[0], args=line[1:], env=variables)
                described = f"{title or name} ({mode}{', behind tidegate' if behind else ''})"
                async with Client(server, mode=mode) as client:
                    await VISITS[name](CheckedClient(client, described, report))


async def check_all(options, report):
    for name in VISITS:
        await visit(name, [str(options.servers), name], options, report)


if __name__ == "__main__":
    sys.exit(run_script("Checks the SDK's example servers with the official Python client.",
                        ("servers", "the program of the example `conventions`"), check_all))
