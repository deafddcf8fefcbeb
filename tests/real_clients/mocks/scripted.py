"""The scripted conversation: a model that plays a plan of tool calls, whatever API it speaks.

A `ScriptedModel` answers every request with the first planned call that has no result yet, so a retried request never
loses a step. Placeholders in a call's arguments are filled when it is first played (see `handles.py`); a call whose
placeholders cannot be filled is skipped.
"""
from __future__ import annotations

import itertools
import json
import threading
import time
from collections import Counter
from dataclasses import dataclass, replace

from . import handles

LOAD_ID = "call_load"
MAX_ATTEMPTS = 3
IMAGE = "<image "  # the beginning of the text that stands for an image block


@dataclass(frozen=True)
class Call:
    """One tool call, under the name the client gave the tool."""

    id: str
    name: str
    arguments: dict | str
    script: str | None = None
    label: str | None = None           # how later calls refer to its result


@dataclass(frozen=True)
class Result:
    """What the client returned for one call: text blocks, and whether it was marked as an error."""

    blocks: list[str]
    is_error: bool = False

    @property
    def text(self) -> str:
        return "\n".join(self.blocks)


@dataclass(frozen=True)
class Reply:
    """An HTTP body and its content type."""

    body: str
    content_type: str = "application/json"


class ScriptedModel:
    """Plays `calls` in order. Subclasses speak one API: they read requests and render replies."""

    def __init__(self, calls: list[Call]):
        self.calls = calls
        self.played: dict[str, Call] = {}       # calls as they were played, by id
        self.played_at: dict[str, int] = {}     # and when, on the monotonic clock
        self.not_played: dict[str, str] = {}    # calls that could not be played, and why
        self.results: dict[str, Result] = {}
        self.tools: dict[str, dict] = {}        # every tool definition the model saw
        self.repeated: set[str] = set()         # names that one request listed more than once
        self.upfront: set[str] = set()          # names in the first request
        self.refused: list[str] = []            # hosts the client tried to reach
        self.prompts = ""                       # the first request, to look for server instructions
        self._attempts: Counter[str] = Counter()
        self._numbers = itertools.count(1)
        self._lock = threading.Lock()

    # Implemented by subclasses.
    def answer(self, path: str, request: dict) -> Reply:
        raise NotImplementedError

    def read_tools(self, request: dict) -> list[dict]:
        raise NotImplementedError

    def read_results(self, request: dict) -> dict[str, Result]:
        raise NotImplementedError

    def load_call(self) -> Call | None:
        """Returns the call that loads deferred tools, if the client defers them."""
        return None

    def written(self, call: Call) -> str:
        """Returns what the model writes to make a call: the tool's name and its arguments, or a script."""
        return f"{call.name} {json.dumps(call.arguments, ensure_ascii=False, separators=(',', ':'))}"

    # Used by subclasses.
    def new_id(self, prefix: str) -> str:
        """Returns a new id for a reply; clients merge replies that share an id."""
        return f"{prefix}_{next(self._numbers):04d}"

    def next_call(self, request: dict) -> Call | None:
        """Records what the request contains; returns the next call, or None when the plan is done."""
        with self._lock:
            self.record_tools(self.read_tools(request))
            if not self.prompts:
                self.prompts = json.dumps(request, ensure_ascii=False)
                self.upfront = set(self.tools)
            for identifier, result in self.read_results(request).items():
                self.results.setdefault(identifier, result)
            load = self.load_call()
            waiting = [call for call in ([load] if load else []) + self.calls if self._is_due(call)]
            return next((call for call in map(self._play, waiting) if call), None)

    def record_tools(self, tools: list[dict]) -> None:
        """Records the tool definitions of one listing."""
        names = Counter(item["name"] for item in tools)
        self.repeated |= {name for name, count in names.items() if count > 1}
        self.tools.update({item["name"]: item for item in tools})

    def _is_due(self, call: Call) -> bool:
        over = call.id in self.results or call.id in self.not_played
        return not over and self._attempts[call.id] < MAX_ATTEMPTS

    def _play(self, call: Call) -> Call | None:
        """Returns the call with its placeholders filled; records the reason and returns None if that fails."""
        if call.id not in self.played:
            seen = {other.label: self.results[other.id].text for other in self.calls if other.id in self.results}
            try:
                self.played[call.id] = replace(call, arguments=handles.fill(call.arguments, seen))
            except handles.PlaceholderError as error:
                self.not_played[call.id] = str(error)
                return None
            self.played_at[call.id] = time.monotonic_ns()
        self._attempts[call.id] += 1
        return self.played[call.id]


def tool(name: str, description: str | None, schema: dict | None) -> dict:
    """Returns a tool definition in the form that all mocks share."""
    return {"name": name, "description": description or "", "schema": schema or {}}


def picture(media_type: str, data: str) -> str:
    """Returns the text that stands for an image block."""
    return f"{IMAGE}{media_type}, {len(data)} base64 characters>"


def json_reply(value: dict) -> Reply:
    return Reply(json.dumps(value))


def event_stream(events: list[dict], named: bool = True) -> Reply:
    """Returns server-sent events; `named` adds the `event:` line that some APIs have."""
    lines = [(f"event: {event['type']}\n" if named else "") + f"data: {json.dumps(event)}\n\n" for event in events]
    return Reply("".join(lines), "text/event-stream")
