"""Checks on the wire over HTTP: raw_server.mjs direct and through the proxy, compared by their bytes.

Each check takes the URL of the server, that of the proxy in front of it, the pairing and the mode, and
returns what is wrong. A reverse proxy has to keep status, headers and framing as well; a bridge has its own.
"""
import hashlib
import json
import time

import allowed
import wire_script as script
from http_wire import Answer, Caller
from pairings import BRIDGE, REVERSE, Pairing
from wire import WireError, is_message, parsed, result
from wire_checks import OPENING, SHOWN, unequal, unequal_openings

LARGE_BYTES = 17_000_000
GONE_SECONDS = 5
# A bridge counts its requests; ours are among the first.
BRIDGED_IDS = 20
FOREIGN = {"host": {"host": "evil.example.com"}, "origin": {"origin": "http://evil.example.com"}}
NOT_A_SESSION = "00000000-0000-0000-0000-000000000000"
PRETTY = json.dumps(json.loads(script.call(500, "match")), indent=2).encode()
CALL = script.call(1, "match").encode()
# Title, method, path, session, body, and what the bridge may answer; a reverse proxy answers as the server.
REFUSED = [
    ("no session", "POST", None, None, CALL, {400}),
    ("unknown session", "POST", None, NOT_A_SESSION, CALL, {404}),
    ("GET without session", "GET", None, None, b"", {400, 405}),
    ("DELETE of an unknown session", "DELETE", None, NOT_A_SESSION, b"", {404}),
    ("PUT", "PUT", None, None, CALL, {405}),
    ("no JSON", "POST", None, None, b"this is no JSON", {400}),
    ("other path", "POST", "/other", None, CALL, {404}),
]
# A token makes it certain which request the progress belongs to.
LINGER = script.call(777, "linger", "{}", script.META.removesuffix("}") + ',"progressToken":"gone"}').encode()
LINGERING = script.call(778, "linger", '{"count":true}', script.META).encode()


def bodies(*parts: str | list[str]) -> list[bytes]:
    return [line.removesuffix(b"\n") for line in script.lines(*parts)]


def crossing(direct: str, proxied: str, pairing: Pairing, mode: str) -> list[str]:
    """Small results, notifications, errors, odd spellings and fields to come cross unchanged."""
    opening = [line.strip() for line in OPENING]
    odd = [line for line in script.ODD_REQUESTS if line.startswith("{")]
    others = bodies(script.SMALL_CALLS, odd, script.MODERN_CALLS) + [PRETTY]
    callers = Caller(direct), Caller(proxied)
    openings = [[caller.send(body) for body in opening] for caller in callers]
    if mode == "observe":
        problems = all_differences(opening, *openings, pairing, mode)
    else:
        problems = unequal_openings(*([one.messages() for one in each] for each in openings), mode)
    answers = [[caller.send(body) for body in others] for caller in callers]
    return problems + all_differences(others, *answers, pairing, mode)


def all_differences(
        sent: list[bytes], direct: list[Answer], proxied: list[Answer], pairing: Pairing, mode: str,
) -> list[str]:
    return [
        problem
        for body, wanted, got in zip(sent, direct, proxied)
        for problem in differences(body, wanted, got, pairing, mode)
    ]


def differences(body: bytes, direct: Answer, proxied: Answer, pairing: Pairing, mode: str) -> list[str]:
    """What is not the same in the answers to a request."""
    title = f"after {body[:SHOWN]!r}"
    if direct.status != proxied.status:
        return [f"{title}: status {direct.status} -> {proxied.status} {proxied.body[:SHOWN]!r}"]
    if pairing is REVERSE and direct.headers != proxied.headers:
        return [f"{title}: headers {direct.headers} -> {proxied.headers}"]
    if pairing is REVERSE and mode == "observe":
        return unequal(body, [direct.body], [proxied.body])
    shared = pairing is BRIDGE and script.META.encode() in body
    wanted, got = (
        [line for line in one.messages() if has_to_cross(line, shared)] for one in (direct, proxied))
    return unequal(body, wanted, got)


def has_to_cross(line: bytes, shared: bool) -> bool:
    """What is no message may be left out, and on a server that clients share also what names no request."""
    message = parsed(line)
    return is_message(message) and (not shared or "id" in message)


def upward(direct: str, proxied: str, pairing: Pairing, mode: str) -> list[str]:
    """The server receives a request as it was sent. A bridge gives it another id, and ends its line."""
    caller = Caller(proxied)
    caller.send(bodies(script.INITIALIZE)[0])
    caller.send(bodies(script.INITIALIZED)[0])
    problems = []
    for body, own_id in zip(bodies(script.DIGEST, script.ODD_REQUESTS[0].strip()), (b"900", b'"\\u00e9 x"')):
        texts = allowed.texts(result(caller.send(body).messages()))
        expected = [body]
        if pairing is BRIDGE:
            expected = [body.replace(own_id, b"%d" % number, 1) + b"\n" for number in range(BRIDGED_IDS)]
        if json.loads(texts[0])["line"] not in {hashlib.sha256(line).hexdigest() for line in expected}:
            problems.append(f"it did not arrive as it was sent: {body[:SHOWN]!r}")
    return problems


def refusals(direct: str, proxied: str, pairing: Pairing, mode: str) -> list[str]:
    """What a server answers to requests that it does not accept, and to the end of a session."""
    problems = []
    for title, method, path, session, body, bridged in REFUSED:
        expected = bridged if pairing is BRIDGE else {Caller(direct, session).send(body, method, path).status}
        answer = Caller(proxied, session).send(body, method, path)
        if answer.status not in expected:
            problems.append(f"{title}: status {expected} -> {answer.status} {answer.body[:SHOWN]!r}")
    return problems + ended(proxied)


def ended(url: str) -> list[str]:
    """A session that its client ended is no more."""
    caller = Caller(url)
    caller.send(bodies(script.INITIALIZE)[0])
    if caller.session is None:
        return ["initialize began no session"]
    deleted = caller.send(b"", "DELETE").status
    after = caller.send(CALL).status
    problems = [] if 200 <= deleted < 300 else [f"DELETE of the session: status {deleted}"]
    return problems + ([] if after == 404 else [f"a call after the end of its session: status {after}"])


def large(direct: str, proxied: str, pairing: Pairing, mode: str) -> list[str]:
    """A large result: whole when observing, an overview that names the complete result when shaping."""
    request = bodies(script.call(1, "big", json.dumps({"bytes": LARGE_BYTES}), script.META))[0]
    found = Caller(proxied).send(request)
    if mode == "observe":
        return differences(request, Caller(direct).send(request), found, pairing, mode)
    if not allowed.handle(result(found.messages())):
        return [f"no overview that names a handle: {found.body[:SHOWN]!r}"]
    return []


def strangers(direct: str, proxied: str, pairing: Pairing, mode: str) -> list[str]:
    """Pages of other sites reach neither the proxy nor the server: their Host and Origin are refused."""
    body = bodies(script.DISCOVER)[0]
    answers = {title: Caller(proxied, extra=extra).send(body) for title, extra in FOREIGN.items()}
    return [
        f"a foreign {title}: status {answer.status} {answer.body[:SHOWN]!r}"
        for title, answer in answers.items() if answer.status != 403
    ]


def gone(direct: str, proxied: str, pairing: Pairing, mode: str) -> list[str]:
    """A client that closes the stream of an answer has cancelled its request, and the server learns of it."""
    caller = Caller(proxied)
    response = caller.begin(LINGER)
    if not any(b'"progress"' in line for line in iter(response.readline, b"")):
        raise WireError("the tool that never answers did not begin to")
    before = lingering(caller)
    response.close()
    deadline = time.monotonic() + GONE_SECONDS
    while lingering(caller) == before:
        if time.monotonic() > deadline:
            return [f"the server still works on a request {GONE_SECONDS} seconds after its client went"]
        time.sleep(0.05)
    return []


def lingering(caller: Caller) -> int:
    """How many requests the server works on without an end."""
    return int(allowed.texts(result(caller.send(LINGERING).messages()))[0])


HTTP_CHECKS = {
    "http-crossing": crossing,
    "http-upward": upward,
    "http-refusals": refusals,
    "http-large": large,
    "http-strangers": strangers,
    "http-gone": gone,
}
HTTP_PAIRINGS = [REVERSE, BRIDGE]
