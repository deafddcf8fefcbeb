#!/usr/bin/env python3
"""A stdio MCP server with one tool per result shape.

A tool is named after its shape and returns a fixed result with upper-case markers (TEXT-1, STRUCT-2, ...), which show
which part of a result reached the model. `SHAPES` is the list. Three more tools are `echo` and `typed`, which return their
arguments, and `protocol_error`, which fails with a JSON-RPC error. `typed` has an argument of each of three types, to see
which clients validate what the model passes.
"""
import json
import sys

ONE_PIXEL_PNG = (
    "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=="
)
ARTIFACT = "probe://artifact/1"
INSTRUCTIONS = "INSTRUCTIONS-MARK: each tool returns one result shape."
OUTPUT_SCHEMA = {"type": "object", "properties": {"marker": {"type": "string"}}, "required": ["marker"]}
TYPED_SCHEMA = {"type": "object", "properties": {
    "rows": {"type": "array", "items": {"type": "object"}},
    "count": {"type": "integer"},
    "text": {"type": "string"},
}}
ROWS_SCHEMA = {"type": "object", "properties": {"rows": {"type": "array"}}, "required": ["rows"]}


def text(value, **extra):
    return {"type": "text", "text": value, **extra}


def link():
    return {
        "type": "resource_link", "uri": ARTIFACT, "name": "artifact-1", "title": "LINK-TITLE",
        "description": "LINK-DESCRIPTION", "mimeType": "application/json", "size": 123456,
    }


def lines(size):
    """Returns `size` characters of numbered lines between a HEAD-MARK and a TAIL-MARK."""
    head, tail, line = "HEAD-MARK\n", "\nTAIL-MARK", "line {:06d} " + "x" * 60 + "\n"
    body = "".join(line.format(number) for number in range(size // 73 + 1))
    return head + body[: size - len(head) - len(tail)] + tail


def rows(count):
    return [{"id": number, "name": f"row {number}", "note": "lorem ipsum dolor"} for number in range(count)]


def result(*content, structured=None, error=False):
    value = {"content": list(content)}
    if structured is not None:
        value["structuredContent"] = structured
    if error:
        value["isError"] = True
    return value


# Shape name -> (result, extra fields of the tool definition).
SHAPES = {
    "text": (result(text("TEXT-1")), {}),
    "unicode": (result(text("naïve 你好 עברית 👩‍🚀 e\u0301 \u2028 \"quoted\" <b>&amp;</b>\ttab")), {}),
    "multi_block": (result(text("BLOCK-1"), text("BLOCK-2")), {}),
    "empty": (result(), {}),
    "text_and_structured": (result(text("TEXT-2"), structured={"marker": "STRUCT-2"}), {}),
    "structured_only": (result(structured={"marker": "STRUCT-3"}), {}),
    "schema_and_structured": (
        result(text("TEXT-4"), structured={"marker": "STRUCT-4"}), {"outputSchema": OUTPUT_SCHEMA}),
    "schema_without_structured": (result(text("TEXT-5")), {"outputSchema": OUTPUT_SCHEMA}),
    "schema_mismatch": (result(text("TEXT-6"), structured={"other": 6}), {"outputSchema": OUTPUT_SCHEMA}),
    "resource_link": (result(text("TEXT-7"), link()), {}),
    "link_and_structured": (result(text("TEXT-8"), link(), structured={"marker": "STRUCT-8"}), {}),
    "embedded_resource": (
        result(text("TEXT-9"), {"type": "resource", "resource": {
            "uri": ARTIFACT, "mimeType": "text/plain", "text": "EMBEDDED-9"}}), {}),
    "image": (result(text("TEXT-10"), {"type": "image", "data": ONE_PIXEL_PNG, "mimeType": "image/png"}), {}),
    "audience": (
        result(text("FOR-USER-11", annotations={"audience": ["user"]}),
               text("FOR-ASSISTANT-11", annotations={"audience": ["assistant"], "priority": 1})), {}),
    "error_text": (result(text("ERROR-12"), error=True), {}),
    "error_and_structured": (result(text("ERROR-13"), structured={"marker": "STRUCT-13"}, error=True), {}),
    "json_object_text": (result(text('{"marker": "OBJECT-14"}')), {}),
    "json_array_text": (result(text('[{"marker": "ARRAY-15"}]')), {}),
    "text_10k": (result(text(lines(10_000))), {}),
    "text_60k": (result(text(lines(60_000))), {}),
    "text_60k_and_link": (result(text(lines(60_000)), link()), {}),
    "text_60k_allowed": (result(text(lines(60_000))), {"_meta": {"anthropic/maxResultSizeChars": 400_000}}),
    "text_250k": (result(text(lines(250_000))), {}),
    "one_line_60k": (result(text(json.dumps({"rows": rows(960)}))), {}),
    "structured_60k": (result(text("SUMMARY-16"), structured={"rows": rows(1100)}), {}),
    "schema_60k": (
        result(text(json.dumps({"rows": rows(960)})), structured={"rows": rows(960)}), {"outputSchema": ROWS_SCHEMA}),
    "error_60k": (result(text(lines(60_000)), error=True), {}),
}
PROTOCOL_ERROR = {"code": -32000, "message": "PROTOCOL-ERROR-17"}


def definitions():
    plain = {"type": "object", "properties": {}}
    value = {"type": "object", "properties": {"value": {"type": "string", "description": "Any text"}}}
    tools = [{"name": name, "description": f"Returns the shape {name}.", "inputSchema": plain, **extra}
             for name, (_, extra) in SHAPES.items()]
    return tools + [
        {"name": "protocol_error", "description": "Fails as a JSON-RPC error.", "inputSchema": plain},
        {"name": "echo", "description": "Returns its arguments.", "inputSchema": {**value, "required": ["value"]}},
        {"name": "typed", "description": "Returns its arguments.", "inputSchema": TYPED_SCHEMA},
    ]


def answer(method, params):
    """Returns the result of a request, or raises LookupError for an unknown method or tool."""
    if method == "initialize":
        return {
            "protocolVersion": params.get("protocolVersion", "2025-06-18"),
            "capabilities": {"tools": {}, "resources": {}},
            "serverInfo": {"name": "tidegate-probe", "version": "1.0.0"},
            "instructions": INSTRUCTIONS,
        }
    if method == "tools/call" and params["name"] in ("echo", "typed"):
        return result(text(json.dumps(params["arguments"], ensure_ascii=False)))
    if method == "tools/call":
        return SHAPES[params["name"]][0]
    if method == "resources/read":
        return {"contents": [{"uri": params["uri"], "mimeType": "text/plain", "text": "RESOURCE-BODY"}]}
    return {
        "ping": {},
        "tools/list": {"tools": definitions()},
        "resources/list": {"resources": [{"uri": ARTIFACT, "name": "artifact-1", "mimeType": "text/plain"}]},
        "resources/templates/list": {"resourceTemplates": []},
        "prompts/list": {"prompts": []},
    }[method]


def main():
    for line in sys.stdin:
        request = json.loads(line)
        if "id" not in request:
            continue
        reply, params = {"jsonrpc": "2.0", "id": request["id"]}, request.get("params") or {}
        if params.get("name") == "protocol_error":
            reply["error"] = PROTOCOL_ERROR
        else:
            try:
                reply["result"] = answer(request["method"], params)
            except LookupError:
                reply["error"] = {"code": -32601, "message": f"not found: {request['method']}"}
        print(json.dumps(reply), flush=True)


if __name__ == "__main__":
    main()
