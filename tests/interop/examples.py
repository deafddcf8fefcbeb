#!/usr/bin/env python3
"""Checks the example servers with the official Python client.

    python3 tests/interop/examples.py --examples FOLDER --tidegate PATH [--cache DIR]

FOLDER has the programs orbit, inventory, articles and bugtrace. Each is called in both eras of the protocol, over stdio and
over HTTP, directly and behind `tidegate run`, which must not change answers that are already small. The exit code is 1
if a check fails.
"""
import json
import os
import re
import sys
import tempfile
from pathlib import Path

from checked_client import MODES, PROBE_FIELDS, TOKEN_EXPIRED, CheckedClient, run_script
from listeners import Listener

ROOT = Path(__file__).resolve().parents[2]
VANGUARD = ("VANGUARD 1\n1 00005U 58002B   00179.78495062  .00000023  00000-0  28098-4 0  4753\n"
            "2 00005  34.2682 348.7242 1859667 331.7664  19.3264 10.82419157413667")


async def orbit(server):
    """A summary by default, everything on request."""
    summary = await server.answer("porkchop", samples_per_axis=30)
    server.check("summary has its fields", set(summary) == {"best", "top_cells", "ascii_summary"}, list(summary))
    cells = summary["top_cells"]
    best_first = [cell["total_dv"] for cell in cells] == sorted(cell["total_dv"] for cell in cells)
    server.check("five cells, best first", len(cells) == 5 and best_first and cells[0] == summary["best"], cells)
    some = await server.answer("sgp4_propagate", tle=VANGUARD)
    server.check("twelve states of a day", [len(some["states"]), some["of_epochs"]] == [12, 1441], some)
    # Vanguard 1 at the epoch of its TLE, in "Revisiting Spacetrack Report #3".
    start = some["states"][0]["position"]
    server.check("the position of the satellite", abs(start[0] - 7022.46529266) < 1e-3, start)
    full = await server.call("sgp4_propagate", {"tle": VANGUARD, "output": "full"})
    server.check("the full output is attached as a link", any(block["type"] == "resource_link" for block in full["content"]), full)
    handle = re.search(r'Complete result: "([^"]+)"', full["content"][0]["text"])[1]
    last = await server.text("result_query", id=handle, path="/states/1440")
    server.check("the full output can be read", f'{some["states"][-1]["position"][0]}' in last, last)
    error = await server.error("sgp4_propagate", tle=VANGUARD.replace("34.2682", "34.2683"))
    server.check("a wrong checksum is refused", "checksum" in error and "expected the two lines of a TLE" in error, error)
    error = await server.error("porkchop", departure_start="2026-02-30")
    server.check("an invalid date is refused", "which is not a valid date" in error, error)


async def inventory(server):
    """Probe and fetch."""
    tools = {tool.name for tool in (await server.client.list_tools()).tools}
    server.check("a reader sees no tool that writes", not tools & {"inventory.adjust", "inventory.audit"}, tools)
    tool = "inventory.list_all"
    token = await server.probe(tool, 1250, warehouse="WH-01")
    error = json.loads(await server.error("products.search", continuation_token=token))
    server.check("a token of another tool is refused", error == {"error": TOKEN_EXPIRED}, error)
    error = await server.error("inventory.audit")
    server.check("a tool above the tier is refused", "needs the tier admin" in error, error)
    error = await server.error(tool, warehouse="WH-99")
    server.check("an unknown warehouse is refused", "the warehouses are WH-01" in error, error)
    backstop = await server.answer("inventory.low_stock", quantity=1000)
    server.check("an unmarked tool above the threshold is probed too", set(backstop) == PROBE_FIELDS, list(backstop))


async def articles(server):
    """A budget in the contract."""
    seen, cursor, links = [], None, 0
    while not seen or cursor:
        result = await server.call("list_articles", {"cursor": cursor} if cursor else {})
        page = json.loads(result["content"][0]["text"])
        seen += [row["slug"] for row in page["items"]]
        links += sum(block["type"] == "resource_link" for block in result["content"])
        cursor = page.get("nextCursor")
    server.check("every article once, each with its link", [len(seen), len(set(seen)), links] == [840] * 3, len(seen))
    text = (await server.client.read_resource(f"article://{seen[7]}")).contents[0].text
    server.check("a link can be read", text.startswith("# "), text[:80])
    result = await server.call("summarize_article", {"slug": seen[7]})
    server.check("a summary links to its source", result["content"][1].get("uri") == f"article://{seen[7]}", result)
    found = await server.answer("search_articles", query="storm", limit=5)
    server.check("a search", len(found["items"]) == 5 and found["total"] > 5, found)
    for arguments, words in (({"limit": 50}, "limit must be a whole number from 1 to 20"),
                             ({"fields": ["name"]}, "valid names are slug"), ({"cursor": "x"}, "not a cursor")):
        error = await server.error("list_articles", **arguments)
        server.check(f"{list(arguments)[0]} is refused", words in error, error)
    error = await server.error("get_article", slug="nowhere")
    server.check("an unknown article is refused", 'unknown article "nowhere"' in error, error)


async def bugtrace(server):
    """The response contract, over all tools."""
    note = {"why": "the nightly run"}
    calls = [("config_get", {}), ("agent_list", {}), ("workflow_list", {}), ("refactor_scan", {}), ("refactor_list", {}),
            ("bugfix_scan", {}), ("bugfix_list", {}), ("trace_get", {}), ("trace_analyze", {}),
            ("agent_run", {"agent": "reviewer"}), ("workflow_run", {"workflow": "nightly"}),
            ("guard_check", {"guard": "release"}), ("memory_store", {"key": "notes", "value": note}),
            ("memory_retrieve", {"key": "notes"}), ("memory_search", {"query": "nightly"}), ("session_status", {}),
            ("session_list", {})]
    answers = {tool: await server.answer(tool, **arguments) for tool, arguments in calls}
    size = sum(len(json.dumps(answer)) for answer in answers.values())
    server.check("all answers together are below 25 KB", size < 25 * 1024, size)
    server.check("every answer has a summary", all(0 < len(answer["summary"]) <= 100 for answer in answers.values()), answers)
    scan = answers["bugfix_scan"]
    server.check("at most five items", len(scan["items"]) <= 5 and scan["hasMore"], scan)
    count = await server.text("result_query", id=scan["artifactRef"], sql="select count(*) as n from t")
    server.check("all findings are stored", str(scan["count"]) in count, count)
    read = (await server.client.read_resource(scan["artifactRef"])).contents
    server.check("the reference is a resource", len(read) == 1, read)
    for tool, arguments, words in (("trace_get", {"trace": "t999"}, "t999"), ("agent_run", {"agent": "nobody"}, "nobody"),
                                   ("bugfix_scan", {"path": "../.."}, "leads out of the tree")):
        error = json.loads(await server.error(tool, **arguments))
        server.check(f"{tool}: bad arguments are refused", words in error["summary"] and error["success"] is False, error)


SERVERS = {"orbit": (orbit, []), "inventory": (inventory, ["--tier", "read"]), "articles": (articles, []),
           "bugtrace": (bugtrace, ["--root", str(ROOT / "crates")])}


async def check_all(options, report):
    from mcp import Client, StdioServerParameters
    for name, (check_server, arguments) in SERVERS.items():
        command = [str(options.examples / name), *arguments]
        for behind in (False, True):
            for mode in MODES:
                title = f"{name} ({mode}{', behind tidegate' if behind else ''}"
                tidegate = [str(options.tidegate), "run"] if behind else []
                with tempfile.TemporaryDirectory() as home:
                    environment = {**os.environ, "TIDEGATE_HOME": home}
                    command_line = [*tidegate, *(["--"] if behind else []), *command]
                    server = StdioServerParameters(command=command_line[0], args=command_line[1:], env=environment)
                    async with Client(server, mode=mode) as client:
                        await check_server(CheckedClient(client, f"{title})", report))
                listen = ["--http", "127.0.0.1:0"]
                command_line = [*tidegate, *listen, "--", *command] if behind else [*command, *listen]
                with Listener(command_line) as listener:
                    async with Client(listener.url, mode=mode) as client:
                        await check_server(CheckedClient(client, f"{title}, HTTP)", report))


if __name__ == "__main__":
    sys.exit(run_script("Checks the example servers with the official Python client.",
                        ("examples", "folder of the example programs"), check_all))
