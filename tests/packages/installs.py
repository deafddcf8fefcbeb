"""Installs tidegate in a place, each way that people do, and checks that it works there."""
import json
import os
import socket
import statistics
import subprocess
import tarfile
import time
import urllib.request
from pathlib import Path

from places import CLAUDE
from report import run

HERE = Path(__file__).resolve().parent
LARGE = ("list_all", "1,200 rows", "select count(*) as n from t where price = 96", "12")
DEMO = ("list_tickets", "420 rows", "select count(*) as n from t", "420")
# The first line of the demo.
FIRST_LINE = "Without tidegate, list_tickets puts"
ROUNDS = 5


def npm(place, address, node="npm"):
    """`npm install tidegate` in a project; returns the command."""
    folder = place.home / "app"
    place.put(folder / "package.json", '{"name": "app", "private": true}')
    made = place.run([node, "install", "--prefix", folder, "--no-audit", "--no-fund", "tidegate"],
                     npm_config_registry=address, npm_config_update_notifier="false")
    return [folder / "node_modules/.bin/tidegate"], made


def npx(address, node="npx"):
    """`npx tidegate`; returns the command and its variables."""
    return [node, "--yes", "tidegate"], {"npm_config_registry": address, "npm_config_update_notifier": "false"}


def pip(place, wheels, python="python3"):
    """`pip install tidegate` in a new environment; returns the command."""
    folder = place.home / "venv"
    made = place.run([python, "-m", "venv", folder])
    if made.returncode == 0:
        made = place.run([folder / "bin/pip", "install", "--quiet", "--no-index", "--find-links", wheels, "tidegate"])
    return [folder / "bin/tidegate"], made


def uvx(wheels, uv):
    """`uvx tidegate`; returns the command."""
    return [uv, "tool", "run", "--offline", "--no-index", "--find-links", wheels, "tidegate"]


def copy(place, archive):
    """The program from the archive for downloads, copied by hand; returns the command."""
    with tarfile.open(archive) as files:
        member = next(member for member in files.getmembers() if member.name.endswith("/tidegate"))
        return [place.put(place.home / "bin/tidegate", files.extractfile(member).read(), 0o755)]


def works(place, how, command, report, **more):
    """Checks a command that runs tidegate: the demo and a dry run of `install`."""
    name = f"{place.name}, {how}"
    version = place.run([*command, "--version"], **more)
    report.check(f"{name}: --version", version.stdout.startswith("tidegate 0."), version.stdout + version.stderr)
    demo = place.run([*command, "demo"], **more)
    report.check(f"{name}: demo", demo.returncode == 0 and demo.stdout.startswith(FIRST_LINE), demo.stdout[:300] + demo.stderr)
    place.put(place.home / ".claude.json", CLAUDE)
    dry = place.run([*command, "install", "--dry-run"], **more)
    report.check(f"{name}: install --dry-run", dry.returncode == 0 and '+{"mcpServers"' in dry.stdout, dry.stdout + dry.stderr)
    report.check(f"{name}: a dry run writes nothing", place.read(place.home / ".claude.json") == CLAUDE)


def wraps(place, how, command, client, report, server=None, expected=LARGE, **more):
    """Checks a wrapped server with the official client, which runs outside."""
    server = server or ["python3", "/big_server.py"]
    words = place.command([*command, "run", "--", *server], **more)
    seen = run([client, HERE / "visit.py", *expected, *words])
    report.check(f"{place.name}, {how}: a wrapped server with the official client", seen.returncode == 0, seen.stderr)


def gateway(place, program, client, report, **more):
    """Checks the gateway as docs/packages.md says to start it in a container: a key, a configuration, all addresses."""
    made = place.run([program, "gateway", "key", "ada"], **more)
    if not report.check(f"{place.name}: a key for the gateway", made.returncode == 0, made.stderr):
        return
    key, section = made.stdout.split("\n", 1)
    # An image has no other program that could be a server.
    upstream = f'[upstream.tickets]\ncommand = "{program}"\nargs = ["__demo-server"]\n'
    file = place.put(place.home / "gateway.toml", section + upstream)
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    command = place.command([program, "gateway", "--config", file, "--http", f"0.0.0.0:{port}"], **more)
    with subprocess.Popen(command, stderr=subprocess.PIPE, text=True) as process:
        try:
            is_ready = answers(f"http://127.0.0.1:{port}/health/ready", 30)
            tool, *expected = DEMO
            environment = {"PATH": os.environ["PATH"], "TOKEN": key}
            url = f"http://127.0.0.1:{port}/mcp"
            seen = run([client, HERE / "visit.py", f"tickets__{tool}", *expected, url], env=environment)
        finally:
            process.terminate()
            log = process.communicate(timeout=30)[1]
    report.check(f"{place.name}: the gateway is ready", is_ready, log)
    report.check(f"{place.name}: the gateway with the official client", seen.returncode == 0, seen.stderr + log)
    report.check(f"{place.name}: the gateway ends when it is told to", process.returncode == 0, f"{process.returncode}: {log}")


def answers(url, seconds):
    """Whether an address answers with 200 within this time."""
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        try:
            return urllib.request.urlopen(url, timeout=5).status == 200
        except OSError:
            time.sleep(0.1)
    return False


def lasts(place, how, command, client, report, server=None, **more):
    """Checks `install` from a cache: what it writes must work when the cache is gone."""
    name = f"{place.name}, {how}"
    place.put(place.home / ".claude.json", CLAUDE)
    installed = place.run([*command, "install", "--yes"], **more)
    entry = json.loads(place.read(place.home / ".claude.json"))["mcpServers"]["widgets"]
    lasting = place.home / ".local/share/tidegate/bin/tidegate"
    report.check(f"{name}: install from the cache writes a path that lasts", entry["command"] == str(lasting),
                 f"{entry}\n{installed.stdout}{installed.stderr}")
    report.check(f"{name}: install says so", "copied tidegate" in installed.stderr, installed.stderr)
    for cache in (".npm", ".cache"):
        run(["rm", "-rf", place.outside(place.home / cache)])
    wraps(place, f"{how}, without the cache", [lasting], client, report, server)
    doctor = place.run([lasting, "doctor", "--no-start"])
    report.check(f"{name}: doctor", doctor.returncode == 0, doctor.stdout + doctor.stderr)


def first_line(place, npx_command, program, report, **more):
    """Measures how much later than the program itself the first line of `npx tidegate demo` comes."""
    place.run([*npx_command, "--version"], **more)
    middle = lambda command, **more: statistics.median(place.first_line_seconds([*command, "demo"], **more) for _ in range(ROUNDS))
    slow, fast = middle(npx_command, **more), middle(program)
    report.figure(f"{place.name}: first line of the demo", f"npx {slow:.2f} s, the program {fast:.2f} s, {slow - fast:.2f} s more (at most 1 s)")
