#!/usr/bin/env python3
"""Checks the workflow files of the forge: their syntax, and that the commands in them exist here.

    scripts/workflows.py

Needs PyYAML. Every job must have a runner, a time limit and steps; every step must use an action at a version or run
commands that the shell can parse; scripts that they call must be in the repository. Each mistake is printed as FILE: text.
"""
import re
import subprocess
import sys
from pathlib import Path

import yaml

ROOT = Path(__file__).resolve().parent.parent
SCRIPT = re.compile(r"(?:^|[\s;|&(])((?:\./)?(?:scripts|tests)/[\w./-]+|\./check)\b")


def mistakes(path):
    try:
        found = yaml.safe_load(path.read_text(encoding="utf-8"))
    except yaml.YAMLError as error:
        yield f"not YAML: {error}"
        return
    # YAML 1.1 reads the key `on` as true.
    for key in ("name", True, "permissions", "jobs"):
        if key not in found:
            yield f"no `{'on' if key is True else key}`"
    jobs = found.get("jobs", {})
    for name, job in jobs.items():
        needs = job.get("needs", [])
        for other in [needs] if isinstance(needs, str) else needs:
            if other not in jobs:
                yield f"{name} needs {other}, which is no job"
        for key in ("runs-on", "timeout-minutes", "steps"):
            if key not in job:
                yield f"{name} has no `{key}`"
        for number, step in enumerate(job.get("steps", []), 1):
            yield from (f"{name}, step {number}: {text}" for text in step_mistakes(step))


def step_mistakes(step):
    if ("uses" in step) == ("run" in step):
        yield "must have either `uses` or `run`"
    if "uses" in step and not re.fullmatch(r"[\w.-]+/[\w./-]+@v\d+[\w.]*", step["uses"]):
        yield f"{step['uses']} is not an action at a version"
    script = re.sub(r"\$\{\{.*?\}\}", "x", step.get("run", ""))
    parsed = subprocess.run(["bash", "-n"], input=script, capture_output=True, text=True)
    if parsed.returncode != 0:
        yield parsed.stderr.strip()
    for name in SCRIPT.findall(script):
        if not (ROOT / name).is_file():
            yield f"there is no {name}"


def main():
    found = [f"{path.relative_to(ROOT)}: {text}" for path in sorted((ROOT / ".github/workflows").glob("*.yml"))
             for text in mistakes(path)]
    print("\n".join(found), file=sys.stderr, end="\n" if found else "")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
