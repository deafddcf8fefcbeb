"""Plans: a list of steps, and each step as the call that a client's model makes.

    {"tool": "get_log", "label": "log", "arguments": {"job": 7}}
    {"tool": "result_query", "label": "log_tail", "arguments": {"id": "{handle:log}", "lines": "900-950"}}
    {"tool": "get_log", "label": "log_in_script", "script": "text(result.content[0].text.length);"}

`label` defaults to the tool's name. `mocks/handles.py` documents the placeholders.
"""
from __future__ import annotations

import json
from pathlib import Path

from clients import Client
from install import HarnessError
from mocks import handles
from mocks.scripted import Call

STEP_KEYS = {"tool", "label", "arguments", "script"}


def load(path: Path) -> list[dict]:
    """Reads a plan; an invalid step is an error that names it."""
    try:
        steps = json.loads(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise HarnessError(f"cannot read the plan {path}: {error.strerror}") from None
    except ValueError as error:
        raise HarnessError(f"the plan {path} is not JSON: {error}") from None
    if not isinstance(steps, list):
        raise HarnessError(f"the plan {path} is not a list of steps")
    for index, step in enumerate(steps):
        mistake = _mistake(step, {label(earlier) for earlier in steps[:index]})
        if mistake:
            raise HarnessError(f"step {index + 1} of {path} {mistake}")
    return steps


def _mistake(step, earlier: set[str]) -> str | None:
    if not isinstance(step, dict) or not isinstance(step.get("tool"), str):
        return 'needs a "tool"'
    unknown = sorted(step.keys() - STEP_KEYS)
    if unknown:
        return f"has unknown keys: {', '.join(unknown)}; allowed are {', '.join(sorted(STEP_KEYS))}"
    missing = sorted(handles.labels(step.get("arguments", {})) - earlier)
    if missing:
        return f"refers to {', '.join(missing)}, but no earlier step has that label"
    return None


def label(step: dict) -> str:
    return step.get("label", step["tool"])


def call_id(index: int) -> str:
    """Returns the id of the call that plays a step."""
    return f"call_{index:03d}"


def calls(client: Client, server: str, plan: list[dict]) -> list[Call]:
    """Returns the plan as calls of this client's model, without the steps the client cannot play."""
    made = []
    for index, step in enumerate(plan):
        named = client.call(server, step["tool"], step.get("arguments", {}))
        if named and _can_play(client, step):
            made.append(Call(call_id(index), *named, script=step.get("script"), label=label(step)))
    return made


def _can_play(client: Client, step: dict) -> bool:
    """Returns whether the client can play a step. A client that runs scripts gets whole results, and so no handles."""
    if client.scripts:
        return not handles.labels(step.get("arguments", {}))
    return "script" not in step
