#!/usr/bin/env python3
"""Runs real agent clients against an MCP server and records what each feeds its model.

run.py run --client NAME --plan plan.json --out out.jsonl -- SERVER COMMAND...
run.py check [--client NAME]... [--write]
run.py prove --tidegate PATH [--client NAME]...
run.py installed --tidegate PATH
run.py examples --tidegate PATH --examples FOLDER [--client NAME]...
run.py journey --tidegate PATH [--client NAME]...
run.py gateway --tidegate PATH [--client NAME]...
"""
from __future__ import annotations

import argparse
import json
import os
import sys
from pathlib import Path

import check
import examples
import gateway
import installed
import journey
import plan
import prove
import runner
from clients import CLIENTS
from install import HarnessError


def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    commands = parser.add_subparsers(dest="command", required=True)
    run = commands.add_parser("run", help="run one client over a plan and write JSON lines")
    run.add_argument("--client", choices=CLIENTS, required=True)
    run.add_argument("--plan", type=Path, required=True, help='JSON list of {"tool": ..., "arguments": {...}}')
    run.add_argument("--out", type=Path, required=True)
    run.add_argument("--server-name", default="probe", help="name of the MCP server in the client's configuration")
    run.add_argument("--timeout", type=float, default=runner.RUN_SECONDS,
                     help=f"time limit in seconds, at most {runner.RUN_SECONDS}")
    run.add_argument("--keep", action="store_true", help="keep the temporary folder")
    run.add_argument("server", nargs="+", help="MCP server command, after --")
    facts = commands.add_parser("check", help="run the clients on the probe server and compare with facts.json")
    facts.add_argument("--write", action="store_true", help="write the observed facts to facts.json")
    proof = commands.add_parser("prove", help="run the clients with and without tidegate and compare")
    proof.add_argument("--tidegate", type=Path, required=True, help="the tidegate program")
    rewritten = commands.add_parser("installed", help="run the clients from a configuration that `tidegate install` rewrote")
    rewritten.add_argument("--tidegate", type=Path, required=True, help="the tidegate program")
    example = commands.add_parser("examples", help="run the example servers with and without tidegate and compare")
    example.add_argument("--tidegate", type=Path, required=True, help="the tidegate program")
    example.add_argument("--examples", type=Path, required=True, help="folder of the example programs")
    session = commands.add_parser("journey", help="run a session that moves data by files, joins and references")
    session.add_argument("--tidegate", type=Path, required=True, help="the tidegate program")
    session.add_argument("--client", choices=journey.NAMES, action="append", help="only this client; may be repeated")
    many = commands.add_parser("gateway", help="run the clients on a gateway with three servers behind it")
    many.add_argument("--tidegate", type=Path, required=True, help="the tidegate program, built with the feature gateway")
    for command in (facts, proof, example, many):
        command.add_argument("--client", choices=CLIENTS, action="append", help="only this client; may be repeated")
    return parser.parse_args()


def cache_folder() -> Path:
    """Returns the folder that clients are installed into."""
    default = runner.HERE.parents[1] / ".cache" / "real_clients"
    return Path(os.environ.get("TIDEGATE_CLIENTS_CACHE") or default).resolve()


def run(options: argparse.Namespace) -> int:
    records = runner.run(CLIENTS[options.client], plan.load(options.plan), options.server, cache_folder(),
                         server=options.server_name, seconds=options.timeout, keep=options.keep)
    lines = [json.dumps(record, ensure_ascii=False) + "\n" for record in records]
    options.out.write_text("".join(lines), encoding="utf-8")
    head = records[0]
    if head["complete"]:
        return 0
    print(f"{options.client}: {runner.gaps(head)}\n{runner.stderr_report(head)}", file=sys.stderr)
    return 1


def main() -> int:
    options = arguments()
    try:
        if options.command == "run":
            return run(options)
        if options.command == "installed":
            return installed.run(cache_folder(), options.tidegate)
        names = options.client or list(CLIENTS)
        if options.command == "prove":
            return prove.run(names, cache_folder(), options.tidegate)
        if options.command == "gateway":
            return gateway.run(names, cache_folder(), options.tidegate)
        if options.command == "examples":
            return examples.run(options.client or ["claude-code", "codex"], cache_folder(), options.tidegate,
                                options.examples)
        if options.command == "journey":
            return journey.run(options.client or list(journey.NAMES), cache_folder(), options.tidegate)
        return check.run(names, cache_folder(), write=options.write)
    except HarnessError as error:
        print(f"run.py: {error}", file=sys.stderr)
        return 2


if __name__ == "__main__":
    sys.exit(main())
