"""Talks to a server over HTTP in raw requests, without an SDK; received bodies keep every byte."""
import http.client
import json
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import urlsplit

from wire import RESPONSE, WireError, is_request, parsed

ANSWER_SECONDS = 60
LEGACY = "2025-11-25"
VERSION_KEY = "io.modelcontextprotocol/protocolVersion"
SESSION_HEADER = "mcp-session-id"
EVENT_STREAM = "text/event-stream"
# Headers that belong to the connection, not to the message.
HOP_BY_HOP = {"connection", "content-length", "date", "keep-alive", "transfer-encoding"}


@dataclass(frozen=True)
class Answer:
    """The response to one request."""

    status: int
    headers: dict[str, str]
    """The headers of the message; a session id is replaced by `some`."""
    body: bytes

    @property
    def is_stream(self) -> bool:
        return self.headers.get("content-type", "").startswith(EVENT_STREAM)

    def messages(self) -> list[bytes]:
        """Returns the messages in the body, without surrounding whitespace."""
        if not self.is_stream:
            return [self.body.strip()] if self.body else []
        return [data for data in map(data_of, self.body.split(b"\n\n")) if data]


def data_of(event: bytes) -> bytes:
    """Returns the data of a server-sent event."""
    lines = [line[5:] for line in event.splitlines() if line.startswith(b"data:")]
    return b"\n".join(lines).strip()


@dataclass
class Caller:
    """A client that keeps its session and adds the headers that the protocol version requires."""

    url: str
    session: str | None = None
    extra: dict[str, str] = field(default_factory=dict)
    """Headers that override those of every request."""

    def send(self, body: bytes, method: str = "POST", path: str | None = None) -> Answer:
        """Sends a request and reads the whole answer; responds to requests of the server in between."""
        response = self.begin(body, method, path)
        try:
            chunks = []
            for line in lines_of(response):
                chunks.append(line)
                message = parsed(data_of(line))
                if is_request(message):
                    self.send(RESPONSE % json.dumps(message["id"]).encode())
        except (OSError, http.client.HTTPException) as error:
            raise WireError(f"the answer broke off: {error!r}") from None
        finally:
            response.close()
        headers = {name.lower(): value for name, value in response.getheaders()}
        self.session = headers.get(SESSION_HEADER, self.session)
        kept = {name: value for name, value in headers.items() if name not in HOP_BY_HOP}
        if SESSION_HEADER in kept:
            kept[SESSION_HEADER] = "some"
        return Answer(response.status, kept, b"".join(chunks))

    def begin(self, body: bytes, method: str = "POST", path: str | None = None) -> http.client.HTTPResponse:
        """Sends a request on its own connection and returns the response once its headers have arrived."""
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
        headers = {"content-type": "application/json", "accept": f"application/json, {EVENT_STREAM}"}
        params = message.get("params") if isinstance(message, dict) else None
        meta = params.get("_meta") if isinstance(params, dict) else None
        if meta and VERSION_KEY in meta:
            headers |= {"mcp-protocol-version": meta[VERSION_KEY], "mcp-method": message["method"]}
            return headers | ({"mcp-name": params["name"]} if "name" in params else {})
        if self.session:
            headers |= {SESSION_HEADER: self.session, "mcp-protocol-version": LEGACY}
        return headers


def lines_of(response: http.client.HTTPResponse) -> Iterator[bytes]:
    """Returns the lines of a stream as they arrive, or a whole body."""
    if (response.getheader("content-type") or "").startswith(EVENT_STREAM):
        return iter(response.readline, b"")
    return iter([response.read()])
