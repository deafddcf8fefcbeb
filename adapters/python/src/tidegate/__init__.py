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

The work is done by the program `tidegate`, a child of the server that gets every request before the server handles it, and
every result before the client gets it. FastMCP, `MCPServer` and the low-level `Server` work, over every transport.
"""

from __future__ import annotations

import asyncio
import atexit
import itertools
import json
import os
import secrets
import subprocess
import sys
import sysconfig
import threading
import weakref
from collections import deque
from concurrent.futures import Future
from contextvars import ContextVar
from dataclasses import replace
from typing import Any, Callable, TypeVar

from mcp.server.mcpserver.exceptions import ToolError
from mcp.shared.exceptions import MCPError
from pydantic_core import to_json

__all__ = ["OutputBudgetExceeded", "Tidegate", "TidegateError", "heavy"]

Function = TypeVar("Function", bound=Callable[..., Any])

# The rules of the tools that `heavy` decorates, by name of the tool.
_heavy: dict[str, dict[str, Any]] = {}
# The session, the caller and the tool of the call that is being answered: what the tool stores belongs to them.
_call: ContextVar[dict[str, Any]] = ContextVar("tidegate_call", default={})
# The methods whose requests or results tidegate may change; everything else costs nothing.
_METHODS = {"initialize", "server/discover", "tools/list", "tools/call", "resources/list", "resources/templates/list",
            "resources/read"}


def _packaged() -> str | None:
    """The program that pip installed with this package, if it did."""
    path = os.path.join(sysconfig.get_path("scripts"), "tidegate.exe" if os.name == "nt" else "tidegate")
    return path if os.path.isfile(path) else None


def heavy(*, name: str | None = None, **rules: Any) -> Callable[[Function], Function]:
    """Sets what a tool answers when its result is too large: `style`, `budget_tokens`, `page_size`, and all other rules
    for tools in tidegate.toml.

    `name` is the tool's name, where it is not that of the function.
    """
    def mark(function: Function) -> Function:
        _heavy[name or function.__name__] = rules
        return function
    return mark


class TidegateError(ToolError):
    """tidegate could not be started, or does not accept what it was given. A client sees the message of a `ToolError`."""


class _ChildEnded(TidegateError):
    def __init__(self) -> None:
        super().__init__("tidegate ended; if a tool was called, it may have run")


class OutputBudgetExceeded(ToolError):
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
        self._program = program or os.environ.get("TIDEGATE_PROGRAM") or _packaged() or "tidegate"
        self._lock, self._child = threading.Lock(), None
        # A session may end while a lock is held, so that the child learns of it with the next request.
        self._ended: deque[str] = deque()
        self._sessions: weakref.WeakKeyDictionary[Any, str] = weakref.WeakKeyDictionary()
        # The outermost middleware sees results as the client would.
        low_level.middleware.insert(0, self)

    async def __call__(self, context: Any, call_next: Callable[[Any], Any]) -> Any:
        if context.request_id is None or context.method not in _METHODS:
            return await call_next(context)
        params, origin = dict(context.params or {}), self._of(context)
        asked = {**origin, "request": {"method": context.method, "params": params}}
        try:
            child, number, decided = await self._ask(asked)
        except TidegateError as error:
            raise MCPError(code=-32603, message=f"{error}. The request was not handled.") from error
        if "response" in decided:
            return _outcome(decided["response"])
        if decided.get("request"):
            context = replace(context, params=decided["request"]["params"])
        call = _call.set({**origin, "tool": params.get("name")})
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
        finally:
            _call.reset(call)
        wire = result if isinstance(result, dict) else result.model_dump(by_alias=True, mode="json", exclude_none=True)
        changed = await self._respond(child, number, asked, {"result": wire})
        return _outcome(changed) if changed else result

    async def _ask(self, asked: dict[str, Any]) -> tuple[_Child, int, Any]:
        """Asks about a request, which nothing has handled yet, so that another child can be asked if one has ended."""
        for is_last in (False, True):
            try:
                child = self._started()
                while self._ended:
                    child.tell({"end": self._ended.popleft()})
                number, answer = child.ask(asked)
                return child, number, await asyncio.wrap_future(answer)
            except _ChildEnded:
                if is_last:
                    raise

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

    def wrap_response(self, data: Any, summary: str, *, domain: str | None = None, artifact_ref: str | None = None,
                      success: bool = True, limits: dict[str, int] | None = None) -> str:
        """Returns data as the text of an answer within hard limits: the summary, and the data, truncated where necessary.

        With `domain`, data that would be truncated is stored whole, and the answer has its reference; `artifact_ref` is the
        reference to data that is stored already. `limits` replaces any of `max_bytes` (10,240 for the whole tool result),
        `max_array_items` (10), `max_string_length` (500), `max_json_depth` (4) and `max_log_lines` (20).
        """
        return self._value("wrap_response", {"data": data, "summary": summary, "domain": domain, "success": success,
                                             "artifact_ref": artifact_ref, "limits": limits or {}})

    def create_summary(self, action: str, count: int, by_severity: dict[str, int] | None = None) -> str:
        """Returns a summary such as `Found bugs: 15 total (3 critical, 12 high)`, or `Found bugs: 15 items`."""
        counts = None if by_severity is None else list(by_severity.items())
        return self._value("create_summary", {"action": action, "count": count, "by_severity": counts})

    def store_artifact(self, domain: str, data: Any, id: str | None = None) -> str:
        """Stores data for the caller of the tool; returns its reference, `ax://domain/id`."""
        return self._value("store_artifact", {"domain": domain, "data": data, "id": id})

    def retrieve_artifact(self, reference: str) -> Any:
        """Returns the data of a reference, if it is stored for the caller of the tool."""
        return self._value("retrieve_artifact", {"reference": reference})

    def _value(self, name: str, given: Any) -> Any:
        for is_last in (False, True):
            try:
                return self._started().ask({**_call.get(), name: given})[1].result()["value"]
            except _ChildEnded:
                if is_last:
                    raise

    def _of(self, context: Any) -> dict[str, Any]:
        """The session and the caller of a request."""
        found = {} if self._callers is None else {"caller": self._callers(context)}
        # Since 2026-07-28 there are no sessions: every request introduces its client.
        if context.protocol_version >= "2026-07-28" and context.method != "initialize":
            return found
        session = context.session
        if session not in self._sessions:
            # Names are random: another process must not read what an unknown caller stored in a session of this one.
            name = self._sessions[session] = secrets.token_hex(16)
            weakref.finalize(session, self._ended.append, name)
        return {**found, "session": self._sessions[session]}

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
        self._lock, self._writing = threading.Lock(), threading.Lock()
        self._numbers, self._waiting = itertools.count(1), {}
        self.tell({"open": opening})
        answer = json.loads(self._process.stdout.readline() or '{"failed": "it ended at once"}')
        if "failed" in answer:
            raise TidegateError(f"tidegate: {answer['failed']}")
        threading.Thread(target=self._read, daemon=True).start()
        atexit.register(self._end)

    def has_ended(self) -> bool:
        return self._process.poll() is not None

    def ask(self, line: dict[str, Any], number: int | None = None) -> tuple[int, Future]:
        """Sends a line; returns its number, and what will be answered."""
        number, answer = number or next(self._numbers), Future()
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
        data = to_json(line, inf_nan_mode="null")
        with self._writing:
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
