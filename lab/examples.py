#!/usr/bin/env python3
"""The example servers, visited with the official Python client.

    python3 lab/examples.py --examples FOLDER --tidegate PATH [--cache DIR]

FOLDER has the programs orbit, inventory, articles and bugtrace. Each is visited in both protocol eras, over stdio and over
HTTP, directly and behind `tidegate run`, which must add nothing to answers that are small already. Exits with 1 when a
check fails.
"""
import json
import os
import re
import sys
import tempfile
from pathlib import Path

from conventions import GONE, MODES, Visit, visit_with
from listeners import Listener

ROOT = Path(__file__).resolve().parent.parent
VANGUARD = ("VANGUARD 1\n1 00005U 58002B   00179.78495062  .00000023  00000-0  28098-4 0  4753\n"
            "2 00005  34.2682 348.7242 1859667 331.7664  19.3264 10.82419157413667")


async def orbit(visit):
    """A summary unless everything is asked for."""
    summary = await visit.told("porkchop", samples_per_axis=30)
    visit.check("summary has its fields", set(summary) == {"best", "top_cells", "ascii_summary"}, list(summary))
    cells = summary["top_cells"]
    best_first = [cell["total_dv"] for cell in cells] == sorted(cell["total_dv"] for cell in cells)
    visit.check("five cells, best first", len(cells) == 5 and best_first and cells[0] == summary["best"], cells)
    some = await visit.told("sgp4_propagate", tle=VANGUARD)
    visit.check("twelve states of a day", [len(some["states"]), some["of_epochs"]] == [12, 1441], some)
    # Vanguard 1 at the epoch of its TLE, in "Revisiting Spacetrack Report #3".
    start = some["states"][0]["position"]
    visit.check("where the satellite is", abs(start[0] - 7022.46529266) < 1e-3, start)
    full = await visit.call("sgp4_propagate", {"tle": VANGUARD, "output": "full"})
    visit.check("everything is attached", any(block["type"] == "resource_link" for block in full["content"]), full)
    handle = re.search(r'Complete result: "([^"]+)"', full["content"][0]["text"])[1]
    last = await visit.text("result_query", id=handle, path="/states/1440")
    visit.check("and read", f'{some["states"][-1]["position"][0]}' in last, last)
    error = await visit.failed("sgp4_propagate", tle=VANGUARD.replace("34.2682", "34.2683"))
    visit.check("a wrong checksum", "checksum" in error and "expected the two lines of a TLE" in error, error)
    error = await visit.failed("porkchop", departure_start="2026-02-30")
    visit.check("a day that does not exist", "which is not a valid date" in error, error)


async def inventory(visit):
    """Probe and fetch."""
    tools = {tool.name for tool in (await visit.client.list_tools()).tools}
    visit.check("a reader sees no tool that writes", not tools & {"inventory.adjust", "inventory.audit"}, tools)
    tool = "inventory.list_all"
    probe = await visit.told(tool, warehouse="WH-01")
    fields = {"preview", "total_size", "available_modes", "continuation_token"}
    visit.check("the probe has its fields", set(probe) == fields, list(probe))
    token = probe["continuation_token"]
    summary = await visit.told(tool, continuation_token=token)
    visit.check("summary", [len(summary["summary"]), summary["total"]] == [5, 1250], summary)
    page = await visit.told(tool, continuation_token=token, mode="paginated", page=2, page_size=25)
    visit.check("paginated", [page["items"][0]["id"], page["total"], page["has_more"]] == [26, 1250, True], page)
    keys = await visit.told(tool, continuation_token=token, mode="filtered", filter_keys=["id", "product.name"])
    visit.check("filtered", set(keys["items"][0]) == {"id", "product.name"}, keys["items"][:1])
    full = await visit.told(tool, continuation_token=token, mode="full")
    visit.check("full above the cap is a page", "above the cap" in full["note"], full)
    error = json.loads(await visit.failed("products.search", continuation_token=token))
    visit.check("a token of another tool", error == {"error": GONE}, error)
    error = await visit.failed("inventory.audit")
    visit.check("a tool beyond the tier", "needs the tier admin" in error, error)
    error = await visit.failed(tool, warehouse="WH-99")
    visit.check("a warehouse that does not exist", "the warehouses are WH-01" in error, error)
    backstop = await visit.told("inventory.low_stock", quantity=1000)
    visit.check("the backstop", set(backstop) == fields, list(backstop))


async def articles(visit):
    """A budget in the contract."""
    seen, cursor, links = [], None, 0
    while not seen or cursor:
        result = await visit.call("list_articles", {"cursor": cursor} if cursor else {})
        page = json.loads(result["content"][0]["text"])
        seen += [row["slug"] for row in page["items"]]
        links += sum(block["type"] == "resource_link" for block in result["content"])
        cursor = page.get("nextCursor")
    visit.check("every article once, each with its link", [len(seen), len(set(seen)), links] == [840] * 3, len(seen))
    text = (await visit.client.read_resource(f"article://{seen[7]}")).contents[0].text
    visit.check("a link leads to the article", text.startswith("# "), text[:80])
    result = await visit.call("summarize_article", {"slug": seen[7]})
    visit.check("a summary has its source", result["content"][1].get("uri") == f"article://{seen[7]}", result)
    found = await visit.told("search_articles", query="storm", limit=5)
    visit.check("a search", len(found["items"]) == 5 and found["total"] > 5, found)
    for arguments, words in (({"limit": 50}, "limit must be a whole number from 1 to 20"),
                             ({"fields": ["name"]}, "valid names are slug"), ({"cursor": "x"}, "not a cursor")):
        error = await visit.failed("list_articles", **arguments)
        visit.check(f"{list(arguments)[0]} is refused", words in error, error)
    error = await visit.failed("get_article", slug="nowhere")
    visit.check("an article that does not exist", 'unknown article "nowhere"' in error, error)


async def bugtrace(visit):
    """The response contract, over all tools."""
    note = {"why": "the nightly run"}
    tour = [("config_get", {}), ("agent_list", {}), ("workflow_list", {}), ("refactor_scan", {}), ("refactor_list", {}),
            ("bugfix_scan", {}), ("bugfix_list", {}), ("trace_get", {}), ("trace_analyze", {}),
            ("agent_run", {"agent": "reviewer"}), ("workflow_run", {"workflow": "nightly"}),
            ("guard_check", {"guard": "release"}), ("memory_store", {"key": "notes", "value": note}),
            ("memory_retrieve", {"key": "notes"}), ("memory_search", {"query": "nightly"}), ("session_status", {}),
            ("session_list", {})]
    told = {tool: await visit.told(tool, **arguments) for tool, arguments in tour}
    size = sum(len(json.dumps(answer)) for answer in told.values())
    visit.check("the whole tour is below 25 KB", size < 25 * 1024, size)
    visit.check("every answer has a summary", all(0 < len(answer["summary"]) <= 100 for answer in told.values()), told)
    scan = told["bugfix_scan"]
    visit.check("five items at most", len(scan["items"]) <= 5 and scan["hasMore"], scan)
    count = await visit.text("result_query", id=scan["artifactRef"], sql="select count(*) as n from t")
    visit.check("all findings are kept", str(scan["count"]) in count, count)
    read = (await visit.client.read_resource(scan["artifactRef"])).contents
    visit.check("the reference is a resource", len(read) == 1, read)
    for tool, arguments, words in (("trace_get", {"trace": "t999"}, "t999"), ("agent_run", {"agent": "nobody"}, "nobody"),
                                   ("bugfix_scan", {"path": "../.."}, "leads out of the tree")):
        error = json.loads(await visit.failed(tool, **arguments))
        visit.check(f"{tool} refuses", words in error["summary"] and error["success"] is False, error)


SERVERS = {"orbit": (orbit, []), "inventory": (inventory, ["--tier", "read"]), "articles": (articles, []),
           "bugtrace": (bugtrace, ["--root", str(ROOT / "crates")])}


async def visit_all(options, report):
    from mcp import Client, StdioServerParameters
    for name, (walk, arguments) in SERVERS.items():
        command = [str(options.examples / name), *arguments]
        for behind in (False, True):
            for mode in MODES:
                where = f"{name} ({mode}{', behind tidegate' if behind else ''}"
                gate = [str(options.tidegate), "run"] if behind else []
                with tempfile.TemporaryDirectory() as home:
                    environment = {**os.environ, "TIDEGATE_HOME": home}
                    started = [*gate, *(["--"] if behind else []), *command]
                    server = StdioServerParameters(command=started[0], args=started[1:], env=environment)
                    async with Client(server, mode=mode) as client:
                        await walk(Visit(client, f"{where})", report))
                listen = ["--http", "127.0.0.1:0"]
                started = [*gate, *listen, "--", *command] if behind else [*command, *listen]
                with Listener(started) as listener:
                    async with Client(listener.url, mode=mode) as client:
                        await walk(Visit(client, f"{where}, HTTP)", report))


if __name__ == "__main__":
    sys.exit(visit_with("Visits the example servers with the official Python client.",
                        ("examples", "folder of the programs"), visit_all))
