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
from servers.expectations import contains
from servers.server_pair import ServerPair
from servers.setup import Setup

NAME = "playwright"
ROWS = 1_500
SEARCHED_ROW = 777
STATES = ["open", "closed", "in repair"]
# Together with Playwright's own flags, these keep the browser from contacting any other host.
QUIET = ["--disable-domain-reliability", "--disable-sync", "--no-pings"]
# File names contain the time.
STAMP = re.compile(r"\d{4}-\d\d-\d\dT[\d-]+Z")


async def run(setup: Setup) -> None:
    """Runs the checks."""
    settings = setup.folder / "playwright.json"
    settings.write_text(json.dumps({"browser": {"launchOptions": {"args": QUIET}}}))
    server = setup.node(
        "@playwright/mcp", "--headless", "--isolated", "--no-sandbox",
        "--executable-path", chromium(), "--config", str(settings))
    with website(setup.folder / "site") as address:
        async with setup.open(NAME, server) as pair:
            await pair.small("browser_navigate", {"url": address}, normalize=without_stamps)
            await snapshot(pair)
            await screenshot(pair)
            await pair.small("browser_close", {})


async def snapshot(pair: ServerPair) -> None:
    """Checks the page as text."""
    first, last = cells(1), cells(ROWS)
    kept = await pair.large("browser_snapshot", {}, expect=contains(*first[1:], *last[1:], cells(SEARCHED_ROW)[1]))
    _, name, level, state = cells(SEARCHED_ROW)
    await pair.follow(kept, {"grep": f'link "{name}"', "context": 4}, contains(name, level, state))
    await pair.follow(kept, {"grep": cells(ROWS)[1]}, contains(cells(ROWS)[1]))


async def screenshot(pair: ServerPair) -> None:
    """Checks the page as an image, which passes through despite its size."""
    result = await pair.small("browser_take_screenshot", {}, normalize=without_images)
    kinds = [block["type"] for block in result["content"]]
    problem = "" if "image" in kinds else f"its blocks are {kinds}"
    pair.check("browser_take_screenshot returns its image", problem)


def without_stamps(result: dict[str, Any]) -> Any:
    """Returns the result without times."""
    return json.loads(STAMP.sub("TIME", json.dumps(result)))


def without_images(result: dict[str, Any]) -> Any:
    """Returns the result without times and pixels, since rendering differs from run to run."""
    plain = without_stamps(result)
    for block in plain["content"]:
        if block["type"] == "image":
            block["data"] = block["data"][:8]
    return plain


@contextmanager
def website(folder: Path):
    """Serves the page on 127.0.0.1 and yields its URL."""
    folder.mkdir()
    (folder / "index.html").write_text(page())
    handler = functools.partial(QuietHandler, directory=str(folder))
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    try:
        yield f"http://127.0.0.1:{server.server_port}/"
    finally:
        server.shutdown()
        server.server_close()


class QuietHandler(http.server.SimpleHTTPRequestHandler):
    """Serves files without logging."""

    def log_message(self, *_: Any) -> None:
        pass


def page() -> str:
    """Returns the page: a heading and a table with a link in each row."""
    rows = "\n".join(row(number) for number in range(1, ROWS + 1))
    return (
        '<!doctype html><html lang="en"><head><meta charset="utf-8"><title>Gates</title>'
        '<link rel="icon" href="data:,"></head><body><h1>All gates</h1><table><thead>'
        "<tr><th>number</th><th>gate</th><th>level</th><th>state</th></tr></thead>"
        f"<tbody>{rows}</tbody></table></body></html>")


def row(number: int) -> str:
    """Returns one row of the table."""
    first, name, level, state = cells(number)
    return (f'<tr><td>{first}</td><td><a href="/gate/{number}">{name}</a></td>'
            f"<td>{level}</td><td>{state}</td></tr>")


def cells(number: int) -> tuple[str, str, str, str]:
    """Returns the cells of a row."""
    return str(number), f"gate {number:04}", f"level {number % 600 / 10} m", STATES[number % 3]
