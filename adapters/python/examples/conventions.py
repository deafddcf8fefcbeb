"""Four conventions for large results, each as one small server on stdin and stdout.

    python conventions.py orbit               a summary by default, everything on request
    python conventions.py shop                probe and fetch
    python conventions.py articles            fields, pages and links instead of everything
    python conventions.py bugs                the response contract
    python conventions.py bugs fastmcp        the same with FastMCP
    python conventions.py bugs server 8080    the same, over streamable HTTP at http://127.0.0.1:8080/mcp
"""
import base64
import binascii
import bisect
import json
import math
import sys
from typing import Annotated, Any, Literal

from mcp.server.mcpserver.exceptions import ToolError
from mcp.types import ResourceLink
from pydantic import BeforeValidator, Field

from tidegate import Tidegate, heavy


def known_mode(output: Any) -> Any:
    if output not in ("summary", "full"):
        raise ValueError(f'output must be "summary" or "full", not {json.dumps(output)}')
    return output


Output = Annotated[Literal["summary", "full"], BeforeValidator(known_mode)]


def orbit(mcp: Any, tidegate: Tidegate) -> None:
    """A summary by default, everything on request. A full output above the cap is attached as a link."""

    @mcp.tool()
    @heavy(offer_output=True, full_cap_tokens=10_000)
    def propagate(minutes: int, output: Output = "summary") -> dict[str, Any]:
        """Propagate a circular orbit minute by minute"""
        def state(minute: int) -> dict[str, Any]:
            sin, cos = math.sin(minute * math.tau / 92.7), math.cos(minute * math.tau / 92.7)
            return {"minute": minute, "position": [6780 * cos, 6780 * sin, 0.1], "velocity": [-7.66 * sin, 7.66 * cos, 0.0]}
        shown = range(minutes + 1)
        if output == "summary" and minutes >= 12:
            shown = [round(step * minutes / 11) for step in range(12)]
        return {"states": [state(minute) for minute in shown]}

    @mcp.tool()
    @heavy(offer_output=True, full_cap_tokens=10_000)
    def porkchop(samples_per_axis: Annotated[int, Field(ge=2, le=60)], output: Output = "summary") -> dict[str, Any]:
        """Total delta-v of transfers by departure and arrival"""
        axis = range(samples_per_axis)
        def total_dv(departure: int, arrival: int) -> float:
            x, y = departure / samples_per_axis - 0.4, arrival / samples_per_axis - 0.6
            return 5.6 + 9 * (x * x + y * y) + 0.3 * math.sin(7 * x)
        # An arrival that is too early is not feasible.
        grid = [{"departure": departure, "arrival": arrival, "total_dv": total_dv(departure, arrival)}
                for departure in axis for arrival in axis if arrival + 3 > departure]
        best_first = sorted(grid, key=lambda cell: cell["total_dv"])
        worst = best_first[-1]["total_dv"]
        shade = {(cell["departure"], cell["arrival"]): "%#*+=-:."[int(7 * cell["total_dv"] / worst)] for cell in grid}
        shade[best_first[0]["departure"], best_first[0]["arrival"]] = "@"
        picture = "\n".join("".join(shade.get((row, column), " ") for column in axis) for row in axis)
        if output == "summary":
            return {"best": best_first[0], "top_cells": best_first[:5], "ascii_summary": picture}
        return {"grid": grid, "best": best_first[0], "ascii_summary": picture}


def shop(mcp: Any, tidegate: Tidegate) -> None:
    """The first answer is a preview with a token; the second fetches a part without running the tool."""

    def inventory(warehouse: str = "WH-02", items: int = 430) -> str:
        return json.dumps([
            {"id": id, "product": {"name": f"Widget {id}", "note": "n" * 120}, "quantity": id * 7 % 50, "warehouse": warehouse}
            for id in range(1, items + 1)])

    @mcp.tool(name="inventory.list_all")
    @heavy(name="inventory.list_all", style="probe")
    def list_all(warehouse: str = "WH-02", items: int = 430) -> str:
        """List all inventory records"""
        return inventory(warehouse, items)

    @mcp.tool(name="products.search")
    @heavy(name="products.search", style="probe", probe_when="always", page_size=7)
    def search(warehouse: str = "WH-02", items: int = 430) -> str:
        """Search products"""
        return inventory(warehouse, items)

    @mcp.tool()
    @heavy(style="probe")
    def dispatch(tool: Literal["inventory.list_all", "products.search"], arguments: dict[str, Any]) -> str:
        """Call any tool of the shop"""
        return inventory(**arguments)


def articles(mcp: Any, tidegate: Tidegate) -> None:
    """Fields, pages that survive changes, and links instead of contents; what is over its budget is an error with a hint."""
    rows: dict[tuple[int, str], dict[str, Any]] = {}

    def add(updated: int, slug: str) -> None:
        rows[updated, slug] = {
            "slug": slug, "title": f"About {slug}", "updatedAt": updated, "tags": ["one", "two", "three"],
            "excerpt": "A few words that say what it is about. " * 40}

    for number in range(820):
        add(number // 4, f"article-{number:04}")

    @mcp.tool()
    @heavy(style="error")
    def all_articles() -> str:
        """All articles with all fields: what not to do"""
        return json.dumps(list(rows.values()))

    @mcp.tool()
    @heavy(style="error")
    def list_articles(site: str, limit: int = 20, cursor: str | None = None, fields: list[str] | None = None) -> str:
        """Articles of a site, oldest change first, by pages"""
        if not 1 <= limit <= 20:
            raise ToolError(f"limit must be a whole number from 1 to 20, not {limit}")
        keys = sorted(rows)
        # The cursor is the key of the last row, so that rows before it may come and go.
        start = bisect.bisect_right(keys, decoded(cursor)) if cursor else 0
        shown = keys[start:start + limit]
        names = fields or ["slug", "title"]
        page: dict[str, Any] = {"items": [{name: rows[key][name] for name in names if name in rows[key]} for key in shown],
                                "total": len(keys)}
        if start + limit < len(keys):
            page["nextCursor"] = base64.urlsafe_b64encode(json.dumps(shown[-1]).encode()).decode()
        return json.dumps(page)

    @mcp.tool()
    def link_articles() -> list[ResourceLink]:
        """Links to the first articles"""
        return [ResourceLink(type="resource_link", uri=f"article://{slug}", name=slug) for _, slug in sorted(rows)[:20]]

    @mcp.tool()
    def insert_article(slug: str) -> str:
        """Add an article"""
        add(3, slug)
        return "added"

    @mcp.tool()
    def delete_article(slug: str) -> str:
        """Remove an article"""
        for key in [key for key in rows if key[1] == slug]:
            del rows[key]
        return "removed"


def decoded(cursor: str) -> tuple[int, str]:
    try:
        updated, slug = json.loads(base64.urlsafe_b64decode(cursor))
    except (binascii.Error, ValueError, TypeError):
        raise ToolError(f"{cursor[:60]!r} is not a cursor of list_articles; call it without a cursor") from None
    return int(updated), str(slug)


# These functions have no return type: with `-> str` the SDKs would send every text twice, the second time as structured output.
def bugs(mcp: Any, tidegate: Tidegate) -> None:
    """A summary and a few items within 10 KB, with a reference to the rest."""
    severities = ("critical", "high", "medium", "low")

    def found(count: int) -> list[dict[str, Any]]:
        return [{"id": f"bug-{n}", "title": f"Something is wrong in part {n}", "severity": severities[n % 4], "log": "line\n" * 40}
                for n in range(count)]

    @mcp.tool()
    def bugfix_scan(count: int):
        """Scan for bugs"""
        all_bugs = found(count)
        counts = {severity: sum(bug["severity"] == severity for bug in all_bugs) for severity in severities}
        summary = tidegate.create_summary("Found bugs", count, counts)
        return tidegate.wrap_response({"bugs": all_bugs}, summary, domain="bugfix")

    @mcp.tool()
    def bugfix_list(count: int):
        """List bugs"""
        items = [{"id": bug["id"], "label": bug["title"][:50]} for bug in found(count)]
        return tidegate.wrap_response(items, f"{count} bug(s)", limits={"max_bytes": 2048})

    @mcp.tool()
    def trace_get(count: int):
        """The first and last event of a trace"""
        events = [{"at": n, "event": f"step {n}"} for n in range(count)]
        shown = {"traceId": "t1", "status": "done", "eventCount": count, "startEvent": events[0], "endEvent": events[-1]}
        return tidegate.wrap_response(shown, f"Trace t1: done ({count} events)",
                                      artifact_ref=tidegate.store_artifact("trace", events, f"t1-{count}"))

    @mcp.tool()
    def artifact_get(reference: str):
        """The artifact of a reference"""
        return json.dumps(tidegate.retrieve_artifact(reference))


if __name__ == "__main__":
    servers = {"orbit": orbit, "shop": shop, "articles": articles, "bugs": bugs}
    name = sys.argv[1] if len(sys.argv) > 1 else ""
    if name not in servers:
        sys.exit(f"name one of {', '.join(servers)}")
    if sys.argv[2:3] == ["fastmcp"]:
        from fastmcp import FastMCP as Server
    else:
        from mcp.server import MCPServer as Server
    mcp = Server(name)
    servers[name](mcp, Tidegate(mcp))
    if len(sys.argv) > 3:
        mcp.run(transport="streamable-http", host="127.0.0.1", port=int(sys.argv[3]))
    else:
        mcp.run()
