"""Contents of files: source code, base64, several files at once, mails, notebooks."""

import ast
import base64
import json
from datetime import datetime, timedelta, timezone
from pathlib import Path

from .. import questions as ask
from ..registry import Made, item
from ..table import Table
from .frames import tool
from .sql import staff


def symbols(source):
    """Returns the classes, functions and methods of a Python source, by ast."""
    tree = ast.parse(source)
    classes = [node for node in tree.body if isinstance(node, ast.ClassDef)]
    functions = [node for node in tree.body if isinstance(node, ast.FunctionDef)]
    every = [node for node in ast.walk(tree) if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef))]
    return classes, functions, every


def code_questions(source, text):
    """Questions about Python code; `text` is the expression that gives it."""
    classes, functions, every = symbols(source)
    longest = max(every, key=lambda node: node.end_lineno - node.lineno)
    return [
        ask.count("How many lines does the file have?", len(source.splitlines()), f"len({text}.splitlines())"),
        ask.members("schema", "Which classes does it define at the top level?", [node.name for node in classes], 0.8),
        ask.stated(
            "aggregate",
            "How many functions and methods (def) are there?",
            len(every),
            f"len([n for n in ast.walk(ast.parse({text})) if isinstance(n,(ast.FunctionDef,ast.AsyncFunctionDef))])",
            ["function", "def", "method", "symbol"],
            60,
        ),
        ask.members(
            "aggregate", "Which functions does it define at the top level?", [node.name for node in functions], 0.8
        ),
        ask.words(
            "outlier",
            "Which function or method is the longest?",
            longest.name,
            [
                str(longest.end_lineno - longest.lineno + 1),
                str(longest.lineno),
                str(longest.end_lineno - longest.lineno),
            ],
            60,
        ),
        ask.lookup(
            f"On which line does the class {classes[-1].name} begin?",
            str(classes[-1].lineno),
            [classes[-1].name],
            60,
            f"str([n.lineno for n in ast.parse({text}).body if isinstance(n,ast.ClassDef)][-1])",
        ),
        ask.whole(),
    ]


@item("source-code", "Python source code", "a module of Python's standard library")
def source_code(work):
    import tarfile

    source = Path(tarfile.__file__).read_text()
    questions = code_questions(source, "t")
    questions[4].pop("derive", None)
    return Made(source, tool("read_file", path="tarfile.py"), _derive_longest(questions, "t"))


@item("source-in-json", "file content inside a JSON object", "a module of Python's standard library")
def source_in_json(work):
    import argparse

    source = Path(argparse.__file__).read_text()
    text = json.dumps(
        {
            "path": "lib/argparse.py",
            "encoding": "utf-8",
            "size": len(source.encode()),
            "truncated": False,
            "content": source,
        }
    )
    questions = _derive_longest(code_questions(source, "d['content']"), "d['content']")
    questions[0] = ask.stated(
        "count",
        "How many lines does the file have?",
        len(source.splitlines()),
        "len(d['content'].splitlines())",
        ["line"],
        48,
    )
    questions.insert(0, ask.words("fact", "Which file is it?", "lib/argparse.py"))
    return Made(text, tool("get_file_contents", path="lib/argparse.py"), questions, "json")


def _derive_longest(questions, text):
    questions[4]["derive"] = (
        f"max((n for n in ast.walk(ast.parse({text})) if isinstance(n,(ast.FunctionDef,ast.AsyncFunctionDef))),key=lambda n:n.end_lineno-n.lineno).name"
    )
    return questions


@item("file-base64", "file content in base64", "a source file of commander (npm), as a contents API returns it")
def file_base64(work):
    import hashlib

    content = (work.npm / "commander" / "lib" / "command.js").read_bytes()[:24000]
    digest = hashlib.sha1(b"blob %d\0" % len(content) + content).hexdigest()
    encoded = base64.encodebytes(content).decode()
    text = json.dumps(
        {
            "name": "command.js",
            "path": "lib/command.js",
            "sha": digest,
            "size": len(content),
            "type": "file",
            "encoding": "base64",
            "content": encoded,
            "html_url": "https://git.example.org/team/app/blob/main/lib/command.js",
        }
    )
    questions = [
        ask.words("fact", "What is the path of the file?", "lib/command.js"),
        ask.words("fact", "What is its hash?", digest),
        ask.lookup("How large is it in bytes?", str(len(content)), ["size", "bytes"], 60),
        ask.words("schema", "How is the content encoded?", "base64"),
        ask.words(
            "whatelse",
            "Where can it be seen in a browser?",
            "https://git.example.org/team/app/blob/main/lib/command.js",
        ),
        ask.members(
            "schema",
            "Which fields are there?",
            ["name", "path", "sha", "size", "type", "encoding", "content", "html_url"],
        ),
        ask.whole(),
    ]
    return Made(text, tool("get_contents", path="lib/command.js"), questions, "json")


@item("several-files", "embedded resources of different kinds", "files of an npm package and a generated report")
def several_files(work):
    import csv
    import io

    rows, out = staff(work, 60), io.StringIO()
    writer = csv.DictWriter(out, rows[0])
    writer.writeheader()
    writer.writerows(rows)
    manifest = json.loads((work.npm / "mocha" / "package.json").read_text())
    log = "".join(
        f"2024-04-0{1 + n // 40} 10:{n % 60:02} {'ERROR disk sda is full' if n == 87 else 'INFO backup part %d done' % n}\n"
        for n in range(120)
    )
    parts = [
        ("file:///srv/app/package.json", "application/json", json.dumps(manifest, indent=2)),
        ("file:///srv/app/staff.csv", "text/csv", out.getvalue()),
        ("file:///srv/app/backup.log", "text/plain", log),
        ("file:///srv/app/README.md", "text/markdown", (work.npm / "pino" / "README.md").read_text()),
    ]
    content = [{"type": "text", "text": f"{len(parts)} files read, 0 errors"}] + [
        {"type": "resource", "resource": {"uri": uri, "mimeType": kind, "text": text}} for uri, kind, text in parts
    ]
    best = max(rows, key=lambda row: row["salary"])
    body = "x={c['resource']['uri'].split('/')[-1]:c['resource']['text'] for c in r['content'][1:]}"
    questions = [
        ask.members("whatelse", "Which files were read?", [uri.rsplit("/", 1)[1] for uri, _, _ in parts]),
        ask.lookup(
            "Which version has the package in package.json?", manifest["version"], ["version", "package.json"], 120
        ),
        ask.stated(
            "count",
            "How many rows does staff.csv have?",
            60,
            f"{body}\nlen(list(csv.DictReader(io.StringIO(x['staff.csv']))))",
            ["row", "record", "staff", "csv"],
            80,
        ),
        ask.words("outlier", "Which error is in the log?", "ERROR disk sda is full"),
        ask.words(
            "outlier",
            "Who has the highest salary?",
            best["name"],
            derive=f"{body}\nmax(csv.DictReader(io.StringIO(x['staff.csv'])),key=lambda p:int(p['salary']))['name']",
        ),
        ask.words("first_last", "What is the last line of the log?", "INFO backup part 119 done"),
        ask.whole(),
    ]
    return Made(
        {"content": content, "isError": False},
        tool("read_files", paths=["package.json", "staff.csv", "backup.log", "README.md"]),
        questions,
    )


@item("mailbox", "mails in one file", "Python's mailbox module, generated mails")
def mailbox_item(work):
    import mailbox
    from email.message import EmailMessage
    from email.utils import format_datetime
    from faker import Faker

    fake = Faker()
    fake.seed_instance(9)
    box, rows, people = (
        mailbox.mbox(work.folder / "box", create=True),
        [],
        ["rosa@example.org", "paul@example.org", "lin@example.org", "omar@example.org"],
    )
    for number in range(60):
        row = {
            "From": work.random.choices(people, weights=[5, 3, 2, 1])[0],
            "Subject": f"{work.random.choice(['Minutes', 'Question', 'Offer', 'Reminder'])}: {' '.join(fake.words(3))}",
            "Date": format_datetime(datetime(2024, 8, 1, 7, tzinfo=timezone.utc) + timedelta(hours=9 * number)),
            "Message-ID": f"<m{number:03}@example.org>",
        }
        message = EmailMessage()
        for name, value in row.items():
            message[name] = value
        message["To"] = "team@example.org"
        body = fake.paragraph(4)
        if number == 44:
            body += " The door code changes to 7731 on Friday."
        message.set_content(body)
        stored = mailbox.mboxMessage(message)
        stored.set_from("robot@example.org", datetime(2024, 8, 1).timetuple())
        box.add(stored)
        rows.append(row)
    box.flush()
    text = (work.folder / "box").read_text()
    parse = "import email\nrows=[email.message_from_string(m) for m in re.split(r'(?m)^From robot.*\\n',t)[1:]]"
    table = Table(rows, "mails", parse, "mail", "message")
    questions = [
        table.count(),
        table.columns(["From", "To", "Subject", "Date", "Message-ID"]),
        table.most("From"),
        table.first("Subject"),
        table.last("Date"),
        ask.words("rare", "What is the new door code?", "7731", ["door code"], 60),
        table.lookup("Message-ID", "<m037@example.org>", "Subject", 300),
        ask.whole(),
    ]
    return Made(text, tool("read_mailbox", mailbox="inbox"), questions)


@item("notebook", "notebook with outputs (JSON)", "nbformat (PyPI), generated cells")
def notebook(work):
    import nbformat.v4 as v4

    cells, sections = [], ["Load the data", "Clean the data", "Fit the model", "Check residuals", "Conclusions"]
    for number in range(40):
        if number % 8 == 0:
            cells.append(v4.new_markdown_cell(f"## {sections[number // 8]}\n\nNotes on step {number}."))
            continue
        output = [
            v4.new_output(
                "stream",
                name="stdout",
                text="".join(f"step {number} row {k}: {work.random.random():.5f}\n" for k in range(9)),
            )
        ]
        if number == 29:
            output = [
                v4.new_output(
                    "error",
                    ename="ZeroDivisionError",
                    evalue="division by zero",
                    traceback=["Traceback (most recent call last)", "ZeroDivisionError: division by zero"],
                )
            ]
        cells.append(
            v4.new_code_cell(
                f"frame_{number} = load({number})\nprint(frame_{number}.describe())",
                execution_count=number,
                outputs=output,
            )
        )
    for number, cell in enumerate(cells):
        cell["id"] = f"cell{number:03}"
    book = v4.new_notebook(
        cells=cells, metadata={"kernelspec": {"name": "python3", "display_name": "Python 3", "language": "python"}}
    )
    text = json.dumps(book, indent=1)
    questions = [
        ask.count("How many cells are there?", 40, "len(d['cells'])", "cell"),
        ask.stated(
            "aggregate",
            "How many code cells are there?",
            35,
            "sum(c['cell_type']=='code' for c in d['cells'])",
            ["code"],
            48,
        ),
        ask.words("outlier", "Which error did a cell raise?", "ZeroDivisionError"),
        ask.lookup("Which cell raised it (execution count)?", "29", ["ZeroDivisionError", "cell029"], 400),
        ask.members("schema", "Which sections (headings) does it have?", sections),
        ask.words("fact", "Which kernel is it for?", "python3"),
        ask.members("whatelse", "Which top-level keys are there?", ["cells", "metadata", "nbformat", "nbformat_minor"]),
        ask.whole(),
    ]
    return Made(text, tool("read_notebook", path="model.ipynb"), questions, "json")
