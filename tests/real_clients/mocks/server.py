"""The loopback HTTP server of a mock, which is also the client's HTTP proxy.

It refuses requests for any host other than 127.0.0.1 and records them in the model's `refused`.
"""
from __future__ import annotations

import json
import threading
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from urllib.parse import urlsplit

from .scripted import Reply, ScriptedModel


@contextmanager
def serving(model: ScriptedModel):
    """Serves the model on a free loopback port until the block ends; yields the base URL."""
    server = ThreadingHTTPServer(("127.0.0.1", 0), _handler(model))
    server.daemon_threads = True
    threading.Thread(target=server.serve_forever, daemon=True).start()
    try:
        yield f"http://127.0.0.1:{server.server_port}"
    finally:
        server.shutdown()
        server.server_close()


def _handler(model: ScriptedModel):
    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def log_message(self, *_):
            pass

        def do_CONNECT(self):
            model.refused.append(self.path)
            self._send(403, Reply("{}"))
            self.close_connection = True

        def do_GET(self):
            if self._is_ours():
                self._send(200, Reply("{}"))

        do_HEAD = do_GET

        def do_POST(self):
            body = self.rfile.read(int(self.headers.get("content-length", 0)))
            if self._is_ours():
                self._send(200, model.answer(urlsplit(self.path).path, json.loads(body or b"{}")))

        def _is_ours(self) -> bool:
            host = urlsplit(self.path).hostname
            if host in (None, "127.0.0.1"):
                return True
            model.refused.append(host)
            self._send(403, Reply("{}"))
            return False

        def _send(self, status: int, reply: Reply):
            body = reply.body.encode()
            self.send_response(status)
            self.send_header("content-type", reply.content_type)
            self.send_header("content-length", str(len(body)))
            self.end_headers()
            if self.command != "HEAD":
                self.wfile.write(body)

    return Handler
