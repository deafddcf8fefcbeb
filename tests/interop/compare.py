"""Compares two transcripts and decides which differences are allowed.

A transcript is a JSON object with one member per step of a tour. The path of a difference is written with slashes,
such as `tools/tools/3/outputSchema`. The caller passes the list of rules that allow differences.
"""
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

MAX_SHOWN_CHARS = 100


@dataclass(frozen=True)
class Rule:
    """Allows one kind of difference, with the reason."""

    name: str
    reason: str
    kind: str
    """`missing`, `added` (a member), `appended` (elements at the end of a list), `changed` (a plain value),
    or `replaced` (a whole value, whose parts are not compared)."""
    path: str
    """A regular expression for the whole path."""
    accepts: Callable[[Any, Any], bool] = lambda direct, proxied: True
    """Returns whether the rule allows these two values."""
    required: Callable[[dict], list[str]] = lambda direct: []
    """Returns the paths of a direct transcript where the difference must occur."""

    def allows(self, kind: str, path: str, direct: Any, proxied: Any) -> bool:
        return kind == self.kind and bool(re.fullmatch(self.path, path)) and self.accepts(direct, proxied)


@dataclass(frozen=True)
class Difference:
    """One difference; `rule` allows it, or is None."""

    kind: str
    path: str
    direct: Any
    proxied: Any
    rule: Rule | None = None

    def __str__(self):
        if self.kind == "missing":
            return f"missing {self.path}: {shown(self.direct)}"
        if self.kind in ("added", "appended"):
            return f"{self.kind} {self.path}: {shown(self.proxied)}"
        return f"{self.kind} {self.path}: {shown(self.direct)} -> {shown(self.proxied)}"


@dataclass(frozen=True)
class MissingDifference:
    """A difference that a rule requires and that did not occur."""

    path: str
    rule: Rule

    def __str__(self):
        return f"{self.rule.name} missing at {self.path}: {self.rule.reason}"


def shown(value: Any) -> str:
    text = repr(value)
    return text if len(text) <= MAX_SHOWN_CHARS else text[:MAX_SHOWN_CHARS] + " ..."


Problem = Difference | MissingDifference


def compare(direct: dict, proxied: dict, rules: list[Rule]) -> tuple[list[Difference], list[Problem]]:
    """Returns the allowed differences, and the problems: forbidden differences and missing required ones."""
    found = list(differences("", direct, proxied, rules))
    allowed = [difference for difference in found if difference.rule]
    problems: list[Problem] = [difference for difference in found if not difference.rule]
    occurred = {(difference.rule.name, difference.path) for difference in allowed}
    for rule in rules:
        for path in rule.required(direct):
            if (rule.name, path) not in occurred:
                problems.append(MissingDifference(path, rule))
    return allowed, problems


def differences(path: str, direct: Any, proxied: Any, rules: list[Rule]) -> Iterator[Difference]:
    """Yields all differences of two values."""
    if direct == proxied:
        return
    replaced = difference_at("replaced", path, direct, proxied, rules)
    if replaced.rule:
        yield replaced
    elif isinstance(direct, dict) and isinstance(proxied, dict):
        yield from object_differences(path, direct, proxied, rules)
    elif isinstance(direct, list) and isinstance(proxied, list):
        yield from list_differences(path, direct, proxied, rules)
    else:
        yield difference_at("changed", path, direct, proxied, rules)


def object_differences(path: str, direct: dict, proxied: dict, rules: list[Rule]) -> Iterator[Difference]:
    for key in sorted(direct.keys() | proxied.keys()):
        inner = f"{path}/{key}" if path else key
        if key not in proxied:
            yield difference_at("missing", inner, direct[key], None, rules)
        elif key not in direct:
            yield difference_at("added", inner, None, proxied[key], rules)
        else:
            yield from differences(inner, direct[key], proxied[key], rules)


def list_differences(path: str, direct: list, proxied: list, rules: list[Rule]) -> Iterator[Difference]:
    for index, (left, right) in enumerate(zip(direct, proxied)):
        yield from differences(f"{path}/{index}", left, right, rules)
    common = min(len(direct), len(proxied))
    if len(direct) > common:
        yield difference_at("missing", f"{path}/{common}...", direct[common:], None, rules)
    elif len(proxied) > common:
        yield difference_at("appended", path, None, proxied[common:], rules)


def difference_at(kind: str, path: str, direct: Any, proxied: Any, rules: list[Rule]) -> Difference:
    """Returns the difference with the rule that allows it, if there is one."""
    rule = next((rule for rule in rules if rule.allows(kind, path, direct, proxied)), None)
    return Difference(kind, path, direct, proxied, rule)
