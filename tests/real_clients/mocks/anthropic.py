"""A mock of the Anthropic Messages API, as Claude Code uses it.

Tokens are counted as four characters each; Claude Code compares that count with its own limit.
MCP tools are deferred behind `ToolSearch`; the model loads every planned tool with one search.
"""
from __future__ import annotations

import json

from .scripted import LOAD_ID, Call, Reply, Result, ScriptedModel, event_stream, json_reply, picture, tool

USAGE = {"input_tokens": 10, "output_tokens": 5}


class AnthropicMessages(ScriptedModel):
    """The Messages API."""

    def answer(self, path: str, request: dict) -> Reply:
        if path.endswith("/count_tokens"):
            return json_reply({"input_tokens": len(json.dumps(request.get("messages"))) // 4})
        if not path.endswith("/messages"):
            return json_reply({})
        # A request without tools is a side question (a title, a summary), not the agent's turn.
        call = self.next_call(request) if request.get("tools") else None
        message = _message(self.new_id("msg"), request.get("model"), call)
        return event_stream(_events(message)) if request.get("stream") else json_reply(message)

    def read_tools(self, request: dict) -> list[dict]:
        return [tool(item["name"], item.get("description"), item.get("input_schema")) for item in request["tools"]]

    def read_results(self, request: dict) -> dict[str, Result]:
        return {block["tool_use_id"]: Result(_blocks(block.get("content")), bool(block.get("is_error")))
                for message in request["messages"] if isinstance(message["content"], list)
                for block in message["content"] if block.get("type") == "tool_result"}

    def load_call(self) -> Call | None:
        missing = sorted({call.name for call in self.calls} - self.tools.keys())
        if "ToolSearch" not in self.tools or not missing:
            return None
        return Call(LOAD_ID, "ToolSearch", {"query": "select:" + ",".join(missing), "max_results": len(missing)})


def _blocks(content) -> list[str]:
    if isinstance(content, str):
        return [content]
    return [_block(block) for block in content or []]


def _block(block: dict) -> str:
    if block["type"] == "text":
        return block["text"]
    if block["type"] == "image":
        return picture(block["source"]["media_type"], block["source"]["data"])
    return json.dumps(block, ensure_ascii=False)


def _message(identifier: str, model: str, call: Call | None) -> dict:
    if call:
        content = {"type": "tool_use", "id": call.id, "name": call.name, "input": call.arguments}
    else:
        content = {"type": "text", "text": "done"}
    return {
        "id": identifier, "type": "message", "role": "assistant", "model": model, "content": [content],
        "stop_reason": "tool_use" if call else "end_turn", "stop_sequence": None, "usage": USAGE,
    }


def _events(message: dict) -> list[dict]:
    block = message["content"][0]
    if block["type"] == "tool_use":
        start = {**block, "input": {}}
        delta = {"type": "input_json_delta", "partial_json": json.dumps(block["input"])}
    else:
        start, delta = {**block, "text": ""}, {"type": "text_delta", "text": block["text"]}
    return [
        {"type": "message_start", "message": {**message, "content": [], "stop_reason": None}},
        {"type": "content_block_start", "index": 0, "content_block": start},
        {"type": "content_block_delta", "index": 0, "delta": delta},
        {"type": "content_block_stop", "index": 0},
        {"type": "message_delta", "delta": {"stop_reason": message["stop_reason"], "stop_sequence": None},
         "usage": USAGE},
        {"type": "message_stop"},
    ]
