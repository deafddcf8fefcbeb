#!/usr/bin/env python3
"""Scores `tidegate shape` on a corpus of recorded tool outputs and fails below the bars.

The corpus brings its own scorer: for each item a list of questions, and a check whether the answer stands in the text
that the agent would read. Every answer must be within its budget, and a result that fits must come out byte for byte.
"""
import argparse
import gzip
import json
import subprocess
import sys
import tempfile
from pathlib import Path

# Share of questions answered in the first reply, by budget in tokens: a little below what is reached, so that a
# change that costs answers is noticed.
BARS = {500: 0.65, 1000: 0.73, 2000: 0.80, 4000: 0.83}


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--corpus", type=Path, required=True)
    parser.add_argument("--tidegate", type=Path, required=True)
    options = parser.parse_args()
    tidegate = options.tidegate.resolve()
    problems = score(options.corpus, tidegate) + unchanged(options.corpus, tidegate)
    for problem in problems:
        print(problem, file=sys.stderr)
    return 1 if problems else 0


def score(corpus, tidegate):
    """The questions answered at each budget."""
    with tempfile.NamedTemporaryFile(suffix=".json") as out:
        command = [sys.executable, str(corpus / "score.py"), "run", "--out", out.name,
                   "--budgets", ",".join(map(str, BARS)),
                   "--cmd", f"{tidegate} shape --budget {{budget}} --format result"]
        subprocess.run(command, check=True)
        summary = json.loads(Path(out.name).read_text())["summary"]
    problems = []
    for budget, bar in BARS.items():
        row = summary[str(budget)]
        if row["answered"] < bar:
            problems.append(f"{row['answered']:.1%} answered at {budget} tokens, the bar is {bar:.0%}")
        for what in ("over_budget", "small_touched", "error_flag_lost"):
            if row[what]:
                problems.append(f"{row[what]} items {what.replace('_', ' ')} at {budget} tokens")
    return problems


def unchanged(corpus, tidegate):
    """Every result within its budget comes out byte for byte."""
    passed, problems = 0, []
    for item in json.loads((corpus / "index.json").read_text())["items"]:
        file = corpus / json.loads((corpus / "questions" / f"{item['id']}.json").read_text())["file"]
        raw = gzip.decompress(file.read_bytes()) if file.suffix == ".gz" else file.read_bytes()
        for budget in BARS:
            def shape(form):
                command = [str(tidegate), "shape", "--budget", str(budget), "--format", form]
                return subprocess.run(command, input=raw, check=True, capture_output=True).stdout
            if json.loads(shape("json"))["step"] == "pass":
                passed += 1
                if shape("result") != raw:
                    problems.append(f"{item['id']} fits {budget} tokens but was changed")
            elif len(raw) <= budget and b'"image"' not in raw:
                problems.append(f"{item['id']} fits {budget} tokens by its length but was shaped")
    print(f"{passed} results within budget came out byte for byte")
    return problems


if __name__ == "__main__":
    sys.exit(main())
