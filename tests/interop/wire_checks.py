"""Wire checks over stdio: raw_server.mjs directly and through tidegate, compared byte for byte.

Each check takes the two commands and the mode, and returns the problems.
"""
import json
import os
from collections.abc import Callable

import allowed
import wire_script as script
from compare import compare
from wire import Wire, WireError, is_message, parsed, result

CALLS = 20
EVENTS_PER_CALL = 200
OPENING = script.lines(script.INITIALIZE, script.INITIALIZED, script.LIST_TOOLS, script.DISCOVER)
LARGE = {"1 MB": 1_000_000, "17 MB": 17_000_000}
MAX_SHOWN_BYTES = 110


def unchanged(direct: list[str], proxied: list[str], mode: str) -> list[str]:
    """Small results, notifications, errors, unusual JSON and unknown fields pass unchanged in both directions.

    With `observe`, lines that are not messages pass too. With `shape`, they may be dropped, and the answers to the
    opening lines may differ as allowed.
    """
    lines = script.lines(
        script.SMALL_CALLS, script.ODD_REQUESTS, script.MODERN_CALLS, script.DIGEST)
    expected_opening, expected = session(direct, OPENING, lines)
    found_opening, found = session(proxied, OPENING, lines)
    if mode == "observe":
        return all_unequal(OPENING + lines, expected_opening + expected, found_opening + found)
    return unequal_openings(expected_opening, found_opening, mode) + all_unequal(
        lines, messages(expected), messages(found))


def remote_unchanged(direct: list[str], proxied: list[str], mode: str) -> list[str]:
    """The same for a server over HTTP, where a message may lose surrounding whitespace."""
    odd = [line for line in script.ODD_REQUESTS if line.startswith("{")]
    lines = script.lines(script.SMALL_CALLS, odd, script.MODERN_CALLS)
    expected_opening, expected = session(direct, OPENING, lines)
    found_opening, found = session(proxied, OPENING, lines)
    return unequal_openings(expected_opening, found_opening, mode) + all_unequal(
        lines, messages(expected, bytes.strip), messages(found, bytes.strip))


def unequal_openings(expected: list[list[bytes]], found: list[list[bytes]], mode: str) -> list[str]:
    """Returns the forbidden differences in the answers to the opening lines."""
    problems = []
    for wanted, got in zip(transcripts(expected), transcripts(found)):
        _, wrong = compare(wanted, got, allowed.ALLOWED[mode])
        problems += [f"opening: {difference}" for difference in wrong]
    return problems


def session(command: list[str], opening: list[bytes], lines: list[bytes]) -> tuple[list, list]:
    """Returns the answers to the opening lines and to the other lines, from one session."""
    with Wire(command) as wire:
        first = [wire.exchange(line) for line in opening]
        others = [wire.exchange(line) for line in lines]
        return first, others


def messages(
        answers: list[list[bytes]], form: Callable[[bytes], bytes] = lambda line: line) -> list[list[bytes]]:
    """Returns the answers without lines that are not messages."""
    return [[form(line) for line in answer if is_message(parsed(line))] for answer in answers]


def all_unequal(lines: list[bytes], expected: list[list[bytes]], found: list[list[bytes]]) -> list[str]:
    """Returns the differences in the answers to several lines."""
    return [
        problem
        for line, wanted, got in zip(lines, expected, found)
        for problem in unequal(line, wanted, got)
    ]


def unequal(line: bytes, expected: list[bytes], found: list[bytes]) -> list[str]:
    """Returns the first difference in an answer."""
    for wanted, got in zip(expected, found):
        if wanted != got:
            place = len(os.path.commonprefix([wanted, got]))
            start = max(0, place - 20)
            return [
                f"after {line[:MAX_SHOWN_BYTES]!r}: byte {place} differs: "
                f"{wanted[start:start + MAX_SHOWN_BYTES]!r} -> {got[start:start + MAX_SHOWN_BYTES]!r}"
            ]
    if len(expected) != len(found):
        return [f"after {line[:MAX_SHOWN_BYTES]!r}: {len(expected)} lines -> {len(found)} lines"]
    return []


def transcripts(opening: list[list[bytes]]) -> list[dict]:
    """Returns the answers to the opening lines as one transcript per era."""
    initialized, first, *others, discovered = [result(answer) for answer in opening if answer]
    return [
        {"server": initialized, "tools": first, "more-tools": others},
        {"server": discovered},
    ]


def large(direct: list[str], proxied: list[str], mode: str) -> list[str]:
    """A large result is whole with `observe`, and an overview that names the complete result with `shape`."""
    problems = []
    for title, size in LARGE.items():
        request = script.lines(script.call(1, "big", json.dumps({"bytes": size})))[0]
        found = alone(proxied, request)
        if mode == "observe":
            problems += unequal(request, alone(direct, request), found)
        elif not allowed.handle(result(found)):
            problems.append(f"{title}: no overview that names a handle: {found[-1][:MAX_SHOWN_BYTES]!r}")
    return problems


def alone(command: list[str], request: bytes) -> list[bytes]:
    """Returns the answer to one request in its own session, which must stay usable."""
    with Wire(command) as wire:
        for line in script.lines(script.INITIALIZE, script.INITIALIZED):
            wire.exchange(line)
        answer = wire.exchange(request)
        wire.exchange(script.lines(script.call(2, "match"))[0])
        return answer


def progress(direct: list[str], proxied: list[str], mode: str) -> list[str]:
    """Of many progress events of many calls, none is lost, out of order, or later than the response."""
    # For each call, the numbers of its events, then None for its response.
    arrived: dict[int, list[int | None]] = {call: [] for call in range(1, CALLS + 1)}
    with Wire(proxied) as wire:
        for line in script.lines(script.INITIALIZE, script.INITIALIZED):
            wire.exchange(line)
        for call in arrived:
            meta = f'"_meta":{{"progressToken":{call}}}'
            wire.send(script.lines(script.call(call, "burst", json.dumps({"n": EVENTS_PER_CALL}), meta))[0])
        for _ in range(CALLS * (EVENTS_PER_CALL + 1)):
            call, number = event_or_response(wire.receive())
            arrived[call].append(number)
            if all(None in numbers for numbers in arrived.values()):
                break
    expected = [*range(1, EVENTS_PER_CALL + 1), None]
    return [
        f"call {call}: {len(set(expected) - set(numbers))} of {EVENTS_PER_CALL} events lost, or not in order"
        for call, numbers in arrived.items() if numbers != expected
    ]


def event_or_response(line: bytes) -> tuple[int, int | None]:
    """Returns the call of a line, and the number of its event or None for the response."""
    match parsed(line):
        case {"method": "notifications/progress", "params": {"progressToken": call, "progress": number}}:
            return call, number
        case {"id": call, "result": _}:
            return call, None
    raise WireError(f"unexpected message: {line[:200]!r}")


def exit_codes(direct: list[str], proxied: list[str], mode: str) -> list[str]:
    """tidegate exits with the exit code of the server, and passes on its stderr."""
    problems = []
    for title, end in (("end of input", at_end_of_input), ("exit in the middle of a call", at_quit)):
        expected, found = end(direct), end(proxied)
        if expected[0] != found[0]:
            problems.append(f"{title}: exit code {expected[0]} -> {found[0]}")
        if expected[1] not in found[1]:
            problems.append(f"{title}: stderr lost {expected[1]!r}, has {found[1][:MAX_SHOWN_BYTES]!r}")
    return problems


def at_end_of_input(command: list[str]) -> tuple[int, bytes]:
    with Wire(command) as wire:
        wire.exchange(script.lines(script.INITIALIZE)[0])
        return wire.close(), wire.stderr_bytes()


def at_quit(command: list[str]) -> tuple[int, bytes]:
    with Wire(command) as wire:
        wire.exchange(script.lines(script.INITIALIZE)[0])
        wire.send(script.lines(script.call(1, "quit", '{"code":7}'))[0])
        return wire.exit_code(), wire.stderr_bytes()


CHECKS = {
    "wire-unchanged": unchanged,
    "wire-large": large,
    "wire-progress": progress,
    "wire-exit-codes": exit_codes,
}
# For a server over HTTP behind `run --url`.
REMOTE_CHECKS = {
    "remote-unchanged": remote_unchanged,
    "remote-large": large,
    "remote-progress": progress,
}
