"""Runs the official conformance suites for servers and reads their results.

A suite writes one folder per scenario with a file of checks. Each check has a status: SUCCESS, FAILURE, WARNING,
SKIPPED or INFO.
"""
import json
import re
import subprocess
from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path

from install import Toolchain

SUITE_SECONDS = 300
# Entries among the checks that only record what was sent and received.
RECORD_IDS = {"outgoing-request", "incoming-response", "incoming-sse-event", "stream-closed"}
SCENARIO_FOLDER = re.compile(r"server-(.+)-\d{4}-\d\d-\d\dT[\d-]+Z")
MAX_MESSAGE_CHARS = 240


class SuiteFailed(Exception):
    """A suite produced no results."""


@dataclass(frozen=True)
class Suite:
    """A suite, and the options that select it."""

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
    """The key of a check; a scenario may run the same check several times."""

    scenario: str
    id: str
    name: str
    run: int

    def __str__(self):
        repeated = f" ({self.run})" if self.run > 1 else ""
        return f"{self.scenario} / {self.id} / {self.name}{repeated}"


@dataclass(frozen=True)
class Outcome:
    """The result of a check. Messages are not compared, since they contain ports and times."""

    status: str
    message: str = field(compare=False)

    def __str__(self):
        message = " ".join(self.message.split())[:MAX_MESSAGE_CHARS]
        return f"{self.status} ({message})" if message else self.status


Results = dict[Check, Outcome]


def run(suite: Suite, toolchain: Toolchain, url: str, folder: Path) -> Results:
    """Runs a suite against a URL; the suite writes into the folder."""
    folder.mkdir(parents=True)
    command = [str(toolchain.node), str(suite.program(toolchain)), "server", "--url", url, "-o", str(folder)]
    with open(folder / "log", "wb") as log:
        try:
            # Its exit code only says that some checks failed.
            subprocess.run(
                [*command, *suite.options], stdin=subprocess.DEVNULL, stdout=log, stderr=subprocess.STDOUT,
                timeout=SUITE_SECONDS)
        except subprocess.TimeoutExpired:
            raise SuiteFailed(f"the suite took more than {SUITE_SECONDS} seconds") from None
    results = read(folder)
    if not results:
        stderr_tail = (folder / "log").read_text(errors="replace").strip().splitlines()[-3:]
        raise SuiteFailed("the suite ran no checks: " + " | ".join(stderr_tail))
    return results


def read(folder: Path) -> Results:
    """Reads the results that a suite wrote into a folder."""
    results = {}
    for file in sorted(folder.glob("*/checks.json")):
        found = SCENARIO_FOLDER.fullmatch(file.parent.name)
        scenario = found[1] if found else file.parent.name
        runs = Counter()
        for check in json.loads(file.read_text()):
            if check["id"] in RECORD_IDS:
                continue
            key = (scenario, check["id"], check["name"])
            runs[key] += 1
            results[Check(*key, runs[key])] = Outcome(check["status"], check.get("errorMessage") or "")
    return results
