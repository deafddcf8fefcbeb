"""What all packages say about the project: read from the manifests and from git, never written twice."""
import json
import os
import subprocess
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent.parent


@dataclass(frozen=True)
class Project:
    root: Path
    version: str
    description: str
    keywords: list[str]
    license: str
    repository: str
    commit: str
    time: int
    """When the commit was made, so that packages of one commit are equal."""

    @classmethod
    def read(cls):
        command = ["cargo", "metadata", "--format-version", "1", "--no-deps", "--locked"]
        packages = json.loads(run(command))["packages"]
        package = next(package for package in packages if package["name"] == "tidegate")
        commit, time = run(["git", "log", "-1", "--format=%H %ct"]).split()
        return cls(ROOT, package["version"], package["description"], package["keywords"], package["license"],
                   package["repository"], commit, int(os.environ.get("SOURCE_DATE_EPOCH", time)))

    def licenses(self):
        """The license files, by name."""
        return {name: (self.root / name).read_bytes() for name in ("LICENSE-APACHE", "LICENSE-MIT")}

    def page(self):
        """The README for the page of a registry, where links into the repository need its address."""
        text = (self.root / "README.md").read_text(encoding="utf-8")
        blob = f"{self.repository}/blob/v{self.version}/"
        raw = f"{self.repository}/raw/v{self.version}/"
        for start, base in (("![", raw), ("[", blob)):
            text = relink(text, start, base)
        return text.encode()


def relink(text, start, base):
    """Puts `base` before every relative target of a link; with `![`, of an image."""
    pieces, rest = [], text
    while "](" in rest:
        before, rest = rest.split("](", 1)
        opening = before.rfind("[")
        is_image = opening > 0 and before[opening - 1] == "!"
        target = rest.split(")", 1)[0]
        is_relative = not target.startswith(("http:", "https:", "#", "mailto:"))
        pieces += [before, "](", base if is_relative and is_image == (start == "![") else ""]
    return "".join(pieces) + rest


def run(command):
    return subprocess.run(command, cwd=ROOT, check=True, capture_output=True, text=True).stdout
