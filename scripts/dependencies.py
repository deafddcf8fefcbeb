#!/usr/bin/env python3
"""Checks that the products stay light: how many crates each pulls in, against a cap with a reason.

Counted are crates from the registry that end up in the product (`cargo tree --edges normal`, on Linux), not those of
build scripts, tests and examples. A cap is raised together with its reason, not because one more crate did not fit.
"""
import subprocess
import sys
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).resolve().parent.parent
PLATFORM = "x86_64-unknown-linux-gnu"


class Cap(NamedTuple):
    package: str
    crates: int
    direct_only: bool
    reason: str
    features: str = ""


CAPS = [
    Cap("tidegate", 160, False,
        "it reads every tool result of its user, so each crate is code that has to be trusted. HTTP with TLS, SQLite, jq "
        "and the command line need about 140; the rest is room for one more subsystem"),
    Cap("tidegate", 255, False,
        "a gateway serves a team, and brings what a store shared by several machines needs (see tidegate-store), TLS for those who "
        "call it, limits and metrics. They are behind a feature, so that nobody who runs tidegate alone has to trust them", "gateway"),
    Cap("tidegate-sdk", 145, False,
        "server authors add it to a build that has rmcp already, which brings 73. The SDK may at most double that"),
    Cap("tidegate-core", 8, True,
        "the engine is plain functions over bytes, and its list of dependencies is short enough to review by hand"),
    Cap("tidegate-store", 185, False,
        "the shared backends speak two protocols with TLS, which adds about 125 crates to the 54 of the embedded store. They are "
        "features that only a gateway turns on, and use the HTTP client, the TLS and the cryptography of the proxy", "objects"),
]


def crates(cap):
    """The crates that a package pulls in, or only its direct dependencies."""
    command = ["cargo", "tree", "--quiet", "--locked", "--package", cap.package, "--edges", "normal",
               "--target", PLATFORM, "--prefix", "none", "--format", "{p}"]
    if cap.features:
        command += ["--features", cap.features]
    if cap.direct_only:
        command += ["--depth", "1"]
    tree = subprocess.run(command, cwd=ROOT, check=True, capture_output=True, text=True).stdout
    found = {line.removesuffix(" (*)").removesuffix(" (proc-macro)") for line in tree.splitlines() if line}
    # A direct dependency on a crate of the workspace counts as well: it has dependencies of its own.
    return {line for line in found if f"({ROOT}" not in line or (cap.direct_only and line.split()[0] != cap.package)}


def main():
    problems = []
    for cap in CAPS:
        count = len(crates(cap))
        what = "direct dependencies" if cap.direct_only else "crates"
        name = f"{cap.package} with {cap.features}" if cap.features else cap.package
        print(f"{name}: {count} {what}, at most {cap.crates}")
        if count > cap.crates:
            problems.append(f"{name} has {count} {what}, more than {cap.crates}; the cap's reason: {cap.reason}")
    for problem in problems:
        print(problem, file=sys.stderr)
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
