"""Speaks to a server over HTTP in raw requests, without any SDK; what comes back is kept byte for byte."""
import http.client
import json
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import urlsplit

from wire import REPLY, WireError, is_request, parsed

ANSWER_SECONDS = 60
LEGACY = "2025-11-25"
VERSION = "io.modelcontextprotocol/protocolVersion"
SESSION = "mcp-session-id"
STREAM = "text/event-stream"
# Belong to one connection, not to the message.
HOP = {"connection", "content-length", "date", "keep-alive", "transfer-encoding"}


@dataclass(frozen=True)
class Answer:
    """The response to one request."""

    status: int
    headers: dict[str, str]
    """Those that belong to the message; the number of a session is left out."""
    body: bytes

    @property
    def is_stream(self) -> bool:
        return self.headers.get("content-type", "").startswith(STREAM)

    def messages(self) -> list[bytes]:
        """The messages in it, without blanks around them."""
        if not self.is_stream:
            return [self.body.strip()] if self.body else []
        return [data for data in map(data_of, self.body.split(b"\n\n")) if data]


def data_of(event: bytes) -> bytes:
    """The data of an event of a stream."""
    lines = [line[5:] for line in event.splitlines() if line.startswith(b"data:")]
    return b"\n".join(lines).strip()


@dataclass
class Caller:
    """A client: knows its session, and gives each request the headers that its era demands."""

    url: str
    session: str | None = None
    extra: dict[str, str] = field(default_factory=dict)
    """Headers of every request, in place of those that it would have."""

    def send(self, body: bytes, method: str = "POST", path: str | None = None) -> Answer:
        """Makes a request and reads the whole answer; what the server asks in the middle is replied to."""
        response = self.begin(body, method, path)
        try:
            chunks = []
            for line in lines_of(response):
                chunks.append(line)
                asked = parsed(data_of(line))
                if is_request(asked):
                    self.send(REPLY % json.dumps(asked["id"]).encode())
        except (OSError, http.client.HTTPException) as error:
            raise WireError(f"the answer broke off: {error!r}") from None
        finally:
            response.close()
        headers = {name.lower(): value for name, value in response.getheaders()}
        self.session = headers.get(SESSION, self.session)
        kept = {name: value for name, value in headers.items() if name not in HOP}
        if SESSION in kept:
            kept[SESSION] = "some"
        return Answer(response.status, kept, b"".join(chunks))

    def begin(self, body: bytes, method: str = "POST", path: str | None = None) -> http.client.HTTPResponse:
        """Makes a request on a connection of its own; the answer has begun, and closing it closes that."""
        parts = urlsplit(self.url)
        connection = http.client.HTTPConnection(parts.hostname, parts.port, timeout=ANSWER_SECONDS)
        headers = self._headers(parsed(body)) | {"connection": "close"} | self.extra
        try:
            connection.request(method, path or parts.path, body=body or None, headers=headers)
            return connection.getresponse()
        except (OSError, http.client.HTTPException) as error:
            connection.close()
            raise WireError(f"no answer: {error!r}") from None

    def _headers(self, message: Any) -> dict[str, str]:
        headers = {"content-type": "application/json", "accept": f"application/json, {STREAM}"}
        params = message.get("params") if isinstance(message, dict) else None
        meta = params.get("_meta") if isinstance(params, dict) else None
        if meta and VERSION in meta:
            headers |= {"mcp-protocol-version": meta[VERSION], "mcp-method": message["method"]}
            return headers | ({"mcp-name": params["name"]} if "name" in params else {})
        if self.session:
            headers |= {SESSION: self.session, "mcp-protocol-version": LEGACY}
        return headers


def lines_of(response: http.client.HTTPResponse) -> Iterator[bytes]:
    """The lines of a stream as they come, or a body as a whole."""
    if (response.getheader("content-type") or "").startswith(STREAM):
        return iter(response.readline, b"")
    return iter([response.read()])
