"""The rules of `run.py prove`: what must hold with tidegate between a client and the probe server.

Each function compares the records of a run through tidegate with those of a direct run, adds a cell to the table, and
adds a line to `violations` for every broken rule.
"""
from __future__ import annotations

import json
import re
from collections import Counter
from dataclasses import dataclass, field

import probe_server
import runner
from check import shorten, stable
from clients import READ_RESOURCE, Client
from followups import QUERY, FollowUp

MAX_BYTES = 10_240
ABSENT, SAME, MENDED, ENVELOPE, ANSWERED, REFUSED, WRONG = (
    "-", "same", "mended", "envelope", "answered", "refused", "WRONG")
# Without tidegate these fail on clients that validate outputSchema; tidegate removes outputSchema for them.
SCHEMA_ERRORS = ("schema_without_structured", "schema_mismatch")


@dataclass
class Proof:
    """The cells and violations of one client."""

    client: str
    cells: dict[str, str] = field(default_factory=dict)
    violations: list[str] = field(default_factory=list)

    def judge(self, label: str, verdict: str, found: list[str]) -> None:
        """Adds one cell and its violations."""
        self.cells[label] = WRONG if found else verdict
        self.violations += [f"{self.client} {label}: {words}" for words in found]


def run_completed(proof: Proof, title: str, head: dict) -> bool:
    """Checks that the client completed its plan; returns whether it offered the server's tools at all."""
    if head["exit_code"] != 0 or head["not_offered"] or head["unanswered"]:
        words = " | ".join(line for line in runner.stderr_report(head).splitlines()[-4:] if line.strip())
        proof.violations.append(f"{proof.client} {title}: did not complete its plan: {runner.gaps(head)}; {words}")
    return bool(head["tools"])


def tool_list(proof: Proof, client: Client, server: str, direct: dict, gated: dict) -> None:
    """Checks that all upstream tools are offered unchanged, and `result_query` once."""
    before, after = ({tool["name"]: tool for tool in head["tools"]} for head in (direct, gated))
    query = client.tool_name(server, QUERY)
    twice = [name for name, count in Counter(gated["tools_listed"]).items() if count > 1] + gated["tools_repeated"]
    found = [f"{name} is listed twice" for name in dict.fromkeys(twice)]
    found += [f"{name} is no longer offered" for name in before if name not in after]
    found += [f"{name} is offered, and the upstream has no such tool"
              for name in after if name not in before and name != query]
    found += [f"the definition of {name} differs: {difference([_definition(tool)], [_definition(after[name])])}"
              for name, tool in before.items() if name in after and _definition(tool) != _definition(after[name])]
    if query not in after:
        found.append(f"{QUERY} is not offered to the model")
    elif client.loads_upfront and after[query]["deferred"]:
        found.append(f"{QUERY} is deferred, so a model has to search for it first")
    proof.judge("tools/list", SAME, found)


def _definition(tool: dict) -> str:
    return json.dumps(tool, ensure_ascii=False, sort_keys=True)


def upstream_result(proof: Proof, client: Client, direct: tuple[dict, dict], gated: tuple[dict, dict]) -> None:
    """Checks one upstream result. Each side is the record of the run and of the step."""
    (before_head, before), (after_head, after) = direct, gated
    label, tool = before["label"], before["tool"]
    if not before["offered"]:
        proof.judge(label, ABSENT, [])
    elif _is_large(tool) and not client.scripts:
        proof.judge(label, ENVELOPE, envelope(tool, after))
    elif tool in SCHEMA_ERRORS and before["is_error"] and not after["is_error"]:
        proof.judge(label, MENDED, [] if "text" in after["reached"] else [f"the model saw {_shown(after)}"])
    else:
        texts = [[stable(block, head["home"]) for block in step["model_saw"]]
                 for head, step in ((before_head, before), (after_head, after))]
        flags = [f"{flag} is {after[flag]}, directly it is {before[flag]}"
                 for flag in ("is_error", "truncated", "server_error") if before[flag] != after[flag]]
        differs = [f"not as it is directly: {difference(*texts)}"] if texts[0] != texts[1] else []
        proof.judge(label, SAME, differs or flags)


def _is_large(tool: str) -> bool:
    """Returns whether a result of the probe server is above the line. Its bytes decide: none is above it in tokens alone."""
    value = probe_server.SHAPES.get(tool, ({}, {}))[0]
    return len(json.dumps(value, ensure_ascii=False).encode()) > MAX_BYTES


def envelope(tool: str, step: dict) -> list[str]:
    """Returns what is wrong with what the model saw instead of a large result."""
    text = _plain(step)
    first = re.search(rf'(?m)^\w.*Complete result: "({re.escape(tool)}-[0-9a-z]{{12}})" \(kept [^)]+\)', text)
    if not first:
        return [f"no first line with the handle; the model saw {_shown(step)}"]
    found = []
    if f"\nRead the rest with {QUERY}; no need to repeat this call." not in text:
        found.append(f"no sentence that says to read more with {QUERY}")
    if not re.search(rf'(?m)^next: {QUERY} \{{"id":"{re.escape(first[1])}".*\}}|^end of the complete result$', text):
        found.append(f"no last line with the next call; the model saw {_shown(step)}")
    own_error = probe_server.SHAPES[tool][0].get("isError", False)
    if step["server_error"] != own_error:
        found.append(f"isError is {step['server_error']}, the upstream's result has {own_error}")
    if step["is_error"] and not own_error:
        found.append("shown as an error")
    return found + _whole(step)


def follow_up(proof: Proof, client: Client, asked: FollowUp, step: dict) -> None:
    """Checks one follow-up answer of tidegate."""
    if step["not_played"]:
        return proof.judge(asked.label, WRONG, [f"could not be asked: {step['not_played']}"])
    if not step["offered"] or _unreadable(client, asked, step):
        return proof.judge(asked.label, ABSENT, [])
    if not asked.refusal and (step["is_error"] or step["server_error"]):
        return proof.judge(asked.label, WRONG, [f"is an error: {_shown(step)}"])
    text = _plain(step)
    found = [f"does not show {pattern}; the model saw {_shown(step)}"
             for pattern in asked.shows if not re.search(pattern, text)]
    found += [f"shows {pattern}, which was not asked for" for pattern in asked.lacks if re.search(pattern, text)]
    found += [] if asked.script else _whole(step)
    return proof.judge(asked.label, REFUSED if asked.refusal else ANSWERED, found)


def _unreadable(client: Client, asked: FollowUp, step: dict) -> bool:
    """Returns whether the client refused the resource because it was not listed at the start."""
    return asked.tool == READ_RESOURCE and not client.reads_unlisted and step["sent"] is None


def _whole(step: dict) -> list[str]:
    """Returns what is wrong with the size of an answer: cut on its way to the model, or over budget."""
    found = []
    if step["truncated"]:
        found.append("cut by the client")
    elif not {"text", "resource", "message"} & set(step["reached"]):
        found.append(f"did not reach the model whole; it saw {_shown(step)}")
    if (step["server_bytes"] or 0) > MAX_BYTES:
        found.append(f"the result has {step['server_bytes']:,} bytes, the budget is {MAX_BYTES:,}")
    return found


def _plain(step: dict) -> str:
    """Returns what the model saw; escapes are undone if the client shows an error as JSON."""
    text = "\n".join(step["model_saw"])
    return text.replace("\\n", "\n").replace('\\"', '"') if step["is_error"] else text


def _shown(step: dict) -> str:
    """Returns the beginning and the end of what the model saw, in one line."""
    text = "\n".join(step["model_saw"])
    return repr(shorten(text)) if text else "nothing"


def difference(before: list[str], after: list[str]) -> str:
    """Returns where two lists of blocks begin to differ, in one line."""
    one, other = "\n".join(before), "\n".join(after)
    same = next((place for place, pair in enumerate(zip(one, other)) if pair[0] != pair[1]), min(len(one), len(other)))
    if one == other:
        return f"{len(before)} blocks became {len(after)}"
    return f"from character {same} on {one[same:same + 80]!r} became {other[same:same + 80]!r}"
