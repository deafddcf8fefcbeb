"""What conventions.py and examples.py share: a client that checks every answer, and the command line.

Both scripts run in the Python of the installed toolchain, so the SDK is imported only inside functions.
"""
import argparse
import json
import warnings
from pathlib import Path

from install import DEFAULT_CACHE, enter

# The two eras of the protocol, as the SDK's `mode` names them.
MODES = ("legacy", "auto")
MAX_ANSWER_BYTES = 10_240
PROBE_FIELDS = {"preview", "total_size", "available_modes", "continuation_token"}
TOKEN_EXPIRED = "Continuation token expired or not found. Re-invoke without continuation_token to start a new negotiation."


class CheckedClient:
    """A connection to one server that reports checks under the name of the server."""

    def __init__(self, client, name, report):
        self.client, self.name, self.report = client, name, report

    def check(self, what, holds, seen=""):
        self.report.check(self.name, what, "" if holds else f"{str(seen)[:300] or 'does not hold'}")

    async def call(self, tool, arguments):
        """Returns the result of a tool as JSON."""
        result = await self.client.call_tool(tool, arguments)
        return result.model_dump(by_alias=True, mode="json", exclude_none=True)

    async def answer(self, tool, /, **arguments):
        """Returns the text of an answer, parsed as JSON, and checks its size."""
        result = await self.call(tool, arguments)
        text = result["content"][0]["text"]
        self.check(f"{tool}: at most {MAX_ANSWER_BYTES:,} bytes", len(text.encode()) <= MAX_ANSWER_BYTES, len(text))
        return json.loads(text)

    async def text(self, tool, /, **arguments):
        """Returns the text of an answer."""
        return (await self.call(tool, arguments))["content"][0]["text"]

    async def error(self, tool, /, **arguments):
        """Returns the message of an error, of the tool or of the protocol."""
        try:
            result = await self.call(tool, arguments)
        except Exception as error:
            return str(error)
        self.check(f"{tool}: is an error", result.get("isError") is True, result)
        return result["content"][0]["text"]

    async def probe(self, tool, total, /, **arguments):
        """Checks a probe and all four modes of fetching its result; returns the continuation token."""
        probe = await self.answer(tool, **arguments)
        self.check("the probe has its fields", set(probe) == PROBE_FIELDS, list(probe))
        token = probe["continuation_token"]
        summary = await self.answer(tool, continuation_token=token)
        self.check("summary: the first five", [len(summary["summary"]), summary["total"]] == [5, total], summary)
        page = await self.answer(tool, continuation_token=token, mode="paginated", page=2, page_size=25)
        self.check("paginated", [page["items"][0]["id"], page["total"], page["has_more"]] == [26, total, True], page)
        keys = await self.answer(tool, continuation_token=token, mode="filtered", filter_keys=["id", "product.name"])
        self.check("filtered", set(keys["items"][0]) == {"id", "product.name"}, keys["items"][:1])
        full = await self.answer(tool, continuation_token=token, mode="full")
        self.check("full above the cap is a page", "above the cap" in full["note"], full)
        last = int(full["note"].rsplit(" ", 1)[1])
        pages = [await self.answer(tool, **{**full["next_call"], "page": page}) for page in range(2, last + 1)]
        items = sum(len(page["items"]) for page in [full, *pages])
        self.check("its calls give the rest", [items, pages[-1]["has_more"]] == [total, False], full)
        return token


def run_script(description: str, programs: tuple[str, str], check_all) -> int:
    """Reads the command line, runs the checks, prints a summary and returns the exit code.

    `programs` is the name and the help of the option for the servers' programs.
    """
    parser = argparse.ArgumentParser(description=description)
    parser.add_argument(f"--{programs[0]}", type=Path, required=True, help=programs[1])
    parser.add_argument("--tidegate", type=Path, required=True, help="the program under test")
    parser.add_argument("--cache", type=Path, default=DEFAULT_CACHE, help="folder of the installed packages")
    options = parser.parse_args()
    enter(options.cache)
    import anyio

    from servers.report import Report
    warnings.filterwarnings("ignore")
    report = Report()
    anyio.run(check_all, options, report)
    print(f"{report.passed} checks passed, {report.failed} failed")
    return 1 if report.failed else 0
