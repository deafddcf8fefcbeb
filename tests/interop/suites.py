"""The official conformance suites for servers, and what they find.

A suite writes a folder per scenario, with a file of checks in it. Each check has a status: SUCCESS, FAILURE,
WARNING, SKIPPED, or INFO.
"""
import json
import re
import subprocess
from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path

from install import Toolchain

SUITE_SECONDS = 300
# Notes on what was sent and received. They stand among the checks, and check nothing.
NOTES = {"outgoing-request", "incoming-response", "incoming-sse-event", "stream-closed"}
FOLDER = re.compile(r"server-(.+)-\d{4}-\d\d-\d\dT[\d-]+Z")
SHOWN = 240


class SuiteFailed(Exception):
    """A suite came to no results."""


@dataclass(frozen=True)
class Suite:
    """A set of scenarios, by the options that choose it."""

    name: str
    next: bool
    options: tuple[str, ...]

    def program(self, toolchain: Toolchain) -> Path:
        folder = toolchain.conformance_next if self.next else toolchain.js
        return folder / "node_modules" / "@modelcontextprotocol" / "conformance" / "dist" / "index.js"


SUITES = [
    Suite("0.1-all", False, ("--suite", "all")),
    Suite("0.2-2025-11-25", True, ("--requirements", "2025-11-25")),
    Suite("0.2-2026-07-28", True, ("--requirements", "2026-07-28")),
]


@dataclass(frozen=True, order=True)
class Check:
    """What names a check; one scenario may make a check several times."""

    scenario: str
    id: str
    name: str
    time: int

    def __str__(self):
        again = f" ({self.time})" if self.time > 1 else ""
        return f"{self.scenario} / {self.id} / {self.name}{again}"


@dataclass(frozen=True)
class Outcome:
    """What a check came to. Messages are not compared: they hold ports and times."""

    status: str
    message: str = field(compare=False)

    def __str__(self):
        message = " ".join(self.message.split())[:SHOWN]
        return f"{self.status} ({message})" if message else self.status


Results = dict[Check, Outcome]


def run(suite: Suite, toolchain: Toolchain, url: str, folder: Path) -> Results:
    """Runs a suite against a URL; it writes into the folder."""
    folder.mkdir(parents=True)
    command = [str(toolchain.node), str(suite.program(toolchain)), "server", "--url", url, "-o", str(folder)]
    with open(folder / "log", "wb") as log:
        try:
            # Its exit code says no more than that some checks failed.
            subprocess.run(
                [*command, *suite.options], stdin=subprocess.DEVNULL, stdout=log, stderr=subprocess.STDOUT,
                timeout=SUITE_SECONDS)
        except subprocess.TimeoutExpired:
            raise SuiteFailed(f"the suite took more than {SUITE_SECONDS} seconds") from None
    results = read(folder)
    if not results:
        last_words = (folder / "log").read_text(errors="replace").strip().splitlines()[-3:]
        raise SuiteFailed("the suite made no checks: " + " | ".join(last_words))
    return results


def read(folder: Path) -> Results:
    """The results that a suite wrote into a folder."""
    results = {}
    for file in sorted(folder.glob("*/checks.json")):
        found = FOLDER.fullmatch(file.parent.name)
        scenario = found[1] if found else file.parent.name
        times = Counter()
        for check in json.loads(file.read_text()):
            if check["id"] in NOTES:
                continue
            key = (scenario, check["id"], check["name"])
            times[key] += 1
            results[Check(*key, times[key])] = Outcome(check["status"], check.get("errorMessage") or "")
    return results
