"""Documents: manual pages, HTML, Markdown, news feeds, YAML files."""

import gzip
import inspect
import re
import sys
from collections import Counter
from datetime import datetime, timedelta, timezone
from pathlib import Path

from .. import questions as ask
from ..registry import Made, Skip, item, shell
from ..table import Table
from .frames import tool


@item("man-page", "manual page", "man tar")
def man_page(work):
    source = Path("/usr/share/man/man1/tar.1.gz")
    if not source.exists():
        raise Skip("the manual page tar(1) is not installed")
    roff = gzip.decompress(source.read_bytes()).decode(errors="replace")
    text = work.run("sh", "-c", "man -P cat tar | col -bx", MANWIDTH="100")
    sections = [line[4:].strip().strip('"') for line in roff.splitlines() if line.startswith(".SH ")]
    questions = [
        ask.members("schema", "Which sections are there?", sections, 0.9),
        ask.words("fact", "What does the NAME section say?", "an archiving utility"),
        ask.count("How many lines does the page have?", len(text.splitlines()), "len(t.splitlines())"),
        ask.words(
            "lookup",
            "What does --numeric-owner do?",
            "Always use numbers for user/group names.",
            ["--numeric-owner"],
            200,
        ),
        ask.words("lookup", "Which short option is --one-top-level or --verbose (verbose)?", "-v, --verbose"),
        ask.words("first_last", "Which section is the last one?", sections[-1]),
        ask.stated(
            "aggregate", "How many words does the page have?", len(text.split()), "len(t.split())", ["word"], 48
        ),
        ask.whole(),
    ]
    return Made(text, shell("man tar"), questions)


@item("pydoc-html", "HTML page", "pydoc -w over Python's standard library")
def pydoc_html(work):
    import logging

    work.run(sys.executable, "-m", "pydoc", "-w", "logging")
    text = (work.folder / "logging.html").read_text()
    classes = sorted(
        name
        for name, value in vars(logging).items()
        if inspect.isclass(value) and value.__module__ == "logging" and name in logging.__all__
    )
    functions = sorted(
        name for name, value in vars(logging).items() if inspect.isfunction(value) and name in logging.__all__
    )
    links = text.count("<a href=")
    questions = [
        ask.words("fact", "What is the title of the page?", "Python: package logging"),
        ask.members("schema", "Which classes does the module have?", classes, 0.8),
        ask.members("aggregate", "Which functions does the module have?", functions, 0.8),
        ask.stated("count", "How many links are there?", links, "len(re.findall(r'<a href=',t))", ["link"], 48),
        ask.words(
            "lookup",
            "What does logging.captureWarnings do?",
            "If capture is true, redirect all warnings to the logging package.",
            variants=["If&nbsp;capture&nbsp;is&nbsp;true,&nbsp;redirect&nbsp;all&nbsp;warnings"],
        ),
        ask.lookup("What is the value of CRITICAL?", "50", ["CRITICAL"], 40),
        ask.whole(),
    ]
    return Made(text, tool("fetch", url="http://localhost/logging.html", raw=True), questions)


@item("readme-markdown", "Markdown document", "README of commander (npm)")
def readme_markdown(work):
    text = (work.npm / "commander" / "Readme.md").read_text()
    headings, fenced, code = [], False, 0
    for line in text.splitlines():
        if line.startswith("```"):
            fenced, code = not fenced, code + (not fenced)
        elif not fenced and re.match(r"#{1,6} ", line):
            headings.append(line.lstrip("# ").strip())
    second = [line[3:].strip() for line in text.splitlines() if line.startswith("## ")]
    questions = [
        ask.words("fact", "What is the title?", headings[0]),
        ask.members("schema", "Which sections of the second level are there?", second, 0.9),
        ask.stated(
            "count",
            "How many headings are there?",
            len(headings),
            "len(re.findall(r'(?m)^#{1,6} ',re.sub(r'(?ms)^```.*?^```','',t)))",
            ["heading", "section"],
            48,
        ),
        ask.stated(
            "count",
            "How many code blocks are there?",
            code,
            "len(re.findall(r'(?m)^```',t))//2",
            ["code", "fence", "block"],
            48,
        ),
        ask.words("first_last", "What is the last heading?", headings[-1]),
        ask.words("lookup", "How is the package installed (the command)?", "npm install commander"),
        ask.whole(),
    ]
    return Made(text, tool("read_file", path="Readme.md"), questions)


@item("rss-feed", "news feed (XML)", "feedgen (PyPI), generated entries")
def rss_feed(work):
    from faker import Faker
    from feedgen.feed import FeedGenerator

    fake = Faker()
    fake.seed_instance(5)
    feed, rows = FeedGenerator(), []
    feed.title("Harbour news")
    feed.link(href="https://news.example.org/")
    feed.description("Ships and tides")
    feed.lastBuildDate(datetime(2024, 3, 1, tzinfo=timezone.utc))
    for number in range(60):
        rows.append(
            {
                "title": fake.sentence(6).rstrip("."),
                "category": work.random.choices(["weather", "ships", "people"], weights=[2, 5, 3])[0],
                "link": f"https://news.example.org/{2000 + number}",
                "pubDate": datetime(2024, 1, 1, 8, tzinfo=timezone.utc) + timedelta(days=number),
            }
        )
        entry = feed.add_entry(order="append")
        entry.title(rows[-1]["title"])
        entry.link(href=rows[-1]["link"])
        entry.guid(rows[-1]["link"])
        entry.category(term=rows[-1]["category"])
        entry.description(fake.paragraph(3))
        entry.pubDate(rows[-1]["pubDate"])
    text = feed.rss_str(pretty=True).decode()
    rows = [{**row, "pubDate": row["pubDate"].strftime("%a, %d %b %Y %H:%M:%S +0000")} for row in rows]
    table = Table(
        rows,
        "entries",
        "import xml.etree.ElementTree as E\nrows=[{c.tag:c.text for c in i} for i in E.fromstring(t.encode()).iter('item')]",
        "item",
        "entr",
    )
    questions = [
        table.count(),
        ask.words("fact", "What is the title of the feed?", "Harbour news"),
        table.columns(["title", "link", "description", "category", "pubDate"]),
        table.most("category"),
        table.first("title"),
        table.last("pubDate"),
        table.lookup("link", "https://news.example.org/2041", "title", 500),
        ask.whole(),
    ]
    return Made(text, tool("fetch", url="https://news.example.org/rss"), questions)


@item("openapi-yaml", "API description (YAML)", "FastAPI (PyPI), a generated service")
def openapi_yaml(work):
    import yaml
    from fastapi import FastAPI
    from pydantic import create_model

    app, made = FastAPI(title="Depot API", version="3.7.1"), []
    for name in ["crate", "truck", "driver", "route", "invoice", "client", "zone", "shift"]:
        model = create_model(name.title(), id=(int, ...), label=(str, "none"), weight=(float | None, None))
        for method, path in [
            ("get", f"/{name}s"),
            ("post", f"/{name}s"),
            ("get", f"/{name}s/{{key}}"),
            ("delete", f"/{name}s/{{key}}"),
        ]:

            def endpoint(key: int = 0):
                return None

            endpoint.__name__ = f"{method}_{name}{'_by_key' if 'key' in path else ''}"
            getattr(app, method)(path, response_model=model, tags=[name])(endpoint)
            made.append((method, path))
    app.patch("/routes/{key}/close", tags=["route"], summary="Close a route for the day")(lambda key: None)
    text = yaml.safe_dump(app.openapi(), sort_keys=False)
    methods = Counter(method for method, _ in made)
    paths = {path for _, path in made} | {"/routes/{key}/close"}
    body = "import yaml\ny=yaml.safe_load(t)"
    schemas = sorted(app.openapi()["components"]["schemas"])
    questions = [
        ask.words("fact", "What is the title of the API?", "Depot API"),
        ask.lookup("Which version is it?", "3.7.1", ["version", "Depot"], 60),
        ask.stated("count", "How many paths are there?", len(paths), f"{body}\nlen(y['paths'])", ["path"], 48),
        ask.stated(
            "aggregate",
            "How many operations use DELETE?",
            methods["delete"],
            f"{body}\nsum('delete' in p for p in y['paths'].values())",
            ["delete"],
            48,
        ),
        ask.members(
            "schema", "Which schemas are there?", schemas, 0.9, derive=f"{body}\nsorted(y['components']['schemas'])"
        ),
        ask.words("rare", "Which operation uses PATCH (its summary)?", "Close a route for the day"),
        ask.members("whatelse", "Which top-level keys are there?", ["openapi", "info", "paths", "components"]),
        ask.whole(),
    ]
    return Made(text, tool("read_file", path="openapi.yaml"), questions)


@item("kubernetes-yaml", "manifests, several YAML documents", "kubectl create --dry-run=client")
def kubernetes_yaml(work):
    made, documents = [], []
    for number in range(38):
        name = f"{work.random.choice(['web', 'api', 'worker', 'cache'])}-{number:02}"
        kind = work.random.choices(["deployment", "job", "configmap"], weights=[5, 2, 2])[0]
        replicas = work.random.randint(1, 6)
        options = {
            "deployment": ["--image", f"registry.example.org/{name}:1.{number}", "--replicas", replicas],
            "job": ["--image", f"registry.example.org/{name}:1.{number}"],
            "configmap": ["--from-literal=level=info", f"--from-literal=region=eu-{number % 3}"],
        }[kind]
        documents.append(work.run("kubectl", "create", kind, name, *options, "--dry-run=client", "-o", "yaml"))
        made.append(
            (
                kind.replace("deployment", "Deployment").replace("job", "Job").replace("configmap", "ConfigMap"),
                name,
                replicas,
            )
        )
    documents.append(
        work.run(
            "kubectl",
            "create",
            "cronjob",
            "nightly-report",
            "--image=registry.example.org/report:4",
            "--schedule=15 3 * * *",
            "--dry-run=client",
            "-o",
            "yaml",
        )
    )
    text = "---\n".join(documents)
    kinds = Counter(kind for kind, _, _ in made)
    picked = [row for row in made if row[0] == "Deployment"][-2]
    body = "import yaml\ny=list(yaml.safe_load_all(t))"
    questions = [
        ask.count("How many objects are there?", len(made) + 1, f"{body}\nlen(y)", "object", "document", "manifest"),
        ask.stated(
            "aggregate",
            "How many of them are Deployments?",
            kinds["Deployment"],
            f"{body}\nsum(x['kind']=='Deployment' for x in y)",
            ["Deployment"],
            48,
        ),
        ask.members(
            "aggregate",
            "Which kinds of objects are there?",
            sorted({*kinds, "CronJob"}),
            derive=f"{body}\nsorted(set(x['kind'] for x in y))",
        ),
        ask.words("rare", "What is the schedule of the CronJob?", "15 3 * * *"),
        ask.lookup(
            f"Which image does {picked[1]} use?",
            f"registry.example.org/{picked[1]}:1.{int(picked[1][-2:])}",
            None,
            None,
        ),
        ask.members("schema", "What are the objects called?", [name for _, name, _ in made], 0.9),
        ask.words("first_last", "What is the last object called?", "nightly-report"),
        ask.whole(),
    ]
    return Made(text, tool("read_file", path="cluster.yaml"), questions)


@item("compose-yaml", "service definitions (YAML)", "PyYAML (PyPI), a generated compose file")
def compose_yaml(work):
    import yaml

    names = [
        f"{area}-{role}"
        for area in ["orders", "users", "stock", "mail", "search", "billing", "reports"]
        for role in ["api", "worker", "db", "cache", "cron", "proxy"]
    ]
    services = {}
    for number, name in enumerate(names):
        services[name] = {
            "image": f"registry.example.org/{name.split('-')[1]}:{2 + number % 4}.{number}",
            "restart": "always" if number != 17 else "no",
            "environment": {"LOG_LEVEL": "info", "PORT": 7000 + number, "REGION": f"r{number % 3}"},
            "ports": [f"{7000 + number}:{7000 + number}"],
            "deploy": {"resources": {"limits": {"cpus": str(1 + number % 3), "memory": f"{128 * (1 + number % 5)}M"}}},
        }
        if number % 6:
            services[name]["depends_on"] = [names[number - number % 6 + 2]] if number % 6 != 2 else [names[number - 2]]
    text = yaml.safe_dump(
        {
            "name": "depot",
            "services": services,
            "networks": {"inner": {"driver": "bridge"}},
            "volumes": {"data": None, "logs": None},
        },
        sort_keys=False,
    )
    body = "import yaml\ny=yaml.safe_load(t)\ns=y['services']"
    questions = [
        ask.stated("count", "How many services are there?", len(names), f"{body}\nlen(s)", ["service"], 48),
        ask.members("schema", "Which services are there?", names, 0.9),
        ask.members("whatelse", "Which top-level keys are there?", ["name", "services", "networks", "volumes"]),
        ask.lookup("Which image does mail-db use?", services["mail-db"]["image"], None, None),
        ask.lookup("Which port does search-api publish?", services["search-api"]["ports"][0], None, None),
        ask.words(
            "rare",
            "Which service is not restarted?",
            names[17],
            derive=f"{body}\n[n for n in s if s[n]['restart']!='always'][0]",
        ),
        ask.stated(
            "aggregate",
            "How many services depend on nothing?",
            sum("depends_on" not in service for service in services.values()),
            f"{body}\nsum('depends_on' not in x for x in s.values())",
            ["depends_on", "absent", "missing", "without"],
            80,
        ),
        ask.whole(),
    ]
    return Made(text, tool("read_file", path="compose.yaml"), questions)
