#!/usr/bin/env python3
"""Runs real MCP servers behind tidegate and checks what the official Python client gets.

    python3 tests/interop/servers.py --tidegate target/release/tidegate [--only sql] [--table sizes.md]

Each server is started twice, direct and behind the proxy, and gets the same calls. A small result must be the
same; a large one must become one text within budget, be kept whole, and answer every follow-up rightly. The
packages are installed into the cache first (see install.py); the checks run in its Python. Exits with 1 when
a check failed.
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
    parser.add_argument("--table", type=Path, metavar="FILE", help="where to write the sizes as Markdown")
    return parser.parse_args()


def run(options: argparse.Namespace, toolchain: Toolchain) -> int:
    """Runs all servers, or the one asked for."""
    # These import packages that are installed only in the toolchain's Python.
    from servers.report import Report
    from servers.tokens import counter
    tidegate = options.tidegate.resolve()
    report = Report()
    who, tokens = counter(tidegate)
    print(f"tokens are counted by {who}")
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
    from servers.bench import Bench
    module = importlib.import_module(f"servers.{name}")
    started = time.monotonic()
    with tempfile.TemporaryDirectory(prefix="tidegate-servers-", ignore_cleanup_errors=True) as folder:
        bench = Bench(toolchain, tidegate, Path(folder), report, tokens)
        try:
            anyio.run(module.run, bench)
        except Exception as error:
            report.check(name, "runs to its end", f"{reason(error)}{last_words(Path(folder))}")
    print(f"        {name} took {time.monotonic() - started:.1f} s", flush=True)


def reason(error: BaseException) -> str:
    """The innermost error of a group."""
    while isinstance(error, BaseExceptionGroup):
        error = error.exceptions[0]
    return f"{type(error).__name__}: {error}"


def last_words(folder: Path) -> str:
    """What the servers wrote to stderr at last."""
    words = ""
    for path in sorted(folder.glob("*.stderr")):
        lines = path.read_text(errors="replace").strip().splitlines()[-5:]
        words += "".join(f"\n        {path.stem}: {line}" for line in lines)
    return words


if __name__ == "__main__":
    sys.exit(main())
