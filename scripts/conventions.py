#!/usr/bin/env python3
"""Checks that every test named in docs/conventions.md exists.

    scripts/conventions.py

A row of a table names a file, and tests in it, as code: `path` `test`, `test`. Each row must name at least one test, and the
invariants INV-MCP-RESP-001 to 006 must each have a row. Each mistake is printed as FILE:LINE, and the exit code is 1.
"""

import re
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
PAGE = ROOT / "docs" / "conventions.md"
CODE = re.compile(r"`([^`]+)`")
INVARIANTS = [f"INV-MCP-RESP-{number:03}" for number in range(1, 7)]


def is_defined(test, text):
    """Whether a file defines a test of this name."""
    return re.search(rf"\b(?:fn|def) {re.escape(test)}\b", text) is not None


def mistakes(cell):
    """What is wrong with the last cell of a row."""
    text, tests = None, 0
    for name in CODE.findall(cell):
        if "/" in name:
            file = ROOT / name
            text = file.read_text(encoding="utf-8") if file.is_file() else None
            if text is None:
                yield f"there is no file {name}"
        elif text is not None:
            tests += 1
            if not is_defined(name, text):
                yield f"no test {name} in its file"
    if tests == 0:
        yield "no test is named"


def requirements(lines):
    """The rows of the tables whose last column is `tests`, with their line numbers."""
    inside = False
    for number, line in enumerate(lines, 1):
        cells = [cell.strip() for cell in line.strip().strip("|").split(" | ")]
        if not line.startswith("|"):
            inside = False
        elif cells[-1] == "tests":
            inside = True
        elif inside and not line.startswith("|---"):
            yield number, cells


def main():
    """Prints every mistake and returns the exit code."""
    found, rows = [], list(requirements(PAGE.read_text(encoding="utf-8").splitlines()))
    for number, cells in rows:
        found += [f"{PAGE.relative_to(ROOT)}:{number}: {mistake}" for mistake in mistakes(cells[-1])]
    named = " ".join(cells[0] for _, cells in rows)
    found += [f"{PAGE.relative_to(ROOT)}: {name} has no row" for name in INVARIANTS if name not in named]
    for mistake in found:
        print(mistake)
    print(f"{len(rows)} requirements, {len(found)} mistakes", file=sys.stderr)
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
