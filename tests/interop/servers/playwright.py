"""Playwright with a headless chromium: the accessibility snapshot of a page with a table of 1,500 rows."""
import functools
import http.server
import json
import re
import threading
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from install import chromium
from servers.bench import Bench
from servers.case import Case
from servers.judge import contains

NAME = "playwright"
ROWS = 1_500
WANTED = 777
STATES = ["open", "closed", "in repair"]
# With what Playwright itself sets, the browser asks nobody but the page.
QUIET = ["--disable-domain-reliability", "--disable-sync", "--no-pings"]
# Files are named after the time.
STAMP = re.compile(r"\d{4}-\d\d-\d\dT[\d-]+Z")


async def run(bench: Bench) -> None:
    """Runs the checks."""
    settings = bench.folder / "playwright.json"
    settings.write_text(json.dumps({"browser": {"launchOptions": {"args": QUIET}}}))
    server = bench.node(
        "@playwright/mcp", "--headless", "--isolated", "--no-sandbox",
        "--executable-path", chromium(), "--config", str(settings))
    with website(bench.folder / "site") as address:
        async with bench.open(NAME, server) as case:
            await case.small("browser_navigate", {"url": address}, plain=without_stamps)
            await snapshot(case)
            await screenshot(case)
            await case.small("browser_close", {})


async def snapshot(case: Case) -> None:
    """The page as text."""
    first, last = cells(1), cells(ROWS)
    kept = await case.large("browser_snapshot", {}, judge=contains(*first[1:], *last[1:], cells(WANTED)[1]))
    _, name, level, state = cells(WANTED)
    await case.follow(kept, {"grep": f'link "{name}"', "context": 4}, contains(name, level, state))
    await case.follow(kept, {"grep": cells(ROWS)[1]}, contains(cells(ROWS)[1]))


async def screenshot(case: Case) -> None:
    """The page as an image, which crosses though its bytes are many."""
    result = await case.small("browser_take_screenshot", {}, plain=without_images)
    kinds = [block["type"] for block in result["content"]]
    problem = "" if "image" in kinds else f"its blocks are {kinds}"
    case.check("browser_take_screenshot brings its image", problem)


def without_stamps(result: dict[str, Any]) -> Any:
    """The result without the times in it."""
    return json.loads(STAMP.sub("TIME", json.dumps(result)))


def without_images(result: dict[str, Any]) -> Any:
    """The result without times and without the pixels, which a browser may draw in more than one way."""
    plain = without_stamps(result)
    for block in plain["content"]:
        if block["type"] == "image":
            block["data"] = block["data"][:8]
    return plain


@contextmanager
def website(folder: Path):
    """Serves the page on this machine alone and yields its address."""
    folder.mkdir()
    (folder / "index.html").write_text(page())
    handler = functools.partial(Quiet, directory=str(folder))
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    try:
        yield f"http://127.0.0.1:{server.server_port}/"
    finally:
        server.shutdown()
        server.server_close()


class Quiet(http.server.SimpleHTTPRequestHandler):
    """Serves files and says nothing."""

    def log_message(self, *_: Any) -> None:
        pass


def page() -> str:
    """The page: a heading and a table with a link in each row."""
    rows = "\n".join(row(number) for number in range(1, ROWS + 1))
    return (
        '<!doctype html><html lang="en"><head><meta charset="utf-8"><title>Gates</title>'
        '<link rel="icon" href="data:,"></head><body><h1>All gates</h1><table><thead>'
        "<tr><th>number</th><th>gate</th><th>level</th><th>state</th></tr></thead>"
        f"<tbody>{rows}</tbody></table></body></html>")


def row(number: int) -> str:
    """One row of the table."""
    first, name, level, state = cells(number)
    return (f'<tr><td>{first}</td><td><a href="/gate/{number}">{name}</a></td>'
            f"<td>{level}</td><td>{state}</td></tr>")


def cells(number: int) -> tuple[str, str, str, str]:
    """What stands in a row."""
    return str(number), f"gate {number:04}", f"level {number % 600 / 10} m", STATES[number % 3]
