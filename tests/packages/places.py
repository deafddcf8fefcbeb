"""Where packages are installed and run: a folder of this machine, or another root."""
import os
import subprocess
import time
from dataclasses import dataclass, field
from pathlib import Path

from report import run

CLAUDE = '{"mcpServers": {"widgets": {"type": "stdio", "command": "python3", "args": ["/big_server.py"]}}}\n'


@dataclass
class Place:
    """This machine, with a home of its own. `root` is where its files are, seen from here."""

    name: str
    folder: Path
    path: str = field(default_factory=lambda: os.environ["PATH"])
    prefix: tuple[str, ...] = ()

    def __post_init__(self):
        self.outside(self.home).mkdir(parents=True, exist_ok=True)

    @property
    def home(self):
        """The home folder, as programs in this place see it."""
        return self.folder / "home"

    def outside(self, path):
        """A path of this place, as this script sees it."""
        return Path(path)

    def environment(self, **more):
        return {"PATH": self.path, "HOME": str(self.home), "LANG": "C.UTF-8", **more}

    def command(self, words, **more):
        """A command that runs the words here and nothing of this script's environment."""
        variables = [f"{name}={value}" for name, value in self.environment(**more).items()]
        return [*self.prefix, "env", "-i", f"--chdir={self.home}", *variables, *map(str, words)]

    def run(self, words, timeout=300, **more):
        return run(self.command(words, **more), timeout=timeout)

    def put(self, path, data, mode=0o644):
        outside = self.outside(path)
        outside.parent.mkdir(parents=True, exist_ok=True)
        outside.write_bytes(data if isinstance(data, bytes) else data.encode())
        outside.chmod(mode)
        return path

    def read(self, path):
        return self.outside(path).read_text()

    def first_line_seconds(self, words, **more):
        """How long a command takes to its first line."""
        started = time.monotonic()
        with subprocess.Popen(self.command(words, **more), stdout=subprocess.PIPE, stderr=subprocess.DEVNULL) as process:
            line = process.stdout.readline()
            seconds = time.monotonic() - started
            process.stdout.read()
        assert line, words
        return seconds


@dataclass
class Root(Place):
    """Another root, entered with chroot."""

    def __post_init__(self):
        self.path = "/usr/local/bin:/usr/bin:/bin"
        self.prefix = ("chroot", str(self.folder))
        super().__post_init__()

    @property
    def home(self):
        return Path("/home/user")

    def outside(self, path):
        return self.folder / str(path).lstrip("/")


@dataclass
class EmptyRoot(Root):
    """A root with nothing in it, not even a shell: the program is started by chroot itself."""

    def command(self, words, **more):
        variables = [f"{name}={value}" for name, value in self.environment(**more).items()]
        return ["env", "-i", *variables, "/usr/sbin/chroot", *self.prefix[1:], *map(str, words)]
