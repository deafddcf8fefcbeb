"""What compilers, linters and build tools report."""

import json
import re
import sys
import tomllib
from collections import Counter
from pathlib import Path

from .. import questions as ask
from ..registry import Made, item, shell
from .frames import tool


def findings(rows, parse, noun, lookup=None):
    """The questions about findings with a file, a line and a rule; `parse` gives `rows` of the same three."""
    files, rules = Counter(row[0] for row in rows), Counter(row[2] for row in rows)
    top, rule = files.most_common(1)[0], rules.most_common(1)[0]
    last = rules.most_common()[-1]
    single = next(row for row in rows if row[2] == last[0])
    assert top[1] > files.most_common(2)[-1][1] or len(files) == 1
    return [
        ask.count(
            f"How many {noun} are there?", len(rows), f"{parse}\nlen(rows)", noun.rstrip("s"), "problem", "finding"
        ),
        most_frequent(
            f"Which rule or code has the most {noun}?", rule, f"{parse}\nC(x[2] for x in rows).most_common(1)[0][0]"
        ),
        most_frequent(
            f"Which file has the most {noun}?", top, f"{parse}\nC(x[0] for x in rows).most_common(1)[0][0]", chars=80
        ),
        ask.stated(
            "aggregate",
            f"How many files have {noun}?",
            len(files),
            f"{parse}\nlen(set(x[0] for x in rows))",
            ["file", "path"],
            60,
        ),
        ask.lookup(f"On which line is the first {last[0]}?", str(single[1]), [last[0], single[0]], 160),
        ask.words(
            "first_last", f"In which file is the last of the {noun}?", rows[-1][0], derive=f"{parse}\nrows[-1][0]"
        ),
        ask.whole(),
    ]


def ruff(work, folder, rules, form):
    """What ruff says about a folder, in a form, and the same findings as data."""
    options = ["check", "--isolated", "--no-cache", "--select", rules, "--ignore", "E501", ".", "--output-format"]
    text = work.run("ruff", *options, form, cwd=folder, fails=True)
    return text, json.loads(work.run("ruff", *options, "json", cwd=folder, fails=True))


def most_frequent(question, top, derive, chars=60):
    """The question which value is the most frequent; `top` is the value and how often it occurs."""
    return ask.words("aggregate", question, top[0], [str(top[1])], chars, derive)


@item("ruff-concise", "findings as path:line:column: code message", "ruff (PyPI) over Python's email package")
def ruff_concise(work):
    import email

    folder = Path(email.__file__).parent
    text, data = ruff(work, folder, "E,F,B,SIM,UP", "concise")
    rows = [
        (str(Path(found["filename"]).relative_to(folder)), found["location"]["row"], found["code"]) for found in data
    ]
    parse = "rows=[m.groups() for m in re.finditer(r'(?m)^([^:\\n]+\\.py):(\\d+):\\d+: ([\\w-]+)',t)]"
    rows = [(path, line, code or "invalid-syntax") for path, line, code in rows]
    return Made(text, shell("ruff check --output-format concise ."), findings(rows, parse, "findings"))


@item("ruff-sarif", "findings in SARIF", "ruff (PyPI) over Python's asyncio package")
def ruff_sarif(work):
    import asyncio

    text, data = ruff(work, Path(asyncio.__file__).parent, "E,F,B,PL,N", "sarif")
    codes = Counter(found["code"] for found in data)
    files = Counter(Path(found["filename"]).name for found in data)
    top = codes.most_common(1)[0]
    few = [code for code, size in sorted(codes.items()) if size == 1][:1] or [min(codes, key=codes.get)]
    where = next(found for found in data if found["code"] == few[0])
    parse = "rows=d['runs'][0]['results']"
    questions = [
        ask.count("How many results are there?", len(data), f"{parse}\nlen(rows)", "result", "finding"),
        most_frequent(
            "Which rule was broken most often?", top, f"{parse}\nC(x['ruleId'] for x in rows).most_common(1)[0][0]"
        ),
        ask.stated(
            "count",
            "How many rules does the tool describe?",
            len(json.loads(text)["runs"][0]["tool"]["driver"]["rules"]),
            "len(d['runs'][0]['tool']['driver']['rules'])",
            ["rules"],
            60,
        ),
        ask.words("rare", f"In which file is {few[0]} reported?", Path(where["filename"]).name, [few[0]], 500),
        ask.words("fact", "Which tool wrote it?", "ruff"),
        ask.lookup(
            f"How many results does {files.most_common(1)[0][0]} have (the most)?",
            str(files.most_common(1)[0][1]),
            [files.most_common(1)[0][0]],
            100,
            f"{parse}\nstr(C(x['locations'][0]['physicalLocation']['artifactLocation']['uri'].split('/')[-1] for x in rows).most_common(1)[0][1])",
        ),
        ask.members("whatelse", "Which keys does the run have?", ["results", "tool"]),
        ask.whole(),
    ]
    return Made(text, shell("ruff check --output-format sarif ."), questions, "json")


@item("mypy-text", "type errors with notes", "mypy (PyPI) over generated modules")
def mypy_text(work):
    kinds = {
        "arg-type": "def f{n}(x: int) -> int: return x\nf{n}('a{n}')\n",
        "return-value": "def g{n}() -> str:\n    return {n}\n",
        "attr-defined": "import math\nmath.missing{n}\n",
        "assignment": "v{n}: int = 'text'\n",
        "call-arg": "def h{n}(a: int) -> None: ...\nh{n}()\n",
        "name-defined": "print(unknown_{n})\n",
    }
    for module in range(14):
        body = "".join(
            kinds[work.random.choices(list(kinds), weights=[6, 4, 3, 5, 2, 1])[0]].format(n=n)
            for n in range(work.random.randint(3, 11))
        )
        work.write(f"app/module_{module:02}.py", body)
    work.write(
        "app/module_07.py",
        "".join(kinds["assignment"].format(n=n) for n in range(17)) + "x: int = 1\nfor i in x:\n    pass\n",
    )
    text = work.run("mypy", "--no-incremental", "--cache-dir=/dev/null", "app", fails=True)
    rows = [match.groups() for match in re.finditer(r"(?m)^(\S+?):(\d+): error: .*\[([\w-]+)\]$", text)]
    assert f"Found {len(rows)} errors" in text
    parse = (
        "rows=[(l.split(':')[0],l.split(':')[1],l.rpartition('[')[2][:-1]) for l in t.splitlines() if ': error: ' in l]"
    )
    return Made(text, shell("mypy app"), findings(rows, parse, "errors"))


@item("tsc-errors", "type errors as path(line,column): message", "TypeScript (npm) over generated modules")
def tsc_errors(work):
    kinds = [
        "const a{n}: number = 'x';\n",
        "function f{n}(p: string) {{ return p.lenght; }}\n",
        "undefinedName{n}();\n",
        "let b{n}: string[] = [1, {n}];\n",
        "import {{ z{n} }} from './nowhere';\n",
    ]
    for module in range(16):
        lines = "".join(
            work.random.choices(kinds, weights=[6, 4, 3, 2, 1])[0].format(n=n)
            for n in range(work.random.randint(3, 10))
        )
        work.write(f"src/view{module:02}.ts", lines + "export {};\n")
    work.write(
        "src/view05.ts",
        "".join(kinds[0].format(n=n) for n in range(19))
        + "const q: Date = 5;\nclass K { readonly r = 1; m() { this.r = 2; } }\nexport {};\n",
    )
    work.write(
        "tsconfig.json",
        '{"compilerOptions":{"strict":true,"noEmit":true,"target":"es2020","types":[]},"include":["src"]}',
    )
    text = work.run("tsc", "-p", ".", "--pretty", "false", fails=True)
    rows = re.findall(r"(?m)^(\S+?)\((\d+),\d+\): error (TS\d+):", text)
    parse = "rows=[(l.split('(')[0],l.split('(')[1].split(',')[0],re.search(r'TS\\d+',l).group(0)) for l in t.splitlines() if ': error TS' in l]"
    return Made(text, shell("tsc -p ."), findings(rows, parse, "errors"))


@item("gcc-warnings", "compiler warnings with source excerpts", "gcc -Wall -Wextra over a generated file")
def gcc_warnings(work):
    kinds = {
        "unused-variable": "int f{n}(void) {{ int spare{n} = {n}; return 0; }}\n",
        "sign-compare": "int g{n}(unsigned a, int b) {{ return a < b; }}\n",
        "format=": '#include <stdio.h>\nvoid h{n}(void) {{ printf("%d\\n", "text{n}"); }}\n',
        "unused-parameter": "int k{n}(int left{n}) {{ return 1; }}\n",
        "return-type": "int m{n}(void) {{ }}\n",
    }
    body = "".join(kinds[work.random.choices(list(kinds), weights=[8, 5, 4, 3, 0.4])[0]].format(n=n) for n in range(60))
    work.write("engine.c", body + "int broken(void) { return missing_symbol + 1; }\n")
    text = work.run("gcc", "-Wall", "-Wextra", "-c", "engine.c", "-fdiagnostics-color=never", fails=True, errors=True)
    data = json.loads(
        work.run(
            "gcc", "-Wall", "-Wextra", "-c", "engine.c", "-fdiagnostics-format=json", fails=True, errors=True
        ).splitlines()[0]
    )
    options = Counter(found.get("option") for found in data if found["kind"] == "warning")
    top = options.most_common(1)[0]
    questions = [
        ask.stated(
            "count",
            "How many warnings are there?",
            sum(options.values()),
            "len(re.findall(r': warning: ',t))",
            ["warning"],
            60,
        ),
        ask.stated("count", "How many errors are there?", 1, "len(re.findall(r': error: ',t))", ["error"], 60),
        ask.words("outlier", "What is the error?", "undeclared (first use in this function)", ["missing_symbol"], 60),
        most_frequent(
            "Which warning is the most frequent?",
            top,
            "C(re.findall(r'warning: .*\\[(-W[\\w=-]+)\\]',t)).most_common(1)[0][0]",
        ),
        ask.stated(
            "aggregate",
            "How many -Wsign-compare warnings are there?",
            options["-Wsign-compare"],
            "t.count('[-Wsign-compare]')",
            ["sign-compare"],
            48,
        ),
        ask.words("fact", "Which file was compiled?", "engine.c"),
        ask.whole(),
    ]
    return Made(text, shell("gcc -Wall -Wextra -c engine.c"), questions)


@item("eslint-stylish", "findings grouped by file", "ESLint (npm) over mocha's sources (npm)")
def eslint_stylish(work):
    import shutil

    shutil.copytree(
        work.npm / "mocha" / "lib",
        work.folder / "lib",
        ignore=lambda folder, names: [name for name in names if name.endswith((".css", ".html", ".ejs"))],
    )
    work.write(
        "eslint.config.js",
        "module.exports=[{files:['**/*.js','**/*.mjs','**/*.cjs'],linterOptions:{reportUnusedDisableDirectives:'off'},rules:{'no-var':'warn','prefer-const':'warn','eqeqeq':'error','no-shadow':'warn','complexity':['warn',9],'no-param-reassign':'warn','no-else-return':'warn'}}]",
    )
    text = (
        work.run("eslint", "lib", "--format", "stylish", fails=True)
        .replace(str(work.folder.resolve()), "/srv/app")
        .replace(str(work.folder), "/srv/app")
    )
    data = json.loads(work.run("eslint", "lib", "--format", "json", fails=True))
    messages = [(Path(entry["filePath"]).name, message) for entry in data for message in entry["messages"]]
    rules, files = Counter(message["ruleId"] for _, message in messages), Counter(name for name, _ in messages)
    top, worst = rules.most_common(1)[0], files.most_common(1)[0]
    errors = sum(message["severity"] == 2 for _, message in messages)
    found = r"re.findall(r'(?m)^ +(\d+):\d+ +(error|warning) .*?([\w-]+)$',t)"
    questions = [
        ask.extreme(
            "How many problems are there?",
            len(messages),
            f"len({found})",
            ["problem", "total", "count"],
            48,
            kind="count",
        ),
        ask.extreme(
            "How many of them are errors?",
            errors,
            f"sum(x[1]=='error' for x in {found})",
            ["error"],
            48,
            kind="aggregate",
        ),
        most_frequent("Which rule was broken most often?", top, f"C(x[2] for x in {found}).most_common(1)[0][0]"),
        most_frequent(
            "Which file has the most problems?",
            worst,
            "n={b.splitlines()[0].split('/')[-1]:len([l for l in b.splitlines() if re.match(r' +\\d+:',l)]) for b in re.split(r'\\n(?=/)',t.strip())}\nmax(n,key=n.get)",
            chars=100,
        ),
        ask.stated(
            "count",
            "How many files have problems?",
            len(files),
            "len(re.findall(r'(?m)^/.*$',t))",
            ["file", "path"],
            60,
        ),
        ask.words("first_last", "Which file is the last one?", [name for name, _ in messages][-1]),
        ask.whole(),
    ]
    return Made(text, shell("eslint lib"), questions)


@item("cargo-tree", "dependency tree drawn with lines", "cargo tree over this project")
def cargo_tree(work):
    text = work.run(
        "cargo",
        "tree",
        "--offline",
        "--locked",
        "-p",
        "tidegate-proxy",
        "-e",
        "normal",
        "--charset",
        "utf8",
        cwd=work.project,
    )
    text = text.replace(str(work.project.resolve()), "/srv/project")
    lock = tomllib.loads((work.project / "Cargo.lock").read_text())
    versions = {}
    for package in lock["package"]:
        versions.setdefault(package["name"], []).append(package["version"])
    names = set(re.findall(r"([\w-]+) v\d", text))
    several = sorted(
        name
        for name in names
        if len(versions[name]) > 1 and len(set(re.findall(rf"(?<![\w-]){name} v(\S+)", text))) > 1
    )
    repeated = Counter(re.findall(r"([\w-]+) v\d", text)).most_common(1)[0]
    questions = [
        ask.count("How many lines does the tree have?", len(text.splitlines()), "len(t.splitlines())"),
        ask.words("fact", "Which package is at the root?", "tidegate-proxy"),
        ask.lookup("Which version of hyper is used?", versions["hyper"][0], ["hyper v", "hyper"], 40),
        ask.stated(
            "aggregate",
            "How many different packages are in the tree?",
            len(names),
            r"len(set(re.findall(r'([\w-]+) v\d',t)))",
            ["package", "distinct", "different", "unique", "crate", "dependenc"],
            60,
        ),
        ask.words(
            "aggregate",
            "Which package is named most often?",
            repeated[0],
            [str(repeated[1])],
            60,
            r"C(re.findall(r'([\w-]+) v\d',t)).most_common(1)[0][0]",
        ),
        ask.members(
            "schema", "Which packages does it depend on directly?", re.findall(r"(?m)^[├└]── ([\w-]+) v", text), 0.8
        ),
        ask.whole(),
    ]
    if several:
        questions.insert(
            5,
            ask.members(
                "rare",
                "Which packages are there in more than one version?",
                several,
                derive=(
                    "v={}\nfor n,w in re.findall(r'([\\w-]+) v(\\S+)',t): v.setdefault(n,set()).add(w)\nsorted(n for n in v if len(v[n])>1)"
                ),
            ),
        )
    return Made(text, shell("cargo tree -p tidegate-proxy -e normal"), questions)


@item("cargo-lock", "lock file (TOML)", "Cargo.lock of this project")
def cargo_lock(work):
    text = (work.project / "Cargo.lock").read_text()
    packages = tomllib.loads(text)["package"]
    names = Counter(package["name"] for package in packages)
    most = max(packages, key=lambda package: len(package.get("dependencies", [])))
    parse = "import tomllib\np=tomllib.loads(t)['package']"
    lone = [package for package in packages if names[package["name"]] == 1]
    picked = lone[len(lone) * 2 // 3]
    questions = [
        ask.count("How many packages are locked?", len(packages), f"{parse}\nlen(p)", "package"),
        ask.members(
            "schema", "Which fields does a package have?", ["name", "version", "source", "checksum", "dependencies"]
        ),
        ask.lookup(
            f"Which version of {picked['name']} is locked?",
            picked["version"],
            [f'"{picked["name"]}"', picked["name"]],
            80,
        ),
        ask.words(
            "outlier",
            "Which package has the most dependencies?",
            most["name"],
            [str(len(most["dependencies"]))],
            100,
            f"{parse}\nmax(p,key=lambda x:len(x.get('dependencies',[])))['name']",
        ),
        ask.stated(
            "aggregate",
            "How many packages have no dependencies?",
            sum("dependencies" not in package for package in packages),
            f"{parse}\nsum('dependencies' not in x for x in p)",
            ["dependencies", "absent", "missing", "without"],
            100,
        ),
        ask.words("first_last", "What is the last package?", packages[-1]["name"]),
        ask.words(
            "fact", "Which version has the lock file's format?", str(tomllib.loads(text)["version"]), ["version"], 30
        ),
        ask.whole(),
    ]
    return Made(text, tool("read_file", path="Cargo.lock"), questions)


@item("import-times", "table with bars and nested names", "python -X importtime")
def import_times(work):
    text = work.run(
        sys.executable,
        "-X",
        "importtime",
        "-c",
        "import http.server, sqlite3, xml.dom.minidom, unittest.mock",
        errors=True,
    )
    rows = [
        (int(a), int(b), name.strip()) for a, b, name in re.findall(r"import time:\s+(\d+) \|\s+(\d+) \| (.*)", text)
    ]
    parse = "rows=[(int(l.split('|')[0].split()[-1]),int(l.split('|')[1]),l.split('|')[2].strip()) for l in t.splitlines() if re.search(r':\\s+\\d+ \\|',l)]"
    slow, own = max(rows, key=lambda row: row[1]), max(rows)
    questions = [
        ask.count("How many imports are listed?", len(rows), f"{parse}\nlen(rows)", "import", "module"),
        ask.words(
            "outlier",
            "Which import took the longest in all (cumulative)?",
            slow[2],
            [str(slow[1])],
            60,
            f"{parse}\nmax(rows,key=lambda x:x[1])[2]",
        ),
        ask.words(
            "outlier", "Which import took the longest by itself?", own[2], [str(own[0])], 60, f"{parse}\nmax(rows)[2]"
        ),
        ask.lookup(
            "How long did xml.dom.minidom take in all (µs)?",
            str(next(row[1] for row in rows if row[2] == "xml.dom.minidom")),
            ["xml.dom.minidom"],
            60,
        ),
        ask.members("schema", "Which columns are there?", ["self [us]", "cumulative", "imported package"]),
        ask.words("first_last", "What was imported last?", rows[-1][2], derive=f"{parse}\nrows[-1][2]"),
        ask.whole(),
    ]
    return Made(text, shell("python -X importtime -c 'import ...'"), questions)


@item("terraform-plan", "plan of changes", "terraform plan over generated resources of the built-in provider")
def terraform_plan(work):
    body = "".join(
        f'resource "terraform_data" "{kind}_{n:02}" {{\n  input = {{ name = "{kind}-{n:02}", size = {work.random.randint(1, 64)}, zone = "{work.random.choice("abc")}" }}\n}}\n\n'
        for kind, size in (("bucket", 22), ("queue", 14), ("topic", 7))
        for n in range(size)
    )
    work.write(
        "main.tf",
        'variable "region" {\n  default = "north-1"\n}\n\n' + body + 'output "region" {\n  value = var.region\n}\n',
    )
    work.run("terraform", "init", "-no-color", "-input=false")
    text = work.run("terraform", "plan", "-no-color", "-input=false")
    size = int(re.search(r'"queue_09" \{\n.*?size = (\d+)', body, re.S).group(1))
    questions = [
        ask.pattern(
            "count",
            "How many resources will be added?",
            43,
            r"(?i)\b43\b.{0,30}(?:add|create|resource)|(?:add|create|resource).{0,30}\b43\b",
            "int(re.search(r'Plan: (\\d+) to add',t).group(1))",
        ),
        ask.words("fact", "What is the plan in one line?", "Plan: 43 to add, 0 to change, 0 to destroy."),
        ask.stated(
            "aggregate",
            "How many resources are queues?",
            14,
            "len(re.findall(r'# terraform_data.queue_\\d+ will be created',t))",
            ["queue"],
            60,
        ),
        ask.lookup("Which size gets queue_09?", str(size), ["queue_09", "queue-09"], 300),
        ask.words("first_last", "What is the last resource?", "terraform_data.topic_06"),
        ask.words("rare", "Which output changes?", "north-1"),
        ask.whole(),
    ]
    return Made(text, shell("terraform plan"), questions)
