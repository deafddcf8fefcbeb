#!/usr/bin/env python3
"""Checks the links between the Markdown files of this repository.

    scripts/links.py            all files
    scripts/links.py FILE...    only these

A relative link must name a file or folder of the repository with the right capitals, and an anchor must be a heading of
that file. Links to other sites are not followed. Each broken link is printed as FILE:LINE, and the exit code is 1.
"""

import os
import re
import sys
from pathlib import Path
from urllib.parse import unquote

ROOT = Path(__file__).resolve().parent.parent
# Folders whose files are not part of the repository.
IGNORED_FOLDERS = {".git", ".cache", "target", "node_modules", "__pycache__"}
FENCE = re.compile(r"^ {0,3}(`{3,}|~{3,})")
HEADING = re.compile(r"^ {0,3}#{1,6}\s+(.*?)\s*#*\s*$")
CODE_SPAN = re.compile(r"(`+)(?!`).+?(?<!`)\1(?!`)")
# [text](target), [text](<target> "title"), and [name]: target; an image is a link with ! in front.
INLINE_LINK = re.compile(r"\]\(\s*(?:<([^>]*)>|([^\s()]*(?:\([^\s()]*\)[^\s()]*)*))(?:\s+[\"'(][^)]*)?\)")
LINK_DEFINITION = re.compile(r"^ {0,3}\[[^\]]+\]:\s*<?([^\s>]+)>?")
ABSOLUTE_URL = re.compile(r"^(?:[a-zA-Z][a-zA-Z0-9+.-]*:|//)")


def lines(path):
    """The lines of a file outside code blocks, with their numbers."""
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
    """The anchors of a file's headings, as GitHub derives them."""
    found, seen = set(), {}
    for _, line in lines(path):
        heading = HEADING.match(line)
        if not heading:
            continue
        words = re.sub(r"!?\[([^\]]*)\]\([^)]*\)", r"\1", heading.group(1))
        slug = re.sub(r"[^\w\- ]", "", words.lower()).replace(" ", "-")
        repeats = seen.get(slug, 0)
        seen[slug] = repeats + 1
        found.add(f"{slug}-{repeats}" if repeats else slug)
    return found


def targets(path):
    """The links of a file, with their line numbers."""
    for number, line in lines(path):
        plain = CODE_SPAN.sub("", line)
        for match in INLINE_LINK.finditer(plain):
            yield number, match.group(1) if match.group(1) is not None else match.group(2)
        if match := LINK_DEFINITION.match(plain):
            yield number, match.group(1)


def exists(path, known):
    """Whether the repository has a file or folder; unlike some file systems, this distinguishes capitals."""
    return path == ROOT or str(path.relative_to(ROOT)) in known


def problem(path, target, known):
    """What is wrong with a link, or None."""
    if ABSOLUTE_URL.match(target):
        return None
    name, _, anchor = target.partition("#")
    base = ROOT if name.startswith("/") else path.parent
    found = path if not name else Path(base, unquote(name).lstrip("/")).resolve()
    if not found.is_relative_to(ROOT):
        return f"{target} is outside the repository"
    if not exists(found, known):
        return f"{target} does not exist"
    if anchor and found.suffix == ".md" and unquote(anchor) not in anchors(found):
        return f"{target} is not a heading of that file; its headings: {', '.join(sorted(anchors(found)))}"
    return None


def repository():
    """The paths of all files, and of all files and their folders."""
    files = []
    for folder, below, names in os.walk(ROOT):
        below[:] = sorted(name for name in below if name not in IGNORED_FOLDERS)
        files.extend(str(Path(folder, name).relative_to(ROOT)) for name in sorted(names))
    return files, set(files) | {str(parent) for name in files for parent in Path(name).parents}


def main(named):
    files, known = repository()
    chosen = [Path(name).resolve() for name in named] or [ROOT / name for name in files if name.endswith(".md")]
    broken, count = [], 0
    for path in chosen:
        for line, target in targets(path):
            count += 1
            if message := problem(path, target, known):
                broken.append(f"{path.relative_to(ROOT)}:{line}: {message}")
    print("\n".join(broken), file=sys.stderr, end="\n" if broken else "")
    print(f"{count} links in {len(chosen)} files, {len(broken)} broken")
    return 1 if broken else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
