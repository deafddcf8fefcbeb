"""Mocks of the OpenAI APIs: Responses with direct tools and with code mode (Codex), Chat Completions (opencode).

Neither API can mark a tool result as an error, so the client profile decides `is_error` from the text.
"""
from __future__ import annotations

import json

from .scripted import LOAD_ID, Call, Reply, Result, ScriptedModel, event_stream, json_reply, picture, tool

RESPONSES_USAGE = {"input_tokens": 1, "output_tokens": 1, "total_tokens": 2}
CHAT_USAGE = {"prompt_tokens": 1, "completion_tokens": 1, "total_tokens": 2}


class Responses(ScriptedModel):
    """The Responses API. MCP tools sit in a namespace, deferred behind `tool_search`."""

    def answer(self, path: str, request: dict) -> Reply:
        if not path.endswith("/responses"):
            return json_reply({})
        call, identifier = self.next_call(request), self.new_id("resp")
        item = self.item(call) if call else {
            "type": "message", "id": self.new_id("msg"), "role": "assistant",
            "content": [{"type": "output_text", "text": "done"}]}
        return event_stream([
            {"type": "response.created", "response": {"id": identifier}},
            {"type": "response.output_item.done", "output_index": 0, "item": item},
            {"type": "response.completed",
             "response": {"id": identifier, "output": [item], "usage": RESPONSES_USAGE}},
        ])

    def item(self, call: Call) -> dict:
        """Returns the call as an output item of the model."""
        if call.id == LOAD_ID:
            return {"type": "tool_search_call", "id": f"ts_{call.id}", "call_id": call.id, "status": "completed",
                    "execution": "client", "arguments": call.arguments}
        namespace, _, name = call.name.rpartition("/")
        item = {"type": "function_call", "id": f"fc_{call.id}", "call_id": call.id, "name": name,
                "arguments": json.dumps(call.arguments)}
        return {**item, "namespace": namespace} if namespace else item

    def read_tools(self, request: dict) -> list[dict]:
        found = list(request.get("tools") or [])
        for item in request["input"]:
            if item.get("type") in ("tool_search_output", "additional_tools"):
                found += item.get("tools") or []
        return _flatten(found)

    def read_results(self, request: dict) -> dict[str, Result]:
        return {item["call_id"]: Result(_blocks(item)) for item in request["input"]
                if item.get("type", "").endswith("_output")}

    def load_call(self) -> Call | None:
        wanted = {call.name for call in self.calls if "/" in call.name}
        if "tool_search" not in self.tools or wanted <= self.tools.keys():
            return None
        query = " ".join(sorted(name.rpartition("/")[2] for name in wanted))
        return Call(LOAD_ID, "tool_search", {"query": query, "limit": 200})


class CodeMode(Responses):
    """The Responses API with the `exec` tool: the model writes JavaScript that calls `tools.NAME(...)`."""

    LISTING = '// @exec: {"max_output_tokens": 100000}\ntext(JSON.stringify(ALL_TOOLS));'

    def item(self, call: Call) -> dict:
        return {"type": "custom_tool_call", "id": f"ct_{call.id}", "call_id": call.id, "name": "exec",
                "input": self.written(call)}

    def written(self, call: Call) -> str:
        if call.id == LOAD_ID:
            return self.LISTING
        return f"const result = await tools.{call.name}({json.dumps(call.arguments)});\n{call.script or 'text(result);'}"

    def read_results(self, request: dict) -> dict[str, Result]:
        results = super().read_results(request)
        if LOAD_ID in results and LOAD_ID not in self.results:
            listing = json.loads(results[LOAD_ID].blocks[-1])
            self.record_tools([tool(item["name"], item["description"], None) for item in listing])
        return results

    def load_call(self) -> Call | None:
        return Call(LOAD_ID, "exec", {})


class ChatCompletions(ScriptedModel):
    """The Chat Completions API."""

    def answer(self, path: str, request: dict) -> Reply:
        if not path.endswith("/chat/completions"):
            return json_reply({})
        # A request without tools is a side question (a title), not the agent's turn.
        call = self.next_call(request) if request.get("tools") else None
        message = {"role": "assistant", "content": None if call else "done"}
        if call:
            message["tool_calls"] = [{"index": 0, "id": call.id, "type": "function", "function": {
                "name": call.name, "arguments": json.dumps(call.arguments)}}]
        finish = "tool_calls" if call else "stop"
        common = {"id": self.new_id("chat"), "created": 1, "model": request.get("model"), "usage": CHAT_USAGE}
        if not request.get("stream"):
            return json_reply({**common, "object": "chat.completion", "choices": [
                {"index": 0, "message": message, "finish_reason": finish}]})
        chunk = {**common, "object": "chat.completion.chunk"}
        return event_stream([
            {**chunk, "choices": [{"index": 0, "delta": message, "finish_reason": None}]},
            {**chunk, "choices": [{"index": 0, "delta": {}, "finish_reason": finish}]},
        ], named=False)

    def read_tools(self, request: dict) -> list[dict]:
        return _flatten([item["function"] for item in request["tools"]])

    def read_results(self, request: dict) -> dict[str, Result]:
        results, latest = {}, None
        for message in request["messages"]:
            if message["role"] == "tool":
                latest = results[message["tool_call_id"]] = Result(_blocks(message))
            elif message["role"] == "user" and latest:  # media of a tool result come in a message after it
                latest.blocks.extend(_blocks(message))
        return results


def _flatten(items: list[dict], namespace: str = "") -> list[dict]:
    """Returns the definitions in the form that all mocks share; a tool in a namespace is named `namespace/name`."""
    flat = []
    for item in items:
        if item.get("type") == "namespace":
            flat += _flatten(item["tools"], item["name"] + "/")
        else:
            flat.append(tool(namespace + (item.get("name") or item["type"]), item.get("description"),
                             item.get("parameters")))
    return flat


def _blocks(item: dict) -> list[str]:
    output = item.get("output", item.get("content", item.get("tools")))
    if isinstance(output, str):
        return [output]
    return [_block(block) for block in output or []]


def _block(block: dict) -> str:
    if block.get("type") in ("input_text", "text"):
        return block["text"]
    if block.get("type") in ("input_image", "image_url"):
        address = block["image_url"]
        address = address if isinstance(address, str) else address["url"]
        media_type, _, data = address.removeprefix("data:").partition(";base64,")
        return picture(media_type, data)
    return json.dumps(block, ensure_ascii=False)
