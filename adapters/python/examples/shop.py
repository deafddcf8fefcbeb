"""A shop with tidegate inside: one tool for each way to answer with more than fits.

    python shop.py               MCPServer of the official SDK, on stdin and stdout
    python shop.py fastmcp       the same with FastMCP
    python shop.py server 8080   the same, over streamable HTTP at http://127.0.0.1:8080/mcp
"""
import json
import sys

from tidegate import OutputBudgetExceeded, Tidegate, heavy

kind = sys.argv[1] if len(sys.argv) > 1 else "server"
if kind == "fastmcp":
    from fastmcp import FastMCP as Server
else:
    from mcp.server import MCPServer as Server

mcp = Server("shop")
tidegate = Tidegate(mcp)
ITEMS = [{"id": number, "product": {"name": f"Widget {number}"}, "price": number % 97} for number in range(1, 431)]


@mcp.tool(name="inventory.list_all")
@heavy(name="inventory.list_all", style="probe")
def list_all(warehouse: str = "WH-01") -> str:
    """List every item in stock"""
    return json.dumps(ITEMS)


@mcp.tool()
@heavy(style="contract", domain="sales")
def sales_list() -> str:
    """List all sales"""
    return json.dumps([{"id": f"sale-{item['id']}", "label": item["product"]["name"]} for item in ITEMS])


@mcp.tool()
def export() -> str:
    """Export the stock as JSON lines"""
    return "\n".join(json.dumps(item) for item in ITEMS * 10)


@mcp.tool()
def report() -> str:
    """The stock in 1,000 tokens, or an error that says how to ask for less"""
    try:
        return tidegate.enforce_budget(json.dumps(ITEMS), "report", 1000)
    except OutputBudgetExceeded as over:
        return json.dumps(over.error)


@mcp.tool()
def count() -> int:
    """How many items there are"""
    return len(ITEMS)


if __name__ == "__main__":
    if len(sys.argv) > 2:
        mcp.run(transport="streamable-http", host="127.0.0.1", port=int(sys.argv[2]))
    else:
        mcp.run()
