#!/usr/bin/env python3
"""Checks that a client sees the same server through tidegate as without it.

    python3 lab/transparency.py --tidegate PATH [--cache DIR] [--only NAME] [--mode observe|shape]

Tours of three servers with the official SDKs, in both eras of the protocol, are made direct and through the
proxy, and their transcripts are compared. Then lines are sent to a server without any SDK and compared by
their bytes.

    observe   `tidegate run --observe -- SERVER`: nothing may differ.
    shape     `tidegate run -- SERVER`: the differences of allowed.py must, or may, show up, and no others.

The exit code is 1 if anything differs. Nothing is kept: every run has its own store in a temporary folder.
"""
import argparse
import json
import os
import signal
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path

from allowed import ALLOWED
from compare import compare
from install import DEFAULT_CACHE, Lab, LabError, install
from wire import WireError
from wire_checks import CHECKS

HERE = Path(__file__).resolve().parent
MODES = list(ALLOWED)
TOUR_SECONDS = 120
MODERN = "2026-07-28"
# How many problems of one tour are shown.
MOST_SHOWN = 8


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


class TourFailed(Exception):
    """A tour came to no transcript."""


class Visit:
    """One tour on its way, in a process of its own."""

    def __init__(self, command: list[str], lab: Lab):
        self.folder = tempfile.TemporaryDirectory(prefix="tidegate-lab-")
        home = Path(self.folder.name)
        self.stdout = home / "stdout"
        self.stderr = home / "stderr"
        environment = os.environ | {"TIDEGATE_HOME": str(home / "store"), "LAB_JS": str(lab.js)}
        with open(self.stdout, "wb") as stdout, open(self.stderr, "wb") as stderr:
            self.process = subprocess.Popen(
                command, stdin=subprocess.DEVNULL, stdout=stdout, stderr=stderr, env=environment,
                start_new_session=True)

    def transcript(self) -> dict:
        """Waits for the end of the tour."""
        try:
            code = self.process.wait(TOUR_SECONDS)
        except subprocess.TimeoutExpired:
            os.killpg(self.process.pid, signal.SIGKILL)
            self.process.wait()
            raise TourFailed(f"the tour took more than {TOUR_SECONDS} seconds") from None
        if code != 0:
            complaints = self.stderr.read_text(errors="replace").strip().splitlines()
            raise TourFailed(f"the tour failed with exit code {code}: " + " | ".join(complaints[-3:]))
        return json.loads(self.stdout.read_text())

    def forget(self) -> None:
        self.folder.cleanup()


@dataclass(frozen=True)
class Bench:
    """What is under test, and what tests it."""

    lab: Lab
    tidegate: Path
    modes: list[str]

    def server(self, name: str) -> list[str]:
        everything = self.lab.js / "node_modules" / "@modelcontextprotocol" / "server-everything"
        fixtures = HERE / "fixtures"
        return {
            "everything": [str(self.lab.node), str(everything / "dist" / "index.js"), "stdio"],
            "conf": [str(self.lab.python), str(fixtures / "conf_server.py")],
            "raw": [str(self.lab.node), str(fixtures / "raw_server.mjs")],
        }[name]

    def proxied(self, server: list[str], mode: str) -> list[str]:
        observe = ["--observe"] if mode == "observe" else []
        return [str(self.tidegate), "run", *observe, "--", *server]

    def start(self, tour: Tour, server: list[str]) -> Visit:
        program = self.lab.node if tour.typescript else self.lab.python
        script = HERE / "tours" / tour.script
        return Visit([str(program), str(script), *tour.options, "--", *server], self.lab)

    def make(self, tour: Tour) -> bool:
        """Makes a tour direct and in each mode, all at the same time, and reports."""
        server = self.server(tour.server)
        visits = {"direct": self.start(tour, server)}
        for mode in self.modes:
            visits[mode] = self.start(tour, self.proxied(server, mode))
        outcomes = {name: outcome(visit) for name, visit in visits.items()}
        results = [self.judge(tour, mode, outcomes["direct"], outcomes[mode]) for mode in self.modes]
        return all(results)

    def judge(self, tour: Tour, mode: str, direct: dict | str, proxied: dict | str) -> bool:
        sides = {"direct": direct, "proxied": proxied}
        failures = [f"{side}: {found}" for side, found in sides.items() if isinstance(found, str)]
        if failures:
            return report(tour.name, mode, failures)
        if tour.typescript:
            direct, proxied = without_doubtful_event(direct, proxied)
        permitted, problems = compare(direct, proxied, ALLOWED[mode])
        return report(tour.name, mode, problems, f"{len(permitted)} allowed differences" if permitted else "")

    def check(self, name: str) -> bool:
        """Makes one of the checks on the wire in each mode, and reports."""
        server = self.server("raw")
        results = []
        for mode in self.modes:
            try:
                problems = CHECKS[name](server, self.proxied(server, mode), mode)
            except WireError as error:
                problems = [f"the server or the proxy failed: {error}"]
            results.append(report(name, mode, problems))
        return all(results)


def outcome(visit: Visit) -> dict | str:
    """The transcript, or why there is none."""
    try:
        return visit.transcript()
    except (TourFailed, ValueError) as error:
        return str(error)
    finally:
        visit.forget()


def without_doubtful_event(direct: dict, proxied: dict) -> tuple[dict, dict]:
    """Both transcripts without the last progress event, if only one has it.

    The TypeScript clients drop that event when it arrives in the same read as the response.
    """
    one, other = direct.get("progress", []), proxied.get("progress", [])
    if abs(len(one) - len(other)) != 1:
        return direct, proxied
    common = min(len(one), len(other))
    return direct | {"progress": one[:common]}, proxied | {"progress": other[:common]}


def report(name: str, mode: str, problems: list, remark: str = "") -> bool:
    """Prints one line, and below it what is wrong."""
    verdict = "differs" if problems else "same"
    print(f"{verdict:8} {name:24} {mode:8} {remark}".rstrip(), flush=True)
    for problem in problems[:MOST_SHOWN]:
        print(f"         - {problem}")
    if len(problems) > MOST_SHOWN:
        print(f"         - and {len(problems) - MOST_SHOWN} more")
    return not problems


def main() -> int:
    about = "Checks that a client sees the same server through tidegate as without it."
    parser = argparse.ArgumentParser(description=about)
    parser.add_argument("--tidegate", type=Path, required=True, help="the program under test")
    parser.add_argument("--cache", type=Path, default=DEFAULT_CACHE, help="where the lab is installed")
    parser.add_argument("--only", default="", help="only the tours and checks with this in their name")
    parser.add_argument("--mode", choices=MODES, help="only this mode")
    options = parser.parse_args()
    start = time.monotonic()
    if not os.access(options.tidegate, os.X_OK):
        print(f"{options.tidegate} is no program: build it with cargo build --release", file=sys.stderr)
        return 1
    modes = [options.mode] if options.mode else MODES
    try:
        bench = Bench(install(options.cache), options.tidegate.resolve(), modes)
    except LabError as error:
        print(error, file=sys.stderr)
        return 1
    tours = [tour for tour in TOURS if options.only in tour.name]
    checks = [name for name in CHECKS if options.only in name]
    if not tours and not checks:
        print(f"nothing is called {options.only}", file=sys.stderr)
        return 1
    results = [bench.make(tour) for tour in tours] + [bench.check(name) for name in checks]
    print(f"{sum(results)} of {len(results)} the same, in {time.monotonic() - start:.0f} seconds")
    return 0 if all(results) else 1


if __name__ == "__main__":
    sys.exit(main())
