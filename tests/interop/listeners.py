"""Programs that listen on 127.0.0.1: tidegate, and the servers that it is tested with.

Each of them says `listening on URL` on stderr as soon as it takes connections, and ends on SIGTERM.
"""
import os
import re
import signal
import subprocess
import tempfile
import time
from contextlib import suppress
from pathlib import Path

START_SECONDS = 30
END_SECONDS = 10
READY = re.compile(r"listening on (http://\S+)")


class ListenerError(Exception):
    """The program does not listen, or did not end as it should."""


class Listener:
    """A program that listens, in a process of its own, with a store of its own."""

    def __init__(self, command: list[str], extra: dict[str, str] | None = None):
        self.forgotten = False
        self.folder = tempfile.TemporaryDirectory(prefix="tidegate-interop-")
        home = Path(self.folder.name)
        self.stderr = home / "stderr"
        environment = os.environ | {"TIDEGATE_HOME": str(home / "store")} | (extra or {})
        with open(self.stderr, "wb") as stderr:
            self.process = subprocess.Popen(
                command, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=stderr,
                env=environment, start_new_session=True)
        try:
            self.url = self._wait()
        except ListenerError:
            self._forget()
            raise

    def _wait(self) -> str:
        """Where it listens, as soon as it does."""
        deadline = time.monotonic() + START_SECONDS
        while time.monotonic() < deadline:
            found = READY.search(self.complaints())
            if found:
                return found[1]
            if self.process.poll() is not None:
                code = self.process.returncode
                raise ListenerError(f"it ended with exit code {code}: {self._last_words()}")
            time.sleep(0.02)
        raise ListenerError(f"it does not listen after {START_SECONDS} seconds: {self._last_words()}")

    def __enter__(self) -> "Listener":
        return self

    def __exit__(self, *_) -> None:
        self._forget()

    def stop(self) -> None:
        """Ends it as its user would; that it ended before, or does not end, is an error."""
        try:
            if self.process.poll() is not None:
                code = self.process.returncode
                raise ListenerError(f"it ended before its time, with exit code {code}: {self._last_words()}")
            self.process.send_signal(signal.SIGTERM)
            try:
                self.process.wait(END_SECONDS)
            except subprocess.TimeoutExpired:
                raise ListenerError(f"it did not end within {END_SECONDS} seconds after SIGTERM") from None
        finally:
            self._forget()

    def _forget(self) -> None:
        """Leaves no process and no file behind."""
        if self.forgotten:
            return
        self.forgotten = True
        with suppress(ProcessLookupError):
            os.killpg(self.process.pid, signal.SIGKILL)
        self.process.wait()
        self.folder.cleanup()

    def complaints(self) -> str:
        """What stands on stderr."""
        return self.stderr.read_text(errors="replace")

    def _last_words(self) -> str:
        lines = [line.strip() for line in self.complaints().splitlines() if line.strip()]
        return " | ".join(lines[-5:])
