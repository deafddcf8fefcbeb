"""One headless run of one client: sandbox, mock API, process.

    plan -> calls -> mock API <-> client          what the model saw
                                  client <-> tap <-> server   what the server sent, on stdio or over HTTP

`records.py` joins both sides. A run leaves nothing behind: it removes its folder, and ends the client's process group and
the taps by their process ids.
"""
from __future__ import annotations

import json
import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path

import plan as plans
import records
from clients import Client, Sandbox
from http_tap import tapping
from install import HarnessError, install
from mocks.server import serving

HERE = Path(__file__).resolve().parent
RUN_SECONDS = 80  # a run stays below 90, including the time to end processes
MAX_SHOWN_NAMES = 3  # in a list of what is missing
COLOUR = re.compile(r"\x1b\[[0-9;]*m")
GAP_WORDS = {"not_offered": "not offered to the model", "not_played": "not played", "unanswered": "no answer"}
OnConfigured = Callable[[Path, dict[str, str]], None]
PROXY_VARIABLES = ("HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY")


@dataclass(frozen=True)
class Endpoint:
    """An MCP server that listens already: its URL, and the headers that a client is configured to send."""

    url: str
    headers: dict[str, str] = field(default_factory=dict)


def run(client: Client, plan: list[dict], command: list[str] | Endpoint, cache: Path, *, server: str = "probe",
        environment: Mapping[str, str] = os.environ, seconds: float = RUN_SECONDS, keep: bool = False,
        on_configured: OnConfigured = lambda *_: None) -> list[dict]:
    """Runs the client once over the plan; returns the record of the run and of each step.

    `command` starts the MCP server, in the caller's folder and in `environment` with a temporary home, or is that of a
    server that listens already. `on_configured` is called after the client's configuration is written, with the folder of
    the run and the client's environment.
    """
    if not isinstance(command, Endpoint) and not shutil.which(command[0]):
        raise HarnessError(f"the server command {command[0]} is not a program")
    program = install(client, cache)
    folder = Path(tempfile.mkdtemp(prefix="tidegate-run-")).resolve()
    try:
        with _tapped(folder, command, environment) as target:
            return _run_in(folder, client, program, plan, target, server, min(seconds, RUN_SECONDS), on_configured)
    finally:
        if keep:
            print(f"kept {folder}", file=sys.stderr)
        else:
            shutil.rmtree(folder, ignore_errors=True)


@contextmanager
def _tapped(folder: Path, command: list[str] | Endpoint, environment: Mapping[str, str]) -> Iterator[list[str] | Endpoint]:
    """Creates the folders of a run; yields the tap in front of the server."""
    for name in ("home", "work", "tmp"):
        (folder / name).mkdir()
    log, errors, spec = (folder / name for name in ("tap.jsonl", "server_stderr", "tap.json"))
    log.touch()
    errors.touch()
    if isinstance(command, Endpoint):
        with tapping(command.url, log) as url:
            yield Endpoint(url, command.headers)
        return
    spec.write_text(json.dumps({"command": command, "cwd": os.getcwd(), "log": str(log), "stderr": str(errors),
                                "environment": _server_environment(folder / "home", environment)}))
    yield [sys.executable, str(HERE / "tap.py"), str(spec)]
    _end_taps(_traffic(folder))


def _traffic(folder: Path) -> list[dict]:
    """Returns what the tap logged."""
    return [json.loads(line) for line in (folder / "tap.jsonl").read_text().splitlines()]


def _run_in(folder, client, program, plan, target, server, seconds, on_configured) -> list[dict]:
    home, work = folder / "home", folder / "work"
    is_url = isinstance(target, Endpoint)
    model = client.model(plans.calls(client, server, plan))
    started = time.monotonic()
    with serving(model) as api:
        sandbox = Sandbox(home, work, api, server, [] if is_url else target)
        sandbox = replace(sandbox, url=target.url, headers=target.headers) if is_url else sandbox
        arguments, environment = client.prepare(sandbox)
        environment = {**_client_environment(folder, api), **environment}
        on_configured(folder, environment)
        exit_code = _spawn(program + arguments, work, environment, folder, seconds)
    traffic = _traffic(folder)
    summary = records.summary(client, server, model, traffic)
    summary |= {"exit_code": exit_code, "seconds": round(time.monotonic() - started, 1), "home": str(home)}
    summary["complete"] = exit_code == 0 and not any(summary[name] for name in GAP_WORDS)
    if not summary["complete"]:
        for name in ("stderr", "server_stderr"):
            summary[name] = COLOUR.sub("", (folder / name).read_text(errors="replace"))[-2000:]
    return [summary] + records.steps(client, plan, model, traffic)


def gaps(summary: dict) -> str:
    """Returns why a run is not complete, in one line."""
    code = summary["exit_code"]
    ended = "ran out of time" if code is None else f"exit code {code}"
    missing = [f"{words}: {_shortened(summary[name])}" for name, words in GAP_WORDS.items() if summary[name]]
    return "; ".join([ended, *missing])


def _shortened(names: list[str]) -> str:
    more = len(names) - MAX_SHOWN_NAMES
    return ", ".join(names[:MAX_SHOWN_NAMES]) + (f" and {more} more" if more > 0 else "")


def stderr_report(summary: dict) -> str:
    """Returns what client and server wrote to stderr."""
    shown = [f"stderr of {who}:\n{summary[name].strip()}"
             for who, name in (("the client", "stderr"), ("the server", "server_stderr")) if summary[name].strip()]
    return "\n".join(shown) or "client and server wrote nothing to stderr"


def _client_environment(folder: Path, api: str) -> dict[str, str]:
    """Returns a minimal environment: the sandbox's folders, and the mock as the proxy that refuses every other host."""
    home = folder / "home"
    environment = {
        "HOME": str(home), "PATH": os.environ["PATH"], "TMPDIR": str(folder / "tmp"), "LANG": "C.UTF-8",
        "XDG_CONFIG_HOME": str(home / ".config"), "XDG_DATA_HOME": str(home / ".local/share"),
        "XDG_CACHE_HOME": str(home / ".cache"), "XDG_STATE_HOME": str(home / ".local/state"),
        "NO_COLOR": "1", "DO_NOT_TRACK": "1", "npm_config_offline": "true", "NO_PROXY": "127.0.0.1,localhost",
    }
    for name in PROXY_VARIABLES:
        environment[name] = environment[name.lower()] = api
    return environment


def _server_environment(home: Path, environment: Mapping[str, str]) -> dict[str, str]:
    """Returns the environment with a temporary home, so that a server leaves nothing behind."""
    kept = {name: value for name, value in environment.items() if not name.startswith("XDG_")}
    return {**kept, "HOME": str(home)}


def _spawn(command, work, environment, folder, seconds) -> int | None:
    """Runs the client in its own process group; returns its exit code, or None on timeout."""
    with open(folder / "stdout", "wb") as output, open(folder / "stderr", "wb") as errors:
        process = subprocess.Popen(command, cwd=work, env=environment, stdin=subprocess.DEVNULL,
                                   stdout=output, stderr=errors, start_new_session=True)
        try:
            return process.wait(seconds)
        except subprocess.TimeoutExpired:
            return None
        finally:
            _end_group(process)


def _end_group(process: subprocess.Popen) -> None:
    for number in (signal.SIGTERM, signal.SIGKILL):
        try:
            os.killpg(process.pid, number)
            process.wait(3)
        except subprocess.TimeoutExpired:
            continue
        except (ProcessLookupError, PermissionError):
            return


def _end_taps(traffic: list[dict]) -> None:
    """Ends the taps that are still running; normally they exit with the client."""
    for pid in {entry["tap"] for entry in traffic}:
        shown = subprocess.run(["ps", "-o", "args=", "-p", str(pid)], capture_output=True, text=True)
        if "tap.py" in shown.stdout:
            os.kill(pid, signal.SIGTERM)
