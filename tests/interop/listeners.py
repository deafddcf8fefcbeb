"""Runs programs that listen on 127.0.0.1: tidegate and the servers under test.

Each prints `listening on URL` to stderr when it accepts connections, and exits on SIGTERM.
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
    """The program does not listen, or did not exit as expected."""


class Listener:
    """A listening program with its own store."""

    def __init__(self, command: list[str], extra: dict[str, str] | None = None):
        self.cleaned_up = False
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
            self._clean_up()
            raise

    def _wait(self) -> str:
        """Waits until it listens and returns the URL."""
        deadline = time.monotonic() + START_SECONDS
        while time.monotonic() < deadline:
            found = READY.search(self.stderr_text())
            if found:
                return found[1]
            if self.process.poll() is not None:
                code = self.process.returncode
                raise ListenerError(f"it exited with code {code}: {self._stderr_tail()}")
            time.sleep(0.02)
        raise ListenerError(f"it did not listen within {START_SECONDS} seconds: {self._stderr_tail()}")

    def __enter__(self) -> "Listener":
        return self

    def __exit__(self, *_) -> None:
        self._clean_up()

    def stop(self) -> None:
        """Stops it with SIGTERM; raises an error if it has already exited or does not exit."""
        try:
            if self.process.poll() is not None:
                code = self.process.returncode
                raise ListenerError(f"it exited early, with exit code {code}: {self._stderr_tail()}")
            self.process.send_signal(signal.SIGTERM)
            try:
                self.process.wait(END_SECONDS)
            except subprocess.TimeoutExpired:
                raise ListenerError(f"it did not exit within {END_SECONDS} seconds of SIGTERM") from None
        finally:
            self._clean_up()

    def _clean_up(self) -> None:
        """Kills the process group and removes the files."""
        if self.cleaned_up:
            return
        self.cleaned_up = True
        with suppress(ProcessLookupError):
            os.killpg(self.process.pid, signal.SIGKILL)
        self.process.wait()
        self.folder.cleanup()

    def stderr_text(self) -> str:
        """Returns everything on stderr."""
        return self.stderr.read_text(errors="replace")

    def _stderr_tail(self) -> str:
        lines = [line.strip() for line in self.stderr_text().splitlines() if line.strip()]
        return " | ".join(lines[-5:])
