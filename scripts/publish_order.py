#!/usr/bin/env python3
"""Lists the packages for the registry in the order in which they can be published: each after those it depends on.

Also checks that each has what its page needs: a description, keywords, a README and both license files. Publishes nothing.
"""
import json
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
# Used by the tests only; their packages are never published.
FOR_TESTS = {"tidegate-testkit", "tidegate-fuzzing"}
FIELDS = ["description", "license", "repository", "readme", "keywords", "categories"]


def workspace():
    """The packages to publish, by name."""
    command = ["cargo", "metadata", "--format-version", "1", "--no-deps", "--locked"]
    found = json.loads(subprocess.run(command, cwd=ROOT, check=True, capture_output=True, text=True).stdout)
    return {package["name"]: package for package in found["packages"]
            if not package["name"].startswith("tidegate-example-") and package["name"] not in FOR_TESTS}


def needs(package, packages):
    """The packages of the workspace that must be published before this one; those of its tests need not."""
    return {dependency["name"] for dependency in package["dependencies"]
            if dependency["kind"] != "dev" and dependency["name"] in packages}


def order(packages):
    """The names of the packages, each after its dependencies; alphabetical where that leaves a choice."""
    names, left = [], {name: needs(package, packages) for name, package in packages.items()}
    while left:
        ready = sorted(name for name, before in left.items() if before <= set(names))
        if not ready:
            raise SystemExit(f"these packages depend on each other: {', '.join(sorted(left))}")
        names.append(ready[0])
        del left[ready[0]]
    return names


def problems(package):
    """What the package's page would lack."""
    folder = Path(package["manifest_path"]).parent
    missing = [f"no `{field}`" for field in FIELDS if not package[field]]
    missing += [f"no {name}" for name in ("LICENSE-MIT", "LICENSE-APACHE") if not (folder / name).is_file()]
    if package["readme"] and not (folder / package["readme"]).is_file():
        missing.append(f"no {package['readme']}")
    if "docs" not in (package["metadata"] or {}):
        missing.append("no `package.metadata.docs.rs`")
    unversioned = [dependency["name"] for dependency in package["dependencies"]
                   if dependency.get("path") and dependency["req"] == "*" and dependency["kind"] != "dev"]
    return missing + [f"its dependency {name} has no version" for name in unversioned]


def main():
    packages = workspace()
    found = [f"{name}: {problem}" for name in packages for problem in problems(packages[name])]
    for name in order(packages):
        print(f"cargo publish --package {name}")
    for problem in found:
        print(problem, file=sys.stderr)
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
