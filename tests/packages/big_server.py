"""A small MCP server on stdio for any Python 3: one tool with a large result, and one with a small one."""
import json
import sys

ROWS = [{"id": number, "name": f"Widget {number}", "price": number % 97, "note": "in stock " * 8} for number in range(1, 1201)]
TOOLS = [{"name": name, "description": name, "inputSchema": {"type": "object"}} for name in ("list_all", "count")]


def answer(method, params):
    if method == "initialize":
        return {"protocolVersion": params["protocolVersion"], "capabilities": {"tools": {}},
                "serverInfo": {"name": "widgets", "version": "1"}}
    if method == "tools/list":
        return {"tools": TOOLS}
    if method == "tools/call":
        value = ROWS if params["name"] == "list_all" else len(ROWS)
        return {"content": [{"type": "text", "text": json.dumps(value)}]}
    return {}


for line in sys.stdin:
    message = json.loads(line)
    if "id" in message and "method" in message:
        result = answer(message["method"], message.get("params", {}))
        print(json.dumps({"jsonrpc": "2.0", "id": message["id"], "result": result}), flush=True)
