"""`run.py check`: runs every client on the probe server and compares with facts.json.

A fact is what one client showed its model for one result shape. What differs from run to run (folders, ids, times) is
replaced by a name in angle brackets, and long blocks are cut to their beginning and end.
"""
from __future__ import annotations

import json
import re
import sys
from pathlib import Path

import plan as plans
import runner
from clients import CLIENTS, READ_RESOURCE
from mocks.scripted import IMAGE

FACTS = runner.HERE / "facts.json"
PLAN = runner.HERE / "probe_plan.json"
PROBE = [sys.executable, str(runner.HERE / "probe_server.py")]
HEAD_CHARS, TAIL_CHARS = 140, 80
VOLATILE = [
    (r"[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}", "<uuid>"),
    (r"\b\d{13}\b(-[0-9a-z]{6}\b)?", "<time>"),
    (r"\btool_[0-9a-zA-Z]{20,}", "<id>"),
    (r"(Wall time:?) [\d.]+ seconds", r"\1 <n> seconds"),
]


def run(names: list[str], cache: Path, *, write: bool) -> int:
    """Runs the named clients, prints the table and the differences, and returns the exit code."""
    known = json.loads(FACTS.read_text(encoding="utf-8")) if FACTS.exists() else {}
    plan = plans.load(PLAN)
    seen, failed = {}, []
    for name in names:
        head, *steps = runner.run(CLIENTS[name], plan, PROBE, cache)
        seen[name] = facts(head, steps)
        print(f"{name} {head['version']}: {head['seconds']} s, exit code {head['exit_code']}", file=sys.stderr)
        if not head["complete"]:
            failed.append(f"\n{name} did not complete its plan: {runner.gaps(head)}\n{runner.stderr_report(head)}")
    print(table({name: {label: verdict(fact) for label, fact in client["shapes"].items()}
                 for name, client in seen.items()}))
    if write and not failed:
        FACTS.write_text(layout({**known, **seen}), encoding="utf-8")
        return 0
    failed += [line for name in names for line in compare(name, known.get(name, {}), seen[name])]
    print("\n".join(failed) or f"\nall facts hold for {', '.join(names)}")
    return 1 if failed else 0


def facts(head: dict, steps: list[dict]) -> dict:
    """Returns the part of a run that should be the same next time."""
    home = head["home"]
    return {
        "run": {
            "version": head["version"], "protocol_offered": head["protocol_offered"],
            "client_name": (head["client_info"] or {}).get("name"), "methods": head["methods"],
            "call_meta": {key: meta(value, home) for key, value in (head["call_meta"] or {}).items()},
            "instructions_seen": head["instructions_seen"], "tools_seen": len(head["tools"]),
            "tools_deferred": sum(tool["deferred"] for tool in head["tools"]), "tools_chars": head["tools_chars"],
            "refused_hosts": head["refused_hosts"],
            "echo_tool": next((tool for tool in head["tools"] if tool["name"].endswith("echo")), None),
        },
        "shapes": {step["label"]: {
            "offered": step["offered"], "reached": step["reached"],
            "truncated": step["truncated"], "is_error": step["is_error"],
            "chars": sum(len(stable(block, home)) for block in step["model_saw"] if not block.startswith(IMAGE)),
            "saw": [shorten(stable(block, home)) for block in step["model_saw"]],
            **received(step),
        } for step in steps},
    }


def received(step: dict) -> dict:
    """Returns what reached the server of a call with arguments; null if the client refused the call."""
    if not step["arguments"] or step["tool"] == READ_RESOURCE:
        return {}
    return {"received": (step["sent"] or {}).get("arguments")}


def stable(text: str, home: str) -> str:
    """Returns the text without what differs from run to run."""
    for folder, name in ((home, "<home>"), (str(Path(home).parent / "work"), "<work>")):
        text = text.replace(folder, name).replace(re.sub(r"[^A-Za-z0-9]", "-", folder), name)
    for pattern, name in VOLATILE:
        text = re.sub(pattern, name, text)
    return text


def meta(value, home: str):
    """Returns the stable part of a `_meta` value; of an object, its keys."""
    return sorted(value) if isinstance(value, dict) else stable(str(value), home)


def shorten(text: str) -> str:
    """Returns the beginning and the end of a long text, and how much is between them."""
    if len(text) <= HEAD_CHARS + TAIL_CHARS:
        return text
    return f"{text[:HEAD_CHARS]} <{len(text) - HEAD_CHARS - TAIL_CHARS} more> {text[-TAIL_CHARS:]}"


def compare(name: str, known: dict, seen: dict) -> list[str]:
    """Returns the differences between the recorded facts and those observed."""
    lines = []
    for section in ("run", "shapes"):
        before, after = known.get(section, {}), seen[section]
        for key in dict.fromkeys([*before, *after]):
            if before.get(key) != after.get(key):
                lines.append(f"\n{name} {key}\n  fact: {json.dumps(before.get(key), ensure_ascii=False)}"
                             f"\n  seen: {json.dumps(after.get(key), ensure_ascii=False)}")
    return lines


def verdict(fact: dict) -> str:
    """Returns one table cell: which parts reached the model."""
    if not fact["offered"]:
        return "-"
    if fact.get("received", {}) is None:
        return "not sent"
    words = "+".join(fact["reached"]) or ("other text" if any(fact["saw"]) else "nothing")
    if fact["truncated"]:
        words = f"cut to {fact['chars']:,}"
    return ("error: " if fact["is_error"] else "") + words


def table(cells: dict[str, dict[str, str]]) -> str:
    """Returns a table of shapes by client; `cells` has one cell per client and shape."""
    labels = dict.fromkeys(label for column in cells.values() for label in column)
    rows = [["shape", *cells]] + [[label, *(column.get(label, "") for column in cells.values())] for label in labels]
    widths = [max(map(len, column)) for column in zip(*rows)]
    return "\n".join("  ".join(cell.ljust(width) for cell, width in zip(row, widths)).rstrip() for row in rows)


def layout(value, depth: int = 0) -> str:
    """Returns the text of facts.json: three levels of keys (client, section, fact), one line per fact."""
    if depth == 3:
        return json.dumps(value, ensure_ascii=False)
    indent = "  " * depth
    inner = ",\n".join(f"{indent}  {json.dumps(key)}: {layout(item, depth + 1)}" for key, item in value.items())
    return f"{{\n{inner}\n{indent}}}" + ("\n" if depth == 0 else "")
