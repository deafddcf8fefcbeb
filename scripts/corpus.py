#!/usr/bin/env python3
"""Scores `tidegate shape` on corpora of recorded tool results, and fails below a minimum.

The first corpus has the scorer: a list of questions for each item, and a check whether the text that the agent would
read contains the answer. Answers are scored twice: with `--fill`, which uses the whole budget, and as they are by default,
where an overview ends when there is little more to tell. Every answer must be within its budget, and a result that fits
must come out byte for byte.
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
MIN_FILLED = {"corpus": {500: 0.68, 1000: 0.78, 2000: 0.84, 4000: 0.85}, "corpus-b": {500: 0.60, 1000: 0.70, 2000: 0.76}}
MIN_DEFAULT = {"corpus": {1000: 0.76}, "corpus-b": {1000: 0.68}}
# Largest mean cost of an overview by default, in tokens, at a budget of 1,000.
MAX_MEAN_COST = 850


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--corpus", type=Path, required=True, help="folder of the corpus that has the scorer")
    parser.add_argument("--also", type=Path, action="append", default=[], help="folder of another corpus")
    parser.add_argument("--tidegate", type=Path, required=True)
    options = parser.parse_args()
    tidegate = options.tidegate.resolve()
    problems, costs = [], []
    for root in (options.corpus, *options.also):
        print(f"{root.name}, whole budget", flush=True)
        problems += score(options.corpus, root, tidegate, MIN_FILLED[root.name], "--fill")
        print(f"{root.name}, by default", flush=True)
        problems += score(options.corpus, root, tidegate, MIN_DEFAULT[root.name])
        problems += unchanged(root, tidegate, costs)
    mean = sum(costs) / len(costs)
    print(f"{len(costs)} overviews cost {mean:.0f} tokens on average at a budget of 1,000")
    if mean > MAX_MEAN_COST:
        problems.append(f"overviews cost {mean:.0f} tokens on average, at most {MAX_MEAN_COST} expected")
    for problem in problems:
        print(problem, file=sys.stderr)
    return 1 if problems else 0


def score(corpus, root, tidegate, minimums, *flags):
    """Runs the scorer at each budget; returns the problems."""
    with tempfile.NamedTemporaryFile(suffix=".json") as out:
        command = [sys.executable, str(corpus / "score.py"), "run", "--root", str(root), "--out", out.name,
                   "--budgets", ",".join(map(str, minimums)),
                   "--cmd", " ".join([str(tidegate), "shape", "--budget", "{budget}", "--format", "result", *flags])]
        subprocess.run(command, check=True)
        summary = json.loads(Path(out.name).read_text())["summary"]
    problems = []
    for budget, minimum in minimums.items():
        row = summary[str(budget)]
        if row["answered"] < minimum:
            problems.append(f"{root.name}: {row['answered']:.1%} answered at {budget} tokens, at least {minimum:.0%} expected")
        for what in ("over_budget", "small_touched", "error_flag_lost"):
            if row[what]:
                problems.append(f"{root.name}: {row[what]} items {what.replace('_', ' ')} at {budget} tokens")
    return problems


def unchanged(root, tidegate, costs):
    """Checks that every result within the budget comes out byte for byte; returns the problems.

    Adds what overviews at a budget of 1,000 tokens cost to `costs`."""
    passed, problems = 0, []
    for item in json.loads((root / "index.json").read_text())["items"]:
        file = root / json.loads((root / "questions" / f"{item['id']}.json").read_text())["file"]
        raw = gzip.decompress(file.read_bytes()) if file.suffix == ".gz" else file.read_bytes()
        for budget in (500, 1000, 2000):
            def shape(output_format):
                command = [str(tidegate), "shape", "--budget", str(budget), "--format", output_format]
                return subprocess.run(command, input=raw, check=True, capture_output=True).stdout
            report = json.loads(shape("json"))
            if report["step"] == "pass":
                passed += 1
                if shape("result") != raw:
                    problems.append(f"{item['id']} fits {budget} tokens but was changed")
            elif len(raw) <= budget and b'"image"' not in raw:
                problems.append(f"{item['id']} fits {budget} tokens by its length but was shaped")
            if report["step"] == "overview" and budget == 1000:
                costs.append(report["shaped"]["tokens"])
    print(f"{passed} results within budget came out byte for byte")
    return problems


if __name__ == "__main__":
    sys.exit(main())
