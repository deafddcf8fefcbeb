#!/usr/bin/env python3
"""Installs the packages as people do, offline, and checks that they work.

    tests/packages/run.py --program PATH [--cache DIR]    packages a built program and installs it on this machine
    tests/packages/run.py --dist DIR [--cache DIR]        installs a release, on this machine and in clean roots (as root)

Needs npm, and access to PyPI the first time; with --dist also debootstrap and a mirror of Debian. The packages themselves are
installed from the folder alone. The exit code is 1 if a check fails.
"""
import argparse
import json
import os
import platform
import shutil
import subprocess
import sys
import tarfile
import tempfile
from pathlib import Path

HERE = Path(__file__).resolve().parent
ROOT = HERE.parent.parent
sys.path.insert(0, str(HERE))

import contents
import emulator
import installs
import registry
import roots
from places import Place
from report import Report, run

# The Node of Debian's oldest release, the lowest that the launcher runs with; the package has the program for Linux.
OLDEST_NODE = "12.22.12"
TOOLS = ["mcp==2.3.0", "uv==0.13.8", "cyclonedx-python-lib[json-validation]==11.5.0", "dockerfile-parse==2.0.1"]


def tools(cache):
    """A Python with the official client, uv and the validator of bills of materials."""
    folder = cache / "venv"
    stamp = folder / "installed.txt"
    if not stamp.exists() or stamp.read_text().split() != TOOLS:
        subprocess.run([sys.executable, "-m", "venv", "--clear", folder], check=True)
        subprocess.run([folder / "bin/pip", "install", "--quiet", "--disable-pip-version-check", *TOOLS], check=True)
        stamp.write_text("\n".join(TOOLS))
    return folder / "bin/python", folder / "bin/uv"


def oldest_node(cache):
    """The program of the oldest Node that the launcher must run with."""
    name = f"node-linux-{ {'x86_64': 'x64', 'aarch64': 'arm64'}[platform.machine()]}"
    folder = cache / f"{name}-{OLDEST_NODE}"
    if not folder.exists():
        packed = run(["npm", "pack", "--silent", "--pack-destination", cache, f"{name}@{OLDEST_NODE}"], env=dict(os.environ))
        with tarfile.open(cache / packed.stdout.strip()) as archive:
            archive.extractall(f"{folder}.new", filter="tar")
        os.rename(f"{folder}.new", folder)
    return folder / "package/bin/node"


def package(program, out):
    """Packages a program of the tests, which has the gateway, without its debug information, which would be most of it."""
    stripped = out.with_name("tidegate")
    if shutil.which("strip") and run(["strip", "-o", stripped, program]).returncode == 0:
        program = stripped
    made = run([ROOT / "scripts/package.sh", "--fast", "--program", program, "--features", "gateway", "--out", out], env=dict(os.environ))
    if made.returncode != 0:
        raise SystemExit(made.stdout + made.stderr)


def on_this_machine(dist, work, client, uv, node, report):
    """Every way to install, in a home folder of its own."""
    place = Place("this machine", work / "machine")
    server = place.put(place.home / "big_server.py", (HERE / "big_server.py").read_bytes())
    wheels = dist / "pypi"
    with registry.serve(dist / "npm") as address:
        command, made = installs.npm(place, address)
        if report.check("this machine, npm: install", made.returncode == 0, made.stderr):
            installs.works(place, "npm", command, report)
            installs.wraps(place, "npm", command, client, report, ["python3", server])
            imported = place.run(["node", place.put(place.home / "app/server.mjs", "import { Tidegate } from 'tidegate'; new Tidegate({});")])
            report.check("this machine, npm: the adapter can be imported", imported.returncode == 0, imported.stderr)
            missing_platform(place, command, report)
            launcher = place.home / "app/node_modules/tidegate/bin/tidegate.cjs"
            installs.works(place, f"npm with Node {OLDEST_NODE}", [node, launcher], report)
        command, more = installs.npx(address)
        installs.works(place, "npx", command, report, **more)
        program = installs.copy(place, next(dist.glob(f"tidegate-*-{platform.machine()}-*.tar.gz")))
        installs.first_line(place, command, program, report, **more)
        if contents.has_gateway(place.outside(program[0]).read_bytes()):
            installs.gateway(place, program[0], client, report)
        installs.lasts(place, "npx", command, client, report, server=["python3", server], **more)
    command, made = installs.pip(place, wheels, sys.executable)
    if report.check("this machine, pip: install", made.returncode == 0, made.stderr):
        installs.works(place, "pip", command, report)
        installs.wraps(place, "pip", command, client, report, ["python3", server])
    fresh = Place("this machine", work / "fresh")
    installs.works(fresh, "uvx", installs.uvx(wheels, uv), report)
    installs.lasts(fresh, "uvx", installs.uvx(wheels, uv), client, report, server=["python3", server])


def missing_platform(place, command, report):
    """Without a package for the platform, the launcher says so in one line."""
    folder = place.outside(place.home / "app/node_modules/@tidegate")
    folder.rename(folder.with_name("elsewhere"))
    told = place.run([*command, "demo"])
    report.check("npm: a missing platform is told in one line",
                 told.returncode == 1 and told.stderr.startswith("tidegate: ") and told.stderr.count("\n") == 1, told.stderr)
    folder.with_name("elsewhere").rename(folder)


def in_roots(dist, cache, work, client, uv, report):
    """Every way to install, in clean roots; then the program alone in an empty one."""
    for release in roots.RELEASES:
        with roots.debian(release, cache, work) as root, registry.serve(dist / "npm") as address:
            in_debian(root, address, dist, client, uv, report)
    archive = next(dist.glob(f"tidegate-*-{platform.machine()}-*.tar.gz"))
    with roots.empty(work) as root:
        command = installs.copy(root, archive)
        installs.works(root, "copy", command, report)
        installs.wraps(root, "copy", command, client, report, [*command, "__demo-server"], installs.DEMO)
    image = next((dist / "image").glob(f"*-image-{ {'x86_64': 'amd64', 'aarch64': 'arm64'}[platform.machine()]}.tar"))
    folder = work / "image"
    folder.mkdir()
    contents.unpack_image(image, folder)
    for name in ("proc", "dev"):
        (folder / name).mkdir(exist_ok=True)
    with roots.mounted(folder):
        root = roots.EmptyRoot("image", folder)
        root.prefix = ("chroot", "--userspec=65532:65532", str(folder))
        kept = {"TIDEGATE_HOME": "/data"}
        installs.wraps(root, "run", ["/tidegate"], client, report, ["/tidegate", "__demo-server"], installs.DEMO, **kept)
        told = root.run(["/tidegate", "ls"], **kept)
        report.check("image: results are in /data", "list_tickets" in told.stdout, told.stdout + told.stderr)
        installs.gateway(root, "/tidegate", client, report, **kept)


def in_debian(root, address, dist, client, uv, report):
    root.put("/big_server.py", (HERE / "big_server.py").read_bytes())
    run(["cp", "-r", dist / "pypi", root.outside("/wheels")])
    root.put("/usr/local/bin/uv", Path(os.path.realpath(uv)).read_bytes(), 0o755)
    npm, npx = roots.npm(root)
    folder = root.home / "app"
    root.put(folder / "package.json", '{"name": "app", "private": true}')
    registry_address = {"npm_config_registry": address, "npm_config_update_notifier": "false"}
    made = root.run([*npm, "install", "--prefix", folder, "--no-audit", "--no-fund", "tidegate"], **registry_address)
    if report.check(f"{root.name}, npm: install", made.returncode == 0, made.stdout + made.stderr):
        command = [folder / "node_modules/.bin/tidegate"]
        installs.works(root, "npm", command, report)
        installs.wraps(root, "npm", command, client, report)
    command = [*npx, "--yes", "tidegate"]
    installs.works(root, "npx", command, report, **registry_address)
    program = installs.copy(root, next(dist.glob(f"tidegate-*-{platform.machine()}-*.tar.gz")))
    installs.first_line(root, command, program, report, **registry_address)
    installs.works(root, "copy", program, report)
    installs.wraps(root, "copy", program, client, report)
    installs.lasts(root, "npx", command, client, report, **registry_address)
    command, made = installs.pip(root, "/wheels")
    if report.check(f"{root.name}, pip: install", made.returncode == 0, made.stdout + made.stderr):
        installs.works(root, "pip", command, report)
        installs.wraps(root, "pip", command, client, report)
    installs.works(root, "uvx", installs.uvx("/wheels", "uv"), report)


def emulated(dist, work, report):
    """Runs the programs for other machines, as far as qemu is here and the system can start them through it."""
    for archive in dist.glob("tidegate-*-linux-musl.tar.gz"):
        machine = archive.name.split("-")[2]
        if machine == platform.machine():
            continue
        with emulator.started_by_system(machine) as why_not:
            if why_not:
                report.figure(machine, f"not started: {why_not}")
                continue
            place = Place(f"{machine}, emulated", work / machine)
            program = installs.copy(place, archive)
            version = place.run([*program, "--version", "--verbose"])
            report.check(f"{place.name}: it is for that machine", f"target: {machine}-unknown-linux-musl" in version.stdout, version.stderr)
            installs.works(place, "copy", program, report)
            rows = json.dumps([{"id": number, "state": "open"} for number in range(9000)])
            result = place.put(place.home / "result.json", json.dumps({"content": [{"type": "text", "text": rows}]}))
            shaped = place.run(["sh", "-c", f"{program[0]} shape < {result}"])
            report.check(f"{place.name}: an overview", "9,000 rows" in shaped.stdout, shaped.stdout[:300] + shaped.stderr)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    kind = parser.add_mutually_exclusive_group(required=True)
    kind.add_argument("--program", type=Path, help="a built program, to be packaged")
    kind.add_argument("--dist", type=Path, help="the folder that scripts/package.sh wrote")
    parser.add_argument("--cache", type=Path, default=ROOT / ".cache/packages", help="folder for the tools and the roots")
    options = parser.parse_args()
    cache = options.cache.resolve()
    cache.mkdir(parents=True, exist_ok=True)
    client, uv = tools(cache)
    report = Report()
    with tempfile.TemporaryDirectory(prefix="tidegate-packages-") as work:
        work = Path(work)
        dist = (options.dist or work / "dist").resolve()
        if options.program:
            package(options.program.resolve(), dist)
        contents.check(dist, client, report, sizes=options.dist is not None)
        on_this_machine(dist, work, client, uv, oldest_node(cache), report)
        if options.dist:
            emulated(dist, work, report)
            in_roots(dist, cache, work, client, uv, report)
    return report.summary()


if __name__ == "__main__":
    sys.exit(main())
