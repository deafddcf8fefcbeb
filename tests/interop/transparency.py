#!/usr/bin/env python3
"""Checks that a client sees the same server through tidegate as without it.

    python3 tests/interop/transparency.py --tidegate PATH [--cache DIR] [--only NAME] [--mode observe|shape]
                                [--pairing NAME] [--transport stdio|http]

A tour is a scripted client session that uses every feature of a server and prints a transcript. Tours of three
servers with the official SDKs, in both eras of the protocol, run directly and through tidegate, and the transcripts
are compared. Client and server use stdio or HTTP:

    stdio     stdio client, `run -- COMMAND`, stdio server
    reverse   HTTP client, `run --http ADDRESS --url URL`, HTTP server
    bridge    HTTP client, `run --http ADDRESS -- COMMAND`, stdio server
    remote    stdio client, `run --url URL`, HTTP server
    gateway   HTTP client, `gateway` with one server that keeps its names, HTTP server
    gateway-bridge
              HTTP client, `gateway` with one server that keeps its names, stdio server

The first is compared with a direct connection over stdio, the others with one over HTTP. Then raw lines and requests
are sent to a server without an SDK, and the answers are compared byte for byte.

    observe   with --observe: nothing may differ.
    shape     without --observe: only the differences in allowed.py may occur, and the required ones must. A gateway
              always shapes.

The exit code is 1 if anything differs. Every run has its own store in a temporary folder.
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
from pairings import BRIDGE, GATEWAY, GATEWAY_BRIDGE, GATEWAYS, REMOTE, REVERSE, STDIO, Pairing, Servers, available
from tour_runs import TOURS, TourResult, Tour, TourProcess, ProxiedTour, as_gateway_lists, comparable
from wire import WireError
from wire_checks import CHECKS, REMOTE_CHECKS

MODES = list(ALLOWED)
# The pairings that are compared with one direct tour, by transport.
TRANSPORTS = {"stdio": [STDIO], "http": [REVERSE, BRIDGE, REMOTE, GATEWAY, GATEWAY_BRIDGE]}
PAIRINGS = [pairing for pairings in TRANSPORTS.values() for pairing in pairings]
WIRE = {"stdio": [*CHECKS], "http": [*HTTP_CHECKS, *REMOTE_CHECKS]}
# How many problems of one tour are printed.
MAX_SHOWN_PROBLEMS = 8


@dataclass(frozen=True)
class TransparencyRunner:
    """Runs tours and wire checks against one program."""

    toolchain: Toolchain
    servers: Servers
    tidegate: Path
    modes: list[str]
    pairings: list[Pairing]

    def combinations(self, pairings: list[Pairing]) -> list[tuple[Pairing, str]]:
        """Returns those of the pairings that are wanted, each with the modes that it has."""
        wanted = [pairing for pairing in pairings if pairing in self.pairings]
        return [(pairing, mode) for pairing in wanted for mode in self.modes if mode in pairing.modes]

    def run_tour(self, tour: Tour, transport: str) -> bool:
        """Runs a tour directly and through tidegate in each pairing and mode, all in parallel, and reports."""
        command = self.servers.on_stdio(tour.server)
        url = self.servers.over_http(tour.server) if transport == "http" else None
        with ExitStack() as stack:
            process = stack.enter_context(TourProcess(tour, self.toolchain, url or command))
            proxied_tours = {}
            for pairing, mode in self.combinations(TRANSPORTS[transport]):
                between = pairing.command(self.tidegate, mode, self.servers, tour.server)
                proxied_tours[pairing, mode] = self.start_proxied(tour, pairing, between, stack)
            direct = process.wait()
            proxied = {key: proxied_tour.wait() for key, proxied_tour in proxied_tours.items()}
        return all([compare_results(tour, *key, direct, outcome) for key, outcome in proxied.items()])

    def start_proxied(self, tour: Tour, pairing: Pairing, command: list[str], stack: ExitStack) -> ProxiedTour:
        """Starts a tour through tidegate; the stack ends every process it starts."""
        if not pairing.http_client:
            return ProxiedTour(stack.enter_context(TourProcess(tour, self.toolchain, command)))
        try:
            listener = stack.enter_context(Listener(command))
        except ListenerError as error:
            return ProxiedTour(failure=f"tidegate: {error}")
        return ProxiedTour(stack.enter_context(TourProcess(tour, self.toolchain, listener.url)), listener)

    def check(self, name: str) -> bool:
        """Runs one wire check in each pairing and mode, and reports."""
        return all([self.check_one(name, *combination) for combination in self.combinations(pairings_of(name))])

    def check_one(self, name: str, pairing: Pairing, mode: str) -> bool:
        server = self.servers.on_stdio("raw")
        url = self.servers.over_http("raw") if pairing.http_client or pairing.http_server else None
        command = pairing.command(self.tidegate, mode, self.servers, "raw")
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


def compare_results(tour: Tour, pairing: Pairing, mode: str, direct: TourResult, proxied: TourResult) -> bool:
    """Compares the results of two tours, and reports."""
    sides = {"direct": direct, "proxied": proxied}
    failures = [f"{side}: {found}" for side, found in sides.items() if isinstance(found, str)]
    if failures:
        return report(tour.name, pairing.name, mode, failures)
    direct, proxied = comparable(tour, pairing is not STDIO, direct, proxied)
    if pairing in GATEWAYS:
        direct, proxied = as_gateway_lists(direct, proxied)
    allowed_differences, problems = compare(direct, proxied, rules(mode, pairing.name, direct, proxied))
    remark = f"{len(allowed_differences)} allowed differences" if allowed_differences else ""
    return report(tour.name, pairing.name, mode, problems, remark)


def report(name: str, pairing: str, mode: str, problems: list, remark: str = "") -> bool:
    """Prints one line, and the problems below it."""
    verdict = "differs" if problems else "same"
    print(f"{verdict:8} {name:24} {pairing:14} {mode:8} {remark}".rstrip(), flush=True)
    for problem in problems[:MAX_SHOWN_PROBLEMS]:
        print(f"         - {problem}")
    if len(problems) > MAX_SHOWN_PROBLEMS:
        print(f"         - and {len(problems) - MAX_SHOWN_PROBLEMS} more")
    return not problems


def run(runner: TransparencyRunner, only: str, transports: list[str]) -> list[bool]:
    """Runs each tour and check whose name contains `only`; returns whether each came out the same."""
    tours = [tour for tour in TOURS if only in tour.name]
    checks = [name for transport in transports for name in WIRE[transport] if only in name]
    results = [runner.run_tour(tour, transport) for transport in transports for tour in tours]
    return results + [runner.check(name) for name in checks]


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--tidegate", type=Path, required=True, help="the program under test")
    parser.add_argument("--cache", type=Path, default=DEFAULT_CACHE, help="folder of the installed packages")
    parser.add_argument("--only", default="", help="only the tours and checks whose name contains this")
    parser.add_argument("--mode", choices=MODES, help="only this mode")
    parser.add_argument("--pairing", choices=[pairing.name for pairing in PAIRINGS], help="only this pairing")
    parser.add_argument("--transport", choices=[*TRANSPORTS, "all"], default="all", help="only this transport")
    options = parser.parse_args()
    began = time.monotonic()
    if not os.access(options.tidegate, os.X_OK):
        print(f"{options.tidegate} is not a program: build it with cargo build --release", file=sys.stderr)
        return 1
    modes = [options.mode] if options.mode else MODES
    pairings = available([pairing for pairing in PAIRINGS if options.pairing in (None, pairing.name)], options.tidegate)
    transports = list(TRANSPORTS) if options.transport == "all" else [options.transport]
    try:
        toolchain = install(options.cache)
        with Servers(toolchain) as servers:
            runner = TransparencyRunner(toolchain, servers, options.tidegate.resolve(), modes, pairings)
            results = run(runner, options.only, transports)
    except (SetupError, ListenerError) as error:
        print(error, file=sys.stderr)
        return 1
    if not results:
        print(f"no tour or check has a name with {options.only}", file=sys.stderr)
        return 1
    print(f"{sum(results)} of {len(results)} the same, in {time.monotonic() - began:.0f} seconds")
    return 0 if all(results) else 1


if __name__ == "__main__":
    sys.exit(main())
