"""`run.py examples`: runs real clients on the example servers, directly and behind tidegate.

The examples keep their answers small, so a client's model must read the same text behind `tidegate run`, except for
names that are new each time: nothing is shaped twice.
"""
from __future__ import annotations

import re
import tempfile
from pathlib import Path

import plan as plans
import runner
from check import shorten
from clients import CLIENTS, Client
from install import HarnessError
from prove import environment

PLANS = runner.HERE / "example_plans"
# What differs from run to run: names of kept results, tokens, cursors, times.
VOLATILE = [
    (r"ax://[\w.-]+/[\w-]+", "<address>"),
    (r"\b[\w.-]+-[0-9a-hjkmnp-tv-z]{12}\b", "<name>"),
    (r"~~[0-9a-z]{4}\b", "<frame>"),
    # A random name costs more or fewer tokens, so that a line more or less of an overview fits.
    (r"(?s)Below <frame>.*<frame>", "<overview>"),
    (r'(Cursor\\?": ?\\?")[^"\\]+', r"\1<cursor>"),
    (r"\b[A-Za-z0-9_-]{40,}={0,2}", "<token>"),
    (r"Wall time:? [\d.]+ seconds", "<time>"),
    (r"\b\d+(\.\d+)? ?ms\b", "<time>"),
    (r"\d{4}-\d\d-\d\dT[\d:.]+Z?", "<time>"),
]
MAX_BYTES = 10_240


def run(names: list[str], cache: Path, tidegate: Path, examples: Path) -> int:
    """Runs every example with the named clients, prints the differences and a summary, and returns the exit code."""
    found, seen = [], 0
    for plan in sorted(PLANS.glob("*.json")):
        program = examples / plan.stem
        if not program.is_file():
            raise HarnessError(f"{program} does not exist; build it first: cargo build --release -p tidegate-example-{plan.stem}")
        for name in names:
            wrong, steps = compare(CLIENTS[name], plan, [str(program)], cache, tidegate.resolve())
            found += [f"{name} {plan.stem} {line}" for line in wrong]
            seen += steps
    print("".join(f"{line}\n" for line in found) + f"examples: {seen} answers compared, {len(found)} differ")
    return 1 if found else 0


def compare(client: Client, path: Path, server: list[str], cache: Path, tidegate: Path) -> tuple[list[str], int]:
    """Runs one client twice over one plan; returns the problems and how many answers were compared."""
    plan, name = plans.load(path), path.stem
    commands = {"directly": server, "behind tidegate": [str(tidegate), "run", "--server", name, "--", *server]}
    records = {}
    for title, command in commands.items():
        with tempfile.TemporaryDirectory(prefix="tidegate-home-") as home:
            records[title] = runner.run(client, plan, command, cache, server=name, environment=environment(home))
    wrong = []
    for title, (head, *steps) in records.items():
        if not head["complete"]:
            wrong.append(f"{title}: {runner.gaps(head)}; {runner.stderr_report(head)[-300:]}")
        # A small answer may only be formatted differently (310.0 as 310), which is not a cut.
        wrong += [f"{step['label']} {title}: cut by the client" for step in steps
                  if step["truncated"] and (step["server_bytes"] or 0) > MAX_BYTES]
        wrong += [f"{step['label']} {title}: {size} bytes" for step in steps
                  if (size := len("".join(step["model_saw"]).encode())) > MAX_BYTES]
    direct, behind = ([normalized(step) for step in steps] for _, *steps in records.values())
    labels = [plans.label(step) for step in plan]
    wrong += [f"{label}: directly {shorten(one)!r}, behind tidegate {shorten(other)!r}"
              for label, one, other in zip(labels, direct, behind) if one != other]
    wrong += [f"{label}: the model saw nothing" for label, one in zip(labels, direct) if not one.strip()]
    return wrong, len(plan)


def normalized(step: dict) -> str:
    """Returns what the model saw, without what differs from run to run."""
    text = "\n".join(step["model_saw"])
    for pattern, name in VOLATILE:
        text = re.sub(pattern, name, text)
    return text
