#!/usr/bin/env python3
"""Checks the adapters for servers in Python and TypeScript with the official Python client.

    python3 tests/interop/adapters.py --adapters PATH --tidegate PATH [--cache DIR]

PATH is the folder `adapters`. The example servers and the servers in the README files are called in both eras of the
protocol, as far as their SDKs have both. The examples of the four conventions get the same visits as those in Rust
(conventions.py), over stdio, behind tidegate and over HTTP. The exit code is 1 if a check fails.
"""
import json
import os
import re
import signal
import socket
import subprocess
import sys
import tempfile
import time
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from checked_client import MODES, PROBE_FIELDS, CheckedClient, run_script
from conventions import VISITS, visit
from install import install

ITEMS = 430
START_SECONDS = 30


@dataclass(frozen=True)
class Sdk:
    """An SDK that has an adapter: how its examples are started, and the eras that it serves."""

    name: str
    shop: list[str]
    conventions: list[str]
    """Started with the name of a convention after the first two words."""
    modes: tuple[str, ...] = MODES
    http: bool = True
    """Whether a port after the last word makes the examples listen."""

    def convention(self, name):
        return [*self.conventions[:2], name, *self.conventions[2:]]


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


async def wrapped_whole(server):
    """The whole tool result, not only its text, is within the limit of the contract."""
    result = await server.call("bugfix_scan", {"count": 150})
    size = len(json.dumps(result, separators=(",", ":")).encode())
    server.check("the tool result has at most 10 KB", size <= 10_240 and "structuredContent" not in result, size)
    trace = await server.answer("trace_get", count=40)
    events = await server.answer("artifact_get", reference=trace["artifactRef"])
    server.check("a tool reads what it stored", [len(events), events[39]["at"]] == [40, 39], events)


async def minimal(server):
    """The server of a README."""
    probe = await server.answer("list_all")
    server.check("the README's tool answers with a probe", set(probe) == PROBE_FIELDS, list(probe))
    page = await server.answer("list_all", continuation_token=probe["continuation_token"], mode="paginated", page=1)
    server.check("its pages have 25 items", len(page["items"]) == 25, page)
    tools = {tool.name for tool in (await server.client.list_tools()).tools}
    server.check("the README's tool and ours", tools == {"list_all", "result_query"}, tools)


def sdks(options, folder):
    """The SDKs, with the examples in a folder in which Node finds the packages."""
    toolchain = install(options.cache)
    python, node = str(toolchain.python), str(toolchain.node)
    examples = options.adapters.resolve() / "python" / "examples"
    shop_py, conventions_py = str(examples / "shop.py"), str(examples / "conventions.py")
    shop_js, shop_v1, conventions_js = (str(folder / name) for name in ("shop.mjs", "shop-v1.mjs", "conventions.mjs"))
    return [
        Sdk("Python, official SDK", [python, shop_py, "server"], [python, conventions_py, "server"]),
        Sdk("Python, FastMCP", [python, shop_py, "fastmcp"], [python, conventions_py, "fastmcp"]),
        Sdk("TypeScript", [node, shop_js], [node, conventions_js, "v2"]),
        Sdk("TypeScript, first SDK", [node, shop_v1], [node, conventions_js, "v1"], ("legacy",), http=False),
    ]


def readmes(options, folder):
    """The command of the server in each README, which is the first block of code."""
    toolchain = install(options.cache)
    for language, program, suffix in (("python", toolchain.python, "py"), ("typescript", toolchain.node, "mjs")):
        text = (options.adapters / language / "README.md").read_text()
        source = folder / f"readme_{language}.{suffix}"
        source.write_text(re.search(r"```(?:python|js)\n(.*?)```", text, re.DOTALL)[1])
        yield f"README, {language}", [str(program), str(source)]


def node_modules(options, folder):
    """Fills a folder in which Node finds the SDKs and the adapter by their names."""
    modules = folder / "node_modules"
    modules.mkdir()
    for package in (install(options.cache).js / "node_modules").iterdir():
        (modules / package.name).symlink_to(package)
    (modules / "tidegate").symlink_to((options.adapters / "typescript").resolve())
    for example in (options.adapters / "typescript" / "examples").iterdir():
        (folder / example.name).write_text(example.read_text())


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


async def without_program(command, environment, title, report):
    """Without the program the client gets an error that says what to do."""
    from mcp import Client, StdioServerParameters
    nowhere = {name: value for name, value in environment.items() if name != "TIDEGATE_PROGRAM"}
    with tempfile.TemporaryDirectory() as empty:
        server = StdioServerParameters(command=command[0], args=command[1:], env={**nowhere, "PATH": empty})
        try:
            async with Client(server, mode="legacy") as client:
                said = str(await client.list_tools())
        except Exception as error:
            said = "; ".join(messages(error))
    wanted = "cannot start tidegate", "install tidegate, or set TIDEGATE_PROGRAM"
    report.check(title, "without the program there is an error that says so", "" if all(part in said for part in wanted) else said)


@contextmanager
def listening(command, environment):
    """Runs a server that listens on a free port of 127.0.0.1; gives its URL."""
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    nothing = subprocess.DEVNULL
    process = subprocess.Popen([*command, str(port)], env=environment, stdin=nothing, stdout=nothing, stderr=nothing)
    try:
        deadline = time.monotonic() + START_SECONDS
        while not accepts(port):
            if process.poll() is not None or time.monotonic() > deadline:
                raise RuntimeError(f"{' '.join(command)} does not listen")
            time.sleep(0.05)
        yield f"http://127.0.0.1:{port}/mcp"
    finally:
        process.terminate()
        process.wait()


def accepts(port):
    try:
        socket.create_connection(("127.0.0.1", port), 1).close()
    except OSError:
        return False
    return True


def messages(error):
    """The messages of an error, and of those in it."""
    yield str(error)
    for inner in getattr(error, "exceptions", ()):
        yield from messages(inner)


async def check_all(options, report):
    from mcp import Client, StdioServerParameters
    options.tidegate = options.tidegate.resolve()
    with tempfile.TemporaryDirectory() as made:
        folder = Path(made)
        node_modules(options, folder)
        common = {"PYTHONPATH": str((options.adapters / "python" / "src").resolve()), "TIDEGATE_PROGRAM": str(options.tidegate)}

        async def visited(command, mode, title, *checks):
            with tempfile.TemporaryDirectory() as home:
                environment = {**os.environ, **common, "TIDEGATE_HOME": home}
                server = StdioServerParameters(command=command[0], args=command[1:], env=environment)
                async with Client(server, mode=mode) as client:
                    for check in checks:
                        await check(CheckedClient(client, f"{title} ({mode})", report))
                kept = [entry for entry in Path(home).rglob("*") if entry.is_file()]
                report.check(f"{title} ({mode})", "results are kept in the user's store", "" if kept else "nothing there")

        async def killed(server):
            await lost_child(server, options.tidegate)

        async def visited_over_http(sdk, name):
            with tempfile.TemporaryDirectory() as home:
                environment = {**os.environ, **common, "TIDEGATE_HOME": home}
                for mode in sdk.modes:
                    with listening(sdk.convention(name), environment) as url:
                        async with Client(url, mode=mode) as client:
                            await VISITS[name](CheckedClient(client, f"{sdk.name}, {name} ({mode}, HTTP)", report))

        for title, command in readmes(options, folder):
            for mode in MODES:
                await visited(command, mode, title, minimal)
            await without_program(command, {**os.environ, **common}, title, report)
        for sdk in sdks(options, folder):
            for mode in sdk.modes:
                await visited(sdk.shop, mode, sdk.name, shop, killed)
                await visited(sdk.convention("bugs"), mode, f"{sdk.name}, bugs", wrapped_whole)
            for name in VISITS:
                await visit(name, sdk.convention(name), options, report,
                            title=f"{sdk.name}, {name}", modes=sdk.modes, environment=common)
                if sdk.http:
                    await visited_over_http(sdk, name)


if __name__ == "__main__":
    sys.exit(run_script("Checks the adapters for Python and TypeScript with the official Python client.",
                        ("adapters", "the folder `adapters`"), check_all))
