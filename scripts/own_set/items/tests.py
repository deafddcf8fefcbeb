"""What test runners report about tiny projects that the script writes: texts, JSON and XML."""

import json
import shutil
import sys

from .. import questions as ask
from ..registry import Made, item, shell
from .system import package_folder

AREAS = ["basket", "invoice", "login", "search", "stock", "tax"]


def plan(work, size):
    """Returns tests with a name, an area and an outcome; few fail."""
    tests = [{"area": AREAS[n % len(AREAS)], "name": f"case_{n:03}", "outcome": "passed"} for n in range(size)]
    for n in work.random.sample(range(size), 9):
        tests[n]["outcome"] = "failed"
    for n in work.random.sample([n for n in range(size) if tests[n]["outcome"] == "passed"], 5):
        tests[n]["outcome"] = "skipped"
    return tests


def counts(tests):
    """Returns how many tests passed, failed and were skipped."""
    return tuple(sum(test["outcome"] == outcome for test in tests) for outcome in ("passed", "failed", "skipped"))


def failed_names(tests):
    return [test["name"] for test in tests if test["outcome"] == "failed"]


def summary(tests, texts, reason):
    """The questions that every test report answers; `texts` has the derivations of failures, passes and skips."""
    passed, failed, skipped = counts(tests)
    return [
        ask.pattern(
            "count",
            "How many tests failed?",
            failed,
            rf"(?i)\b{failed} (?:tests? )?fail|fail(?:ed|ures?|ing)?\W{{1,6}}{failed}\b(?!%)",
            texts[0],
        ),
        ask.extreme(
            "How many tests were run in all?" if texts[1] == "all" else "How many tests passed?",
            len(tests) if texts[1] == "all" else passed,
            texts[2],
            ["test", "ran", "total", "pass", "ok"],
            48,
            kind="count",
        ),
        ask.extreme("How many tests were skipped?", skipped, texts[3], ["skip", "ignored", "pending"], 48, kind="rare"),
        ask.members("outlier", "Which tests failed?", failed_names(tests), 0.8),
        ask.words("rare", f"Why did {failed_names(tests)[4]} fail?", reason(failed_names(tests)[4])),
        ask.whole(),
    ]


@item("unittest-log", "test log with failures", "Python's unittest -v")
def unittest_log(work):
    tests, skip = plan(work, 150), '@unittest.skip("needs a server")\n    '
    for area in AREAS:
        body = "".join(
            f"    {skip if test['outcome'] == 'skipped' else ''}def test_{test['name']}(self):\n"
            f"        self.assertEqual('{test['name']}-{'x' if test['outcome'] == 'failed' else 'y'}', '{test['name']}-y')\n"
            for test in tests
            if test["area"] == area
        )
        work.write(f"test_{area}.py", f"import unittest\n\nclass {area.title()}Test(unittest.TestCase):\n{body}")
    text = work.run(sys.executable, "-m", "unittest", "-v", fails=True, errors=True)
    named = [{**test, "name": f"test_{test['name']}"} for test in tests]
    questions = summary(
        named,
        (
            r"int(re.search(r'failures=(\d+)',t).group(1))",
            "all",
            r"int(re.search(r'Ran (\d+) tests',t).group(1))",
            r"int(re.search(r'skipped=(\d+)',t).group(1))",
        ),
        lambda name: f"'{name[5:]}-x' != '{name[5:]}-y'",
    )
    return Made(text, shell("python -m unittest -v"), questions)


@item("cargo-test-failures", "test log with failures", "cargo test")
def cargo_test(work):
    tests = plan(work, 140)
    modules = ""
    for area in AREAS:
        body = "".join(
            f'        #[test]{" #[ignore]" if test["outcome"] == "skipped" else ""}\n        fn {test["name"]}() {{ assert_eq!(super::super::add({n}, 1), {n} + {2 if test["outcome"] == "failed" else 1}, "sum of {test["name"]}"); }}\n'
            for n, test in enumerate(tests)
            if test["area"] == area
        )
        modules += f"    mod {area} {{\n{body}    }}\n"
    work.write("Cargo.toml", '[package]\nname = "ledger"\nversion = "0.1.0"\nedition = "2021"\n[workspace]\n')
    work.write(
        "src/lib.rs", f"pub fn add(a: i64, b: i64) -> i64 {{ a + b }}\n#[cfg(test)]\nmod tests {{\n{modules}}}\n"
    )
    text = work.run(
        "cargo",
        "test",
        "--offline",
        fails=True,
        errors=True,
        CARGO_TARGET_DIR=str(work.folder / "target"),
        RUSTFLAGS="",
    )
    numbers = {test["name"]: n for n, test in enumerate(tests)}
    found = r"int(re.search(r'(\d+) %s',t).group(1))"
    questions = summary(
        tests, (found % "failed", "passed", found % "passed", found % "ignored"), lambda name: f"sum of {name}"
    )
    assert all(f"right: {numbers[name] + 2}" in text for name in failed_names(tests))
    return Made(text, shell("cargo test"), questions)


def javascript(tests, area):
    """Returns the tests of one area, for a runner with describe and it."""
    return "".join(
        f"  it{'.skip' if test['outcome'] == 'skipped' else ''}('{test['name']}', () => {{ assert.strictEqual({n}, {n if test['outcome'] != 'failed' else n + 1}, 'stock of {test['name']} differs'); }});\n"
        for n, test in enumerate(tests)
        if test["area"] == area
    )


@item("node-test", "test log of nested suites", "node --test, spec reporter")
def node_test(work):
    tests = plan(work, 130)
    for area in AREAS:
        work.write(
            f"{area}.test.js",
            f"const {{describe, it}} = require('node:test');\nconst assert = require('assert');\ndescribe('{area}', () => {{\n{javascript(tests, area)}}});\n",
        )
    text = work.run("node", "--test", "--test-reporter=spec", fails=True, errors=True)
    found = r"int(re.search(r'ℹ %s (\d+)',t).group(1))"
    questions = summary(
        tests, (found % "fail", "passed", found % "pass", found % "skipped"), lambda name: f"stock of {name} differs"
    )
    return Made(text, shell("node --test"), questions)


@item("mocha-json", "test report as JSON", "mocha (npm), JSON reporter")
def mocha_json(work):
    tests = plan(work, 120)
    for area in AREAS:
        work.write(
            f"spec/{area}.js",
            f"const assert = require('assert');\ndescribe('{area}', () => {{\n{javascript(tests, area)}}});\n",
        )
    text = work.run("mocha", "--reporter", "json", "spec", fails=True)
    questions = summary(
        tests,
        ("d['stats']['failures']", "all", "d['stats']['tests']", "d['stats']['pending']"),
        lambda name: f"stock of {name} differs",
    )
    questions.insert(
        5,
        ask.members("whatelse", "Which top-level keys are there?", ["stats", "tests", "pending", "failures", "passes"]),
    )
    return Made(text, shell("mocha --reporter json spec"), questions, "json")


@item("junit-xml", "test report as XML", "pytest --junitxml")
def junit_xml(work):
    tests, skip = plan(work, 120), '@pytest.mark.skip(reason="slow")\n'
    for area in AREAS:
        body = "".join(
            f"{skip if test['outcome'] == 'skipped' else ''}def test_{test['name']}():\n"
            f"    total = {n}\n    assert total == {n if test['outcome'] != 'failed' else n + 1}, 'total of {test['name']} differs'\n\n"
            for n, test in enumerate(tests)
            if test["area"] == area
        )
        work.write(f"test_{area}.py", f"import pytest\n\n{body}")
    work.run("pytest", "-q", "-p", "no:cacheprovider", "--junitxml=report.xml", fails=True)
    text = (work.folder / "report.xml").read_text()
    named = [{**test, "name": f"test_{test['name']}"} for test in tests]
    xml = "import xml.etree.ElementTree as E\ns=E.fromstring(t).find('testsuite')\nint(s.get('%s'))"
    questions = summary(
        named, (xml % "failures", "all", xml % "tests", xml % "skipped"), lambda name: f"total of {name[5:]} differs"
    )
    return Made(text, shell("cat report.xml"), questions)


@item("coverage-report", "table with totals", "coverage report -m over three Python packages")
def coverage_report(work):
    work.write(
        "job.py",
        "from graphql import build_schema, graphql_sync\nimport tabulate, prettytable\n"
        "graphql_sync(build_schema('type Query{a:Int}'), '{a}', {'a': 1})\nprint(tabulate.tabulate([[1]]))\n",
    )
    for package in ("graphql", "tabulate", "prettytable"):
        shutil.copytree(
            package_folder(package), work.folder / "lib" / package, ignore=shutil.ignore_patterns("__pycache__")
        )
    work.run("coverage", "run", "--source=lib", "job.py", PYTHONPATH="lib")
    text = work.run("coverage", "report", "-m", "--skip-covered")
    report = json.loads(work.run("coverage", "json", "-o", "-") or (work.folder / "coverage.json").read_text())
    files = {name: data["summary"] for name, data in report["files"].items()}
    shown = {
        name: data
        for name, data in files.items()
        if data["missing_lines"] or data["covered_lines"] < data["num_statements"]
    }
    worst = max(shown, key=lambda name: shown[name]["missing_lines"])
    picked = sorted(shown)[len(shown) * 2 // 3]
    parse = "rows=[l.split(None,4) for l in t.splitlines() if re.match(r'\\S+\\.py ',l)]"
    total = report["totals"]
    questions = [
        ask.words("fact", "How many statements are there in all?", str(total["num_statements"]), ["TOTAL"], 200),
        ask.words("aggregate", "What is the total coverage?", f"{total['percent_covered_display']}%", ["TOTAL"], 200),
        ask.count("How many files are listed?", len(shown), f"{parse}\nlen(rows)", "file"),
        ask.words(
            "outlier",
            "Which file has the most missing statements?",
            worst.split("/")[-1],
            derive=f"{parse}\nmax(rows,key=lambda x:int(x[2]))[0].split('/')[-1]",
        ),
        ask.lookup(
            f"How many statements does {picked} have?",
            str(shown[picked]["num_statements"]),
            [picked.split("/")[-1]],
            60,
        ),
        ask.members("schema", "Which columns are there?", ["Name", "Stmts", "Miss", "Cover", "Missing"]),
        ask.whole(),
    ]
    return Made(text, shell("coverage report -m"), questions)
