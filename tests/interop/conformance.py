#!/usr/bin/env python3
"""Checks that the official conformance suites give a server behind tidegate the same results as directly.

    python3 tests/interop/conformance.py --tidegate PATH [--cache DIR] [--only SUITE] [--pairing NAME]
                               [--mode observe|shape] [--keep DIR]

Three suites run against conf_server.py over HTTP, and then against tidegate in front of it:

    reverse   `tidegate run --http ADDRESS --url URL`: in front of the server that speaks HTTP
    bridge    `tidegate run --http ADDRESS -- COMMAND`: in front of the same server on stdio
    gateway   `tidegate gateway` in front of the server that speaks HTTP, which keeps its names (prefix = "")
    gateway-bridge
              the same in front of the server on stdio
    gateway-of-three
              `tidegate gateway` in front of the server that speaks HTTP and two others, one of them on stdio. The
              suites know only the names of the server, so a relay adds and removes the prefix of the gateway

Every check must have the same result, or one that ALLOWED lists with a reason. The direct run is made twice: a check
with two results is reported as flaky, and both are accepted. --keep keeps the output of the suites, one folder per
run: requests, responses, events.
The exit code is 1 if anything differs.
"""
import argparse
import os
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from install import DEFAULT_CACHE, SetupError, Toolchain, install
from listeners import Listener, ListenerError
from pairings import BRIDGE, FIXTURES, GATEWAY_OF_THREE, GATEWAYS, OTHER_NAMES, REVERSE, SHORT_NAME
from pairings import Pairing, Servers, available
from suites import SUITES, Results, Suite, SuiteFailed, run

PAIRINGS = [REVERSE, BRIDGE, *GATEWAYS]
MODES = ["observe", "shape"]

JSON_INSTEAD_OF_STREAM = """
A bridge or a gateway sends plain JSON if the answer is ready at once, so a check that expects a stream finds none.
"""
CANNOT_CLOSE_STREAM = """
A server on stdio cannot close its stream in the middle of a call. A gateway resumes the stream of a server itself, and its own
stays open.
"""
OWN_STREAMS = {
    "server-sse-streams-functional": ("INFO", JSON_INSTEAD_OF_STREAM),
    "server-sse-content-type": ("INFO", JSON_INSTEAD_OF_STREAM),
    "server-sse-disconnect-resume": ("INFO", CANNOT_CLOSE_STREAM),
}
KNOWS_TASKS = """
A gateway of several servers knows which tasks they began for the caller, so it refuses others itself.
"""
# The status that a check may have because of the pairing, and the reason.
ALLOWED = {pairing: dict(OWN_STREAMS) for pairing in (BRIDGE, *GATEWAYS)}
ALLOWED[GATEWAY_OF_THREE] |= {"sep-2663-tasks-get-invalid-task-id-32602": ("SUCCESS", KNOWS_TASKS)}


@dataclass(frozen=True)
class ConformanceRunner:
    """Runs the suites against one program."""

    toolchain: Toolchain
    servers: Servers
    tidegate: Path
    folder: Path
    """Where the suites write, one folder per run."""

    def direct(self, suite: Suite) -> list[Results] | None:
        """Returns the results of two direct runs; None if a run failed."""
        url = self.servers.over_http("conf")
        runs = []
        for title in ("direct", "direct-again"):
            try:
                runs.append(run(suite, self.toolchain, url, self.folder / f"{suite.name}-{title}"))
            except SuiteFailed as error:
                report("failed", suite.name, title, "", [str(error)])
                return None
        first, again = runs
        flaky = [
            f"flaky: {check}: {first.get(check)}, then {again.get(check)}"
            for check in sorted(first.keys() | again.keys()) if first.get(check) != again.get(check)
        ]
        report("direct", suite.name, "", totals(first), flaky)
        return runs

    def compare(self, suite: Suite, pairing: Pairing, mode: str, direct: list[Results]) -> bool:
        """Runs a suite through tidegate and compares the results."""
        title = f"{pairing.name} {mode}"
        folder = self.folder / f"{suite.name}-{pairing.name}-{mode}"
        command = pairing.command(self.tidegate, mode, self.servers, "conf")
        try:
            with Listener(command) as proxy, self.relay(pairing, proxy.url) as url:
                found = run(suite, self.toolchain, url, folder)
                proxy.stop()
        except (ListenerError, SuiteFailed) as error:
            return report("failed", suite.name, title, "", [str(error)])
        problems, allowed = differences(direct, found, pairing)
        remark = f"{len(found)} checks" + (f", {allowed} allowed differences" if allowed else "")
        return report("differs" if problems else "same", suite.name, title, remark, problems)

    @contextmanager
    def relay(self, pairing: Pairing, url: str) -> Iterator[str]:
        """Yields a URL under which the tools and prompts of the server have the names that it gave them."""
        if pairing is not GATEWAY_OF_THREE:
            yield url
            return
        script = str(FIXTURES / "names_relay.mjs")
        with Listener([str(self.toolchain.node), script, url, SHORT_NAME, *OTHER_NAMES]) as relay:
            yield relay.url


def differences(direct: list[Results], found: Results, pairing: Pairing) -> tuple[list[str], int]:
    """Returns the checks that differ from both direct runs, and how many allowed differences there are."""
    problems, allowed = [], 0
    for check in sorted({check for results in direct for check in results} | found.keys()):
        expected = [results.get(check) for results in direct]
        got = found.get(check)
        if got in expected:
            continue
        rule = ALLOWED.get(pairing, {}).get(check.id)
        if rule and rule[0] == (got and got.status):
            allowed += 1
        else:
            problems.append(f"{check}: {expected[0]} -> {got}")
    return problems, allowed


def totals(results: Results) -> str:
    """Returns how many checks have which status."""
    counts = Counter(outcome.status.lower() for outcome in results.values())
    each = ", ".join(f"{count} {status}" for status, count in counts.most_common())
    return f"{len(results)} checks: {each}"


def report(verdict: str, suite: str, title: str, remark: str, problems: list[str]) -> bool:
    """Prints one line, and the problems below it."""
    print(f"{verdict:8} {suite:18} {title:22} {remark}".rstrip(), flush=True)
    for problem in problems:
        print(f"         - {problem}")
    return not problems


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--tidegate", type=Path, required=True, help="the program under test")
    parser.add_argument("--cache", type=Path, default=DEFAULT_CACHE, help="folder of the installed packages")
    parser.add_argument("--only", default="", help="only the suites whose name contains this")
    parser.add_argument("--pairing", choices=[pairing.name for pairing in PAIRINGS], help="only this pairing")
    parser.add_argument("--mode", choices=MODES, help="only this mode")
    parser.add_argument("--keep", type=Path, help="new folder for the output of the suites")
    options = parser.parse_args()
    start = time.monotonic()
    if not os.access(options.tidegate, os.X_OK):
        print(f"{options.tidegate} is not a program: build it with cargo build --release", file=sys.stderr)
        return 1
    suites = [suite for suite in SUITES if options.only in suite.name]
    if not suites:
        names = ", ".join(suite.name for suite in SUITES)
        print(f"no suite has a name with {options.only}; the suites are {names}", file=sys.stderr)
        return 1
    if options.keep and options.keep.exists():
        print(f"{options.keep} already exists: give a new folder", file=sys.stderr)
        return 1
    pairings = available([pairing for pairing in PAIRINGS if options.pairing in (None, pairing.name)], options.tidegate)
    try:
        toolchain = install(options.cache)
        with tempfile.TemporaryDirectory(prefix="tidegate-interop-") as temporary, Servers(toolchain) as servers:
            runner = ConformanceRunner(toolchain, servers, options.tidegate.resolve(), options.keep or Path(temporary))
            results = [result for suite in suites for result in run_suite(runner, suite, pairings, options.mode)]
    except (SetupError, ListenerError) as error:
        print(error, file=sys.stderr)
        return 1
    print(f"{sum(results)} of {len(results)} the same, in {time.monotonic() - start:.0f} seconds")
    return 0 if all(results) else 1


def run_suite(runner: ConformanceRunner, suite: Suite, pairings: list[Pairing], only: str | None) -> list[bool]:
    """Returns whether the suite has the same results, for each pairing and mode."""
    direct = runner.direct(suite)
    if direct is None:
        return [False]
    runs = [(pairing, mode) for pairing in pairings for mode in pairing.modes if only in (None, mode)]
    return [runner.compare(suite, pairing, mode, direct) for pairing, mode in runs]


if __name__ == "__main__":
    sys.exit(main())
