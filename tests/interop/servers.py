#!/usr/bin/env python3
"""Runs real MCP servers behind tidegate and checks what the official Python client gets.

    python3 tests/interop/servers.py --tidegate target/release/tidegate [--only sql] [--table sizes.md]

Each server is started twice, directly and behind tidegate, and both get the same calls. A small result must be
identical. A large one must become one text within budget, be stored whole, and answer every follow-up correctly.
The packages are installed first (see install.py), and the checks run in the installed Python. The exit code is 1
if a check fails.
"""
import argparse
import importlib
import sys
import tempfile
import time
from pathlib import Path

from install import DEFAULT_CACHE, Toolchain, enter

NAMES = ["everything", "filesystem", "memory", "git", "sql", "playwright"]


def main() -> int:
    options = read_options()
    return run(options, enter(options.cache))


def read_options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description="Checks real MCP servers behind tidegate.")
    parser.add_argument("--tidegate", type=Path, required=True, help="the binary under test")
    parser.add_argument("--cache", type=Path, default=DEFAULT_CACHE, help="folder of the installed packages")
    parser.add_argument("--only", choices=NAMES, metavar="NAME", help=f"one of {', '.join(NAMES)}")
    parser.add_argument("--table", type=Path, metavar="FILE", help="file to write the table of sizes to, as Markdown")
    return parser.parse_args()


def run(options: argparse.Namespace, toolchain: Toolchain) -> int:
    """Runs all servers, or the selected one."""
    # These import packages that are installed only in the toolchain's Python.
    from servers.report import Report
    from servers.tokens import counter
    tidegate = options.tidegate.resolve()
    report = Report()
    counter_name, tokens = counter(tidegate)
    print(f"tokens are counted by {counter_name}")
    for name in NAMES:
        if options.only in (None, name):
            run_server(name, toolchain, tidegate, report, tokens)
    print(f"{report.passed} checks passed, {report.failed} failed")
    if options.table:
        options.table.write_text(report.table())
    return 1 if report.failed else 0


def run_server(name: str, toolchain: Toolchain, tidegate: Path, report, tokens) -> None:
    """Runs the checks of one server in a temporary folder."""
    import anyio
    from servers.setup import Setup
    module = importlib.import_module(f"servers.{name}")
    started = time.monotonic()
    with tempfile.TemporaryDirectory(prefix="tidegate-servers-", ignore_cleanup_errors=True) as folder:
        setup = Setup(toolchain, tidegate, Path(folder), report, tokens)
        try:
            anyio.run(module.run, setup)
        except Exception as error:
            report.check(name, "runs to its end", f"{reason(error)}{stderr_tail(Path(folder))}")
    print(f"        {name} took {time.monotonic() - started:.1f} s", flush=True)


def reason(error: BaseException) -> str:
    """Returns the innermost error of a group as text."""
    while isinstance(error, BaseExceptionGroup):
        error = error.exceptions[0]
    return f"{type(error).__name__}: {error}"


def stderr_tail(folder: Path) -> str:
    """Returns the last lines that the servers wrote to stderr."""
    tail = ""
    for path in sorted(folder.glob("*.stderr")):
        lines = path.read_text(errors="replace").strip().splitlines()[-5:]
        tail += "".join(f"\n        {path.stem}: {line}" for line in lines)
    return tail


if __name__ == "__main__":
    sys.exit(main())
