#!/usr/bin/env python3
"""Packages built programs into a folder: npm packages, wheels, archives, images, a formula, an SBOM and SHA256SUMS.

    scripts/package.py --program PATH... [--image-program PATH...] [--certificates FILE] [--out DIR] [--fast]

scripts/package.sh builds the programs and calls this. Nothing is published. The bytes of every file depend on the programs
and the commit alone.
"""
import argparse
import platform
import shutil
import sys
from pathlib import Path

from packaging import image, npm, release, sbom, wheel
from packaging.archive import sha256
from packaging.program import Program
from packaging.project import ROOT, Project


def arguments():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--program", action="append", required=True, type=Program.read, help="a built program; may be repeated")
    parser.add_argument("--features", default="", help="the cargo features that the programs were built with")
    parser.add_argument("--image-program", action="append", type=Program.read,
                        help="the programs for the images, if others than those for the packages")
    parser.add_argument("--image-features", default="", help="the cargo features of --image-program")
    parser.add_argument("--certificates", type=Path, help="root certificates for the images, PEM; without it no image is made")
    parser.add_argument("--out", type=Path, default=ROOT / "dist", help="the folder to write; what is in it is removed")
    parser.add_argument("--fast", action="store_true", help="compress little; for tests")
    return parser.parse_args()


def write(out, folder, files):
    """Writes files and returns their paths."""
    paths = []
    for name, data in files:
        (out / folder).mkdir(parents=True, exist_ok=True)
        paths.append(out / folder / name)
        paths[-1].write_bytes(data)
        print(f"{paths[-1].relative_to(out)}  {len(data):,} bytes", flush=True)
    return paths


def images(options, project, level):
    """Writes the files of each image, and returns the names and bytes of the archives."""
    for program in options.image_program or options.program:
        if not program.is_static:
            print(f"no image with {program.path}: it is not static, and the image has no C library", file=sys.stderr)
            continue
        files = image.root_files(program, options.certificates.read_bytes(), project)
        image.write_root(files, options.out / "image" / program.image_architecture / "root")
        name = f"tidegate-{project.version}-image-{program.image_architecture}.tar"
        yield name, image.archive(program, files, project, level)


def bills(options, project):
    """The names and texts of the bills: one for each target, and for the images if they differ."""
    kinds = [("", options.program, options.features)]
    if options.image_program:
        kinds.append(("-image", options.image_program, options.image_features))
    for kind, programs, features in kinds:
        for program in programs:
            text = sbom.bill(program.target, [name for name in features.split(",") if name], project)
            yield f"tidegate-{project.version}-{program.target}{kind}.cdx.json", text.encode()


def main():
    options = arguments()
    project, level, out = Project.read(), 1 if options.fast else 9, options.out
    runnable = next((program for program in options.program if program.machine == platform.machine()), None)
    if runnable is None:
        raise SystemExit(f"none of the programs is for {platform.machine()}, which has to print the manual")
    shutil.rmtree(out, ignore_errors=True)
    built = list(release.archives(options.program, runnable, project, level))
    source = release.sources(project, level)
    paths = write(out, ".", [*built, source])
    paths += write(out, "npm", npm.packages(options.program, project, level))
    paths += write(out, "pypi", wheel.wheels(options.program, project, level))
    if options.certificates:
        paths += write(out, "image", images(options, project, level))
    formula = release.formula(built, source, project)
    paths += write(out, "homebrew", [("tidegate.rb", formula)] if formula else [])
    paths += write(out, "sbom", bills(options, project))
    sums = sorted(f"{sha256(path.read_bytes())}  {path.relative_to(out)}\n" for path in paths)
    (out / "SHA256SUMS").write_text("".join(sorted(sums, key=lambda line: line[66:])), encoding="utf-8")


if __name__ == "__main__":
    main()
