"""What is in the packages: checksums, manifests, sizes, the bill of materials, the image and the formula."""
import hashlib
import json
import tarfile
import tempfile
import zipfile
from pathlib import Path

import registry
from report import run

ROOT = Path(__file__).resolve().parent.parent.parent
MB = 1_000_000
# In bytes: the program without and with the gateway, an npm package with a program, an image.
MAX_PROGRAM, MAX_GATEWAY_PROGRAM, MAX_NPM, MAX_IMAGE = 20 * MB, 32 * MB, 12 * MB, 34 * MB
# A crate that only the gateway needs; its name is in the paths of a program's panics.
ONLY_GATEWAY = "tokio-postgres"


def check(dist, python, report, sizes):
    """Checks every file of a folder that scripts/package.sh wrote; `sizes` says whether they are those of a release."""
    sums = dict(reversed(line.split("  ")) for line in (dist / "SHA256SUMS").read_text().splitlines())
    files = {str(path.relative_to(dist)) for path in dist.rglob("*") if path.is_file()}
    packed = {name for name in files if not name.startswith("image/") or name.endswith(".tar")} - {"SHA256SUMS"}
    report.check("SHA256SUMS names every package", set(sums) == packed, set(sums) ^ packed)
    wrong = [name for name, digest in sums.items() if hashlib.sha256((dist / name).read_bytes()).hexdigest() != digest]
    report.check("the checksums are right", not wrong, wrong)
    npm_packages(dist, report, sizes)
    bills(dist, python, report, sizes)
    for path in (dist / "image").glob("*.tar"):
        image(path, python, report, sizes)
    for path in (dist / "pypi").glob("*.whl"):
        names = zipfile.ZipFile(path).namelist()
        report.check("the wheel has the program and the adapter",
                     {"tidegate/__init__.py"} < set(names) and any(name.endswith(".data/scripts/tidegate") for name in names), names)


def npm_packages(dist, report, sizes):
    manifests = {path: registry.manifest(path) for path in (dist / "npm").glob("*.tgz")}
    main = next(found for found in manifests.values() if found["name"] == "tidegate")
    platforms = {found["name"]: found for found in manifests.values() if found["name"] != "tidegate"}
    report.check("no npm package has scripts or a `libc` field",
                 not any({"scripts", "libc"} & set(found) for found in manifests.values()), manifests)
    wanted = {name: found["version"] for name, found in platforms.items()}
    report.check("`tidegate` wants every platform package, at its version", main["optionalDependencies"] == wanted, main)
    report.check("`tidegate` says what its launcher needs", main["engines"] == {"node": ">=12"}, main["engines"])
    report.check("each platform package names its system", all(found["os"] and found["cpu"] for found in platforms.values()))
    for path, found in manifests.items():
        if found["name"] == "tidegate":
            continue
        with tarfile.open(path) as archive:
            program = archive.getmember("package/bin/tidegate")
            data = archive.extractfile(program).read()
        report.figure(f"{found['name']}", f"{path.stat().st_size:,} bytes, program {program.size:,} bytes")
        if sizes:
            report.check(f"{found['name']} has at most {MAX_NPM:,} bytes", path.stat().st_size <= MAX_NPM)
            report.check(f"its program has at most {MAX_PROGRAM:,} bytes", program.size <= MAX_PROGRAM)
            report.check("its program has no gateway", not has_gateway(data))


def has_gateway(program):
    """Whether a program, whose bytes these are, has the gateway; for any machine."""
    return f"/{ONLY_GATEWAY}-".encode() in program


def bills(dist, python, report, is_release):
    """Validates the bills of materials against the schema of CycloneDX, and checks what they list."""
    script = """
import sys
from cyclonedx.schema import SchemaVersion
from cyclonedx.validation.json import JsonStrictValidator
for path in sys.argv[1:]:
    error = JsonStrictValidator(SchemaVersion.V1_6).validate_str(open(path).read())
    assert error is None, error
"""
    paths = list((dist / "sbom").glob("*.cdx.json"))
    checked = run([python, "-c", script, *paths])
    report.check("the SBOM is valid CycloneDX 1.6", paths and checked.returncode == 0, checked.stderr)
    for path in paths:
        bill = json.loads(path.read_text())
        names = {each["name"] for each in bill["components"]}
        report.check("the SBOM lists what is linked, not what tests use",
                     {"libsqlite3-sys", "tidegate-core"} <= names and not {"insta", "tidegate-testkit"} & names, sorted(names))
        properties = {each["name"]: each["value"] for each in bill["metadata"]["properties"]}
        of_gateway = "gateway" in properties["tidegate:features"].split(",")
        report.check(f"{path.name} lists {ONLY_GATEWAY} if the program has the gateway", of_gateway == (ONLY_GATEWAY in names), properties)
        if is_release:
            report.check(f"{path.name} is of a program with the gateway if it is for an image",
                         of_gateway == path.name.endswith("-image.cdx.json"), properties)


def dockerfile(configuration, python, report):
    """Checks that packaging/Dockerfile can be parsed and says what the image says."""
    script = """
import json, sys
from dockerfile_parse import DockerfileParser
parser = DockerfileParser(path=sys.argv[1])
known = {"FROM", "COPY", "ENV", "WORKDIR", "VOLUME", "EXPOSE", "USER", "ENTRYPOINT", "CMD", "COMMENT"}
lines = [(each["instruction"], each["value"]) for each in parser.structure]
assert {name for name, _ in lines} <= known, lines
print(json.dumps({**dict(lines), "ENV": dict(parser.envs)}))
"""
    parsed = run([python, "-c", script, ROOT / "packaging/Dockerfile"])
    if not report.check("the Dockerfile can be parsed", parsed.returncode == 0, parsed.stderr):
        return
    said = json.loads(parsed.stdout)
    same = {
        "FROM": "scratch", "USER": configuration["User"], "WORKDIR": configuration["WorkingDir"],
        "VOLUME": next(iter(configuration["Volumes"])), "EXPOSE": next(iter(configuration["ExposedPorts"])).split("/")[0],
        "ENTRYPOINT": json.dumps(configuration["Entrypoint"]), "CMD": json.dumps(configuration["Cmd"]),
        "ENV": dict(variable.split("=", 1) for variable in configuration["Env"]),
    }
    report.check("the Dockerfile says what the image says", same == {name: said[name] for name in same}, said)


def unpack_image(path, folder):
    """Unpacks the layers of an image, as a container engine does; returns its configuration."""
    with tarfile.open(path) as archive:
        read = lambda name: archive.extractfile(name).read()
        described = json.loads(read("manifest.json"))[0]
        manifest = json.loads(read("blobs/sha256/" + json.loads(read("index.json"))["manifests"][0]["digest"][7:]))
        assert ["blobs/sha256/" + layer["digest"][7:] for layer in manifest["layers"]] == described["Layers"]
        for name in (described["Config"], *described["Layers"]):
            assert hashlib.sha256(read(name)).hexdigest() == name.rsplit("/", 1)[1], name
        for layer in described["Layers"]:
            with tarfile.open(fileobj=archive.extractfile(layer)) as files:
                files.extractall(folder, filter=lambda member, _: member)
        return json.loads(read(described["Config"]))


def image(path, python, report, sizes):
    with tempfile.TemporaryDirectory() as folder:
        configuration = unpack_image(path, folder)["config"]
        program, size = Path(folder) / "tidegate", path.stat().st_size
        unpacked = sum(each.stat().st_size for each in Path(folder).rglob("*") if each.is_file())
        report.figure(path.name, f"{size:,} bytes, unpacked {unpacked:,} bytes")
        report.check("the image runs the program, not as root",
                     configuration["Entrypoint"] == ["/tidegate"] and not configuration["User"].startswith("0"), configuration)
        report.check("the image has certificates and a data folder",
                     (Path(folder) / "etc/ssl/certs/ca-certificates.crt").stat().st_size > 100_000
                     and configuration["Env"][-1] == "TIDEGATE_HOME=/data", configuration)
        dockerfile(configuration, python, report)
        if sizes:
            report.check(f"the image has at most {MAX_IMAGE:,} bytes", unpacked <= MAX_IMAGE, unpacked)
            report.check(f"its program has at most {MAX_GATEWAY_PROGRAM:,} bytes", program.stat().st_size <= MAX_GATEWAY_PROGRAM)
            report.check("its program has the gateway", has_gateway(program.read_bytes()))
