#!/usr/bin/env python3
"""Measures which questions an agent can answer with follow-ups, on a corpus of recorded tool results with questions.

a) A script plays the agent. It knows only the text of the question and what tidegate answered: it greps for the rarest
   words of the question and reads the place that the answer points to. MIN_REACHED of the lookup, rare and substring
   questions of all corpora must be answered within two follow-ups of 2,000 tokens, as they are by default.
b) For each question in reach.json, the one query given there must return the exact answer within 2,000 tokens. The
   queries were written from the questions and the first answers alone. With the first answers they must cover
   MIN_LOOKUPS of the lookup questions of all corpora. A lookup question has no query if the first answer answers it, or
   if the answer that the corpus expects is not the one to its question.
"""
import argparse
import gzip
import json
import os
import re
import subprocess
import sys
import tempfile
from pathlib import Path

MAX_FOLLOW_UPS = 2
MAX_TOKENS = 2000
MIN_REACHED = 0.826
MIN_LOOKUPS = 0.978
KINDS = ("lookup", "rare", "substring")


class Tidegate:
    """The tidegate command with its own data folder."""

    def __init__(self, program, home):
        self.program, self.home = str(program), home

    def run(self, *arguments, stdin=None):
        environment = {"TIDEGATE_HOME": self.home, "PATH": os.environ["PATH"]}
        return subprocess.run([self.program, *arguments], input=stdin, capture_output=True, env=environment)

    def keep(self, raw, tool):
        """Stores a result; returns its handle and the first answer."""
        report = json.loads(self.run("shape", "--keep", "--tool", tool, "--format", "json", stdin=raw).stdout)
        result = json.loads(self.run("shape", "--tool", tool, "--format", "result", stdin=raw).stdout)
        return report["id"], result

    def query(self, name, **arguments):
        """Runs a follow-up; returns the text or the error that the agent would read."""
        flags = [part for key, value in arguments.items() for part in ("--" + key.replace("_", "-"), str(value))]
        done = self.run("query", name, "--max-tokens", str(MAX_TOKENS), *flags)
        return (done.stdout or done.stderr).decode("utf-8", "replace")


# ---------------------------------------------------------------- the agent
COMMON = set("""a an and any are as at be by called can come contain contains containing did do does each every exactly first
for from give given had has have hold holds how i in into is it its itself last lead leads less list made make many may most
must name named no not number of often on one only or other out own per present say second see seen shall she should show
shown some such than that the their them then there these they this those to under up use used using was were what when where
which who whose why will with word words would you your text value values line lines file files record records result answer
answers entry entries item items row rows field fields mention mentions mentioned occur occurs begin begins end ends start
exact all digits hex bytes chars characters picture""".split())


def rarest(question, first):
    """The words of a question, rarest first.

    Words that look like a name or a code count as rare; words that occur in the first answer do not."""
    quoted = re.findall(r'"([^"]{2,60})"', question)
    plain = re.sub(r'"[^"]{2,60}"', " ", question)
    codes = set(re.findall(r"\((\w{2,12})\)", plain))
    words = re.findall(r"[\w@][\w@./:+*{}#-]*[\w*}]|\w{2,}", plain)
    known = set(re.findall(r"\w+", first.lower()))
    scored = []
    for at, word in enumerate(words):
        if word.lower() in COMMON or len(word) < 2:
            continue
        score = len(word) * 0.3 + at * 0.15 + 4 * (word in codes)
        score += 4 * bool(re.search(r"\d", word)) + 3 * bool(re.search(r"[_./:@-]", word))
        score += 3 * bool(re.search(r"[a-z][A-Z]", word)) + 3 * (word.isupper() and len(word) > 1)
        score += 1.5 * (word[0].isupper() and at > 0) - 4 * (set(re.findall(r"\w+", word.lower())) <= known)
        scored.append((-score, at, word))
    # If a path does not occur as a whole, its last part may.
    found = quoted + [word for _, _, word in sorted(scored)]
    return found + [part for word in found if "/" in word for part in word.split("/")[-1:] if part]


def expression(word):
    """A regular expression that matches a whole word."""
    escaped = re.escape(word).replace("\\ ", r"\s+")
    begin = r"\b" if re.match(r"\w", word) else ""
    # A word with a digit may be the beginning of a longer code.
    return begin + escaped + (r"\b" if re.search(r"[^\W\d]$", word) and not re.search(r"\d", word) else "")


def pointed_to(answer):
    """The view that an answer points to: the deepest path of its first match, or the lines around it."""
    # Lines before a match have a dash behind their number.
    in_text = re.search(r"^(/\S*) (?:\d+- .*\n)*(\d+): ", answer, re.M)
    if in_text:
        number = int(in_text.group(2))
        return {"path": in_text.group(1), "lines": f"{max(1, number - 4)}-{number + 14}"}
    # A path with a dash behind it is that of a record beside a match.
    paths = [path for path in re.findall(r"^(/\S*) ", answer, re.M) if not path.endswith("-")]
    if paths:
        inside = [path for path in paths if path.startswith(paths[0])]
        return {"path": inside[1] if len(inside) > 1 else paths[0]}
    line = re.search(r"^(\d+): ", answer, re.M)
    if line:
        number = int(line.group(1))
        return {"lines": f"{max(1, number - 4)}-{number + 14}"}
    return None


def play(tidegate, name, question, first, answered):
    """Sends follow-ups until the question is answered; returns their number, or None."""
    words = rarest(question, first)
    seen, read = [], None
    for step in range(MAX_FOLLOW_UPS):
        if read:
            answer = tidegate.query(name, **read)
        elif words:
            answer = tidegate.query(name, grep=expression(words.pop(0)), context=2)
        else:
            return None
        seen.append(answer)
        if answered(answer) or answered("\n".join(seen)):
            return step + 1
        read = pointed_to(answer)
    return None


# ---------------------------------------------------------------- both parts
def load(corpus):
    for entry in json.loads((corpus / "index.json").read_text())["items"]:
        item = json.loads((corpus / "questions" / f"{entry['id']}.json").read_text())
        if not item.get("small"):
            file = corpus / item["file"]
            yield item, gzip.decompress(file.read_bytes()) if file.suffix == ".gz" else file.read_bytes()


def reach(corpus, tidegate, library, verbose):
    """Plays the agent on a corpus; returns how many questions it answered, and how many there are."""
    total = {kind: [0, 0] for kind in KINDS}
    calls = []
    for item, raw in load(corpus):
        questions = [q for q in item["questions"] if q["kind"] in KINDS]
        if not questions:
            continue
        checker = library.Checker(item, raw.decode())
        name, result = tidegate.keep(raw, item["call"]["tool"])
        first, picture = library.render(result), library.blob_bytes(result) > 0
        for question in questions:
            def answered(text):
                return checker.check(question, text)
            at_once = checker.check(question, first, blobs_inline=picture)
            taken = 0 if at_once else play(tidegate, name, question["text"], first, answered)
            total[question["kind"]][1] += 1
            if taken is None:
                if verbose:
                    print("  not reached:", question["id"], "|", question["text"], "|", str(question["answer"])[:60], "|", rarest(question["text"], first)[:3])
                continue
            total[question["kind"]][0] += 1
            calls.append(taken)
    hits, all_ = (sum(pair[at] for pair in total.values()) for at in (0, 1))
    by_kind = ", ".join(f"{kind} {hit}/{count}" for kind, (hit, count) in total.items())
    print(f"{corpus.name}: reached within {MAX_FOLLOW_UPS} follow-ups of {MAX_TOKENS} tokens: {hits} of {all_} ({hits / all_:.0%}; {by_kind}); mean {sum(calls) / len(calls):.2f} follow-ups")
    return hits, all_


def reach_all(corpora, tidegate, library, verbose):
    """Plays the agent on all corpora; returns the problems."""
    pairs = [reach(corpus, tidegate, library, verbose) for corpus in corpora]
    share = sum(hits for hits, _ in pairs) / sum(all_ for _, all_ in pairs)
    print(f"reached in all corpora: {share:.1%}")
    return [] if share >= MIN_REACHED else [f"{share:.1%} reached, at least {MIN_REACHED:.1%} expected"]


def check_exports(corpus, tidegate):
    """Checks that `export` returns every result byte for byte; returns the problems."""
    problems, count = [], 0
    for entry in json.loads((corpus / "index.json").read_text())["items"]:
        file = corpus / json.loads((corpus / "questions" / f"{entry['id']}.json").read_text())["file"]
        raw = gzip.decompress(file.read_bytes()) if file.suffix == ".gz" else file.read_bytes()
        name, _ = tidegate.keep(raw, entry["id"])
        count += 1
        if tidegate.run("export", name).stdout != raw:
            problems.append(f"{entry['id']} did not come back byte for byte")
    print(f"{count - len(problems)} of {count} results came back byte for byte")
    return problems


def one_query_each(corpora, tidegate, library, table):
    """Runs the queries of the table; returns the problems."""
    wanted = json.loads(table.read_text())
    problems, done, items, lookups = [], 0, set(), []
    for corpus, item, raw in ((corpus, *pair) for corpus in corpora for pair in load(corpus)):
        checker = library.Checker(item, raw.decode())
        name, result = tidegate.keep(raw, item["call"]["tool"])
        first, picture = library.render(result), library.blob_bytes(result) > 0
        for question in item["questions"]:
            query, answers = wanted.get(question["id"]), False
            if query:
                answer = tidegate.query(name, **query)
                body = "\n".join(answer.split("\n")[2:-3]) if answer.count("\n~~") >= 2 else answer
                done, answers = done + 1, exact(checker, question, body)
                items.add(item["id"])
                if not answers:
                    problems.append(f"{question['id']}: {query} does not answer {question['text']!r}: {body[:200]!r}")
            if question["kind"] == "lookup":
                at_once = checker.check(question, first, blobs_inline=picture)
                lookups.append((question["id"], corpus.name, answers or at_once))
    print(f"{done - len(problems)} of {done} questions over {len(items)} items answered by one query each")
    for corpus in corpora:
        here = [answered for _, of, answered in lookups if of == corpus.name]
        print(f"{corpus.name}: {sum(here)} of {len(here)} lookup questions ({sum(here) / len(here):.0%})")
    reached = sum(answered for _, _, answered in lookups)
    missed = ", ".join(name for name, _, answered in lookups if not answered) or "none"
    print(f"{reached} of {len(lookups)} lookup questions answered at once or by one query ({reached / len(lookups):.0%}); missed: {missed}")
    if reached / len(lookups) < MIN_LOOKUPS:
        problems.append(f"{reached / len(lookups):.1%} of the lookup questions answered, at least {MIN_LOOKUPS:.1%} expected")
    return problems


def exact(checker, question, text):
    """The corpus's check, without the conditions on proximity that are meant for long texts."""
    check = {key: value for key, value in question["check"].items() if key not in ("near", "stated", "window")}
    return checker.check({**question, "check": check}, text)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--corpus", type=Path, required=True, help="folder of the corpus that has the library of checks")
    parser.add_argument("--also", type=Path, action="append", default=[], help="folder of another corpus")
    parser.add_argument("--tidegate", type=Path, required=True)
    parser.add_argument("--table", type=Path, default=Path(__file__).with_name("reach.json"))
    parser.add_argument("--verbose", action="store_true")
    options = parser.parse_args()
    sys.path.insert(0, str(options.corpus))
    sys.dont_write_bytecode = True
    import corpuslib
    with tempfile.TemporaryDirectory() as home:
        tidegate = Tidegate(options.tidegate.resolve(), home)
        problems = check_exports(options.corpus, tidegate)
        corpora = [options.corpus, *options.also]
        problems += reach_all(corpora, tidegate, corpuslib, options.verbose)
        problems += one_query_each(corpora, tidegate, corpuslib, options.table)
    for problem in problems:
        print(problem, file=sys.stderr)
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
