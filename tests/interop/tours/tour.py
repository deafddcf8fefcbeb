"""Shared by the Python tours: the transcript, the responses to requests of the server, and the connection.

Run a tour as `TOUR.py [--mode legacy|auto] -- SERVER ARGS...`, or with `--url URL` instead of the server. It prints its
transcript to stdout, one JSON object with a member per step. Times and random ids are replaced by placeholders.
"""
import argparse
import json
import os
import re
import warnings
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from typing import Any

import anyio
import mcp_types as t
from mcp import Client, StdioServerParameters

STEP_SECONDS = 40
PLACEHOLDERS = [
    (re.compile(r"\d{1,2}:\d{2}:\d{2} [AP]M"), "<time>"),
    (re.compile(r"\d{4}-\d\d-\d\dT[\d:.]+Z"), "<instant>"),
    (re.compile(r"[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}"), "<uuid>"),
]


def plain(value: Any) -> Any:
    """Returns an SDK model as plain JSON."""
    if hasattr(value, "model_dump"):
        return value.model_dump(by_alias=True, mode="json", exclude_none=True)
    return value


def normalised(value: Any) -> Any:
    """Returns the value without what differs from run to run."""
    text = json.dumps(value, ensure_ascii=False)
    for pattern, placeholder in PLACEHOLDERS:
        text = pattern.sub(placeholder, text)
    return json.loads(text)


class Transcript:
    """What the client saw, step by step."""

    def __init__(self):
        self.steps: dict[str, Any] = {}

    def record(self, name: str, value: Any) -> None:
        self.steps[name] = normalised(plain(value))

    async def step(self, name: str, request: Awaitable) -> None:
        """Records the result or the error of a request."""
        try:
            with anyio.fail_after(STEP_SECONDS):
                self.record(name, await request)
        except Exception as error:
            self.record(name, {"error": type(error).__name__, "message": str(error)[:300]})

    async def progress(self, name: str, call: Callable[..., Awaitable]) -> None:
        """Records a step and its progress events."""
        events = []

        async def receive(progress, total, message):
            events.append([progress, total, message])

        await self.step(name, call(progress_callback=receive))
        self.record("progress", events)

    def server(self, client: Client) -> None:
        """Records what the server says about itself."""
        self.record("server", {
            "version": client.protocol_version,
            "info": plain(client.server_info),
            "capabilities": plain(client.server_capabilities),
            "instructions": client.instructions,
        })

    def print(self) -> None:
        print(json.dumps(self.steps, indent=1, sort_keys=True, ensure_ascii=False))


@dataclass
class Host:
    """Responds to requests of the server, and records them."""

    reply: str = "Paris"
    form: Callable[[dict], dict] = lambda schema: {}
    sampled: list = field(default_factory=list)
    elicited: list = field(default_factory=list)
    logged: list = field(default_factory=list)
    roots_asked: int = 0

    async def sample(self, context, params):
        self.sampled.append(plain(params))
        content = t.TextContent(type="text", text=self.reply)
        return t.CreateMessageResult(role="assistant", content=content, model="fake", stop_reason="endTurn")

    async def elicit(self, context, params):
        self.elicited.append(plain(params))
        return t.ElicitResult(action="accept", content=self.form(plain(params)["requestedSchema"]))

    async def roots(self, context):
        self.roots_asked += 1
        return t.ListRootsResult(roots=[t.Root(uri="file:///tmp", name="tmp")])

    async def log(self, params):
        self.logged.append(plain(params))

    def seen(self) -> dict:
        return {
            "sampled": self.sampled,
            "elicited": self.elicited,
            "logged": self.logged,
            "roots_asked": self.roots_asked,
        }


def read_options() -> argparse.Namespace:
    parser = argparse.ArgumentParser()
    parser.add_argument("--mode", default="legacy")
    parser.add_argument("--url")
    parser.add_argument("server", nargs="*")
    options = parser.parse_args()
    if bool(options.url) == bool(options.server):
        parser.error("give either --url or the command of a server")
    return options


def run(tour: Callable[[Client, Transcript, Host], Awaitable], host: Host) -> None:
    """Connects to the server on the command line, runs the tour and prints the transcript."""
    warnings.filterwarnings("ignore")
    options = read_options()
    server = options.url
    if options.server:
        command, *arguments = options.server
        # By default the SDK passes on only a few variables.
        server = StdioServerParameters(command=command, args=arguments, env=dict(os.environ))
    transcript = Transcript()

    async def connect():
        async with Client(
            server,
            mode=options.mode,
            sampling_callback=host.sample,
            elicitation_callback=host.elicit,
            list_roots_callback=host.roots,
            logging_callback=host.log,
            log_level="info",
            read_timeout_seconds=STEP_SECONDS,
        ) as client:
            transcript.server(client)
            await tour(client, transcript, host)
            transcript.record("seen", host.seen())

    anyio.run(connect)
    transcript.print()
