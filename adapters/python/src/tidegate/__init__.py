"""Keeps oversized tool results of an MCP server out of the agent's context.

    mcp = FastMCP("shop")
    tidegate = Tidegate(mcp)

    @mcp.tool()
    @heavy(style="probe", page_size=25)
    def list_all() -> list[dict]:
        return everything()

    mcp.run()

A tool returns its complete result. A result that fits the token budget reaches the client unchanged. A larger one is
stored whole: the agent gets an answer that fits, and reads any part of the rest with the tool `result_query`, without the
tool running again.

The work is done by the program `tidegate`, which runs as a child of the server and gets every request before the server
handles it, and every result before the client gets it. It works with FastMCP, and with `MCPServer` and the low-level
`Server` of the official SDK, over every transport.
"""

from __future__ import annotations

import asyncio
import atexit
import itertools
import json
import os
import subprocess
import sys
import threading
import weakref
from concurrent.futures import Future
from dataclasses import replace
from typing import Any, Callable, TypeVar

from mcp.shared.exceptions import MCPError

__all__ = ["OutputBudgetExceeded", "Tidegate", "TidegateError", "heavy"]

Function = TypeVar("Function", bound=Callable[..., Any])

# The rules of the tools that `heavy` decorates, by name of the tool.
_heavy: dict[str, dict[str, Any]] = {}
# The methods whose requests or results tidegate may change; everything else costs nothing.
_METHODS = {"initialize", "server/discover", "tools/list", "tools/call", "resources/list", "resources/templates/list",
            "resources/read"}


def heavy(*, name: str | None = None, **rules: Any) -> Callable[[Function], Function]:
    """Sets what a tool answers when its result is too large: `style`, `budget_tokens`, `page_size`, and all other rules
    for tools in tidegate.toml.

    `name` is the tool's name, where it is not that of the function.
    """
    def mark(function: Function) -> Function:
        _heavy[name or function.__name__] = rules
        return function
    return mark


class TidegateError(Exception):
    """tidegate could not be started, or does not accept what it was given."""


class _ChildEnded(TidegateError):
    def __init__(self) -> None:
        super().__init__("tidegate ended; if a tool was called, it may have run")


class OutputBudgetExceeded(Exception):
    """A text has more tokens than its budget."""

    def __init__(self, tool: str, tokens: int, budget: int):
        super().__init__(f"the answer of {tool} has {tokens} tokens, but its budget is {budget}")
        self.error = {"error": "OUTPUT_BUDGET_EXCEEDED", "tool": tool, "tokens": tokens, "budget": budget,
                      "hint": "Lower limit or narrow fields and call again"}


class Tidegate:
    """The gate of a server. It adds itself to the server's middleware.

    `tools` has rules by name of the tool, like `heavy`, and `defaults` those for all tools. `callers` gets the context of a
    request and returns the name of its caller: no caller can read the results of another. A request for which it returns
    None can read only what its own session stored. Without `callers`, everybody is one caller. With `ephemeral`, results
    are kept in memory and dropped when the server ends.
    """

    def __init__(self, server: Any, *, tools: dict[str, dict[str, Any]] | None = None,
                 defaults: dict[str, Any] | None = None, callers: Callable[[Any], str | None] | None = None,
                 ephemeral: bool = False, program: str | None = None):
        low_level = getattr(server, "_lowlevel_server", None) or getattr(server, "_mcp_server", None) or server
        if not hasattr(low_level, "middleware"):
            raise TypeError(f"{type(server).__name__} has no middleware: tidegate needs mcp 2.3 or fastmcp 4, or later")
        self._tools, self._callers = dict(tools or {}), callers
        self._opening = {"server": low_level.name, "defaults": defaults or {}, "ephemeral": ephemeral}
        self._program = program or os.environ.get("TIDEGATE_PROGRAM", "tidegate")
        self._lock, self._child = threading.Lock(), None
        self._numbers = itertools.count()
        self._sessions: weakref.WeakKeyDictionary[Any, str] = weakref.WeakKeyDictionary()
        # The outermost middleware sees results as the client would.
        low_level.middleware.insert(0, self)

    async def __call__(self, context: Any, call_next: Callable[[Any], Any]) -> Any:
        if context.request_id is None or context.method not in _METHODS:
            return await call_next(context)
        request = {"method": context.method, "params": dict(context.params or {})}
        asked = {**self._of(context), "request": request}
        child, number, decided = await self._ask(asked)
        if "response" in decided:
            return _outcome(decided["response"])
        if decided.get("request"):
            context = replace(context, params=decided["request"]["params"])
        try:
            result = await call_next(context)
        except MCPError as error:
            sent = error.error.model_dump(by_alias=True, mode="json", exclude_none=True)
            changed = await self._respond(child, number, asked, {"error": sent})
            if changed:
                raise MCPError(**changed["error"]) from error
            raise
        except BaseException:
            child.tell({"id": number, "cancel": True})
            raise
        wire = result if isinstance(result, dict) else result.model_dump(by_alias=True, mode="json", exclude_none=True)
        changed = await self._respond(child, number, asked, {"result": wire})
        return _outcome(changed) if changed else result

    async def _ask(self, asked: dict[str, Any]) -> tuple[_Child, int, Any]:
        """Asks about a request, which nothing has handled yet, so that another child can be asked if one has ended."""
        try:
            child = self._started()
            number, answer = child.ask(asked)
            return child, number, await asyncio.wrap_future(answer)
        except _ChildEnded:
            child = self._started()
            number, answer = child.ask(asked)
            return child, number, await asyncio.wrap_future(answer)

    async def _respond(self, child: _Child, number: int, asked: dict[str, Any], response: dict[str, Any]) -> Any:
        """Returns what the client gets; None for the response as it is."""
        try:
            return (await asyncio.wrap_future(child.ask({"response": response}, number)[1]))["response"]
        except _ChildEnded:
            # The tool did run, so its result must not be lost with the child: another child gets it.
            child, number, _ = await self._ask(asked)
            return (await asyncio.wrap_future(child.ask({"response": response}, number)[1]))["response"]

    def enforce_budget(self, text: str, tool: str, budget_tokens: int) -> str:
        """Returns the text if it is within the budget, and raises `OutputBudgetExceeded` if not."""
        counted = self._value("count_tokens", {"text": text, "limit": budget_tokens})
        if not counted["within"]:
            raise OutputBudgetExceeded(tool, counted["tokens"], budget_tokens)
        return text

    def _value(self, name: str, given: Any) -> Any:
        return self._started().ask({name: given})[1].result()["value"]

    def _of(self, context: Any) -> dict[str, Any]:
        """The session and the caller of a request."""
        found = {} if self._callers is None else {"caller": self._callers(context)}
        # Since 2026-07-28 there are no sessions: every request introduces its client.
        if context.protocol_version >= "2026-07-28" and context.method != "initialize":
            return found
        session = context.session
        if session not in self._sessions:
            name = self._sessions[session] = f"{os.getpid()}-{next(self._numbers)}"
            weakref.finalize(session, self._forget, name)
        return {**found, "session": self._sessions[session]}

    def _forget(self, session: str) -> None:
        if self._child is not None:
            self._child.tell({"end": session})

    def _started(self) -> _Child:
        with self._lock:
            if self._child is None or self._child.has_ended():
                opening = {**self._opening, "tools": {**_heavy, **self._tools}}
                self._child = _Child(self._program, opening)
            return self._child


def _outcome(response: dict[str, Any]) -> dict[str, Any]:
    if "error" in response:
        raise MCPError(**response["error"])
    return response["result"]


class _Child:
    """The program `tidegate shape --serve`, with JSON lines on its stdin and stdout."""

    def __init__(self, program: str, opening: dict[str, Any]):
        try:
            self._process = subprocess.Popen([program, "shape", "--serve"], stdin=subprocess.PIPE, stdout=subprocess.PIPE)
        except OSError as error:
            raise TidegateError(f"cannot start {program}: {error}; install tidegate, or set TIDEGATE_PROGRAM") from None
        self._lock, self._number, self._waiting = threading.Lock(), 0, {}
        try:
            self._write({"open": opening})
        except OSError:
            pass
        answer = json.loads(self._process.stdout.readline() or '{"failed": "it ended at once"}')
        if "failed" in answer:
            raise TidegateError(f"tidegate: {answer['failed']}")
        threading.Thread(target=self._read, daemon=True).start()
        atexit.register(self._end)

    def has_ended(self) -> bool:
        return self._process.poll() is not None

    def next_number(self) -> int:
        with self._lock:
            self._number += 1
            return self._number

    def ask(self, line: dict[str, Any], number: int | None = None) -> tuple[int, Future]:
        """Sends a line; returns its number, and what will be answered."""
        number, answer = number or self.next_number(), Future()
        # A request that is cancelled does not cancel the work of the child.
        answer.set_running_or_notify_cancel()
        with self._lock:
            self._waiting[number] = answer
        self.tell({"id": number, **line})
        return number, answer

    def tell(self, line: dict[str, Any]) -> None:
        """Sends a line that is not answered."""
        try:
            self._write(line)
        except OSError:
            self._fail_all()

    def _write(self, line: dict[str, Any]) -> None:
        data = json.dumps(line, ensure_ascii=False, separators=(",", ":")).encode("utf-8", "surrogatepass")
        with self._lock:
            self._process.stdin.write(data + b"\n")
            self._process.stdin.flush()

    def _read(self) -> None:
        for line in self._process.stdout:
            answer = json.loads(line)
            with self._lock:
                waiting = self._waiting.pop(answer.get("id"), None)
            if waiting is None:
                print(f"tidegate: {answer.get('failed', answer)}", file=sys.stderr)
            elif "failed" in answer:
                waiting.set_exception(TidegateError(f"tidegate: {answer['failed']}"))
            else:
                waiting.set_result(answer)
        self._fail_all()

    def _fail_all(self) -> None:
        self._process.kill()
        self._process.wait()
        with self._lock:
            waiting, self._waiting = self._waiting, {}
        for answer in waiting.values():
            answer.set_exception(_ChildEnded())

    def _end(self) -> None:
        self._process.stdin.close()
        try:
            self._process.wait(5)
        except subprocess.TimeoutExpired:
            self._process.kill()
