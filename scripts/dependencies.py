#!/usr/bin/env python3
"""Keeps the weight of dependencies in check: how many crates the lock file names, and how many core needs directly."""
import re
import subprocess
import sys
from pathlib import Path

LOCKED = 307
DIRECT = {"tidegate-core": 8}


def main():
    root = Path(__file__).resolve().parent.parent
    locked = len(re.findall(r"^\[\[package\]\]", (root / "Cargo.lock").read_text(), re.M))
    problems = []
    if locked > LOCKED:
        problems.append(f"Cargo.lock names {locked} crates, more than {LOCKED}")
    for package, most in DIRECT.items():
        tree = subprocess.run(
            ["cargo", "tree", "--quiet", "--package", package, "--edges", "normal", "--depth", "1", "--prefix", "none"],
            cwd=root, check=True, capture_output=True, text=True).stdout
        direct = len(set(tree.split("\n")[1:]) - {""})
        if direct > most:
            problems.append(f"{package} has {direct} direct dependencies, more than {most}")
        print(f"{package}: {direct} of at most {most} direct dependencies")
    print(f"Cargo.lock: {locked} of at most {LOCKED} crates")
    for problem in problems:
        print(problem, file=sys.stderr)
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
