"""`run.py examples`: the example servers in front of real clients, directly and behind tidegate.

The examples keep their answers small themselves. So whatever a client's model reads of them, it reads behind
`tidegate run` too, but for names that are new each time: nothing is shaped twice.
"""
from __future__ import annotations

import re
import tempfile
from pathlib import Path

import plan as plans
import runner
from check import shorten
from clients import CLIENTS, Client
from install import RigError
from prove import environment

PLANS = runner.HERE / "example_plans"
# What is new in each run: names of kept results, tokens, cursors, times.
NEW = [
    (r"ax://[\w.-]+/[\w-]+", "<address>"),
    (r"\b[\w.-]+-[0-9a-hjkmnp-tv-z]{12}\b", "<name>"),
    (r"~~[0-9a-z]{4}\b", "<frame>"),
    (r'(Cursor\\?": ?\\?")[^"\\]+', r"\1<cursor>"),
    (r"\b[A-Za-z0-9_-]{40,}={0,2}", "<token>"),
    (r"Wall time:? [\d.]+ seconds", "<time>"),
    (r"\b\d+(\.\d+)? ?ms\b", "<time>"),
    (r"\d{4}-\d\d-\d\dT[\d:.]+Z?", "<time>"),
]
MOST_BYTES = 10_240


def run(names: list[str], cache: Path, tidegate: Path, examples: Path) -> int:
    """Runs every example with the named clients; prints what does not hold and a summary; returns the exit code."""
    found, seen = [], 0
    for plan in sorted(PLANS.glob("*.json")):
        program = examples / plan.stem
        if not program.is_file():
            raise RigError(f"{program} is not there; build it first: cargo build --release -p tidegate-example-{plan.stem}")
        for name in names:
            wrong, steps = compare(CLIENTS[name], plan, [str(program)], cache, tidegate.resolve())
            found += [f"{name} {plan.stem} {line}" for line in wrong]
            seen += steps
    print("".join(f"{line}\n" for line in found) + f"examples: {seen} answers compared, {len(found)} differ")
    return 1 if found else 0


def compare(client: Client, path: Path, server: list[str], cache: Path, tidegate: Path) -> tuple[list[str], int]:
    """Both runs of one client over one plan: what is wrong, and how many answers were compared."""
    plan, name = plans.load(path), path.stem
    ways = {"directly": server, "behind tidegate": [str(tidegate), "run", "--server", name, "--", *server]}
    records = {}
    for way, command in ways.items():
        with tempfile.TemporaryDirectory(prefix="tidegate-home-") as home:
            records[way] = runner.run(client, plan, command, cache, server=name, environment=environment(home))
    wrong = []
    for way, (head, *steps) in records.items():
        if not head["complete"]:
            wrong.append(f"{way}: {runner.gaps(head)}; {runner.last_words(head)[-300:]}")
        # Of a small answer, what is written otherwise (310.0 as 310) is not cut.
        wrong += [f"{step['label']} {way}: cut by the client" for step in steps
                  if step["truncated"] and (step["server_bytes"] or 0) > MOST_BYTES]
        wrong += [f"{step['label']} {way}: {size} bytes" for step in steps
                  if (size := len("".join(step["model_saw"]).encode())) > MOST_BYTES]
    direct, behind = ([said(step) for step in steps] for _, *steps in records.values())
    labels = [plans.label(step) for step in plan]
    wrong += [f"{label}: directly {shorten(one)!r}, behind tidegate {shorten(other)!r}"
              for label, one, other in zip(labels, direct, behind) if one != other]
    wrong += [f"{label}: the model saw nothing" for label, one in zip(labels, direct) if not one.strip()]
    return wrong, len(plan)


def said(step: dict) -> str:
    """What the model saw, without what is new in each run."""
    text = "\n".join(step["model_saw"])
    for pattern, name in NEW:
        text = re.sub(pattern, name, text)
    return text
