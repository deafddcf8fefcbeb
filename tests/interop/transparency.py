#!/usr/bin/env python3
"""Checks that a client sees the same server through tidegate as without it.

    python3 tests/interop/transparency.py --tidegate PATH [--cache DIR] [--only NAME] [--mode observe|shape]
                                [--transport stdio|http]

Tours of three servers with the official SDKs, in both eras of the protocol, are made direct and through the
proxy, and their transcripts are compared. Client and server speak over stdio or HTTP:

    stdio     stdio client, `run -- COMMAND`, stdio server
    reverse   HTTP client, `run --http ADDRESS --url URL`, HTTP server
    bridge    HTTP client, `run --http ADDRESS -- COMMAND`, stdio server
    remote    stdio client, `run --url URL`, HTTP server

The first is compared with a client and a server on stdio, the others with both over HTTP. Then lines and
requests are sent to a server without any SDK and compared by their bytes.

    observe   with --observe: nothing may differ.
    shape     without it: the differences of allowed.py must, or may, show up, and no others.

The exit code is 1 if anything differs. Nothing is kept: every run has its own store in a temporary folder.
"""
import argparse
import os
import sys
import time
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path

from allowed import ALLOWED, rules
from compare import compare
from http_checks import HTTP_CHECKS, HTTP_PAIRINGS
from install import DEFAULT_CACHE, SetupError, Toolchain, install
from listeners import Listener, ListenerError
from pairings import BRIDGE, REMOTE, REVERSE, STDIO, Pairing, Servers
from visits import TOURS, Outcome, Tour, Visit, Way, comparable
from wire import WireError
from wire_checks import CHECKS, REMOTE_CHECKS

MODES = list(ALLOWED)
# By transport: the pairings that are compared with one direct tour.
TRANSPORTS = {"stdio": [STDIO], "http": [REVERSE, BRIDGE, REMOTE]}
WIRE = {"stdio": [*CHECKS], "http": [*HTTP_CHECKS, *REMOTE_CHECKS]}
# How many problems of one tour are shown.
MOST_SHOWN = 8


@dataclass(frozen=True)
class Bench:
    """What is under test, and what tests it."""

    toolchain: Toolchain
    servers: Servers
    tidegate: Path
    modes: list[str]

    def make(self, tour: Tour, transport: str) -> bool:
        """Makes a tour direct and through tidegate in each pairing and mode, all at once, and reports."""
        command = self.servers.on_stdio(tour.server)
        url = self.servers.over_http(tour.server) if transport == "http" else None
        with ExitStack() as stack:
            visit = stack.enter_context(Visit(tour, self.toolchain, url or command))
            ways = {}
            for pairing in TRANSPORTS[transport]:
                for mode in self.modes:
                    between = pairing.command(self.tidegate, mode, command, url)
                    ways[pairing, mode] = self.through(tour, pairing, between, stack)
            direct = visit.outcome()
            proxied = {key: way.outcome() for key, way in ways.items()}
        return all([judge(tour, *key, direct, outcome) for key, outcome in proxied.items()])

    def through(self, tour: Tour, pairing: Pairing, command: list[str], stack: ExitStack) -> Way:
        """Sets out on a tour through tidegate; whatever is started ends with the stack."""
        if not pairing.http_client:
            return Way(stack.enter_context(Visit(tour, self.toolchain, command)))
        try:
            listener = stack.enter_context(Listener(command))
        except ListenerError as error:
            return Way(failure=f"tidegate: {error}")
        return Way(stack.enter_context(Visit(tour, self.toolchain, listener.url)), listener)

    def check(self, name: str) -> bool:
        """Makes one of the checks on the wire in each mode, and reports."""
        every = [(pairing, mode) for pairing in pairings_of(name) for mode in self.modes]
        return all([self.check_one(name, pairing, mode) for pairing, mode in every])

    def check_one(self, name: str, pairing: Pairing, mode: str) -> bool:
        server = self.servers.on_stdio("raw")
        url = self.servers.over_http("raw") if pairing.http_client or pairing.http_server else None
        command = pairing.command(self.tidegate, mode, server, url)
        try:
            if name in HTTP_CHECKS:
                with Listener(command) as proxy:
                    problems = HTTP_CHECKS[name](url, proxy.url, pairing, mode)
                    proxy.stop()
            else:
                problems = (CHECKS | REMOTE_CHECKS)[name](server, command, mode)
        except (ListenerError, WireError) as error:
            problems = [f"the server or the proxy failed: {error}"]
        return report(name, pairing.name, mode, problems)


def pairings_of(check: str) -> list[Pairing]:
    if check in HTTP_CHECKS:
        return HTTP_PAIRINGS
    return [REMOTE] if check in REMOTE_CHECKS else [STDIO]


def judge(tour: Tour, pairing: Pairing, mode: str, direct: Outcome, proxied: Outcome) -> bool:
    """Compares two outcomes, and reports."""
    sides = {"direct": direct, "proxied": proxied}
    failures = [f"{side}: {found}" for side, found in sides.items() if isinstance(found, str)]
    if failures:
        return report(tour.name, pairing.name, mode, failures)
    direct, proxied = comparable(tour, pairing is not STDIO, direct, proxied)
    permitted, problems = compare(direct, proxied, rules(mode, pairing.name, direct))
    remark = f"{len(permitted)} allowed differences" if permitted else ""
    return report(tour.name, pairing.name, mode, problems, remark)


def report(name: str, pairing: str, mode: str, problems: list, remark: str = "") -> bool:
    """Prints one line, and below it what is wrong."""
    verdict = "differs" if problems else "same"
    print(f"{verdict:8} {name:24} {pairing:8} {mode:8} {remark}".rstrip(), flush=True)
    for problem in problems[:MOST_SHOWN]:
        print(f"         - {problem}")
    if len(problems) > MOST_SHOWN:
        print(f"         - and {len(problems) - MOST_SHOWN} more")
    return not problems


def run(bench: Bench, only: str, transports: list[str]) -> list[bool]:
    """Whether each tour and each check with this in its name comes to the same."""
    tours = [tour for tour in TOURS if only in tour.name]
    checks = [name for transport in transports for name in WIRE[transport] if only in name]
    results = [bench.make(tour, transport) for transport in transports for tour in tours]
    return results + [bench.check(name) for name in checks]


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--tidegate", type=Path, required=True, help="the program under test")
    parser.add_argument("--cache", type=Path, default=DEFAULT_CACHE, help="folder of the installed packages")
    parser.add_argument("--only", default="", help="only the tours and checks with this in their name")
    parser.add_argument("--mode", choices=MODES, help="only this mode")
    parser.add_argument("--transport", choices=[*TRANSPORTS, "all"], default="all", help="one of them alone")
    options = parser.parse_args()
    began = time.monotonic()
    if not os.access(options.tidegate, os.X_OK):
        print(f"{options.tidegate} is no program: build it with cargo build --release", file=sys.stderr)
        return 1
    modes = [options.mode] if options.mode else MODES
    transports = list(TRANSPORTS) if options.transport == "all" else [options.transport]
    try:
        toolchain = install(options.cache)
        with Servers(toolchain) as servers:
            bench = Bench(toolchain, servers, options.tidegate.resolve(), modes)
            results = run(bench, options.only, transports)
    except (SetupError, ListenerError) as error:
        print(error, file=sys.stderr)
        return 1
    if not results:
        print(f"nothing is called {options.only}", file=sys.stderr)
        return 1
    print(f"{sum(results)} of {len(results)} the same, in {time.monotonic() - began:.0f} seconds")
    return 0 if all(results) else 1


if __name__ == "__main__":
    sys.exit(main())
