"""Compares two transcripts and says which of their differences are allowed.

A transcript is JSON: one member per step of a tour. The path of a difference is written with slashes, such as
`tools/tools/3/outputSchema`. Which differences are allowed is data, a list of rules that the caller brings.
"""
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

SHOWN = 100


@dataclass(frozen=True)
class Rule:
    """A kind of difference that is allowed, and why."""

    name: str
    reason: str
    kind: str
    """`missing`, `added` (a member), `appended` (elements at the end of a list), `changed` (a plain value),
    or `replaced` (a whole value, of which nothing more is compared)."""
    path: str
    """A regular expression for the whole path."""
    accepts: Callable[[Any, Any], bool] = lambda direct, proxied: True
    """Whether this is it, given what stood there in both transcripts."""
    required: Callable[[dict], list[str]] = lambda direct: []
    """The paths of a direct transcript where the difference must show up."""

    def allows(self, kind: str, path: str, direct: Any, proxied: Any) -> bool:
        return kind == self.kind and bool(re.fullmatch(self.path, path)) and self.accepts(direct, proxied)


@dataclass(frozen=True)
class Difference:
    """One difference; `rule` is what allows it, or None."""

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
class Absence:
    """A difference that a rule requires and that did not show up."""

    path: str
    rule: Rule

    def __str__(self):
        return f"{self.rule.name} missing at {self.path}: {self.rule.reason}"


def shown(value: Any) -> str:
    text = repr(value)
    return text if len(text) <= SHOWN else text[:SHOWN] + " ..."


Problem = Difference | Absence


def compare(direct: dict, proxied: dict, rules: list[Rule]) -> tuple[list[Difference], list[Problem]]:
    """The differences that are allowed, and the problems: those that are not, and those that are absent."""
    found = list(differences("", direct, proxied, rules))
    allowed = [difference for difference in found if difference.rule]
    problems: list[Problem] = [difference for difference in found if not difference.rule]
    shown_up = {(difference.rule.name, difference.path) for difference in allowed}
    for rule in rules:
        for path in rule.required(direct):
            if (rule.name, path) not in shown_up:
                problems.append(Absence(path, rule))
    return allowed, problems


def differences(path: str, direct: Any, proxied: Any, rules: list[Rule]) -> Iterator[Difference]:
    """All differences of two values."""
    if direct == proxied:
        return
    replaced = judged("replaced", path, direct, proxied, rules)
    if replaced.rule:
        yield replaced
    elif isinstance(direct, dict) and isinstance(proxied, dict):
        yield from of_objects(path, direct, proxied, rules)
    elif isinstance(direct, list) and isinstance(proxied, list):
        yield from of_lists(path, direct, proxied, rules)
    else:
        yield judged("changed", path, direct, proxied, rules)


def of_objects(path: str, direct: dict, proxied: dict, rules: list[Rule]) -> Iterator[Difference]:
    for key in sorted(direct.keys() | proxied.keys()):
        inner = f"{path}/{key}" if path else key
        if key not in proxied:
            yield judged("missing", inner, direct[key], None, rules)
        elif key not in direct:
            yield judged("added", inner, None, proxied[key], rules)
        else:
            yield from differences(inner, direct[key], proxied[key], rules)


def of_lists(path: str, direct: list, proxied: list, rules: list[Rule]) -> Iterator[Difference]:
    for index, (left, right) in enumerate(zip(direct, proxied)):
        yield from differences(f"{path}/{index}", left, right, rules)
    common = min(len(direct), len(proxied))
    if len(direct) > common:
        yield judged("missing", f"{path}/{common}...", direct[common:], None, rules)
    elif len(proxied) > common:
        yield judged("appended", path, None, proxied[common:], rules)


def judged(kind: str, path: str, direct: Any, proxied: Any, rules: list[Rule]) -> Difference:
    """The difference, with the rule that allows it."""
    rule = next((rule for rule in rules if rule.allows(kind, path, direct, proxied)), None)
    return Difference(kind, path, direct, proxied, rule)
