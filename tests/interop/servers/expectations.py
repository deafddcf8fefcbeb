"""Judges of a follow-up's body: each says what is wrong with it, and nothing when it is right."""
import csv
import io
from collections.abc import Callable
from typing import Any

from servers.report import shortened

Judge = Callable[[str], str]
Rows = list[tuple[Any, ...]]


def equals(expected: str) -> Judge:
    """The body is this text."""
    def judge(body: str) -> str:
        return "" if body == expected else f"{shortened(body)} instead of {shortened(expected)}"
    return judge


def contains(*parts: str) -> Judge:
    """The body has all these texts."""
    def judge(body: str) -> str:
        missing = [part for part in parts if part not in body]
        return f"{missing} not in {shortened(body)}" if missing else ""
    return judge


def table(names: list[str], expected: Rows) -> Judge:
    """The body is CSV of these columns and rows."""
    def judge(body: str) -> str:
        head, rows = read_table(body)
        if head != names:
            return f"the columns are {head}"
        return wrong_rows(rows, expected)
    return judge


def read_table(body: str) -> tuple[list[str], Rows]:
    """The head and the rows of a body in CSV."""
    lines = list(csv.reader(io.StringIO(body)))
    if not lines:
        return [], []
    return lines[0], [tuple(line) for line in lines[1:]]


def wrong_rows(rows: Rows, expected: Rows) -> str:
    """How rows of CSV differ from rows of values."""
    if len(rows) != len(expected):
        return f"{len(rows)} rows instead of {len(expected)}"
    for row, values in zip(rows, expected):
        if len(row) != len(values) or not all(map(same_cell, row, values)):
            return f"{row} instead of {values}"
    return ""


def same_cell(cell: str, value: Any) -> bool:
    """Whether a cell of CSV stands for the value; an empty one is null."""
    if value is None:
        return cell == ""
    if isinstance(value, str):
        return cell == value
    try:
        return float(cell) == value
    except ValueError:
        return False
