"""Expectations about the body of a follow-up: each returns what is wrong with it, or an empty string."""
import csv
import io
from collections.abc import Callable
from typing import Any

from servers.report import shortened

Expectation = Callable[[str], str]
Rows = list[tuple[Any, ...]]


def equals(expected: str) -> Expectation:
    """Expects exactly this text."""
    def expect(body: str) -> str:
        return "" if body == expected else f"{shortened(body)} instead of {shortened(expected)}"
    return expect


def contains(*parts: str) -> Expectation:
    """Expects all of these texts in the body."""
    def expect(body: str) -> str:
        missing = [part for part in parts if part not in body]
        return f"{missing} not in {shortened(body)}" if missing else ""
    return expect


def table(names: list[str], expected: Rows) -> Expectation:
    """Expects CSV with these columns and rows."""
    def expect(body: str) -> str:
        header, rows = read_table(body)
        if header != names:
            return f"the columns are {header}"
        return wrong_rows(rows, expected)
    return expect


def read_table(body: str) -> tuple[list[str], Rows]:
    """Returns the header row and the other rows of a CSV body."""
    lines = list(csv.reader(io.StringIO(body)))
    if not lines:
        return [], []
    return lines[0], [tuple(line) for line in lines[1:]]


def wrong_rows(rows: Rows, expected: Rows) -> str:
    """Returns how CSV rows differ from the expected values."""
    if len(rows) != len(expected):
        return f"{len(rows)} rows instead of {len(expected)}"
    for row, values in zip(rows, expected):
        if len(row) != len(values) or not all(map(same_cell, row, values)):
            return f"{row} instead of {values}"
    return ""


def same_cell(cell: str, value: Any) -> bool:
    """Returns whether a CSV cell equals the value; an empty cell is null."""
    if value is None:
        return cell == ""
    if isinstance(value, str):
        return cell == value
    try:
        return float(cell) == value
    except ValueError:
        return False
