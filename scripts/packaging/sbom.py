"""The software bill of materials: every crate that is compiled into the program, as CycloneDX 1.6.

From `cargo metadata` and Cargo.lock, for one target and one set of features. Crates that only build scripts and procedural
macros use are listed with the scope `excluded`: they run while the program is built and are not in it.
"""
import json
import tomllib
import uuid
from datetime import datetime, timezone

from .project import run


def bill(target, features, project):
    """The bill as JSON text."""
    command = ["cargo", "metadata", "--format-version", "1", "--locked", "--filter-platform", target]
    command += ["--features", ",".join(f"tidegate/{name}" for name in features)] if features else []
    found = json.loads(run(command))
    packages = {package["id"]: package for package in found["packages"]}
    nodes = {node["id"]: node for node in found["resolve"]["nodes"]}
    start = next(id for id, package in packages.items() if package["name"] == "tidegate")
    linked = reachable(start, nodes, packages, ("normal",))
    used = reachable(start, nodes, packages, ("normal", "build"), through_macros=True)
    lock = tomllib.loads((project.root / "Cargo.lock").read_text(encoding="utf-8"))
    sums = {(each["name"], each["version"]): each.get("checksum") for each in lock["package"]}
    listed = sorted(used - {start}, key=lambda id: (packages[id]["name"], packages[id]["version"]))
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
        "components": [component(packages[id], sums.get((packages[id]["name"], packages[id]["version"])), "library",
                                 "required" if id in linked else "excluded") for id in listed],
        "dependencies": [{"ref": names[id], "dependsOn": sorted(
            {names[each["pkg"]] for each in nodes[id]["deps"] if each["pkg"] in used and is_used(each, ("normal", "build"))})}
            for id in [start, *listed]],
    }, indent=1) + "\n"


def is_used(dependency, kinds):
    return any((kind["kind"] or "normal") in kinds for kind in dependency["dep_kinds"])


def is_macro(package):
    return any("proc-macro" in target["kind"] for target in package["targets"])


def reachable(start, nodes, packages, kinds, through_macros=False):
    """The packages that one needs; a procedural macro is not part of what it is used in."""
    found, todo = set(), [start]
    while todo:
        id = todo.pop()
        if id in found or (is_macro(packages[id]) and not through_macros):
            continue
        found.add(id)
        todo += [each["pkg"] for each in nodes[id]["deps"] if is_used(each, kinds)]
    return found


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
