"""Speaks to a stdio server in raw lines, without any SDK; what comes back is kept byte for byte."""
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
# The answer to whatever the server asks; the id is filled in.
REPLY = b'{ "jsonrpc":"2.0","id":%s,"result":{"xReply":1.50} }\n'


class WireError(Exception):
    """The server did not do what every server does."""


class Wire:
    """A server process and the lines that go to it and come from it."""

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
        self._end_input()
        self.stderr.close()
        self.home.cleanup()

    def send(self, line: bytes) -> None:
        try:
            self.process.stdin.write(line)
            self.process.stdin.flush()
        except BrokenPipeError:
            raise WireError(f"it takes no more input at {line[:80]!r}") from None

    def receive(self) -> bytes:
        """The next line of the server."""
        try:
            line = self.lines.get(timeout=ANSWER_SECONDS)
        except queue.Empty:
            raise WireError(f"no answer within {ANSWER_SECONDS} seconds") from None
        if line is None:
            raise WireError("it closed its output")
        return line

    def exchange(self, line: bytes) -> list[bytes]:
        """Sends a line and returns all lines up to its answer; none if it is a line without an answer."""
        self.send(line)
        message = parsed(line)
        if not has_answer(message):
            return []
        received = []
        while True:
            received.append(self.receive())
            answer = parsed(received[-1])
            if is_request(answer):
                self.send(REPLY % json.dumps(answer["id"]).encode())
            elif is_answer(message, answer):
                return received

    def close(self) -> int:
        """Ends the input and returns the exit code."""
        self._end_input()
        return self.exit_code()

    def _end_input(self) -> None:
        with suppress(BrokenPipeError):
            self.process.stdin.close()

    def exit_code(self) -> int:
        try:
            return self.process.wait(EXIT_SECONDS)
        except subprocess.TimeoutExpired:
            raise WireError(f"it did not end within {EXIT_SECONDS} seconds") from None

    def complaints(self) -> bytes:
        """What stands on stderr."""
        self.stderr.seek(0)
        return self.stderr.read()


def parsed(line: bytes) -> Any:
    """The message, or None if the line is no JSON."""
    try:
        return json.loads(line)
    except ValueError:
        return None


def result(answer: list[bytes]) -> dict:
    """The result that the last line of an answer holds."""
    message = parsed(answer[-1])
    if not isinstance(message, dict) or not isinstance(message.get("result"), dict):
        raise WireError(f"it answered without a result: {answer[-1][:200]!r}")
    return message["result"]


def is_message(message: Any) -> bool:
    """Whether this is a request, a notification or a response, or a batch."""
    if isinstance(message, dict):
        return "method" in message or "id" in message
    return isinstance(message, list)


def is_request(message: Any) -> bool:
    return isinstance(message, dict) and "method" in message and "id" in message


def has_answer(message: Any) -> bool:
    """Whether the message is a request or a batch, and no notification or response."""
    return isinstance(message, list) or is_request(message)


def is_answer(request: Any, message: Any) -> bool:
    """Whether a message answers a request, or a batch of them."""
    if isinstance(request, list):
        return isinstance(message, list)
    return isinstance(message, dict) and "method" not in message and message.get("id") == request["id"]
