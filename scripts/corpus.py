#!/usr/bin/env python3
"""Scores `tidegate shape` on a corpus of recorded tool results, and fails below a minimum.

The corpus has its own scorer: a list of questions for each item, and a check whether the text that the agent would read
contains the answer. Every answer must be within its budget, and a result that fits must come out byte for byte.
"""
import argparse
import gzip
import json
import subprocess
import sys
import tempfile
from pathlib import Path

# Least share of questions that the first answer covers, by budget in tokens: a little below the current share, so that
# a change that loses answers is noticed.
MIN_ANSWERED = {500: 0.65, 1000: 0.73, 2000: 0.80, 4000: 0.83}


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
    """Runs the scorer at each budget; returns the problems."""
    with tempfile.NamedTemporaryFile(suffix=".json") as out:
        command = [sys.executable, str(corpus / "score.py"), "run", "--out", out.name,
                   "--budgets", ",".join(map(str, MIN_ANSWERED)),
                   "--cmd", f"{tidegate} shape --budget {{budget}} --format result"]
        subprocess.run(command, check=True)
        summary = json.loads(Path(out.name).read_text())["summary"]
    problems = []
    for budget, minimum in MIN_ANSWERED.items():
        row = summary[str(budget)]
        if row["answered"] < minimum:
            problems.append(f"{row['answered']:.1%} answered at {budget} tokens, at least {minimum:.0%} expected")
        for what in ("over_budget", "small_touched", "error_flag_lost"):
            if row[what]:
                problems.append(f"{row[what]} items {what.replace('_', ' ')} at {budget} tokens")
    return problems


def unchanged(corpus, tidegate):
    """Checks that every result within the budget comes out byte for byte; returns the problems."""
    passed, problems = 0, []
    for item in json.loads((corpus / "index.json").read_text())["items"]:
        file = corpus / json.loads((corpus / "questions" / f"{item['id']}.json").read_text())["file"]
        raw = gzip.decompress(file.read_bytes()) if file.suffix == ".gz" else file.read_bytes()
        for budget in MIN_ANSWERED:
            def shape(output_format):
                command = [str(tidegate), "shape", "--budget", str(budget), "--format", output_format]
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
