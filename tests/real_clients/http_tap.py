"""A transparent tap over HTTP between an MCP client and the server under test.

It listens on a free loopback port and passes requests on to a URL, responses and event streams back as they come. Each
message is appended to the log in the form of `tap.py`, where `tap` is a number for each request: ids are unique within
one request and its response, not among the sessions of a client.
"""
from __future__ import annotations

import http.client
import itertools
import json
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from urllib.parse import urlsplit

from tap import parsed

# Headers that belong to one connection, and those that are set anew.
HOP_BY_HOP = {"host", "connection", "content-length", "keep-alive", "transfer-encoding", "date", "server"}


@contextmanager
def tapping(url: str, log: Path) -> Iterator[str]:
    """Passes requests on to the URL until the block ends; yields the URL of the tap."""
    target = urlsplit(url)
    with open(log, "a", encoding="utf-8") as file:
        server = ThreadingHTTPServer(("127.0.0.1", 0), _handler(target.netloc, _Recorder(file)))
        server.daemon_threads = True
        threading.Thread(target=server.serve_forever, daemon=True).start()
        try:
            yield f"http://127.0.0.1:{server.server_port}{target.path}"
        finally:
            server.shutdown()
            server.server_close()


class _Recorder:
    """Writes messages to the log, and counts requests."""

    def __init__(self, file):
        self._file, self._lock, self._numbers = file, threading.Lock(), itertools.count(1)

    def number(self) -> int:
        with self._lock:
            return next(self._numbers)

    def record(self, number: int, side: str, message: bytes) -> None:
        entry = {"tap": number, "at": time.monotonic_ns(), "from": side, "message": parsed(message)}
        with self._lock:
            if message.strip() and not self._file.closed:
                self._file.write(json.dumps(entry) + "\n")
                self._file.flush()


def _handler(target: str, recorder: _Recorder):
    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def log_message(self, *_):
            pass

        def pass_on(self):
            number, body = recorder.number(), self.rfile.read(int(self.headers.get("content-length", 0)))
            recorder.record(number, "client", body)
            connection = http.client.HTTPConnection(target)
            try:
                connection.request(self.command, self.path, body or None, _own(self.headers))
                self._answer(number, connection.getresponse())
            except (OSError, http.client.HTTPException):
                self.close_connection = True
            finally:
                connection.close()

        do_GET = do_POST = do_DELETE = pass_on

        def _answer(self, number: int, response: http.client.HTTPResponse):
            self.send_response(response.status)
            for name, value in _own(response.headers).items():
                self.send_header(name, value)
            if response.headers.get("content-type", "").startswith("text/event-stream"):
                return self._stream(number, response)
            body = response.read()
            recorder.record(number, "server", body)
            self.send_header("content-length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def _stream(self, number: int, response: http.client.HTTPResponse):
            """Passes a stream on line by line. It ends with the connection, because its length is not known."""
            self.send_header("connection", "close")
            self.end_headers()
            for line in iter(response.readline, b""):
                if line.startswith(b"data:"):
                    recorder.record(number, "server", line[5:])
                self.wfile.write(line)
                self.wfile.flush()

    return Handler


def _own(headers) -> dict[str, str]:
    """Returns the headers of a message without those of its connection."""
    return {name: value for name, value in headers.items() if name.lower() not in HOP_BY_HOP}
