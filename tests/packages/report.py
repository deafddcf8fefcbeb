"""Checks with a name, printed as they are made; a failed one does not stop the others."""
import os
import subprocess
import sys


class Report:
    def __init__(self):
        self.passed, self.failed, self.figures = 0, 0, []

    def check(self, what, holds, seen=""):
        if holds:
            self.passed += 1
            print(f"ok {what}", flush=True)
        else:
            self.failed += 1
            print(f"FAILED {what}\n   {str(seen)[-1500:] or 'does not hold'}", file=sys.stderr, flush=True)
        return bool(holds)

    def figure(self, what, value):
        """Something that is measured, not judged."""
        self.figures.append(f"{what}: {value}")

    def summary(self):
        for figure in self.figures:
            print(figure)
        print(f"{self.passed} checks passed, {self.failed} failed")
        return 1 if self.failed else 0


def run(command, timeout=300, env=None, **options):
    """Runs a command with only the given environment; output and errors as text."""
    env = {"PATH": os.environ["PATH"]} if env is None else env
    command = [str(word) for word in command]
    try:
        return subprocess.run(command, capture_output=True, text=True, timeout=timeout, env=env, **options)
    except subprocess.TimeoutExpired as error:
        return subprocess.CompletedProcess(command, 124, str(error.stdout or ""), f"timed out after {timeout} s")
