#!/usr/bin/env python3
"""A stdio MCP server of a warehouse: large lists, an order that takes rows, and a list that changes.

    list_parts     5,000 parts; 109 of them have less stock than their minimum
    get_suppliers  240 suppliers in 8 countries
    order_parts    takes rows {id, quantity}, answers with their count and a digest
    print_labels   takes rows {id, name} and a title, answers in the same way
    list_jobs      300 jobs; from the third call on, three of them have changed

The data are the same in every process. `journey_server.py FILE` appends the arguments with rows to FILE as JSON lines.
`journey.py` imports this module to compute what a session must find.
"""
import hashlib
import json
import random
import sys

LOW_PARTS = 109
COUNTRIES = ("Austria", "Chile", "Denmark", "India", "Japan", "Kenya", "Norway", "Spain")
STATES = ("done",) * 15 + ("failed",) + ("running",) * 2 + ("queued",)
ROW = {"type": "object", "properties": {"id": {"type": "integer"}, "quantity": {"type": "integer"}},
       "required": ["id", "quantity"]}
TAKEN = {"order_parts": "ordered", "print_labels": "labels"}  # tools that take rows, and what they call their count
NOTHING = {"type": "object", "properties": {}}
TOOLS = [
    {"name": "list_parts", "description": "Lists all parts with stock and price in cents.", "inputSchema": NOTHING},
    {"name": "get_suppliers", "description": "Returns all suppliers.", "inputSchema": NOTHING},
    {"name": "order_parts", "description": "Orders parts.", "inputSchema": {
        "type": "object", "properties": {"rows": {"type": "array", "items": ROW}}, "required": ["rows"]}},
    {"name": "print_labels", "description": "Prints a label for each part.", "inputSchema": {
        "type": "object", "required": ["rows", "title"], "properties": {
            "rows": {"type": "array", "items": {"type": "object", "required": ["id", "name"]}}, "title": {"type": "string"}}}},
    {"name": "list_jobs", "description": "Lists the jobs of the warehouse.", "inputSchema": NOTHING},
]


def parts():
    """Returns the parts; `LOW_PARTS` of them are below their minimum."""
    dice = random.Random(11)
    low = set(dice.sample(range(5000), LOW_PARTS))
    made = []
    for number in range(5000):
        minimum = dice.randrange(20, 400)
        kind, metal = dice.choice(("bolt", "nut", "washer", "bracket", "hinge")), dice.choice(("steel", "brass", "zinc"))
        made.append({
            "id": 40000 + number, "name": f"{metal} {kind} {number % 90 + 10} mm", "supplier": dice.randrange(101, 341),
            "price": dice.randrange(3, 9000), "minimum": minimum, "pack": dice.choice((1, 5, 10, 25)),
            "stock": dice.randrange(minimum) if number in low else minimum + dice.randrange(2000),
            "shelf": f"{dice.choice('ABCDEFGH')}{dice.randrange(1, 60)}",
            "checked": f"2026-{dice.randrange(1, 12):02d}-{dice.randrange(1, 29):02d}",
        })
    return made


def suppliers():
    dice = random.Random(12)
    return [{"id": 101 + number, "name": f"Supplier {dice.randrange(1000, 9999)}", "country": dice.choice(COUNTRIES),
             "lead_days": dice.randrange(2, 60), "rating": dice.randrange(10, 51) / 10,
             "contact": f"orders{number}@supplier.example", "since": dice.randrange(1987, 2026)} for number in range(240)]


def jobs(is_later):
    """Returns the jobs; `is_later` says whether three of them have changed."""
    dice = random.Random(13)
    made = [{"id": 7000 + number, "kind": dice.choice(("pick", "pack", "count", "move")), "state": dice.choice(STATES),
             "shelf": f"{dice.choice('ABCDEFGH')}{dice.randrange(1, 60)}", "units": dice.randrange(1, 500),
             "worker": f"w{dice.randrange(1, 30):02d}", "note": "scheduled by the nightly plan"} for number in range(300)]
    if is_later:
        running = [job for job in made if job["state"] == "running"]
        for job, state in zip(running, ("done", "failed", "queued")):
            job["state"] = state
    return made


def changed_jobs():
    """Returns the ids of the jobs that differ in the third list."""
    return [one["id"] for one, other in zip(jobs(False), jobs(True)) if one != other]


def order():
    """Returns the rows to order: every part below its minimum up to twice the minimum, in whole packs."""
    return [{"id": part["id"], "quantity": -(-(part["minimum"] * 2 - part["stock"]) // part["pack"]) * part["pack"]}
            for part in parts() if part["stock"] < part["minimum"]]


def digest(rows):
    return hashlib.sha256(json.dumps(rows, sort_keys=True, separators=(",", ":")).encode()).hexdigest()[:16]


class Server:
    """The state of one process: how often the jobs were listed, and where orders are recorded."""

    def __init__(self, record):
        self.record, self.lists = record, 0

    def call(self, name, arguments):
        if name == "list_jobs":
            self.lists += 1
            return jobs(self.lists >= 3)
        if name in TAKEN:
            rows = arguments["rows"]
            if self.record:
                with open(self.record, "a", encoding="utf-8") as file:
                    file.write(json.dumps({"tool": name, **arguments}) + "\n")
            return {TAKEN[name]: len(rows), "digest": digest(rows)}
        return {"list_parts": parts, "get_suppliers": suppliers}[name]()

    def answer(self, method, params):
        """Returns the result of a request, or raises LookupError for an unknown method or tool."""
        if method == "initialize":
            return {"protocolVersion": params.get("protocolVersion", "2025-06-18"), "capabilities": {"tools": {}},
                    "serverInfo": {"name": "warehouse", "version": "1.0.0"}}
        if method == "tools/call":
            value = self.call(params["name"], params.get("arguments") or {})
            return {"content": [{"type": "text", "text": json.dumps(value)}]}
        return {"ping": {}, "tools/list": {"tools": TOOLS}}[method]


def main():
    server = Server(sys.argv[1] if len(sys.argv) > 1 else None)
    for line in sys.stdin:
        request = json.loads(line)
        if "id" not in request:
            continue
        reply = {"jsonrpc": "2.0", "id": request["id"]}
        try:
            reply["result"] = server.answer(request["method"], request.get("params") or {})
        except LookupError:
            reply["error"] = {"code": -32601, "message": f"not found: {request['method']}"}
        print(json.dumps(reply), flush=True)


if __name__ == "__main__":
    main()
