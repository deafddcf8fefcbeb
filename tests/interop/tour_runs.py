"""The tours of servers, and one of them on its way: a script of tours/ in a process of its own."""
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
    def first_generation(self) -> bool:
        """Whether the client is the TypeScript SDK v1."""
        return "v1" in self.options

    def command(self, toolchain: Toolchain, server: str | list[str]) -> list[str]:
        """The command of the tour; the server is given by its URL or by its command."""
        program = toolchain.node if self.typescript else toolchain.python
        to = ["--url", server] if isinstance(server, str) else ["--", *server]
        return [str(program), str(SCRIPTS / self.script), *self.options, *to]


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


# A transcript, or why there is none.
Outcome = dict | str


class Visit:
    """One tour on its way, in a process of its own."""

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

    def __enter__(self) -> "Visit":
        return self

    def __exit__(self, *_) -> None:
        if self.process.poll() is None:
            os.killpg(self.process.pid, signal.SIGKILL)
            self.process.wait()
        self.folder.cleanup()

    def outcome(self) -> Outcome:
        """Waits for the end of the tour."""
        try:
            code = self.process.wait(TOUR_SECONDS)
        except subprocess.TimeoutExpired:
            return f"the tour took more than {TOUR_SECONDS} seconds"
        if code != 0:
            complaints = self.stderr.read_text(errors="replace").strip().splitlines()
            return f"the tour failed with exit code {code}: " + " | ".join(complaints[-3:])
        try:
            return json.loads(self.stdout.read_text())
        except ValueError as error:
            return f"the tour printed no transcript: {error}"


@dataclass(frozen=True)
class Way:
    """One tour through tidegate: the visit, and the program if it listens; or why there is none."""

    visit: Visit | None = None
    listener: Listener | None = None
    failure: str = ""

    def outcome(self) -> Outcome:
        """Waits for the end of the tour, and ends the program."""
        if self.visit is None:
            return self.failure
        found = self.visit.outcome()
        try:
            if self.listener:
                self.listener.stop()
        except ListenerError as error:
            return f"tidegate: {error}"
        return found


def comparable(tour: Tour, over_http: bool, direct: dict, proxied: dict) -> tuple[dict, dict]:
    """Both transcripts without what the clients themselves make doubtful."""
    if tour.first_generation and over_http:
        direct, proxied = without_replayed_events(direct), without_replayed_events(proxied)
    if tour.typescript:
        direct, proxied = without_doubtful_event(direct, proxied)
    return direct, proxied


def without_replayed_events(transcript: dict) -> dict:
    """The transcript with each progress event once.

    The TypeScript SDK v1 does not take an error for a response. A second after one it asks for the rest of
    that stream, and server-everything then sends again all that the session saw since.
    """
    events = []
    for event in transcript.get("progress", []):
        if event not in events:
            events.append(event)
    return transcript | {"progress": events} if events else transcript


def without_doubtful_event(direct: dict, proxied: dict) -> tuple[dict, dict]:
    """Both transcripts without the last progress event, if only one has it.

    The TypeScript clients drop that event when it arrives in the same read as the response.
    """
    one, other = direct.get("progress", []), proxied.get("progress", [])
    if abs(len(one) - len(other)) != 1:
        return direct, proxied
    common = min(len(one), len(other))
    return direct | {"progress": one[:common]}, proxied | {"progress": other[:common]}
