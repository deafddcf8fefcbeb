"""The software bill of materials: every crate that is compiled into the program, as CycloneDX 1.6.

`cargo tree` says which crates those are, for one target and one set of features: unlike `cargo metadata`, it does not add the
features that other packages of the workspace turn on. Crates that only build scripts and procedural macros use are listed with
the scope `excluded`: they run while the program is built and are not in it.
"""
import json
import re
import tomllib
import uuid
from datetime import datetime, timezone

from .project import run

LINE = re.compile(r"(\d+)(\S+) v(\S+)")


def bill(target, features, project):
    """The bill as JSON text."""
    command = ["cargo", "metadata", "--format-version", "1", "--locked", "--filter-platform", target]
    packages = {(package["name"], package["version"]): package for package in json.loads(run(command))["packages"]}
    linked, _ = tree(target, features, "normal,no-proc-macro")
    used, needs = tree(target, features, "normal,build")
    start = next(id for id in used if id[0] == "tidegate")
    lock = tomllib.loads((project.root / "Cargo.lock").read_text(encoding="utf-8"))
    sums = {(each["name"], each["version"]): each.get("checksum") for each in lock["package"]}
    listed = sorted(used - {start})
    time = datetime.fromtimestamp(project.time, timezone.utc).strftime("%Y-%m-%dT%H:%M:%SZ")
    names = {id: reference(packages[id]) for id in used}
    return json.dumps({
        "bomFormat": "CycloneDX",
        "specVersion": "1.6",
        # The same for every bill of one commit, target and set of features.
        "serialNumber": uuid.uuid5(uuid.NAMESPACE_URL, " ".join([project.commit, target, *features])).urn,
        "version": 1,
        "metadata": {
            "timestamp": time,
            "component": component(packages[start], None, "application", "required"),
            "properties": [{"name": "tidegate:target", "value": target},
                           {"name": "tidegate:features", "value": ",".join(features)},
                           {"name": "tidegate:commit", "value": project.commit}],
        },
        "components": [component(packages[id], sums.get(id), "library", "required" if id in linked else "excluded")
                       for id in listed],
        "dependencies": [{"ref": names[id], "dependsOn": sorted(names[each] for each in needs.get(id, ()))}
                         for id in [start, *listed]],
    }, indent=1) + "\n"


def tree(target, features, edges):
    """The packages that the program is built from, by name and version, and which of them each one needs."""
    command = ["cargo", "tree", "--package", "tidegate", "--locked", "--target", target, "--edges", edges, "--prefix", "depth"]
    command += ["--features", ",".join(features)] if features else []
    path, found, needs = [], set(), {}
    for line in run(command).splitlines():
        depth, name, version = LINE.match(line).groups()
        del path[int(depth):]
        path.append((name, version))
        found.add(path[-1])
        if len(path) > 1:
            needs.setdefault(path[-2], set()).add(path[-1])
    return found, needs


def reference(package):
    return f"pkg:cargo/{package['name']}@{package['version']}"


def component(package, checksum, kind, scope):
    made = {
        "type": kind,
        "bom-ref": reference(package),
        "name": package["name"],
        "version": package["version"],
        "scope": scope,
        "purl": reference(package),
    }
    if package["license"]:
        # Older manifests separate the licenses of a choice by a slash.
        made["licenses"] = [{"expression": package["license"].replace(" / ", "/").replace("/", " OR ")}]
    if checksum:
        made["hashes"] = [{"alg": "SHA-256", "content": checksum}]
    if package["repository"]:
        made["externalReferences"] = [{"type": "vcs", "url": package["repository"]}]
    return made
