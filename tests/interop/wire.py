"""Talks to a stdio server in raw lines, without an SDK; received lines keep every byte."""
import json
import os
import queue
import subprocess
import tempfile
import threading
from contextlib import suppress
from pathlib import Path
from typing import Any

ANSWER_SECONDS = 60
EXIT_SECONDS = 15
# The response to every request of the server; the id is filled in.
RESPONSE = b'{ "jsonrpc":"2.0","id":%s,"result":{"xReply":1.50} }\n'


class WireError(Exception):
    """The server broke the protocol."""


class Wire:
    """A server process, and the lines sent to it and received from it."""

    def __init__(self, command: list[str]):
        self.home = tempfile.TemporaryDirectory(prefix="tidegate-interop-")
        self.stderr = open(Path(self.home.name) / "stderr", "w+b")
        self.process = subprocess.Popen(
            command,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=self.stderr,
            env=os.environ | {"TIDEGATE_HOME": str(Path(self.home.name) / "store")},
        )
        self.lines: queue.Queue[bytes | None] = queue.Queue()
        threading.Thread(target=self._read, daemon=True).start()

    def _read(self) -> None:
        for line in self.process.stdout:
            self.lines.put(line)
        self.lines.put(None)

    def __enter__(self) -> "Wire":
        return self

    def __exit__(self, *_) -> None:
        if self.process.poll() is None:
            self.process.kill()
        self.process.wait()
        self._close_input()
        self.stderr.close()
        self.home.cleanup()

    def send(self, line: bytes) -> None:
        try:
            self.process.stdin.write(line)
            self.process.stdin.flush()
        except BrokenPipeError:
            raise WireError(f"it stopped reading at {line[:80]!r}") from None

    def receive(self) -> bytes:
        """Returns the next line from the server."""
        try:
            line = self.lines.get(timeout=ANSWER_SECONDS)
        except queue.Empty:
            raise WireError(f"no answer within {ANSWER_SECONDS} seconds") from None
        if line is None:
            raise WireError("it closed its output")
        return line

    def exchange(self, line: bytes) -> list[bytes]:
        """Sends a line and returns all lines up to its answer; none if the line has no answer."""
        self.send(line)
        message = parsed(line)
        if not has_answer(message):
            return []
        received = []
        while True:
            received.append(self.receive())
            answer = parsed(received[-1])
            if is_request(answer):
                self.send(RESPONSE % json.dumps(answer["id"]).encode())
            elif is_answer(message, answer):
                return received

    def close(self) -> int:
        """Closes the input and returns the exit code."""
        self._close_input()
        return self.exit_code()

    def _close_input(self) -> None:
        with suppress(BrokenPipeError):
            self.process.stdin.close()

    def exit_code(self) -> int:
        try:
            return self.process.wait(EXIT_SECONDS)
        except subprocess.TimeoutExpired:
            raise WireError(f"it did not exit within {EXIT_SECONDS} seconds") from None

    def stderr_bytes(self) -> bytes:
        """Returns everything on stderr."""
        self.stderr.seek(0)
        return self.stderr.read()


def parsed(line: bytes) -> Any:
    """Returns the message, or None if the line is not JSON."""
    try:
        return json.loads(line)
    except ValueError:
        return None


def result(answer: list[bytes]) -> dict:
    """Returns the result in the last line of an answer."""
    message = parsed(answer[-1])
    if not isinstance(message, dict) or not isinstance(message.get("result"), dict):
        raise WireError(f"it answered without a result: {answer[-1][:200]!r}")
    return message["result"]


def is_message(message: Any) -> bool:
    """Returns whether this is a request, a notification, a response or a batch."""
    if isinstance(message, dict):
        return "method" in message or "id" in message
    return isinstance(message, list)


def is_request(message: Any) -> bool:
    return isinstance(message, dict) and "method" in message and "id" in message


def has_answer(message: Any) -> bool:
    """Returns whether the message is a request or a batch, which have an answer."""
    return isinstance(message, list) or is_request(message)


def is_answer(request: Any, message: Any) -> bool:
    """Returns whether a message answers a request or a batch."""
    if isinstance(request, list):
        return isinstance(message, list)
    return isinstance(message, dict) and "method" not in message and message.get("id") == request["id"]
