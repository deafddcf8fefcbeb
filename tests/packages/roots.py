"""Clean roots: Debian's oldest and newest release that can be had, and an empty one.

Each Debian root is made once by debootstrap, from the mirror that apt is set up with, if that has Debian, otherwise from the one
that debootstrap knows, and kept as an archive. Node and Python come from that Debian; npm, which would bring hundreds of
packages there, is its own package.
"""
import os
import platform
import tarfile
from contextlib import contextmanager
from pathlib import Path

from places import EmptyRoot, Root
from report import run

# The release, and the newest npm that runs with its Node.
RELEASES = {"bullseye": "npm@8.19.4", "sid": "npm@11.6.2"}
PACKAGES = "ca-certificates,nodejs,python3-venv"


def mirror():
    """The mirror of Debian that apt uses, as an argument of debootstrap; none on other distributions."""
    listed = run(["apt-get", "indextargets", "--format", "$(SITE)"])
    return [site for site in listed.stdout.splitlines() if site.rstrip("/").endswith("/debian")][:1]


def archive(release, cache):
    """The archive of a root, made if it is not there."""
    path = cache / f"{release}-{platform.machine()}.tar"
    if not path.exists():
        print(f"making the root {release}, once", flush=True)
        folder = cache / f"{release}.new"
        run(["rm", "-rf", folder])
        made = run(["debootstrap", "--variant=minbase", f"--include={PACKAGES}", release, folder, *mirror()], timeout=1800)
        if made.returncode != 0:
            raise SystemExit(f"debootstrap {release} failed:\n{made.stdout[-2000:]}{made.stderr}")
        packed = run(["npm", "pack", "--silent", "--pack-destination", cache, RELEASES[release]], env=dict(os.environ))
        with tarfile.open(cache / packed.stdout.strip()) as npm:
            npm.extractall(folder / "opt", filter="tar")
        run(["tar", "-C", folder, "-cf", f"{path}.new", "."], timeout=600)
        os.rename(f"{path}.new", path)
        run(["rm", "-rf", folder])
    return path


@contextmanager
def debian(release, cache, work):
    """A fresh root with a release of Debian."""
    folder = work / release
    folder.mkdir(parents=True)
    unpacked = run(["tar", "-C", folder, "-xpf", archive(release, cache)], timeout=600)
    assert unpacked.returncode == 0, unpacked.stderr
    with mounted(folder):
        yield Root(release, folder)


@contextmanager
def empty(work):
    """A root with nothing but what a container engine puts into it."""
    folder = work / "empty"
    for name in ("proc", "dev", "tmp"):
        (folder / name).mkdir(parents=True)
    with mounted(folder):
        yield EmptyRoot("empty root", folder)


@contextmanager
def mounted(folder):
    """Mounts /proc and the devices that every container has."""
    (folder / "dev").mkdir(exist_ok=True)
    for name, numbers in {"null": ("1", "3"), "zero": ("1", "5"), "urandom": ("1", "9"), "random": ("1", "8")}.items():
        if not (folder / "dev" / name).exists():
            run(["mknod", "-m", "666", folder / "dev" / name, "c", *numbers])
    mount = run(["mount", "-t", "proc", "proc", folder / "proc"])
    assert mount.returncode == 0, mount.stderr
    try:
        yield
    finally:
        run(["umount", "--lazy", folder / "proc"])


def npm(root):
    """npm and npx of a root, as commands."""
    return [["node", f"/opt/package/bin/{name}-cli.js"] for name in ("npm", "npx")]
