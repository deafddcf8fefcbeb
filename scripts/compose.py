#!/usr/bin/env python3
"""Checks deploy/compose.yaml: its syntax against the schema of the Compose specification, that every image has a version, and
that every port is open on this machine only. Needs the package check-jsonschema, which has the schema."""
import subprocess
import sys
from pathlib import Path

FILE = Path(__file__).resolve().parent.parent / "deploy" / "compose.yaml"


def problems(compose):
    """What the schema does not know: our own rules."""
    for name, service in compose["services"].items():
        version = service["image"].rpartition(":")[2]
        if ":" not in service["image"] or not version[0].isdigit() or "." not in version:
            yield f"{name}: the image {service['image']} has no exact version"
        for port in service.get("ports", []):
            if not str(port).startswith("127.0.0.1:"):
                yield f"{name}: the port {port} is open to other machines"
        if "healthcheck" not in service:
            yield f"{name}: there is no healthcheck, so `up --wait` does not wait for it"


def main():
    command = [sys.executable, "-m", "check_jsonschema", "--builtin-schema", "vendor.compose-spec", str(FILE)]
    schema = subprocess.run(command, capture_output=True, text=True)
    print(schema.stdout.strip())
    # check-jsonschema brings a reader of YAML.
    from ruamel.yaml import YAML
    found = list(problems(YAML(typ="safe").load(FILE)))
    for problem in found:
        print(problem, file=sys.stderr)
    return 1 if schema.returncode or found else 0


if __name__ == "__main__":
    sys.exit(main())
