"""The wheels for PyPI: the program as a script, and the adapter for servers in Python as the module `tidegate`.

Written by hand, because maturin compiles what it packages and these programs are built already. The adapter's own
dependency is the extra `server`, so that `uvx tidegate` installs nothing else.
"""
import base64
import hashlib
import tomllib

from .archive import Entry, zipped

PYTHON = "py3"


def wheels(programs, project, level):
    """The names and bytes of the wheels."""
    for program in programs:
        tags = [f"{PYTHON}-none-{platform}" for platform in program.wheel_platforms]
        name = f"tidegate-{project.version}-{PYTHON}-none-{'.'.join(program.wheel_platforms)}.whl"
        yield name, wheel(program, project, tags, level)


def wheel(program, project, tags, level):
    info = f"tidegate-{project.version}.dist-info"
    lines = ["Wheel-Version: 1.0", "Generator: tidegate", "Root-Is-Purelib: false", *(f"Tag: {tag}" for tag in tags)]
    module = project.root / "adapters/python/src/tidegate/__init__.py"
    entries = [
        Entry("tidegate/__init__.py", module.read_bytes()),
        Entry(f"tidegate-{project.version}.data/scripts/tidegate", program.path.read_bytes(), 0o755),
        *(Entry(f"{info}/licenses/{name}", data) for name, data in project.licenses().items()),
        Entry(f"{info}/METADATA", metadata(project)),
        Entry(f"{info}/WHEEL", "".join(f"{line}\n" for line in lines).encode()),
    ]
    entries.append(Entry(f"{info}/RECORD", record(entries, f"{info}/RECORD")))
    return zipped(entries, level)


def metadata(project):
    written = tomllib.loads((project.root / "adapters/python/pyproject.toml").read_text(encoding="utf-8"))["project"]
    extras = written["optional-dependencies"]
    lines = [
        "Metadata-Version: 2.4",
        "Name: tidegate",
        f"Version: {project.version}",
        f"Summary: {project.description}",
        f"Keywords: {','.join(project.keywords)}",
        f"License-Expression: {project.license}",
        *(f"License-File: {name}" for name in project.licenses()),
        f"Project-URL: Repository, {project.repository}",
        *(f"Provides-Extra: {extra}" for extra in extras),
        *(f"Requires-Dist: {need}; extra == \"{extra}\"" for extra, needs in extras.items() for need in needs),
        "Requires-Python: >=3.8",
        "Description-Content-Type: text/markdown",
        "",
    ]
    return "".join(f"{line}\n" for line in lines).encode() + project.page()


def record(entries, own_name):
    def line(entry):
        digest = base64.urlsafe_b64encode(hashlib.sha256(entry.data).digest()).rstrip(b"=").decode()
        return f"{entry.name},sha256={digest},{len(entry.data)}\n"
    return ("".join(map(line, entries)) + f"{own_name},,\n").encode()
