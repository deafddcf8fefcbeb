"""`run.py installed`: clients started from a configuration that `tidegate install` rewrote.

The server is configured as a person would have it, `tidegate install` puts tidegate in front of it, and the client is
started as ever: a large result must reach its model as an envelope, and a follow-up must be answered. `tidegate uninstall`
then leads back: byte for byte where the client left its file alone, else to the same entry.
"""
from __future__ import annotations

import json
import subprocess
from pathlib import Path

import plan as plans
import runner
from check import PROBE
from clients import ClaudeCode, Client, Codex

SERVER = "probe"
PLAN = [
    {"tool": "text", "label": "small"},
    {"tool": "text_60k", "label": "large"},
    {"tool": "result_query", "label": "line", "arguments": {"id": "{handle:large}", "grep": "line 000777"}},
]


class ClaudeCodeOfUser(ClaudeCode):
    """Claude Code with its server in the user's configuration, where `claude mcp add --scope user` puts it."""

    file = ".claude/.claude.json"

    def prepare(self, sandbox):
        arguments, environment = super().prepare(sandbox)
        servers = json.loads((sandbox.home / "mcp.json").read_text())
        sandbox.write(self.file, json.dumps(servers, indent=2))
        cut = arguments.index("--mcp-config")
        return arguments[:cut] + arguments[cut + 3:], environment


class CodexOfUser(Codex):
    """Codex, whose configuration is the user's anyway."""

    file = ".codex/config.toml"


CLIENTS = [ClaudeCodeOfUser(), CodexOfUser()]


def run(cache: Path, tidegate: Path) -> int:
    """Runs both clients; prints what does not hold and a summary; returns the exit code."""
    found = [f"{client.name}: {line}" for client in CLIENTS for line in prove(client, cache, tidegate.resolve())]
    print("".join(f"{line}\n" for line in found) + f"installed: {len(CLIENTS)} clients, {len(found)} violations")
    return 1 if found else 0


def prove(client: Client, cache: Path, tidegate: Path) -> list[str]:
    wrong: list[str] = []

    def gate(folder: Path, environment: dict[str, str], command: str) -> str:
        names = ("HOME", "PATH", "CODEX_HOME", "CLAUDE_CONFIG_DIR")
        kept = {name: value for name, value in environment.items() if name in names}
        done = subprocess.run([tidegate, command, "--yes", "--client", client.name, "--server", SERVER],
                              env={**kept, "HOME": str(folder / "home")}, cwd=folder / "work",
                              stdin=subprocess.DEVNULL, capture_output=True, text=True)
        if done.returncode != 0:
            wrong.append(f"{command} ended with {done.returncode}: {done.stderr[-400:]}")
        return (folder / "home" / client.file).read_text()

    def configured(folder: Path, environment: dict[str, str]) -> None:
        before = (folder / "home" / client.file).read_text()
        wrapped = gate(folder, environment, "install")
        if '"run"' not in wrapped or wrapped == before:
            wrong.append(f"install changed nothing: {wrapped[:300]}")
        if gate(folder, environment, "uninstall") != before:
            wrong.append("uninstall did not lead back")
        gate(folder, environment, "install")

    head, *steps = runner.run(client, PLAN, PROBE, cache, server=SERVER, configured=configured)
    if not head["complete"]:
        wrong.append(f"did not finish: {runner.gaps(head)}; {runner.last_words(head)[-300:]}")
    seen = {plans.label(step): "\n".join(record["model_saw"]) for step, record in zip(PLAN, steps)}
    expected = {"large": "Complete result: ", "line": "line 000777"}
    wrong += [f"{label}: the model saw {seen[label][:200]!r}" for label, words in expected.items()
              if words not in seen[label]]
    if "Complete result" in seen["small"] or not seen["small"].strip():
        wrong.append(f"small: the model saw {seen['small'][:200]!r}")
    return wrong
