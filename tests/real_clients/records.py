"""The records of a run: what client and server sent each other, and what the model saw.

`traffic` is the tap's log (what the server sent); `model` is the mock (what the client passed to its model). A record
is a plain dictionary, written as one JSON line.
"""
from __future__ import annotations

import json
import re
from bisect import bisect
from dataclasses import dataclass, field

import plan as plans
from clients import READ_RESOURCE, Client
from mocks.scripted import IMAGE, Result, ScriptedModel


@dataclass(frozen=True)
class Exchange:
    """One request of the client and the server's response."""

    params: dict = field(default_factory=dict)
    reply: dict = field(default_factory=dict)

    @property
    def result(self) -> dict:
        return self.reply.get("result") or {}

    @property
    def failed(self) -> bool:
        return "error" in self.reply or bool(self.result.get("isError"))


def summary(client: Client, server: str, model: ScriptedModel, traffic: list[dict]) -> dict:
    """Returns the record of the run: what the client sent at the start, and the server's tools as the model saw them."""
    sent = [entry["message"] for entry in traffic if entry["from"] == "client"]
    start = next((exchange for _, exchange in _exchanges(traffic, "initialize")), Exchange())
    agreed = start.result
    tools = [{**definition, "deferred": name not in model.upfront}
             for name, definition in sorted(model.tools.items()) if client.owns(server, name)]
    metas = [exchange.params.get("_meta", {}) for _, exchange in _exchanges(traffic, "tools/call")]
    return {
        "kind": "run", "client": client.name, "version": client.version,
        "protocol_offered": start.params.get("protocolVersion"), "protocol_agreed": agreed.get("protocolVersion"),
        "client_info": start.params.get("clientInfo"), "capabilities": start.params.get("capabilities"),
        "methods": list(dict.fromkeys(message["method"] for message in sent if "method" in message)),
        "call_meta": metas[0] if metas else None,
        "instructions_seen": _instructions_seen(agreed.get("instructions"), model),
        "tools_chars": sum(len(tool["name"] + tool["description"] + json.dumps(tool["schema"])) for tool in tools),
        "tools": tools, "tools_repeated": sorted(model.repeated), "tools_listed": _listed(traffic),
        "refused_hosts": sorted(set(model.refused)),
        "not_offered": list(dict.fromkeys(call.name for call in model.calls if call.name not in model.tools)),
        "not_played": [f"{call.label}: {model.not_played[call.id]}" for call in model.calls
                       if call.id in model.not_played],
        "unanswered": [call.label for call in model.calls
                       if call.id not in model.results and call.id not in model.not_played],
    }


def _instructions_seen(instructions: str | None, model: ScriptedModel) -> bool | None:
    if instructions is None:
        return None
    texts = [model.prompts] + [json.dumps(tool, ensure_ascii=False) for tool in model.tools.values()]
    return any(_escaped(instructions) in text for text in texts)


def _listed(traffic: list[dict]) -> list[str]:
    """Returns the tool names in the last complete `tools/list`."""
    names = []
    for _, exchange in _exchanges(traffic, "tools/list"):
        names = names if exchange.params.get("cursor") else []
        names += [tool["name"] for tool in exchange.result.get("tools", [])]
    return names


def steps(client: Client, plan: list[dict], model: ScriptedModel, traffic: list[dict]) -> list[dict]:
    """Returns one record per plan step."""
    planned = {call.id: call for call in model.calls}
    exchanges = _exchanges_by_call(model, traffic)
    made = []
    for index, step in enumerate(plan):
        identifier = plans.call_id(index)
        call = planned.get(identifier)
        exchange, seen = exchanges.get(identifier), model.results.get(identifier, Result([]))
        made.append({
            "kind": "step", "client": client.name, "step": index, "label": plans.label(step), "tool": step["tool"],
            "arguments": model.played[identifier].arguments if identifier in model.played else step.get("arguments"),
            "written": model.written(model.played[identifier]) if identifier in model.played else None,
            "offered": call is not None and call.name in model.tools,
            "not_played": model.not_played.get(identifier),
            **_server_side(exchange),
            **_model_side(client, exchange or Exchange(), seen),
        })
    return made


def _server_side(exchange: Exchange | None) -> dict:
    """Returns what the server received and sent; None values if the call never reached it."""
    if exchange is None:
        return {"sent": None, "server_error": None, "server_bytes": None}
    compact = json.dumps(exchange.result, ensure_ascii=False, separators=(",", ":"))
    sent = {key: exchange.params[key] for key in ("arguments", "uri", "_meta") if key in exchange.params}
    return {"sent": sent, "server_error": exchange.failed, "server_bytes": len(compact.encode())}


def _model_side(client: Client, exchange: Exchange, seen: Result) -> dict:
    parts = _parts(exchange)
    return {
        "model_saw": seen.blocks,
        "chars": sum(len(block) for block in seen.blocks if not block.startswith(IMAGE)),
        "truncated": _is_cut(client, parts, seen.text),
        "is_error": seen.is_error or bool(re.search(client.failure_notice, seen.text)),
        "reached": _reached(parts, seen.text),
    }


def _exchanges(traffic: list[dict], *methods: str) -> list[tuple[int, Exchange]]:
    """Returns the client's requests of these methods with their responses and times."""
    replies = {(entry["tap"], entry["message"]["id"]): entry["message"] for entry in traffic
               if entry["from"] == "server" and "id" in entry["message"] and "method" not in entry["message"]}
    return [(entry["at"], Exchange(entry["message"].get("params") or {},
                                   replies.get((entry["tap"], entry["message"].get("id")), {})))
            for entry in traffic if entry["from"] == "client" and entry["message"].get("method") in methods]


def _exchanges_by_call(model: ScriptedModel, traffic: list[dict]) -> dict[str, Exchange]:
    """Returns the exchange of each call. Calls run one at a time, so an exchange belongs to the last call before it."""
    played = sorted((at, identifier) for identifier, at in model.played_at.items())
    found = {}
    for at, exchange in _exchanges(traffic, "tools/call", READ_RESOURCE):
        position = bisect(played, (at, "")) - 1
        if position >= 0:
            found[played[position][1]] = exchange
    return found


def _parts(exchange: Exchange) -> list[tuple[str, str]]:
    """Returns the parts of a server's response as (kind, text to look for)."""
    if "error" in exchange.reply:
        return [("message", exchange.reply["error"].get("message", ""))]
    result, parts = exchange.result, []
    for block in result.get("content", []) + result.get("contents", []):
        kind = block.get("type", "resource")
        if kind == "resource":
            resource = block.get("resource", block)
            parts.append((kind, resource.get("text", resource["uri"])))
        elif kind == "resource_link":
            parts.append(("link", block["uri"]))
        else:
            parts.append((kind, block.get("text") or block.get("data", "")))
    if "structuredContent" in result:
        compact = json.dumps(result["structuredContent"], ensure_ascii=False, separators=(",", ":"))
        parts.append(("structured", compact))
    return parts


def _reached(parts: list[tuple[str, str]], text: str) -> list[str]:
    """Returns the kinds of parts that reached the model whole; base64 is an image that arrived as text."""
    whole = []
    for kind in dict.fromkeys(kind for kind, _ in parts):
        if kind == "image" and IMAGE in text:
            whole.append(kind)
        elif all(_contains(text, value) for other, value in parts if other == kind):
            whole.append("base64" if kind in ("image", "audio") else kind)
    return whole


def _is_cut(client: Client, parts: list[tuple[str, str]], text: str) -> bool:
    """Returns whether the client cut the largest part: it is not whole, but its beginning or a notice is there."""
    largest = max((value for kind, value in parts if kind != "image"), key=len, default="")
    if _contains(text, largest):
        return False
    return bool(re.search(client.cut_notice, text)) or (len(largest) > 2000 and _contains(text, largest[:200]))


def _contains(text: str, part: str) -> bool:
    """Returns whether the text contains the part, as it is or escaped as in a JSON string."""
    return part in text or _escaped(part) in text


def _escaped(text: str) -> str:
    return json.dumps(text, ensure_ascii=False)[1:-1]
