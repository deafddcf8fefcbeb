"""Wire checks over HTTP: raw_server.mjs directly and through tidegate, compared byte for byte.

Each check takes the URLs of the server and of tidegate, the pairing and the mode, and returns the problems. A reverse
proxy must also keep status, headers and framing; a bridge has its own.
"""
import hashlib
import json
import time

import allowed
import wire_script as script
from http_wire import Answer, Caller
from pairings import BRIDGE, REVERSE, Pairing
from wire import WireError, is_message, parsed, result
from wire_checks import MAX_SHOWN_BYTES, OPENING, unequal, unequal_openings

LARGE_BYTES = 17_000_000
CANCEL_SECONDS = 5
# A bridge numbers its requests; the first of them are ours.
MAX_BRIDGE_ID = 20
FOREIGN = {"host": {"host": "evil.example.com"}, "origin": {"origin": "http://evil.example.com"}}
NOT_A_SESSION = "00000000-0000-0000-0000-000000000000"
PRETTY = json.dumps(json.loads(script.call(500, "match")), indent=2).encode()
CALL = script.call(1, "match").encode()
# Title, method, path, session, body, and the statuses a bridge may return; a reverse proxy returns that of the server.
REFUSED_REQUESTS = [
    ("no session", "POST", None, None, CALL, {400}),
    ("unknown session", "POST", None, NOT_A_SESSION, CALL, {404}),
    ("GET without session", "GET", None, None, b"", {400, 405}),
    ("DELETE of an unknown session", "DELETE", None, NOT_A_SESSION, b"", {404}),
    ("PUT", "PUT", None, None, CALL, {405}),
    ("not JSON", "POST", None, None, b"this is not JSON", {400}),
    ("other path", "POST", "/other", None, CALL, {404}),
]
# The token ties the progress to this request.
LINGER = script.call(777, "linger", "{}", script.META.removesuffix("}") + ',"progressToken":"gone"}').encode()
LINGERING = script.call(778, "linger", '{"count":true}', script.META).encode()


def bodies(*parts: str | list[str]) -> list[bytes]:
    return [line.removesuffix(b"\n") for line in script.lines(*parts)]


def unchanged(direct: str, proxied: str, pairing: Pairing, mode: str) -> list[str]:
    """Small results, notifications, errors, unusual JSON and unknown fields pass unchanged."""
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
    """Returns the differences in the answers to a request."""
    title = f"after {body[:MAX_SHOWN_BYTES]!r}"
    if direct.status != proxied.status:
        return [f"{title}: status {direct.status} -> {proxied.status} {proxied.body[:MAX_SHOWN_BYTES]!r}"]
    if pairing is REVERSE and direct.headers != proxied.headers:
        return [f"{title}: headers {direct.headers} -> {proxied.headers}"]
    if pairing is REVERSE and mode == "observe":
        return unequal(body, [direct.body], [proxied.body])
    shared = pairing is BRIDGE and script.META.encode() in body
    wanted, got = (
        [line for line in one.messages() if must_pass(line, shared)] for one in (direct, proxied))
    return unequal(body, wanted, got)


def must_pass(line: bytes, shared: bool) -> bool:
    """Returns whether a line must pass: it is a message, and on a shared server it has an id."""
    message = parsed(line)
    return is_message(message) and (not shared or "id" in message)


def requests_unchanged(direct: str, proxied: str, pairing: Pairing, mode: str) -> list[str]:
    """The server receives a request as sent. A bridge changes its id and adds a line break."""
    caller = Caller(proxied)
    caller.send(bodies(script.INITIALIZE)[0])
    caller.send(bodies(script.INITIALIZED)[0])
    problems = []
    for body, own_id in zip(bodies(script.DIGEST, script.ODD_REQUESTS[0].strip()), (b"900", b'"\\u00e9 x"')):
        texts = allowed.texts(result(caller.send(body).messages()))
        expected = [body]
        if pairing is BRIDGE:
            expected = [body.replace(own_id, b"%d" % number, 1) + b"\n" for number in range(MAX_BRIDGE_ID)]
        if json.loads(texts[0])["line"] not in {hashlib.sha256(line).hexdigest() for line in expected}:
            problems.append(f"changed on the way to the server: {body[:MAX_SHOWN_BYTES]!r}")
    return problems


def refusals(direct: str, proxied: str, pairing: Pairing, mode: str) -> list[str]:
    """Invalid requests are refused as by the server, and so are requests after the end of a session."""
    problems = []
    for title, method, path, session, body, bridged in REFUSED_REQUESTS:
        expected = bridged if pairing is BRIDGE else {Caller(direct, session).send(body, method, path).status}
        answer = Caller(proxied, session).send(body, method, path)
        if answer.status not in expected:
            problems.append(f"{title}: status {expected} -> {answer.status} {answer.body[:MAX_SHOWN_BYTES]!r}")
    return problems + ended_session(proxied)


def ended_session(url: str) -> list[str]:
    """A session that the client deleted no longer exists."""
    caller = Caller(url)
    caller.send(bodies(script.INITIALIZE)[0])
    if caller.session is None:
        return ["initialize returned no session"]
    deleted = caller.send(b"", "DELETE").status
    after = caller.send(CALL).status
    problems = [] if 200 <= deleted < 300 else [f"DELETE of the session: status {deleted}"]
    return problems + ([] if after == 404 else [f"a call after the end of its session: status {after}"])


def large(direct: str, proxied: str, pairing: Pairing, mode: str) -> list[str]:
    """A large result is whole with `observe`, and an overview that names the complete result with `shape`."""
    request = bodies(script.call(1, "big", json.dumps({"bytes": LARGE_BYTES}), script.META))[0]
    found = Caller(proxied).send(request)
    if mode == "observe":
        return differences(request, Caller(direct).send(request), found, pairing, mode)
    if not allowed.handle(result(found.messages())):
        return [f"no overview that names a handle: {found.body[:MAX_SHOWN_BYTES]!r}"]
    return []


def foreign_origins(direct: str, proxied: str, pairing: Pairing, mode: str) -> list[str]:
    """Requests of other web sites are refused by their Host and Origin headers."""
    body = bodies(script.DISCOVER)[0]
    answers = {title: Caller(proxied, extra=extra).send(body) for title, extra in FOREIGN.items()}
    return [
        f"a foreign {title}: status {answer.status} {answer.body[:MAX_SHOWN_BYTES]!r}"
        for title, answer in answers.items() if answer.status != 403
    ]


def disconnect(direct: str, proxied: str, pairing: Pairing, mode: str) -> list[str]:
    """If the client closes the stream of an answer, the request is cancelled at the server."""
    caller = Caller(proxied)
    response = caller.begin(LINGER)
    if not any(b'"progress"' in line for line in iter(response.readline, b"")):
        raise WireError("the tool `linger` reported no progress")
    before = lingering(caller)
    response.close()
    deadline = time.monotonic() + CANCEL_SECONDS
    while lingering(caller) == before:
        if time.monotonic() > deadline:
            return [f"the server still works on the request {CANCEL_SECONDS} seconds after the client disconnected"]
        time.sleep(0.05)
    return []


def lingering(caller: Caller) -> int:
    """Returns how many unanswered requests the server is working on."""
    return int(allowed.texts(result(caller.send(LINGERING).messages()))[0])


HTTP_CHECKS = {
    "http-unchanged": unchanged,
    "http-requests-unchanged": requests_unchanged,
    "http-refusals": refusals,
    "http-large": large,
    "http-foreign-origins": foreign_origins,
    "http-disconnect": disconnect,
}
HTTP_PAIRINGS = [REVERSE, BRIDGE]
