"""Checks on the wire: raw_server.mjs direct and through the proxy, compared by the bytes that arrive.

Each check takes the two commands and the mode, and returns what is wrong.
"""
import json
import os
from collections.abc import Callable

import allowed
import wire_script as script
from compare import compare
from wire import Wire, WireError, is_message, parsed, result

BURSTS = 20
EVENTS = 200
OPENING = script.lines(script.INITIALIZE, script.INITIALIZED, script.LIST_TOOLS, script.DISCOVER)
LARGE = {"1 MB": 1_000_000, "17 MB": 17_000_000}
SHOWN = 110


def crossing(direct: list[str], proxied: list[str], mode: str) -> list[str]:
    """Small results, notifications, errors, odd spellings and fields to come cross unchanged, both ways.

    Lines that are no message cross when observing. Shaping may leave them out, and the opening
    changes as allowed.
    """
    lines = script.lines(
        script.SMALL_CALLS, script.ODD_REQUESTS, script.MODERN_CALLS, script.DIGEST)
    expected_opening, expected = session(direct, OPENING, lines)
    found_opening, found = session(proxied, OPENING, lines)
    if mode == "observe":
        return all_unequal(OPENING + lines, expected_opening + expected, found_opening + found)
    return unequal_openings(expected_opening, found_opening, mode) + all_unequal(
        lines, messages(expected), messages(found))


def remote_crossing(direct: list[str], proxied: list[str], mode: str) -> list[str]:
    """The same for a server over HTTP, where a message has no line and may lose the blanks around it."""
    odd = [line for line in script.ODD_REQUESTS if line.startswith("{")]
    lines = script.lines(script.SMALL_CALLS, odd, script.MODERN_CALLS)
    expected_opening, expected = session(direct, OPENING, lines)
    found_opening, found = session(proxied, OPENING, lines)
    return unequal_openings(expected_opening, found_opening, mode) + all_unequal(
        lines, messages(expected, bytes.strip), messages(found, bytes.strip))


def unequal_openings(expected: list[list[bytes]], found: list[list[bytes]], mode: str) -> list[str]:
    """What the answers of the opening have that is not allowed."""
    problems = []
    for wanted, got in zip(transcripts(expected), transcripts(found)):
        _, wrong = compare(wanted, got, allowed.ALLOWED[mode])
        problems += [f"opening: {difference}" for difference in wrong]
    return problems


def session(command: list[str], opening: list[bytes], lines: list[bytes]) -> tuple[list, list]:
    """What comes back for each line of the opening, and for each of the others."""
    with Wire(command) as wire:
        first = [wire.exchange(line) for line in opening]
        others = [wire.exchange(line) for line in lines]
        return first, others


def messages(
        answers: list[list[bytes]], form: Callable[[bytes], bytes] = lambda line: line) -> list[list[bytes]]:
    """The answers without lines that are no message."""
    return [[form(line) for line in answer if is_message(parsed(line))] for answer in answers]


def all_unequal(lines: list[bytes], expected: list[list[bytes]], found: list[list[bytes]]) -> list[str]:
    """What is not the same in the answers to some lines."""
    return [
        problem
        for line, wanted, got in zip(lines, expected, found)
        for problem in unequal(line, wanted, got)
    ]


def unequal(line: bytes, expected: list[bytes], found: list[bytes]) -> list[str]:
    """The first line of an answer that is not the same."""
    for wanted, got in zip(expected, found):
        if wanted != got:
            place = len(os.path.commonprefix([wanted, got]))
            start = max(0, place - 20)
            return [
                f"after {line[:SHOWN]!r}: byte {place} differs: "
                f"{wanted[start:start + SHOWN]!r} -> {got[start:start + SHOWN]!r}"
            ]
    if len(expected) != len(found):
        return [f"after {line[:SHOWN]!r}: {len(expected)} lines -> {len(found)} lines"]
    return []


def transcripts(opening: list[list[bytes]]) -> list[dict]:
    """The answers of the opening as transcripts, one of each era."""
    initialized, first, *others, discovered = [result(answer) for answer in opening if answer]
    return [
        {"server": initialized, "tools": first, "more-tools": others},
        {"server": discovered},
    ]


def large(direct: list[str], proxied: list[str], mode: str) -> list[str]:
    """Large results: whole when observing, an overview that names the complete result when shaping."""
    problems = []
    for title, size in LARGE.items():
        request = script.lines(script.call(1, "big", json.dumps({"bytes": size})))[0]
        found = alone(proxied, request)
        if mode == "observe":
            problems += unequal(request, alone(direct, request), found)
        elif not allowed.handle(result(found)):
            problems.append(f"{title}: no overview that names a handle: {found[-1][:SHOWN]!r}")
    return problems


def alone(command: list[str], request: bytes) -> list[bytes]:
    """What comes back for one request in a session of its own, which has to stay usable."""
    with Wire(command) as wire:
        for line in script.lines(script.INITIALIZE, script.INITIALIZED):
            wire.exchange(line)
        answer = wire.exchange(request)
        wire.exchange(script.lines(script.call(2, "match"))[0])
        return answer


def bursts(direct: list[str], proxied: list[str], mode: str) -> list[str]:
    """Many progress events of many calls: none is lost, out of order, or later than its response."""
    # What arrives for each call: the numbers of its events, and then None for its response.
    arrived: dict[int, list[int | None]] = {call: [] for call in range(1, BURSTS + 1)}
    with Wire(proxied) as wire:
        for line in script.lines(script.INITIALIZE, script.INITIALIZED):
            wire.exchange(line)
        for call in arrived:
            meta = f'"_meta":{{"progressToken":{call}}}'
            wire.send(script.lines(script.call(call, "burst", json.dumps({"n": EVENTS}), meta))[0])
        for _ in range(BURSTS * (EVENTS + 1)):
            call, number = event_or_response(wire.receive())
            arrived[call].append(number)
            if all(None in numbers for numbers in arrived.values()):
                break
    expected = [*range(1, EVENTS + 1), None]
    return [
        f"call {call}: {len(set(expected) - set(numbers))} of {EVENTS} events lost, or not in order"
        for call, numbers in arrived.items() if numbers != expected
    ]


def event_or_response(line: bytes) -> tuple[int, int | None]:
    """The call that a line is about, and the number of the event; None if it is the response."""
    match parsed(line):
        case {"method": "notifications/progress", "params": {"progressToken": call, "progress": number}}:
            return call, number
        case {"id": call, "result": _}:
            return call, None
    raise WireError(f"it sent what nobody asked for: {line[:200]!r}")


def endings(direct: list[str], proxied: list[str], mode: str) -> list[str]:
    """The proxy ends with the exit code of the server, and what the server complains about is seen."""
    problems = []
    for title, end in (("end of input", at_end_of_input), ("exit in the middle of a call", at_quit)):
        expected, found = end(direct), end(proxied)
        if expected[0] != found[0]:
            problems.append(f"{title}: exit code {expected[0]} -> {found[0]}")
        if expected[1] not in found[1]:
            problems.append(f"{title}: stderr lost {expected[1]!r}, has {found[1][:SHOWN]!r}")
    return problems


def at_end_of_input(command: list[str]) -> tuple[int, bytes]:
    with Wire(command) as wire:
        wire.exchange(script.lines(script.INITIALIZE)[0])
        return wire.close(), wire.complaints()


def at_quit(command: list[str]) -> tuple[int, bytes]:
    with Wire(command) as wire:
        wire.exchange(script.lines(script.INITIALIZE)[0])
        wire.send(script.lines(script.call(1, "quit", '{"code":7}'))[0])
        return wire.exit_code(), wire.complaints()


CHECKS = {
    "wire-crossing": crossing,
    "wire-large": large,
    "wire-bursts": bursts,
    "wire-endings": endings,
}
# For a server over HTTP behind `run --url`.
REMOTE_CHECKS = {
    "remote-crossing": remote_crossing,
    "remote-large": large,
    "remote-bursts": bursts,
}
