"""`run.py gateway`: runs every client on `tidegate gateway` with three servers behind it.

    probe       results of every shape, a process for each session
    warehouse   large lists, a process for each session
    partners    the same program over HTTP: its tools have the names of those of the warehouse

Each client connects over HTTP and sends a key. All tools must be offered under `server__tool`, a small result must reach
the model as it is and large ones as overviews, and follow-ups must answer: also one that joins what two servers returned.
"""
from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import journey
import journey_plans as plans
import journey_server
import probe_server
import runner
from clients import CLIENTS, Client
from followups import QUERY
from install import HarnessError

sys.path.append(str(runner.HERE.parent / "interop"))
from listeners import Listener, ListenerError

SERVER = "gate"
MAX_BYTES = 10_240
ANY_PORT = "127.0.0.1:0"
WAREHOUSE = [sys.executable, str(runner.HERE / "journey_server.py")]
PROBE = [sys.executable, str(runner.HERE / "probe_server.py")]
TOOLS = {
    "probe": [tool["name"] for tool in probe_server.definitions()],
    "warehouse": [tool["name"] for tool in journey_server.TOOLS],
    "partners": [tool["name"] for tool in journey_server.TOOLS],
}

Step = plans.Step
JOINED = plans.join("{handle:parts}", "{handle:suppliers}")
DIRECT = [
    Step("small", "small", "probe__echo", {"value": "SMALL-MARK"}, (r"SMALL-MARK",), ("Complete result",)),
    Step("text", "text", "probe__text_60k", shows=('Complete result: "', r"(?m)^next: result_query ")),
    Step("text", "lines", QUERY, {"id": "{handle:text}", "grep": "line 000777"}, ("line 000777",), ("line 000776",)),
    Step("text", "next", QUERY, "{next:text}", (r"\b000001\b",)),
    Step("join", "parts", "warehouse__list_parts", shows=("5,000 rows", "Complete result: ")),
    Step("join", "suppliers", "partners__get_suppliers", shows=("240 rows", "Complete result: ")),
    Step("join", "join", QUERY, JOINED, plans.shown_values()),
    Step("order", "order", "partners__order_parts", {"rows": plans.ORDER}, plans.ORDERED),
]

JOIN_SCRIPT = f"""{plans.NAME}
const joined = await tools.mcp__{SERVER}__{QUERY}({{id: name("list_parts"), sql: `{
    plans.join("", '${name("get_suppliers")}')["sql"]}`}});
text(joined.content[0].text);"""
CODE_MODE = [
    Step("small", "small", "probe__echo", {"value": "SMALL-MARK"}, (r"SMALL-MARK",)),
    Step("text", "text", "probe__text_60k", shows=("(?m)^60000$",), script="text(result.content[0].text.length);"),
    Step("join", "parts", "warehouse__list_parts", shows=("(?m)^5000$",), script=plans.PRINT_COUNT),
    Step("join", "suppliers", "partners__get_suppliers", shows=("(?m)^240$",), script=plans.PRINT_COUNT),
    Step("join", "join", QUERY, shows=plans.shown_values(), script=JOIN_SCRIPT),
    Step("order", "order", "partners__order_parts", {"rows": plans.ORDER}, plans.ORDERED),
]


def run(names: list[str], cache: Path, tidegate: Path) -> int:
    """Runs the named clients, prints the violations and a summary, and returns the exit code."""
    program = tidegate.resolve()
    if not (program.is_file() and os.access(program, os.X_OK)):
        raise HarnessError(f"{tidegate} is not a program; build it first: cargo build --release --features gateway")
    violations, results = [], 0
    try:
        with tempfile.TemporaryDirectory(prefix="tidegate-gateway-") as folder, serving(program, Path(folder)) as endpoint:
            for name in names:
                found, seen = prove(CLIENTS[name], endpoint, cache)
                violations += [f"{name}: {line}" for line in found]
                results += seen
    except ListenerError as error:
        raise HarnessError(f"the gateway or a server behind it: {error}") from None
    print("".join(f"{line}\n" for line in violations)
          + f"gateway: {len(names)} clients, {results} results, {len(violations)} violations")
    return 1 if violations else 0


@contextmanager
def serving(tidegate: Path, folder: Path) -> Iterator[runner.Endpoint]:
    """Runs the gateway and the server over HTTP until the block ends; yields how a client reaches it."""
    with Listener([str(tidegate), "run", "--observe", "--http", ANY_PORT, "--", *WAREHOUSE]) as partners:
        made = subprocess.run([tidegate, "gateway", "key", "tester"], capture_output=True, text=True, stdin=subprocess.DEVNULL)
        if made.returncode != 0:
            raise HarnessError(f"tidegate gateway key: {made.stderr.strip()}")
        key, _, section = made.stdout.partition("\n")
        config = folder / "gateway.toml"
        config.write_text("\n".join([
            section, upstream("probe", PROBE), upstream("warehouse", WAREHOUSE), f'[upstream.partners]\nurl = "{partners.url}"\n',
        ]))
        with Listener([str(tidegate), "gateway", "--config", str(config), "--http", ANY_PORT]) as gateway:
            yield runner.Endpoint(gateway.url, {"Authorization": f"Bearer {key}"})
            gateway.stop()


def upstream(name: str, command: list[str]) -> str:
    """Returns the section of a server that is a command."""
    return f"[upstream.{name}]\ncommand = {json.dumps(command[0])}\nargs = {json.dumps(command[1:])}\n"


def prove(client: Client, endpoint: runner.Endpoint, cache: Path) -> tuple[list[str], int]:
    """Runs one client; returns the violations, and how many results it saw."""
    steps = CODE_MODE if client.scripts else DIRECT
    head, *records = runner.run(client, [step.plan for step in steps], endpoint, cache, server=SERVER)
    print(f"{client.name} {client.version}: {head['seconds']} s", file=sys.stderr)
    found = [] if head["complete"] else [
        f"did not complete its plan: {runner.gaps(head)}; {runner.stderr_report(head)[-600:]}"]
    if not head["tools"]:
        return found, 0
    found += tool_list(client, head)
    for step, record in zip(steps, records):
        found += journey.judge(step, record)
        if not client.scripts and (record["server_bytes"] or 0) > MAX_BYTES:
            found.append(f"{step.label}: the result has {record['server_bytes']:,} bytes, the budget is {MAX_BYTES:,}")
    return found, len(records)


def tool_list(client: Client, head: dict) -> list[str]:
    """Returns what is wrong with the tools: the client must get all of every server, and `result_query` once."""
    expected = {f"{server}__{tool}" for server, tools in TOOLS.items() for tool in tools} | {QUERY}
    listed = Counter(head["tools_listed"])
    found = [f"{name} is listed {count} times" for name, count in listed.items() if count > 1]
    found += [f"{name} is not listed" for name in expected - listed.keys()]
    found += [f"{name} is listed, and no server has it" for name in listed.keys() - expected]
    offered = {tool["name"]: tool for tool in head["tools"]}
    # Of deferred tools the model sees those that it loaded.
    if not any(tool["deferred"] for tool in offered.values()):
        found += [f"{name} is not offered" for name in expected if client.tool_name(SERVER, name) not in offered]
    query = offered.get(client.tool_name(SERVER, QUERY))
    if query and client.loads_upfront and query["deferred"]:
        found.append(f"{QUERY} is deferred, so a model has to search for it first")
    return found
