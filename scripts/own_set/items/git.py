"""What git prints about a repository that the script builds: a word counter that several people change."""

import json
from collections import Counter
from datetime import datetime, timedelta, timezone

from .. import questions as ask
from ..registry import Made, item, shell

AUTHORS = ["Ana Torres", "Bilal Khan", "Chiara Rossi", "Dmitri Volkov", "Emeka Obi", "Freya Lind"]
TOPICS = ["parser", "cli", "docs", "cache", "tests", "build"]
VERBS = ["speed up", "rename", "fix", "simplify", "document", "split", "extend"]
FILES = {topic: f"src/{topic}.py" for topic in TOPICS} | {"docs": "docs/guide.md", "build": "pyproject.toml"}


def build(work, commits):
    """Builds a repository; returns what was committed, oldest first."""
    work.run("git", "init", "-q", "-b", "main")
    done, texts, now = [], {}, datetime(2024, 1, 8, 9, 0, tzinfo=timezone.utc)
    for number in range(commits):
        topic = work.random.choices(TOPICS, weights=[8, 5, 3, 4, 6, 1])[0]
        author = work.random.choices(AUTHORS, weights=[9, 6, 4, 3, 2, 1])[0]
        path = FILES[topic]
        lines = texts.setdefault(path, [])
        removed = 0
        for _ in range(work.random.randint(0, min(4, len(lines)))):
            lines.pop(work.random.randrange(len(lines)))
            removed += 1
        added = work.random.randint(1, 9)
        place = work.random.randint(0, len(lines))
        lines[place:place] = [
            f"def {topic}_step_{number}_{k}(value): return value * {work.random.randint(2, 99)}" for k in range(added)
        ]
        work.write(path, "\n".join(lines) + "\n")
        now += timedelta(minutes=work.random.randint(20, 2000))
        subject = f"{topic}: {work.random.choice(VERBS)} step {number}"
        body = "\n\nThe limit was wrong for empty input.\nFixes #%d." % (100 + number) if number % 7 == 3 else ""
        who = {
            "GIT_AUTHOR_NAME": author,
            "GIT_AUTHOR_EMAIL": f"{author.split()[0].lower()}@example.org",
            "GIT_AUTHOR_DATE": now.isoformat(),
            "GIT_COMMITTER_NAME": "Merge Bot",
            "GIT_COMMITTER_EMAIL": "bot@example.org",
            "GIT_COMMITTER_DATE": now.isoformat(),
        }
        work.run("git", "add", "-A")
        work.run("git", "commit", "-q", "-m", subject + body, **who)
        done.append(
            {
                "author": author,
                "subject": subject,
                "path": path,
                "added": added,
                "removed": removed,
                "time": now,
                "topic": topic,
            }
        )
    for commit, name in zip(done, work.run("git", "rev-list", "--reverse", "HEAD").split()):
        commit["hash"] = name
    return done


@item("git-log-stat", "commit log with changed files", "git log --stat over a generated repository")
def git_log_stat(work):
    done = build(work, 160)
    text = work.run("git", "log", "--stat")
    authors = Counter(commit["author"] for commit in done)
    paths = Counter(commit["path"] for commit in done)
    top = authors.most_common(1)[0]
    picked = done[70]
    questions = [
        ask.count(
            "How many commits are there?", len(done), "len(re.findall(r'^commit [0-9a-f]{40}$',t,re.M))", "commit"
        ),
        ask.words(
            "aggregate",
            "Who made the most commits?",
            top[0],
            [str(top[1])],
            60,
            "C(re.findall(r'^Author: (.*?) <',t,re.M)).most_common(1)[0][0]",
        ),
        ask.stated(
            "aggregate",
            "How many commits did Dmitri Volkov make?",
            authors["Dmitri Volkov"],
            "re.findall(r'^Author: (.*?) <',t,re.M).count('Dmitri Volkov')",
            ["Dmitri Volkov"],
            48,
        ),
        ask.words("first_last", "What is the subject of the newest commit?", done[-1]["subject"]),
        ask.words("first_last", "What is the subject of the oldest commit?", done[0]["subject"]),
        ask.lookup(
            f'Which commit has the subject "{picked["subject"]}" (first 7 digits)?',
            picked["hash"][:40],
            picked["subject"],
            400,
        ),
        ask.members("schema", "Which files were changed?", sorted(paths)),
        ask.whole(),
    ]
    return Made(text, shell("git log --stat"), questions)


@item("git-log-json", "commit log, one JSON object a line", "git log --format over a generated repository")
def git_log_json(work):
    done = build(work, 120)
    text = work.run("git", "log", '--format={"hash":"%H","author":"%an","date":"%aI","subject":"%s"}')
    topics = Counter(commit["topic"] for commit in done)
    questions = [
        ask.count("How many commits are there?", len(done), "len(d)", "commit"),
        ask.members("schema", "Which fields does a commit have?", ["hash", "author", "date", "subject"]),
        ask.members("aggregate", "Who are the authors?", AUTHORS, derive="sorted(set(x['author'] for x in d))"),
        ask.stated(
            "aggregate",
            "How many commits did Ana Torres make?",
            sum(commit["author"] == AUTHORS[0] for commit in done),
            "sum(x['author']=='Ana Torres' for x in d)",
            ["Ana Torres"],
            48,
        ),
        ask.words(
            "first_last",
            "When was the newest commit made?",
            done[-1]["time"].strftime("%Y-%m-%dT%H:%M"),
            derive="max(x['date'] for x in d)[:16]",
        ),
        ask.lookup("Who wrote the commit with step 60?", done[60]["author"], "step 60", 200),
        ask.stated(
            "rare",
            "How many commits are about the topic build?",
            topics["build"],
            "sum(x['subject'].startswith('build:') for x in d)",
            ["build"],
            48,
        ),
        ask.whole(),
    ]
    return Made(text, shell("git log --format=..."), questions, "jsonl")


@item("git-blame", "lines with commit, author and date", "git blame over a generated repository")
def git_blame(work):
    build(work, 130)
    text = work.run("git", "blame", "--date=short", "src/parser.py")
    porcelain = work.run("git", "blame", "--line-porcelain", "src/parser.py")
    authors = Counter(line[7:] for line in porcelain.splitlines() if line.startswith("author "))
    lines = [line[1:] for line in porcelain.splitlines() if line.startswith("\t")]
    hashes = Counter(
        line[:40]
        for line in porcelain.splitlines()
        if len(line) > 40 and line[40] == " " and line[:40].isalnum() and not line.startswith("author")
    )
    times = [int(line.split()[1]) for line in porcelain.splitlines() if line.startswith("author-time ")]
    oldest = datetime.fromtimestamp(min(times), timezone.utc).strftime("%Y-%m-%d")
    top = authors.most_common(1)[0]
    questions = [
        ask.count("How many lines does the file have?", len(lines), "len(d)"),
        ask.words(
            "aggregate",
            "Who wrote the most lines?",
            top[0],
            [str(top[1])],
            60,
            "C(re.search(r'\\((\\w+ \\w+) +\\d{4}',x).group(1) for x in d).most_common(1)[0][0]",
        ),
        ask.stated(
            "aggregate",
            f"How many lines did {AUTHORS[1]} write?",
            authors[AUTHORS[1]],
            f"sum('({AUTHORS[1]} ' in x for x in d)",
            [AUTHORS[1]],
            48,
        ),
        ask.words(
            "first_last",
            "What is the oldest date?",
            oldest,
            derive="min(re.search(r'\\d{4}-\\d\\d-\\d\\d',x).group(0) for x in d)",
        ),
        ask.lookup("Which function does the last line define?", lines[-1].split("(")[0].split()[1], None, None),
        ask.stated(
            "aggregate",
            "How many different commits are named?",
            len(hashes),
            "len(set(x.split()[0] for x in d))",
            ["commit", "distinct", "different", "unique", "values"],
            60,
        ),
        ask.whole(),
    ]
    return Made(text, shell("git blame --date=short src/parser.py"), questions, "lines")


@item("git-diff-json", "diff inside a JSON object", "git diff over a generated repository, as a tool returns it")
def git_diff_json(work):
    done = build(work, 110)
    old, new = done[39]["hash"], done[-1]["hash"]
    diff = work.run("git", "diff", old, new)
    stat = [line.split("\t") for line in work.run("git", "diff", "--numstat", old, new).splitlines()]
    text = json.dumps({"base": old, "head": new, "files_changed": len(stat), "diff": diff})
    added, removed = sum(int(row[0]) for row in stat), sum(int(row[1]) for row in stat)
    largest = max(stat, key=lambda row: int(row[0]))
    body = "x=d['diff'].splitlines()"
    questions = [
        ask.words("fact", "Which commit is the base?", old),
        ask.extreme("How many files changed?", len(stat), "d['files_changed']", ["file"], 60),
        ask.stated(
            "aggregate",
            "How many lines were added?",
            added,
            f"{body}\nsum(l[:1]=='+' and l[:4]!='+++ ' for l in x)",
            ["add", "insert", "+"],
        ),
        ask.stated(
            "aggregate",
            "How many lines were removed?",
            removed,
            f"{body}\nsum(l[:1]=='-' and l[:4]!='--- ' for l in x)",
            ["remov", "delet", "-"],
        ),
        ask.members("schema", "Which files changed?", [row[2] for row in stat]),
        ask.words(
            "outlier",
            "Which file has the most added lines?",
            largest[2],
            [largest[0]],
            60,
            "n={}\nfor p in d['diff'].split('diff --git ')[1:]: n[p.split()[0][2:]]=sum(l[:1]=='+' and l[:4]!='+++ ' for l in p.splitlines())\nmax(n,key=n.get)",
        ),
        ask.stated(
            "count",
            "How many hunks does the diff have?",
            diff.count("\n@@ "),
            f"{body}\nsum(l.startswith('@@ ') for l in x)",
            ["hunk", "@@"],
            60,
        ),
        ask.whole(),
    ]
    return Made(text, {"tool": "compare", "arguments": {"base": old, "head": new}}, questions, "json")


@item("grep-hits", "search hits with path and line number", "grep -rn over Python's standard library")
def grep_hits(work):
    import asyncio
    from pathlib import Path
    import re

    folder = Path(asyncio.__file__).parent
    text = work.run("sh", "-c", "grep -rn --include='*.py' 'raise [A-Z]' . | sort -t: -k1,1 -k2,2n", cwd=folder)
    hits = [
        (str(path.relative_to(folder)), number, line)
        for path in sorted(folder.rglob("*.py"))
        for number, line in enumerate(path.read_text().split("\n"), 1)
        if re.search("raise [A-Z]", line)
    ]
    files = Counter(hit[0] for hit in hits)
    top = files.most_common(1)[0]
    errors = Counter(name for hit in hits for name in re.findall(r"raise ([A-Z]\w+)", hit[2]))
    parse = "rows=[l.split(':',2) for l in t.splitlines()]"
    single = next(name for name, size in sorted(errors.items()) if size == 1)
    where = next(hit for hit in hits if f"raise {single}" in hit[2])
    questions = [
        ask.count("How many hits are there?", len(hits), "len(t.splitlines())", "hit", "match"),
        ask.stated(
            "aggregate",
            "In how many files are they?",
            len(files),
            f"{parse}\nlen(set(x[0] for x in rows))",
            ["file", "path"],
            60,
        ),
        ask.words(
            "aggregate",
            "Which file has the most hits?",
            top[0],
            [str(top[1])],
            60,
            f"{parse}\nC(x[0] for x in rows).most_common(1)[0][0][2:]",
        ),
        ask.stated(
            "aggregate",
            f"How many hits does {files.most_common(3)[2][0]} have?",
            files.most_common(3)[2][1],
            f"{parse}\nsum(x[0]=='./{files.most_common(3)[2][0]}' for x in rows)",
            [files.most_common(3)[2][0]],
            48,
        ),
        ask.lookup(f"On which line is {single} raised?", str(where[1]), [single], 120),
        ask.words("first_last", "In which file is the last hit?", sorted(files)[-1]),
        ask.whole(),
    ]
    return Made(text, shell("grep -rn 'raise [A-Z]' ."), questions, "lines")
