#!/usr/bin/env python3
"""Checks that the official conformance suites judge a server behind tidegate as they judge it alone.

    python3 tests/interop/conformance.py --tidegate PATH [--cache DIR] [--only SUITE] [--pairing reverse|bridge]
                               [--mode observe|shape] [--keep DIR]

Three suites of checks run against conf_server.py over HTTP, and then against tidegate in front of it:

    reverse   `tidegate run --http ADDRESS --url URL`: in front of the server that speaks HTTP
    bridge    `tidegate run --http ADDRESS -- COMMAND`: in front of the same server on stdio

and every single check has to come to the same result, or to another one that ALLOWED lists with its reason.
The direct run is made twice: a check that comes to two results is named as flaky, and both of them are
accepted. With --keep, what the suites wrote down is kept, one folder per run: requests, responses, events.
The exit code is 1 if anything differs.
"""
import argparse
import os
import sys
import tempfile
import time
from collections import Counter
from dataclasses import dataclass
from pathlib import Path

from install import DEFAULT_CACHE, SetupError, Toolchain, install
from listeners import Listener, ListenerError
from pairings import BRIDGE, REVERSE, Pairing, Servers
from suites import SUITES, Results, Suite, SuiteFailed, run

PAIRINGS = [REVERSE, BRIDGE]
MODES = ["observe", "shape"]


PLAIN_ANSWERS = """
A bridge answers with plain JSON where the answer comes at once, so a check that wants a stream there finds none.
"""
NO_CLOSING = """
A server on stdio cannot ask for its stream to be closed in the middle of a call, so the stream stays open.
"""
# The results that a check may come to by the nature of a pairing, None if it is not made, and the reason.
ALLOWED = {
    (BRIDGE, "server-sse-streams-functional"): ("INFO", PLAIN_ANSWERS),
    (BRIDGE, "server-sse-content-type"): ("INFO", PLAIN_ANSWERS),
    (BRIDGE, "server-sse-disconnect-resume"): ("INFO", NO_CLOSING),
}


@dataclass(frozen=True)
class Bench:
    """What is under test, and what tests it."""

    toolchain: Toolchain
    servers: Servers
    tidegate: Path
    folder: Path
    """Where the suites write, one folder per run."""

    def direct(self, suite: Suite) -> list[Results] | None:
        """The results of two runs against the server alone."""
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
        """Runs a suite through tidegate, and reports."""
        title = f"{pairing.name} {mode}"
        folder = self.folder / f"{suite.name}-{pairing.name}-{mode}"
        command = pairing.command(
            self.tidegate, mode, self.servers.on_stdio("conf"), self.servers.over_http("conf"))
        try:
            with Listener(command) as proxy:
                found = run(suite, self.toolchain, proxy.url, folder)
                proxy.stop()
        except (ListenerError, SuiteFailed) as error:
            return report("failed", suite.name, title, "", [str(error)])
        problems, allowed = differences(direct, found, pairing)
        remark = f"{len(found)} checks" + (f", {allowed} allowed differences" if allowed else "")
        return report("differs" if problems else "same", suite.name, title, remark, problems)


def differences(direct: list[Results], found: Results, pairing: Pairing) -> tuple[list[str], int]:
    """The checks that differ from both direct runs, and the number of those that may."""
    problems, allowed = [], 0
    for check in sorted({check for results in direct for check in results} | found.keys()):
        expected = [results.get(check) for results in direct]
        got = found.get(check)
        if got in expected:
            continue
        rule = ALLOWED.get((pairing, check.id))
        if rule and rule[0] == (got and got.status):
            allowed += 1
        else:
            problems.append(f"{check}: {expected[0]} -> {got}")
    return problems, allowed


def totals(results: Results) -> str:
    """How many checks came to which result."""
    counts = Counter(outcome.status.lower() for outcome in results.values())
    each = ", ".join(f"{count} {status}" for status, count in counts.most_common())
    return f"{len(results)} checks: {each}"


def report(verdict: str, suite: str, title: str, remark: str, problems: list[str]) -> bool:
    """Prints one line, and below it what is wrong."""
    print(f"{verdict:8} {suite:18} {title:16} {remark}".rstrip(), flush=True)
    for problem in problems:
        print(f"         - {problem}")
    return not problems


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--tidegate", type=Path, required=True, help="the program under test")
    parser.add_argument("--cache", type=Path, default=DEFAULT_CACHE, help="folder of the installed packages")
    parser.add_argument("--only", default="", help="only the suites with this in their name")
    parser.add_argument("--pairing", choices=[pairing.name for pairing in PAIRINGS], help="only this pairing")
    parser.add_argument("--mode", choices=MODES, help="only this mode")
    parser.add_argument("--keep", type=Path, help="folder that keeps what the suites write")
    options = parser.parse_args()
    start = time.monotonic()
    if not os.access(options.tidegate, os.X_OK):
        print(f"{options.tidegate} is no program: build it with cargo build --release", file=sys.stderr)
        return 1
    suites = [suite for suite in SUITES if options.only in suite.name]
    if not suites:
        names = ", ".join(suite.name for suite in SUITES)
        print(f"no suite is called {options.only}: there are {names}", file=sys.stderr)
        return 1
    if options.keep and options.keep.exists():
        print(f"{options.keep} exists already: name a folder that does not", file=sys.stderr)
        return 1
    pairings = [pairing for pairing in PAIRINGS if options.pairing in (None, pairing.name)]
    modes = [options.mode] if options.mode else MODES
    try:
        toolchain = install(options.cache)
        with tempfile.TemporaryDirectory(prefix="tidegate-interop-") as temporary, Servers(toolchain) as servers:
            bench = Bench(toolchain, servers, options.tidegate.resolve(), options.keep or Path(temporary))
            results = [result for suite in suites for result in judge(bench, suite, pairings, modes)]
    except (SetupError, ListenerError) as error:
        print(error, file=sys.stderr)
        return 1
    print(f"{sum(results)} of {len(results)} the same, in {time.monotonic() - start:.0f} seconds")
    return 0 if all(results) else 1


def judge(bench: Bench, suite: Suite, pairings: list[Pairing], modes: list[str]) -> list[bool]:
    """Whether the suite comes to the same results, for each pairing and mode."""
    direct = bench.direct(suite)
    if direct is None:
        return [False]
    return [bench.compare(suite, pairing, mode, direct) for pairing in pairings for mode in modes]


if __name__ == "__main__":
    sys.exit(main())
