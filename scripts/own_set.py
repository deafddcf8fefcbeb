#!/usr/bin/env python3
"""Makes a set of tool results with questions by running programs on this machine, and scores a shaper on it.

  own_set.py make [--half open|held|all]     writes target/own-set/<half>/{items,questions,index.json}
  own_set.py list                            names the items, their half and their source
  own_set.py score --tidegate PROGRAM        scores `PROGRAM shape` on a half (default: open)
  own_set.py score --shaped FOLDER           scores shaped texts, FOLDER/<budget>/<item>.json or .txt

The results come from programs and packages of this machine; nothing of them is part of the repository. The answers are
computed from the source data, and once more from the text of the result; an item whose answers differ is an error. Where
the text is the only source (traces, profiles, messages of compilers), two ways to parse it must agree.
The half `open` is for development. The half `held` measures the result at the end: nobody reads its items or overviews before.
"""

import argparse
import hashlib
import json
import os
import shutil
import subprocess
import sys
import time
import traceback
from pathlib import Path

PROJECT = Path(__file__).resolve().parent.parent
CACHE = PROJECT / ".cache" / "own-set"
OUT = PROJECT / "target" / "own-set"
PYTHON = CACHE / "venv" / "bin" / "python"
# An item with fewer tokens would pass unchanged at the largest budget and measure nothing.
MIN_TOKENS = 3000


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("command", choices=["make", "list", "score"])
    parser.add_argument("--half", choices=["open", "held", "all"])
    parser.add_argument("--items", help="only these items, separated by commas")
    parser.add_argument("--tidegate", type=Path, help="the tidegate program")
    parser.add_argument("--shaped", type=Path, help="folder with shaped texts")
    parser.add_argument("--budgets", default="500,1000,2000")
    parser.add_argument("--out", type=Path, help="file for the scores by question")
    parser.add_argument(
        "--shared",
        type=Path,
        default=Path(os.environ.get("TIDEGATE_SHARED", PROJECT.parent / "shared")),
        help="folder that has corpus/score.py",
    )
    options = parser.parse_args()
    if options.command == "score":
        return score(options)
    enter_environment()
    sys.path.insert(0, str(options.shared / "corpus"))
    from own_set.items import ITEMS

    if options.command == "list":
        for item in ITEMS:
            print(f"{item.half}  {item.id:24} {item.kind}; {item.source}")
        return 0
    return make(ITEMS, options)


def enter_environment():
    """Installs the packages if needed, and runs this script again with the Python that has them."""
    from own_set.environment import install

    install(CACHE)
    if Path(sys.prefix).resolve() != (CACHE / "venv").resolve():
        os.execv(PYTHON, [str(PYTHON), *sys.argv])


def make(items, options):
    """Makes the items of the half; returns 1 if an answer could not be verified."""
    from own_set.registry import Skip, Workspace

    started, problems, skipped = time.monotonic(), [], []
    halves = ["open", "held"] if options.half in (None, "all") else [options.half]
    wanted = options.items.split(",") if options.items else None
    for half in halves:
        folder, index = OUT / half, []
        if not wanted:
            shutil.rmtree(folder, ignore_errors=True)
        for item in items:
            if item.half != half or wanted and item.id not in wanted:
                continue
            begun = time.monotonic()
            try:
                made = item.make(Workspace(item.id, OUT / "work" / item.id, CACHE, PROJECT))
                entry, wrong = write(folder, item, made)
            except Skip as reason:
                skipped.append(f"{item.id}: {reason}")
                continue
            except Exception as error:  # one broken item must not hide the others
                problems.append(f"{item.id}: {''.join(traceback.format_exception(error)[-2:]).strip()}")
                continue
            index.append(entry)
            problems += wrong
            seconds = time.monotonic() - begun
            print(
                f"{half}  {item.id:24} {entry['tokens']:8} tokens {entry['questions']} questions {seconds:5.1f} s",
                flush=True,
            )
        folder.mkdir(parents=True, exist_ok=True)
        index = kept(folder, index) if wanted else index
        (folder / "index.json").write_text(json.dumps({"items": index}, indent=1))
        print(f"{half}: {len(index)} items, {sum(entry['questions'] for entry in index)} questions, in {folder}")
    for line in skipped:
        print("skipped", line)
    for line in problems:
        print("problem", line, file=sys.stderr)
    shutil.rmtree(OUT / "work", ignore_errors=True)
    print(f"{time.monotonic() - started:.0f} s")
    return 1 if problems else 0


def kept(folder, index):
    """Returns the entries of an earlier run that this run did not make again, with the new ones after them."""
    file, made = folder / "index.json", {entry["id"] for entry in index}
    earlier = json.loads(file.read_text())["items"] if file.exists() else []
    return [entry for entry in earlier if entry["id"] not in made] + index


def write(folder, item, made):
    """Writes an item and its questions; returns its entry in the index and the answers that could not be verified."""
    import corpuslib
    import score as scorer
    from own_set.verify import verify

    result = made.result()
    raw = json.dumps(result, ensure_ascii=False)
    text = corpuslib.render(result)
    questions = [{"id": f"{item.id}.{number}", **question} for number, question in enumerate(made.questions, 1)]
    file = f"items/{item.id}.json"
    record = {
        "id": item.id,
        "kind": item.kind,
        "tags": [],
        "source": item.source,
        "license": "not redistributed",
        "call": made.call,
        "parse": made.parse,
        "small": False,
        "file": file,
        "questions": questions,
    }
    for path, content in ((file, raw), (f"questions/{item.id}.json", json.dumps(record, ensure_ascii=False, indent=1))):
        (folder / path).parent.mkdir(parents=True, exist_ok=True)
        (folder / path).write_text(content)
    tokens, blobs = scorer.count_tokens(text), corpuslib.blob_bytes(result)
    problems = verify(record, raw)
    if tokens < MIN_TOKENS:
        problems.append(f"{item.id}: only {tokens} tokens")
    return {
        "id": item.id,
        "kind": item.kind,
        "tags": [],
        "file": file,
        "bytes": len(raw.encode()),
        "tokens": tokens,
        "blocks": len(result["content"]),
        "structured": "structuredContent" in result,
        "is_error": bool(result.get("isError")),
        "blob_bytes": blobs,
        "small": False,
        "questions": len(questions),
        "license": record["license"],
        "sha256": hashlib.sha256(raw.encode()).hexdigest(),
    }, problems


def score(options):
    """Runs the corpus's scorer on one half."""
    root = OUT / (options.half or "open")
    command = [str(PYTHON), str(options.shared / "corpus" / "score.py")]
    if options.shaped:
        command += ["dir", str(options.shaped)]
    elif options.tidegate:
        command += ["run", "--cmd", f"{options.tidegate.resolve()} shape --budget {{budget}} --format result"]
    else:
        sys.exit("score needs --tidegate PROGRAM or --shaped FOLDER")
    command += ["--root", str(root), "--budgets", options.budgets]
    command += ["--out", str(options.out)] if options.out else []
    command += ["--items", options.items] if options.items else []
    return subprocess.run(command).returncode


if __name__ == "__main__":
    sys.exit(main())
