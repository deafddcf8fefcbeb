"""`run.py journey`: a session that moves data without reading it, and the same tasks with the views of before.

Each client plays two sessions of `journey_plans.py` on the warehouse server behind tidegate. In the first, the model reads
rows and types them again; in the second, it saves results to files, joins them, passes them on by reference, and is told
what changed. Every step is checked against the server's data. What entered the context is counted in tokens (o200k): the
server's tools as the model saw them, what the model wrote, and what it read. For clients with direct tools the second
session must cost at most half of the first. Code mode has no first session: its scripts read whole results anyway.
"""
from __future__ import annotations

import json
import os
import re
import shutil
import sys
import tempfile
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

import journey_plans as plans
import journey_server
import runner
from check import shorten
from clients import CLIENTS, Client
from install import HarnessError

sys.path.append(str(runner.HERE.parent / "interop" / "servers"))
import tokens  # the counter of the tests of real servers

SERVER = "warehouse"
NAMES = ("claude-code", "codex", "codex-code-mode", "opencode")
MAX_RATIO = 0.5
CONFIG_BEFORE = "[defaults]\ncompare = false\n"
CONFIG_NOW = "[defaults]\nsave = true\nreferences = true\n"
TOOLS = "tool definitions"


@dataclass
class Session:
    """What one session cost by task, and what was wrong with it."""

    costs: Counter[str] = field(default_factory=Counter)
    violations: list[str] = field(default_factory=list)


def run(names: list[str], cache: Path, tidegate: Path) -> int:
    """Runs the named clients, prints a table for each, the violations and a summary, and returns the exit code."""
    program = tidegate.resolve()
    if not (program.is_file() and os.access(program, os.X_OK)):
        raise HarnessError(f"{tidegate} is not a program; build it first: cargo build --release")
    counter, count = tokens.counter(program)
    violations = []
    for name in names:
        client, before = CLIENTS[name], None
        if not client.scripts:
            before = play(client, plans.BEFORE, CONFIG_BEFORE, cache, program, count)
            violations += [f"{name} before: {line}" for line in before.violations]
        now = play(client, plans.CODE_MODE if client.scripts else plans.NOW, CONFIG_NOW, cache, program, count, in_shell=True)
        violations += [f"{name} now: {line}" for line in now.violations]
        print(table(client, before and before.costs, now.costs) + "\n")
        if before and now.costs.total() > MAX_RATIO * before.costs.total():
            violations.append(f"{name}: {now.costs.total():,} tokens are more than {MAX_RATIO} of {before.costs.total():,}")
    print("".join(f"{line}\n" for line in violations)
          + f"journey: {len(names)} clients, tokens counted by {counter}, {len(violations)} violations")
    return 1 if violations else 0


def play(client: Client, steps: list[plans.Step], config: str, cache: Path, tidegate: Path,
         count: Callable[[str], int], *, in_shell: bool = False) -> Session:
    """Plays one session; `in_shell` says whether `tidegate` is on the PATH."""
    with tempfile.TemporaryDirectory(prefix="tidegate-journey-") as folder:
        orders = Path(folder) / "orders.jsonl"
        orders.touch()
        path = _search_path(Path(folder) / "bin", tidegate if in_shell else None)

        def configure(sandbox: Path, environment: dict[str, str]) -> None:
            target = sandbox / "home/.config/tidegate/tidegate.toml"
            target.parent.mkdir(parents=True, exist_ok=True)
            target.write_text(config)
            environment["PATH"] = path
            # Codex runs commands in a login shell, which sets the PATH anew.
            (sandbox / "home/.profile").write_text(f"export PATH='{path}'\n")

        command = [str(tidegate), "run", "--server", SERVER, "--", sys.executable,
                   str(runner.HERE / "journey_server.py"), str(orders)]
        environment = {name: value for name, value in os.environ.items() if not name.startswith("TIDEGATE_")}
        head, *records = runner.run(client, [step.plan for step in steps], command, cache, server=SERVER,
                                    environment={**environment, "PATH": path}, on_configured=configure)
        taken = [json.loads(line) for line in orders.read_text().splitlines()]
    session = Session()
    if not head["complete"]:
        session.violations.append(f"did not complete its plan: {runner.gaps(head)}; {runner.stderr_report(head)[-600:]}")
    session.costs[TOOLS] = sum(count(f"{tool['name']} {tool['description']} {json.dumps(tool['schema'])}")
                               for tool in head["tools"])
    for step, record in zip(steps, records):
        session.costs[step.task] += count(record["written"] or "") + sum(map(count, record["model_saw"]))
        session.violations += judge(step, record)
    session.violations += judge_taken(taken, {step.task for step in steps})
    return session


def _search_path(folder: Path, tidegate: Path | None) -> str:
    """Returns the caller's PATH with exactly this program as `tidegate`, or without one."""
    folder.mkdir()
    others = [place for place in os.environ["PATH"].split(os.pathsep) if not shutil.which("tidegate", path=place)]
    if tidegate:
        (folder / "tidegate").symlink_to(tidegate)
    return os.pathsep.join([str(folder), *others])


def judge(step: plans.Step, record: dict) -> list[str]:
    """Returns what is wrong with what the model read in one step."""
    text = "\n".join(record["model_saw"])
    found = [f"does not show {pattern}" for pattern in step.shows if not re.search(pattern, text)]
    found += [f"shows {pattern}" for pattern in step.lacks if re.search(pattern, text)]
    found += ["is an error"] if record["is_error"] or record["server_error"] else []
    found += ["was cut by the client"] if record["truncated"] else []
    more = f" and {len(found) - 1} more" if len(found) > 1 else ""
    return [f"{step.label}: {found[0]}{more}; the model saw {shorten(text)!r}"] if found else []


def judge_taken(taken: list[dict], tasks: set[str]) -> list[str]:
    """Returns what is wrong with the rows that the server received."""
    parts = journey_server.parts()
    expected = {"order": {"tool": "order_parts", "rows": plans.ORDER},
                "label": {"tool": "print_labels", "rows": parts, "title": parts[-1]["name"]}}
    wanted = [call for task, call in expected.items() if task in tasks]
    return [] if taken == wanted else [
        f"the server received {shorten(json.dumps(taken))}, and should have received {shorten(json.dumps(wanted))}"]


def table(client: Client, before: Counter[str] | None, now: Counter[str]) -> str:
    """Returns the tokens of both sessions by task as a Markdown table."""
    lines = [f"| {client.name} {client.version} | tokens before | tokens now | ratio |", "|---|---:|---:|---:|"]
    for task in [*now, "session"]:
        one, other = (None if costs is None else costs.total() if task == "session" else costs.get(task)
                      for costs in (before, now))
        ratio = f"{other / one:.2f}" if one else "-"
        lines.append(f"| {task} | {'-' if one is None else format(one, ',')} | {other:,} | {ratio} |")
    return "\n".join(lines)
