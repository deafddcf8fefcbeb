#!/usr/bin/env python3
"""Checks that links in the Markdown files of this repository lead somewhere.

    scripts/links.py            all of them
    scripts/links.py FILE...    only these

A relative link must name a file or folder of the repository, spelled as it is, and an anchor a heading of that file.
Links to other sites are not followed. Every broken one is told as FILE:LINE; then the exit code is 1.
"""

import os
import re
import sys
from pathlib import Path
from urllib.parse import unquote

ROOT = Path(__file__).resolve().parent.parent
# Folders whose files are made, not kept.
MADE = {".git", ".cache", "target", "node_modules", "__pycache__"}
FENCE = re.compile(r"^ {0,3}(`{3,}|~{3,})")
HEADING = re.compile(r"^ {0,3}#{1,6}\s+(.*?)\s*#*\s*$")
CODE = re.compile(r"(`+)(?!`).+?(?<!`)\1(?!`)")
# [words](target), [words](<target> "title"), and [name]: target; a picture is a link with ! in front.
INLINE = re.compile(r"\]\(\s*(?:<([^>]*)>|([^\s()]*(?:\([^\s()]*\)[^\s()]*)*))(?:\s+[\"'(][^)]*)?\)")
DEFINED = re.compile(r"^ {0,3}\[[^\]]+\]:\s*<?([^\s>]+)>?")
ELSEWHERE = re.compile(r"^(?:[a-zA-Z][a-zA-Z0-9+.-]*:|//)")


def lines(path):
    """The lines of a file that are no code, with their numbers."""
    fence = None
    for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), 1):
        mark = FENCE.match(line)
        if fence is None and mark:
            fence = mark.group(1)
        elif fence is not None:
            closes = mark and mark.group(1).startswith(fence) and not line.strip().strip(fence[0])
            fence = None if closes else fence
        else:
            yield number, line


def anchors(path):
    """The anchors of a file's headings, as GitHub makes them."""
    found, seen = set(), {}
    for _, line in lines(path):
        heading = HEADING.match(line)
        if not heading:
            continue
        words = re.sub(r"!?\[([^\]]*)\]\([^)]*\)", r"\1", heading.group(1))
        slug = re.sub(r"[^\w\- ]", "", words.lower()).replace(" ", "-")
        again = seen.get(slug, 0)
        seen[slug] = again + 1
        found.add(f"{slug}-{again}" if again else slug)
    return found


def targets(path):
    """The links of a file, with the lines they are on."""
    for number, line in lines(path):
        plain = CODE.sub("", line)
        for match in INLINE.finditer(plain):
            yield number, match.group(1) if match.group(1) is not None else match.group(2)
        if match := DEFINED.match(plain):
            yield number, match.group(1)


def is_there(path, known):
    """Whether the repository has a file or folder; a disk may not care about capitals, but a clone elsewhere does."""
    return path == ROOT or str(path.relative_to(ROOT)) in known


def problem(path, target, known):
    """What is wrong with a link, if anything."""
    if ELSEWHERE.match(target):
        return None
    name, _, anchor = target.partition("#")
    base = ROOT if name.startswith("/") else path.parent
    found = path if not name else Path(base, unquote(name).lstrip("/")).resolve()
    if not found.is_relative_to(ROOT):
        return f"{target} leads out of the repository"
    if not is_there(found, known):
        return f"{target} leads nowhere"
    if anchor and found.suffix == ".md" and unquote(anchor) not in anchors(found):
        return f"{target} names no heading; there are: {', '.join(sorted(anchors(found)))}"
    return None


def repository():
    """Every file of the repository by its path in it, and every folder that has one."""
    files = []
    for folder, below, names in os.walk(ROOT):
        below[:] = sorted(name for name in below if name not in MADE)
        files.extend(str(Path(folder, name).relative_to(ROOT)) for name in sorted(names))
    return files, set(files) | {str(parent) for name in files for parent in Path(name).parents}


def main(named):
    files, known = repository()
    chosen = [Path(name).resolve() for name in named] or [ROOT / name for name in files if name.endswith(".md")]
    broken, count = [], 0
    for path in chosen:
        for line, target in targets(path):
            count += 1
            if said := problem(path, target, known):
                broken.append(f"{path.relative_to(ROOT)}:{line}: {said}")
    print("\n".join(broken), file=sys.stderr, end="\n" if broken else "")
    print(f"{count} links in {len(chosen)} files, {len(broken)} broken")
    return 1 if broken else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
