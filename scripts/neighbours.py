#!/usr/bin/env python3
"""Checks that a server can use the SDK beside any crate that links SQLite.

Cargo allows one crate that links SQLite in a program. So for each such crate a server is made that depends on it and on
`tidegate-sdk` with default features, and its lock file must resolve. With `--compile NAME` that server is compiled too.
"""
import argparse
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
NEIGHBOURS = {
    "sqlx-0.8": 'sqlx = { version = "0.8", features = ["runtime-tokio", "sqlite"] }',
    "sqlx-0.9": 'sqlx = { version = "0.9", features = ["runtime-tokio", "sqlite"] }',
    "diesel-2": 'diesel = { version = "2", features = ["sqlite"] }',
    "rusqlite-0.37": 'rusqlite = { version = "0.37", features = ["bundled"] }',
}
MANIFEST = """[package]
name = "neighbour"
version = "0.1.0"
edition = "2024"

[workspace]

[dependencies]
tidegate-sdk = {{ path = "{sdk}" }}
{neighbour}
"""


def run(folder, *command):
    """The output of a command, and whether it succeeded."""
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True)
    return done.stdout + done.stderr, done.returncode == 0


def check(name, compile_it):
    """What is wrong beside this crate, if anything."""
    with tempfile.TemporaryDirectory() as folder:
        folder = Path(folder)
        manifest = MANIFEST.format(sdk=ROOT / "crates/sdk", neighbour=NEIGHBOURS[name])
        (folder / "Cargo.toml").write_text(manifest)
        (folder / "src").mkdir()
        (folder / "src/main.rs").write_text("use tidegate_sdk as _;\nfn main() {}\n")
        output, resolved = run(folder, "cargo", "generate-lockfile")
        if not resolved:
            return output
        tree, _ = run(folder, "cargo", "tree", "--edges", "normal", "--invert", "libsqlite3-sys")
        if "tidegate" in tree:
            return f"the SDK brings SQLite:\n{tree}"
        if compile_it:
            output, compiled = run(folder, "cargo", "check")
            if not compiled:
                return output
    return None


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--compile", choices=NEIGHBOURS, action="append", default=[], metavar="NAME")
    arguments = parser.parse_args()
    failed = False
    for name in NEIGHBOURS:
        problem = check(name, name in arguments.compile)
        how = "compiles" if name in arguments.compile else "resolves"
        print(f"{name}: {'fails' if problem else how}")
        if problem:
            failed = True
            print(problem, file=sys.stderr)
    return failed


if __name__ == "__main__":
    sys.exit(main())
