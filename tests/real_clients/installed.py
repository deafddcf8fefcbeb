"""`run.py installed`: runs clients with a configuration that `tidegate install` rewrote.

The server is configured as a user would do it, `tidegate install` puts tidegate in front of it, and the client is started
as usual: a large result must reach its model as an envelope, and a follow-up must be answered. `tidegate uninstall` must
restore the configuration byte for byte.
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


class ClaudeCodeUserScope(ClaudeCode):
    """Claude Code with its server in the user's configuration, where `claude mcp add --scope user` puts it."""

    file = ".claude/.claude.json"

    def prepare(self, sandbox):
        arguments, environment = super().prepare(sandbox)
        servers = json.loads((sandbox.home / "mcp.json").read_text())
        sandbox.write(self.file, json.dumps(servers, indent=2))
        cut = arguments.index("--mcp-config")
        return arguments[:cut] + arguments[cut + 3:], environment


class CodexUserScope(Codex):
    """Codex, which has its server in the user's configuration by default."""

    file = ".codex/config.toml"


CLIENTS = [ClaudeCodeUserScope(), CodexUserScope()]


def run(cache: Path, tidegate: Path) -> int:
    """Runs both clients, prints the violations and a summary, and returns the exit code."""
    violations = [f"{client.name}: {line}" for client in CLIENTS for line in prove(client, cache, tidegate.resolve())]
    print("".join(f"{line}\n" for line in violations) + f"installed: {len(CLIENTS)} clients, {len(violations)} violations")
    return 1 if violations else 0


def prove(client: Client, cache: Path, tidegate: Path) -> list[str]:
    """Runs one client; returns the violations."""
    violations: list[str] = []

    def run_tidegate(folder: Path, environment: dict[str, str], command: str) -> str:
        names = ("HOME", "PATH", "CODEX_HOME", "CLAUDE_CONFIG_DIR")
        kept = {name: value for name, value in environment.items() if name in names}
        done = subprocess.run([tidegate, command, "--yes", "--client", client.name, "--server", SERVER],
                              env={**kept, "HOME": str(folder / "home")}, cwd=folder / "work",
                              stdin=subprocess.DEVNULL, capture_output=True, text=True)
        if done.returncode != 0:
            violations.append(f"{command} ended with {done.returncode}: {done.stderr[-400:]}")
        return (folder / "home" / client.file).read_text()

    def install_and_check(folder: Path, environment: dict[str, str]) -> None:
        before = (folder / "home" / client.file).read_text()
        wrapped = run_tidegate(folder, environment, "install")
        if '"run"' not in wrapped or wrapped == before:
            violations.append(f"install changed nothing: {wrapped[:300]}")
        if run_tidegate(folder, environment, "uninstall") != before:
            violations.append("uninstall did not restore the file")
        run_tidegate(folder, environment, "install")

    head, *steps = runner.run(client, PLAN, PROBE, cache, server=SERVER, on_configured=install_and_check)
    if not head["complete"]:
        violations.append(f"did not complete its plan: {runner.gaps(head)}; {runner.stderr_report(head)[-300:]}")
    seen = {plans.label(step): "\n".join(record["model_saw"]) for step, record in zip(PLAN, steps)}
    expected = {"large": "Complete result: ", "line": "line 000777"}
    violations += [f"{label}: the model saw {seen[label][:200]!r}" for label, words in expected.items()
              if words not in seen[label]]
    if "Complete result" in seen["small"] or not seen["small"].strip():
        violations.append(f"small: the model saw {seen['small'][:200]!r}")
    return violations
