"""Plans: a list of steps, and each step as the call a client's model would make.

    {"tool": "get_log", "label": "log", "arguments": {"job": 7}}
    {"tool": "result_query", "label": "log_tail", "arguments": {"id": "{handle:log}", "lines": "900-950"}}
    {"tool": "get_log", "label": "log_in_script", "script": "text(result.content[0].text.length);"}

`label` defaults to the tool's name. `mocks/handles.py` says what the placeholders mean.
"""
from __future__ import annotations

import json
from pathlib import Path

from clients import Client
from install import RigError
from mocks import handles
from mocks.scripted import Call

KEYS = {"tool", "label", "arguments", "script"}


def load(path: Path) -> list[dict]:
    """Reads a plan; a mistake in it is an error that names the step."""
    try:
        steps = json.loads(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise RigError(f"cannot read the plan {path}: {error.strerror}") from None
    except ValueError as error:
        raise RigError(f"the plan {path} is not JSON: {error}") from None
    if not isinstance(steps, list):
        raise RigError(f"the plan {path} is not a list of steps")
    for index, step in enumerate(steps):
        mistake = _mistake(step, {label(earlier) for earlier in steps[:index]})
        if mistake:
            raise RigError(f"step {index + 1} of {path} {mistake}")
    return steps


def _mistake(step, earlier: set[str]) -> str | None:
    if not isinstance(step, dict) or not isinstance(step.get("tool"), str):
        return 'needs a "tool"'
    unknown = sorted(step.keys() - KEYS)
    if unknown:
        return f"has unknown keys: {', '.join(unknown)}; known are {', '.join(sorted(KEYS))}"
    missing = sorted(handles.labels(step.get("arguments", {})) - earlier)
    if missing:
        return f"refers to {', '.join(missing)}, which is the label of no earlier step"
    return None


def label(step: dict) -> str:
    return step.get("label", step["tool"])


def call_id(index: int) -> str:
    """The id of the call that plays a step."""
    return f"call_{index:03d}"


def calls(client: Client, server: str, plan: list[dict]) -> list[Call]:
    """The plan as this client's model would play it; steps the client cannot play are left out."""
    made = []
    for index, step in enumerate(plan):
        named = client.call(server, step["tool"], step.get("arguments", {}))
        if named and _can_play(client, step):
            made.append(Call(call_id(index), *named, script=step.get("script"), label=label(step)))
    return made


def _can_play(client: Client, step: dict) -> bool:
    """Scripts need a client that runs them. Such a client gets whole results, so it is told no handles."""
    if client.scripts:
        return not handles.labels(step.get("arguments", {}))
    return "script" not in step
