"""`run.py prove`: runs every client on the probe server, directly and through tidegate.

A result within the line must reach the model as it does directly, a larger one as an envelope that the client does not
cut, and every follow-up must get the part it asks for. `judge.py` has the exact rules; each violation is one line.
"""
from __future__ import annotations

import os
import sys
import tempfile
from pathlib import Path

import judge
import plan as plans
import runner
from check import PLAN, PROBE, table
from clients import CLIENTS, Client
from followups import FOLLOWUPS
from install import HarnessError

SERVER = "probe"


def run(names: list[str], cache: Path, tidegate: Path) -> int:
    """Runs the named clients, prints the table, the violations and a summary, and returns the exit code."""
    program = tidegate.resolve()
    if not (program.is_file() and os.access(program, os.X_OK)):
        raise HarnessError(f"{tidegate} is not a program; build it first: cargo build --release")
    proofs = [prove(CLIENTS[name], cache, program) for name in names]
    print(table({proof.client: proof.cells for proof in proofs}))
    violations = [line for proof in proofs for line in proof.violations]
    cells = [cell for proof in proofs for cell in proof.cells.values() if cell != judge.ABSENT]
    print("\n" + "".join(f"{line}\n" for line in violations)
          + f"clients: {len(proofs)}, results compared: {len(cells)}, violations: {len(violations)}")
    return 1 if violations else 0


def prove(client: Client, cache: Path, tidegate: Path) -> judge.Proof:
    """Runs one client twice and compares the runs."""
    plan = plans.load(PLAN)
    direct, *before = runner.run(client, plan, PROBE, cache, server=SERVER)
    with tempfile.TemporaryDirectory(prefix="tidegate-home-") as home:
        command = [str(tidegate), "run", "--server", SERVER, "--", *PROBE]
        gated, *after = runner.run(client, plan + [asked.step for asked in FOLLOWUPS], command, cache,
                                   server=SERVER, environment=environment(home))
    print(f"{client.name} {client.version}: directly {direct['seconds']} s, through tidegate {gated['seconds']} s",
          file=sys.stderr)
    proof = judge.Proof(client.name)
    if not all([judge.run_completed(proof, "directly", direct), judge.run_completed(proof, "through tidegate", gated)]):
        return proof
    judge.tool_list(proof, client, SERVER, direct, gated)
    for one, other in zip(before, after):
        judge.upstream_result(proof, client, (direct, one), (gated, other))
    for asked, step in zip(FOLLOWUPS, after[len(plan):]):
        judge.follow_up(proof, client, asked, step)
    return proof


def environment(home: str) -> dict[str, str]:
    """Returns the caller's environment, with tidegate's settings replaced by a temporary data folder."""
    kept = {name: value for name, value in os.environ.items() if not name.startswith("TIDEGATE_")}
    return {**kept, "TIDEGATE_HOME": home}
