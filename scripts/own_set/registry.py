"""The list of items, and what an item's function gets and returns.

An item is a function that runs programs in a scratch folder and returns the result of the tool call with its questions.
`@item` adds it to the list. An item that cannot run on this machine raises `Skip` with the reason.
"""

import hashlib
import os
import random
import shutil
import subprocess
from dataclasses import dataclass, field
from pathlib import Path

ITEMS = []


class Skip(Exception):
    """The item cannot be made on this machine; the message says why."""


@dataclass
class Made:
    """One result of a tool call with its questions."""

    content: object  # the text, or the whole CallToolResult
    call: dict  # tool and arguments
    questions: list
    parse: str = "text"  # how the scorer reads `d` for `derive`: text, lines, json, jsonl, csv, pyliteral

    def result(self):
        """Returns the CallToolResult."""
        if isinstance(self.content, dict):
            return self.content
        return {"content": [{"type": "text", "text": self.content}], "isError": False}


@dataclass
class Item:
    """An item's name, the class of result it stands for, where the data comes from, and the function that makes it."""

    id: str
    kind: str
    source: str
    make: object

    @property
    def half(self):
        """Returns "open" or "held", by a hash of the item's name."""
        return "held" if hashlib.sha256(self.id.encode()).digest()[7] & 1 else "open"


def item(name, kind, source):
    """Adds the decorated function to the list of items."""

    def add(function):
        ITEMS.append(Item(name, kind, source, function))
        return function

    return add


def shell(command):
    """Returns the call of a tool that runs a command line."""
    return {"tool": "shell", "arguments": {"command": command}}


@dataclass
class Workspace:
    """A scratch folder for one item, and the programs it may run."""

    name: str
    folder: Path
    cache: Path  # has venv/ and npm/
    project: Path  # this repository
    environment: dict = field(default_factory=dict)

    def __post_init__(self):
        shutil.rmtree(self.folder, ignore_errors=True)
        self.folder.mkdir(parents=True)
        self.random = random.Random(self.name)
        self.environment = {
            **os.environ,
            "LC_ALL": "C.UTF-8",
            "TZ": "UTC",
            "COLUMNS": "120",
            "NO_COLOR": "1",
            "TERM": "dumb",
            "GIT_CONFIG_GLOBAL": os.devnull,
            "GIT_CONFIG_SYSTEM": os.devnull,
            "PYTHONHASHSEED": "0",
            "PATH": f"{self.cache / 'venv/bin'}:{self.cache / 'npm/node_modules/.bin'}:{os.environ['PATH']}",
        }

    @property
    def npm(self):
        """Returns the folder with the npm packages."""
        return self.cache / "npm" / "node_modules"

    def write(self, path, text):
        """Writes a file in the scratch folder; returns its path."""
        file = self.folder / path
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text)
        return file

    def run(self, *command, stdin=None, fails=False, errors=False, cwd=None, timeout=120, **environment):
        """Runs a program in the scratch folder; returns its output, with the error output after it if `errors`."""
        if not shutil.which(str(command[0]), path=self.environment["PATH"]):
            raise Skip(f"{command[0]} is not installed")
        done = subprocess.run(
            [str(part) for part in command],
            input=stdin,
            text=True,
            cwd=cwd or self.folder,
            timeout=timeout,
            env={**self.environment, **environment},
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT if errors else subprocess.PIPE,
            errors="replace",
        )
        if done.returncode and not fails:
            raise Skip(f"{' '.join(map(str, command))[:80]} failed: {(done.stderr or done.stdout).strip()[-200:]}")
        return done.stdout
