"""The checks that all servers share.

A small result passes unchanged. A large one becomes a text within budget that names the stored result, and every
follow-up is within budget and correct.
"""
import json
import os
import re
import subprocess
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from servers.connection import Connection
from servers.expectations import Expectation
from servers.report import Report, Row, shortened

MAX_FIRST_TOKENS = 1_000
MAX_FOLLOW_UP_TOKENS = 2_000
MAX_BYTES = 10_240
HANDLE = re.compile(r'Complete result: "([\w.-]+-[0-9a-z]{12})" \(kept 24 h\)')

Arguments = dict[str, Any]
Result = dict[str, Any]
# Removes from a result what differs from run to run.
Normalize = Callable[[Result], Any]


def unchanged(result: Result) -> Result:
    """Removes nothing."""
    return result


class Unusable(Exception):
    """A large result that cannot be followed up."""


@dataclass(frozen=True)
class KeptResult:
    """A large result that was stored and answered with an overview."""

    tool: str
    handle: str
    overview: str
    exported: bytes
    row: Row


@dataclass(frozen=True)
class ServerPair:
    """One server, connected directly and behind tidegate."""

    name: str
    title: str
    direct: Connection
    gated: Connection
    report: Report
    tokens: Callable[[str], int]
    tidegate: Path
    home: Path

    def check(self, what: str, problem: str) -> bool:
        """Reports one check."""
        return self.report.check(self.name, what, problem)

    async def same_session(self) -> None:
        """Both speak the same protocol version; tidegate adds its tool and removes output schemas."""
        spoken = self.direct.client.session.protocol_version
        gated = self.gated.client.session.protocol_version
        self.check(f"speaks {spoken}", different(gated, spoken))
        expected = [without(tool, "outputSchema") for tool in await self.direct.tools()]
        listed = await self.gated.tools()
        others = [tool for tool in listed if tool["name"] != "result_query"]
        self.check(f"lists the same {len(expected)} tools without output schema", different(others, expected))
        added = len(listed) - len(others)
        self.check("lists result_query once", "" if added == 1 else f"{added} times")

    async def small(
            self, tool: str, arguments: Arguments, normalize: Normalize = unchanged, fails: bool = False) -> Result:
        """Checks that the result equals the direct one, after `normalize` removed what differs from run to run."""
        expected = await self.direct.call(tool, arguments)
        result = await self.gated.call(tool, arguments)
        problem = different(normalize(result), normalize(expected))
        if bool(expected.get("isError")) != fails:
            problem = f"the server itself answered {shortened(all_text(expected))}"
        self.check(f"{tool} {shortened(compact(arguments), 60)} as direct", problem)
        return result

    async def large(self, tool: str, arguments: Arguments, expect: Expectation | None = None) -> KeptResult:
        """Checks that the result becomes an overview and exports as the direct result, or as expected."""
        direct = await self.direct.call(tool, arguments)
        result = await self.gated.call(tool, arguments)
        self.check(f"{tool} is one text block", self.not_one_text_block(result))
        self.check(f"{tool} fits", self.over_budget(result, MAX_FIRST_TOKENS))
        text = all_text(result)
        handle = self.handle(tool, text)
        exported = self.export(handle)
        whole = json.loads(exported)
        problem = expect(all_text(whole)) if expect else different(whole, direct)
        self.check(f"{tool} exports whole ({len(exported):,} bytes)", problem)
        row = Row(tool, self.title, self.tokens(all_text(whole)), self.tokens(text))
        self.report.rows.append(row)
        kept = KeptResult(tool, handle, text, exported, row)
        await self.next_step(kept)
        return kept

    def handle(self, tool: str, text: str) -> str:
        """Returns the handle of the stored result, which the first and the last line must name."""
        lines = text.split("\n")
        found = HANDLE.search(lines[0])
        named = f'next: result_query {{"id":"{found[1]}"' if found else ""
        problem = ""
        if not found:
            problem = f"no handle in the first line: {shortened(lines[0])}"
        elif not any(line.startswith("Read the rest with result_query") for line in lines[1:2]):
            problem = f"the second line is {shortened(lines[1:2])}"
        elif not lines[-1].startswith(named):
            problem = f"the last line is {shortened(lines[-1])}"
        self.check(f"{tool} names its handle first and last", problem)
        if not found:
            raise Unusable(f"{tool} has no handle to follow")
        return found[1]

    def export(self, handle: str) -> bytes:
        """Returns the bytes of the stored result."""
        environment = os.environ | {"TIDEGATE_HOME": str(self.home)}
        done = subprocess.run([str(self.tidegate), "export", handle], env=environment, capture_output=True)
        if done.returncode != 0:
            raise Unusable(f"export of {handle} ended with {done.returncode}: {done.stderr.decode()}")
        return done.stdout

    async def next_step(self, kept: KeptResult) -> None:
        """Checks that the call in the last line works as written."""
        last = kept.overview.rsplit("\n", 1)[-1]
        named = last.partition("result_query ")[2]
        try:
            arguments, _ = json.JSONDecoder().raw_decode(named)
        except ValueError as error:
            self.check(f"{kept.tool} next step", f"{error} in {shortened(last)}")
            return
        result = await self.gated.call("result_query", arguments)
        self.check(f"{kept.tool} next step {compact(without(arguments, 'id'))}", self.invalid(result))

    async def follow(self, kept: KeptResult, view: Arguments, expect: Expectation) -> None:
        """Checks that the answer is within budget and as expected; the first such goes into the table."""
        result = await self.gated.call("result_query", {"id": kept.handle} | view)
        text = all_text(result)
        problem = self.invalid(result) or expect(body(text))
        if self.check(f"{kept.tool} {compact(view)}", problem) and not kept.row.follow_up:
            kept.row.follow_up = f"`{compact(view)}` ({self.tokens(text):,} tokens)"

    def invalid(self, result: Result) -> str:
        """Returns what is wrong with an answer of tidegate itself."""
        if result.get("isError"):
            return f"an error: {shortened(all_text(result))}"
        return self.not_one_text_block(result) or self.over_budget(result, MAX_FOLLOW_UP_TOKENS)

    def not_one_text_block(self, result: Result) -> str:
        """Returns why the result is not exactly one text block."""
        kinds = [block["type"] for block in result["content"]]
        if kinds != ["text"]:
            return f"its blocks are {kinds}"
        return "it has structuredContent" if "structuredContent" in result else ""

    def over_budget(self, result: Result, max_tokens: int) -> str:
        """Returns how the result exceeds the budget."""
        tokens = self.tokens(all_text(result))
        size = len(compact(result).encode())
        if tokens > max_tokens:
            return f"{tokens} tokens"
        return f"{size} bytes" if size > MAX_BYTES else ""


def all_text(result: Result) -> str:
    """Returns the text of all blocks; structuredContent repeats it and is left out."""
    return "".join(block.get("text", "") for block in result["content"])


def body(text: str) -> str:
    """Returns the lines between the two fences."""
    lines = text.split("\n")
    fences = [number for number, line in enumerate(lines) if line.startswith("~~")]
    if len(fences) < 2:
        return ""
    return "\n".join(lines[fences[0] + 1:fences[-1]])


def without(value: dict[str, Any], key: str) -> dict[str, Any]:
    """Returns a copy without one key."""
    return {name: part for name, part in value.items() if name != key}


def compact(value: Any) -> str:
    """Returns JSON without spaces, with the keys in their original order."""
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"))


def different(value: Any, expected: Any) -> str:
    """Returns where two JSON values differ; key order and 1 versus 1.0 count as differences."""
    one, other = compact(value), compact(expected)
    if one == other:
        return ""
    common = len(os.path.commonprefix([one, other]))
    start = max(0, common - 40)
    found, wanted = shortened(one[start:], 150), shortened(other[start:], 150)
    return f"after {start} characters {found} instead of {wanted}"
