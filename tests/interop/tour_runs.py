"""The table of tours, and the process that runs one: a script in tours/."""
import json
import os
import signal
import subprocess
import tempfile
from dataclasses import dataclass
from pathlib import Path

from install import Toolchain
from listeners import Listener, ListenerError

SCRIPTS = Path(__file__).resolve().parent / "tours"
TOUR_SECONDS = 120
MODERN = "2026-07-28"
# The tool of server-everything that it offers only to clients that can open a page.
OPENS_PAGES = {"trigger-url-elicitation"}


@dataclass(frozen=True)
class Tour:
    """A script that drives a server and prints a transcript."""

    name: str
    script: str
    server: str
    options: tuple[str, ...]

    @property
    def typescript(self) -> bool:
        return self.script.endswith(".mjs")

    @property
    def is_typescript_v1(self) -> bool:
        """Returns whether the client is the TypeScript SDK v1."""
        return "v1" in self.options

    def command(self, toolchain: Toolchain, server: str | list[str]) -> list[str]:
        """Returns the command of the tour; the server is a URL or a command."""
        program = toolchain.node if self.typescript else toolchain.python
        target = ["--url", server] if isinstance(server, str) else ["--", *server]
        return [str(program), str(SCRIPTS / self.script), *self.options, *target]


TOURS = [
    Tour("python-everything", "python_everything.py", "everything", ("--mode", "legacy")),
    Tour("python-everything-auto", "python_everything.py", "everything", ("--mode", "auto")),
    Tour("ts1-everything", "ts_everything.mjs", "everything", ("--sdk", "v1")),
    Tour("ts2-everything", "ts_everything.mjs", "everything", ("--sdk", "v2")),
    Tour("ts2-everything-auto", "ts_everything.mjs", "everything", ("--sdk", "v2", "--mode", "auto")),
    Tour("python-conf-legacy", "python_conf.py", "conf", ("--mode", "legacy")),
    Tour("python-conf-modern", "python_conf.py", "conf", ("--mode", "auto")),
    Tour("ts2-conf-modern", "ts_conf.mjs", "conf", ("--sdk", "v2", "--mode", MODERN)),
    Tour("ts2-conf-auto", "ts_conf.mjs", "conf", ("--sdk", "v2", "--mode", "auto")),
    Tour("python-raw-legacy", "python_raw.py", "raw", ("--mode", "legacy")),
    Tour("python-raw-modern", "python_raw.py", "raw", ("--mode", "auto")),
    Tour("ts1-raw", "ts_raw.mjs", "raw", ("--sdk", "v1")),
    Tour("ts2-raw-modern", "ts_raw.mjs", "raw", ("--sdk", "v2", "--mode", MODERN)),
]


# A transcript, or the reason why there is none.
TourResult = dict | str


class TourProcess:
    """One running tour."""

    def __init__(self, tour: Tour, toolchain: Toolchain, server: str | list[str]):
        self.folder = tempfile.TemporaryDirectory(prefix="tidegate-interop-")
        home = Path(self.folder.name)
        self.stdout = home / "stdout"
        self.stderr = home / "stderr"
        environment = os.environ | {"TIDEGATE_HOME": str(home / "store"), "INTEROP_JS": str(toolchain.js)}
        with open(self.stdout, "wb") as stdout, open(self.stderr, "wb") as stderr:
            self.process = subprocess.Popen(
                tour.command(toolchain, server), stdin=subprocess.DEVNULL, stdout=stdout, stderr=stderr,
                env=environment, start_new_session=True)

    def __enter__(self) -> "TourProcess":
        return self

    def __exit__(self, *_) -> None:
        if self.process.poll() is None:
            os.killpg(self.process.pid, signal.SIGKILL)
            self.process.wait()
        self.folder.cleanup()

    def wait(self) -> TourResult:
        """Waits for the end of the tour and returns its result."""
        try:
            code = self.process.wait(TOUR_SECONDS)
        except subprocess.TimeoutExpired:
            return f"the tour took more than {TOUR_SECONDS} seconds"
        if code != 0:
            errors = self.stderr.read_text(errors="replace").strip().splitlines()
            return f"the tour failed with exit code {code}: " + " | ".join(errors[-3:])
        try:
            return json.loads(self.stdout.read_text())
        except ValueError as error:
            return f"the tour printed no transcript: {error}"


@dataclass(frozen=True)
class ProxiedTour:
    """One tour through tidegate: its process, and the listening program if there is one; or why it could not start."""

    process: TourProcess | None = None
    listener: Listener | None = None
    failure: str = ""

    def wait(self) -> TourResult:
        """Waits for the end of the tour, stops the listening program and returns the result."""
        if self.process is None:
            return self.failure
        found = self.process.wait()
        try:
            if self.listener:
                self.listener.stop()
        except ListenerError as error:
            return f"tidegate: {error}"
        return found


def comparable(tour: Tour, over_http: bool, direct: dict, proxied: dict) -> tuple[dict, dict]:
    """Returns both transcripts without events that the clients themselves drop or repeat."""
    if tour.is_typescript_v1 and over_http:
        direct, proxied = without_replayed_events(direct), without_replayed_events(proxied)
    if tour.typescript:
        direct, proxied = without_droppable_event(direct, proxied)
    return direct, proxied


def as_gateway_lists(direct: dict, proxied: dict) -> tuple[dict, dict]:
    """Returns both transcripts with what a gateway does to lists on purpose.

    It reads all pages of a server and makes pages of its own, which are longer. And it reads lists before it knows what a client
    can do, so it also lists tools that a server offers only to clients that can open a page.
    """
    tools = direct.get("tools", {})
    if "nextCursor" in tools:
        all_tools = [tool for page in (tools, *direct["more-tools"]) for tool in page["tools"]]
        tools = {key: value for key, value in tools.items() if key != "nextCursor"} | {"tools": all_tools}
        direct = direct | {"tools": tools, "more-tools": []}
    if "tools" in proxied.get("tools", {}):
        listed = {tool["name"] for tool in tools.get("tools", ())}
        kept = [tool for tool in proxied["tools"]["tools"] if tool["name"] not in OPENS_PAGES - listed]
        proxied = proxied | {"tools": proxied["tools"] | {"tools": kept}}
    return direct, proxied


def without_replayed_events(transcript: dict) -> dict:
    """Returns the transcript with each progress event once.

    The TypeScript SDK v1 does not accept an error as the response to a request. A second later it resumes the stream,
    and server-everything sends all events of the session again.
    """
    events = []
    for event in transcript.get("progress", []):
        if event not in events:
            events.append(event)
    return transcript | {"progress": events} if events else transcript


def without_droppable_event(direct: dict, proxied: dict) -> tuple[dict, dict]:
    """Returns both transcripts without the last progress event, if only one has it.

    The TypeScript clients drop an event that arrives in the same read as the response.
    """
    one, other = direct.get("progress", []), proxied.get("progress", [])
    if abs(len(one) - len(other)) != 1:
        return direct, proxied
    common = min(len(one), len(other))
    return direct | {"progress": one[:common]}, proxied | {"progress": other[:common]}
