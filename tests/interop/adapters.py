#!/usr/bin/env python3
"""Checks the adapters for servers in Python and TypeScript with the official Python client.

    python3 tests/interop/adapters.py --adapters PATH --tidegate PATH [--cache DIR]

PATH is the folder `adapters`. The example servers are called in both eras of the protocol, as far as their SDKs have both.
The exit code is 1 if a check fails.
"""
import json
import os
import signal
import sys
import tempfile
from pathlib import Path

from checked_client import MODES, CheckedClient, run_script
from install import install

ITEMS = 430


async def shop(server):
    """Every style, the follow-ups, and what passes."""
    tools = {tool.name for tool in (await server.client.list_tools()).tools}
    wanted = {"inventory.list_all", "sales_list", "export", "report", "count", "result_query"}
    server.check("the tools and ours", tools == wanted, tools)
    server.check("a small result passes", await server.text("count") == str(ITEMS))
    await server.probe("inventory.list_all", ITEMS)
    sales = await server.answer("sales_list")
    server.check("the contract", [len(sales["items"]), sales["hasMore"]] == [10, True], sales)
    server.check("the reference", sales["artifactRef"].startswith("ax://sales/"), sales)
    rest = await server.text("result_query", id=sales["artifactRef"], path="/429/label")
    server.check("what the contract left out can be read", "Widget 430" in rest, rest)
    overview = await server.text("export")
    server.check("an overview", "4,300 rows" in overview and len(overview) < 6000, overview)
    name = overview.split('result: "')[1].split('"')[0]
    last = await server.text("result_query", id=name, path="/4299/product/name")
    server.check("any part can be read", "Widget 430" in last, last)
    listed = [str(resource.uri) for resource in (await server.client.list_resources()).resources]
    server.check("what is kept is listed", any(name.split("-")[-1] in uri for uri in listed), listed)
    over = await server.answer("report")
    server.check("the budget", [over["error"], over["tool"], over["budget"]] == ["OUTPUT_BUDGET_EXCEEDED", "report", 1000], over)
    server.check("tokens are counted", 5000 < over["tokens"] < 12000, over)
    missing = await server.error("result_query", id="export-0000000000zz", page=1)
    server.check("a wrong id is refused", "export-0000000000zz" in missing, missing)
    wrong = await server.error("inventory.list_all", continuation_token="abc")
    server.check("a wrong token is refused", "expired or not found" in wrong, wrong)


def servers(options):
    """The command of each example server, with the eras that it serves."""
    toolchain = install(options.cache)
    python = [str(toolchain.python), str(options.adapters / "python" / "examples" / "shop.py")]
    node, examples = str(toolchain.node), options.adapters / "typescript" / "examples"
    return {
        "Python, official SDK": ([*python, "server"], MODES),
        "Python, FastMCP": ([*python, "fastmcp"], MODES),
        "TypeScript": ([node, str(examples / "shop.mjs")], MODES),
        "TypeScript, first SDK": ([node, str(examples / "shop-v1.mjs")], ("legacy",)),
    }


def node_modules(options, folder):
    """A folder in which Node finds the SDKs and the adapter by their names."""
    toolchain = install(options.cache)
    modules = Path(folder) / "node_modules"
    modules.mkdir()
    for package in (toolchain.js / "node_modules").iterdir():
        (modules / package.name).symlink_to(package)
    (modules / "tidegate").symlink_to((options.adapters / "typescript").resolve())
    for example in (options.adapters / "typescript" / "examples").iterdir():
        (Path(folder) / example.name).write_text(example.read_text())
    return folder


def kill_children(program):
    """Kills the tidegate children of the servers that this script started."""
    for process in Path("/proc").iterdir():
        try:
            if (process / "exe").resolve() == program and has_ancestor(int(process.name), os.getpid()):
                os.kill(int(process.name), signal.SIGKILL)
        except (OSError, ValueError):
            continue


def has_ancestor(process, wanted):
    while process > 1 and process != wanted:
        process = int(Path(f"/proc/{process}/stat").read_text().rsplit(")", 1)[1].split()[1])
    return process == wanted


async def lost_child(server, program):
    """A child that is killed is started again; what a tool returned meanwhile is not lost."""
    kill_children(program)
    overview = await server.text("export")
    server.check("after the child was killed", "4,300 rows" in overview, overview)


async def check_all(options, report):
    from mcp import Client, StdioServerParameters
    with tempfile.TemporaryDirectory() as folder:
        node_modules(options, folder)
        for name, (command, modes) in servers(options).items():
            if command[1].endswith(".mjs"):
                command = [command[0], str(Path(folder) / Path(command[1]).name)]
            for mode in modes:
                with tempfile.TemporaryDirectory() as home:
                    path = str((options.adapters / "python" / "src").resolve())
                    environment = {**os.environ, "TIDEGATE_HOME": home, "PYTHONPATH": path,
                                   "TIDEGATE_PROGRAM": str(options.tidegate.resolve())}
                    server = StdioServerParameters(command=command[0], args=command[1:], env=environment)
                    async with Client(server, mode=mode) as client:
                        checked = CheckedClient(client, f"{name} ({mode})", report)
                        await shop(checked)
                        await lost_child(checked, options.tidegate.resolve())
                    kept = [entry for entry in Path(home).rglob("*") if entry.is_file()]
                    report.check(f"{name} ({mode})", "results are kept in the user's store", "" if kept else "nothing there")


if __name__ == "__main__":
    sys.exit(run_script("Checks the adapters for Python and TypeScript with the official Python client.",
                        ("adapters", "the folder `adapters`"), check_all))
