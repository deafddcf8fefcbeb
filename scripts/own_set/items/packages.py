"""Data of npm packages, and what npm and packages report about them."""

import json
import re
from collections import Counter

from .. import questions as ask
from ..registry import Made, item, shell
from ..table import Table
from .frames import tool
from .sql import staff


@item("npm-ls", "dependency tree drawn with lines", "npm ls --all")
def npm_ls(work):
    tree = json.loads(work.run("npm", "ls", "--all", "--json", cwd=work.npm.parent, fails=True))
    text = (
        work.run("npm", "ls", "--all", cwd=work.npm.parent, fails=True)
        .replace(str(work.npm.parent.resolve()), "/srv/app")
        .replace(str(work.npm.parent), "/srv/app")
    )
    direct = tree["dependencies"]
    names = set(re.findall(r"((?:@[\w.-]+/)?[\w.-]+)@\d", text))
    deduped = sum(line.endswith("deduped") for line in text.splitlines())
    assert set(direct) <= names
    questions = [
        ask.count("How many lines does the tree have?", len(text.splitlines()), "len(t.splitlines())"),
        ask.members(
            "schema",
            "Which packages does the project depend on directly?",
            sorted(direct),
            derive=r"sorted(re.findall(r'(?m)^[├└]─[┬─] ((?:@[\w.-]+/)?[\w.-]+)@\d',t))",
        ),
        ask.lookup("Which version of mocha is installed?", direct["mocha"]["version"], ["mocha"], 20),
        ask.stated(
            "aggregate",
            "How many lines say deduped?",
            deduped,
            "sum(l.endswith('deduped') for l in t.splitlines())",
            ["deduped"],
            48,
        ),
        ask.stated(
            "aggregate",
            "How many different packages are there?",
            len(names),
            r"len(set(re.findall(r'((?:@[\w.-]+/)?[\w.-]+)@\d',t)))",
            ["package", "distinct", "different", "unique", "dependenc"],
            60,
        ),
        ask.words("fact", "What is the project called?", "own-set@1.0.0"),
        ask.whole(),
    ]
    return Made(text, shell("npm ls --all"), questions, "lines")


@item("package-lock", "lock file (JSON map of packages)", "package-lock.json of the packages this script installs")
def package_lock(work):
    text = (work.npm.parent / "package-lock.json").read_text()
    packages = json.loads(text)["packages"]
    licenses = Counter(entry.get("license") for path, entry in packages.items() if path)
    top = licenses.most_common(1)[0]
    few = next(name for name, size in sorted(licenses.items(), key=lambda pair: str(pair[0])) if name and size == 1)
    nested = sum(path.count("node_modules/") > 1 for path in packages)
    questions = [
        ask.stated("count", "How many packages are listed?", len(packages), "len(d['packages'])", ["packages"], 60),
        ask.lookup(
            "Which version of jsdom is locked?", packages["node_modules/jsdom"]["version"], ["node_modules/jsdom"], 120
        ),
        ask.words(
            "aggregate",
            "Which licence is the most frequent?",
            top[0],
            [str(top[1])],
            60,
            "C(x.get('license') for p,x in d['packages'].items() if p).most_common(1)[0][0]",
        ),
        ask.words(
            "rare",
            f"Which package has the licence {few}?",
            next(path for path, entry in packages.items() if entry.get("license") == few),
            derive=f"[p for p,x in d['packages'].items() if x.get('license')=={few!r}][0]",
        ),
        ask.stated(
            "aggregate",
            "How many packages are development dependencies or nested below another package (path with two node_modules)?",
            nested,
            "sum(p.count('node_modules/')>1 for p in d['packages'])",
            ["nested", "node_modules"],
            60,
        ),
        ask.members(
            "whatelse",
            "Which top-level keys are there?",
            ["name", "version", "lockfileVersion", "requires", "packages"],
        ),
        ask.words("first_last", "What is the last package?", list(packages)[-1], derive="list(d['packages'])[-1]"),
        ask.whole(),
    ]
    return Made(text, tool("read_file", path="package-lock.json"), questions, "json")


@item("npm-sbom", "bill of materials (SPDX)", "npm sbom --sbom-format spdx")
def npm_sbom(work):
    text = work.run("npm", "sbom", "--sbom-format", "spdx", cwd=work.npm.parent)
    lock = {
        path: entry
        for path, entry in json.loads((work.npm.parent / "package-lock.json").read_text())["packages"].items()
    }
    document = json.loads(text)
    packages = document["packages"]
    licenses = Counter(package.get("licenseDeclared") for package in packages)
    version = lock["node_modules/commander"]["version"]
    top = licenses.most_common(1)[0]
    questions = [
        ask.words("fact", "Which SPDX version is it?", document["spdxVersion"]),
        ask.stated("count", "How many packages are listed?", len(packages), "len(d['packages'])", ["packages"], 60),
        ask.stated(
            "count",
            "How many relationships are there?",
            len(document["relationships"]),
            "len(d['relationships'])",
            ["relationships"],
            60,
        ),
        ask.words(
            "aggregate",
            "Which licence is declared most often?",
            top[0],
            [str(top[1])],
            60,
            "C(x.get('licenseDeclared') for x in d['packages']).most_common(1)[0][0]",
        ),
        ask.lookup("Which version of commander is listed?", version, ["commander"], 120),
        ask.members(
            "schema",
            "Which fields does a package have?",
            ["name", "SPDXID", "versionInfo", "downloadLocation", "licenseDeclared", "externalRefs"],
        ),
        ask.members("whatelse", "Which top-level keys are there?", sorted(document)),
        ask.whole(),
    ]
    return Made(text, shell("npm sbom --sbom-format spdx"), questions, "json")


@item("mime-map", "map of small objects with optional fields", "mime-db (npm)")
def mime_map(work):
    text = (work.npm / "mime-db" / "db.json").read_text()
    types = json.loads(
        work.run(
            "node", "-e", "console.log(JSON.stringify(Object.entries(require('mime-db'))))", NODE_PATH=str(work.npm)
        )
    )
    sources = Counter(entry.get("source") for _, entry in types)
    groups = Counter(name.split("/")[0] for name, _ in types)
    most = max(types, key=lambda pair: len(pair[1].get("extensions", [])))
    questions = [
        ask.count("How many types are there?", len(types), "len(d)", "type", "key"),
        ask.stated(
            "aggregate",
            "How many types have the source apache?",
            sources["apache"],
            "sum(x.get('source')=='apache' for x in d.values())",
            ["apache"],
            48,
        ),
        ask.members("schema", "Which fields can a type have?", ["source", "extensions", "compressible", "charset"]),
        ask.lookup("Which extension does application/epub+zip have?", "epub", ["application/epub+zip"], 120),
        ask.words(
            "outlier",
            "Which type has the most extensions?",
            most[0],
            derive="max(d,key=lambda k:len(d[k].get('extensions',[])))",
        ),
        ask.stated(
            "aggregate",
            "How many types begin with application/?",
            groups["application"],
            "sum(k.startswith('application/') for k in d)",
            ["application"],
            48,
        ),
        ask.words("first_last", "What is the last type?", types[-1][0], derive="list(d)[-1]"),
        ask.whole(),
    ]
    return Made(text, tool("read_file", path="db.json"), questions, "json")


@item("license-list", "map of records with links", "spdx-license-list (npm)")
def license_list(work):
    text = (work.npm / "spdx-license-list" / "spdx.json").read_text()
    data = json.loads(
        work.run("node", "-e", "console.log(JSON.stringify(require('spdx-license-list')))", NODE_PATH=str(work.npm))
    )
    osi = sum(entry["osiApproved"] for entry in data.values())
    questions = [
        ask.count("How many licences are there?", len(data), "len(d)", "licen", "key"),
        ask.members("schema", "Which fields does a licence have?", ["name", "url", "osiApproved"]),
        ask.stated(
            "aggregate",
            "How many are approved by the OSI?",
            osi,
            "sum(x['osiApproved'] for x in d.values())",
            ["true", "osiApproved"],
            48,
        ),
        ask.lookup("What is the full name of MPL-2.0?", data["MPL-2.0"]["name"], ["MPL-2.0"], 160),
        ask.words("first_last", "What is the last licence?", list(data)[-1], derive="list(d)[-1]"),
        ask.words(
            "outlier",
            "Which licence has the longest name?",
            max(data, key=lambda key: len(data[key]["name"])),
            derive="max(d,key=lambda k:len(d[k]['name']))",
        ),
        ask.whole(),
    ]
    return Made(text, tool("list_licenses"), questions, "json")


@item("countries-nested", "wide nested records", "world-countries (npm)")
def countries_nested(work):
    data = json.loads(
        work.run("node", "-e", "console.log(JSON.stringify(require('world-countries')))", NODE_PATH=str(work.npm))
    )
    text = json.dumps(data, ensure_ascii=False)
    rows = [
        {
            "name": entry["name"]["common"],
            "region": entry["region"],
            "area": entry["area"],
            "cca2": entry["cca2"],
            "landlocked": str(entry["landlocked"]),
            "capital": ", ".join(entry["capital"] or []),
        }
        for entry in data
    ]
    table = Table(
        rows,
        "countries",
        "rows=[dict(name=x['name']['common'],region=x['region'],area=x['area'],cca2=x['cca2'],landlocked=str(x['landlocked'])) for x in d]",
        "countr",
    )
    borders = max(data, key=lambda entry: len(entry["borders"]))["name"]["common"]
    questions = [
        table.count(),
        table.most("region"),
        table.top("area", "name"),
        table.maximum("area"),
        ask.stated(
            "aggregate",
            "How many countries are landlocked?",
            sum(entry["landlocked"] for entry in data),
            "sum(x['landlocked'] for x in d)",
            ["true", "landlocked"],
            48,
        ),
        ask.words("outlier", "Which country has the most borders?", borders),
        ask.lookup("What is the capital of Botswana?", "Gaborone", ["Botswana"], 2500),
        ask.members("schema", "Which fields does a country have?", list(data[0]), 0.9),
        table.last("name"),
        ask.whole(),
    ]
    return Made(text, tool("list_countries"), questions, "json")


@item("browser-agents", "nested maps by name and version", "caniuse-lite (npm), unpacked")
def browser_agents(work):
    data = json.loads(
        work.run(
            "node",
            "-e",
            "const a=require('caniuse-lite').agents;console.log(JSON.stringify(Object.fromEntries(Object.entries(a).map(([k,v])=>[k,{browser:v.browser,prefix:v.prefix,"
            "versions:v.versions.filter(Boolean),usage_global:v.usage_global,release_date:v.release_date}]))))",
            NODE_PATH=str(work.npm),
        )
    )
    text = json.dumps(data)
    sizes = {name: len(agent["versions"]) for name, agent in data.items()}
    questions = [
        ask.count("How many browsers are there?", len(data), "len(d)", "agent", "browser", "key"),
        ask.members("schema", "Which browsers are there?", sorted(data), derive="sorted(d)"),
        ask.members(
            "schema",
            "Which fields does a browser have?",
            ["browser", "prefix", "versions", "usage_global", "release_date"],
        ),
        ask.words(
            "outlier",
            "Which browser has the most versions?",
            max(sizes, key=sizes.get),
            [str(max(sizes.values()))],
            120,
            "max(d,key=lambda k:len(d[k]['versions']))",
        ),
        ask.lookup(
            "What is the full name of the browser with the key samsung?", data["samsung"]["browser"], ["samsung"], 120
        ),
        ask.words("first_last", "What is the newest version of opera?", data["opera"]["versions"][-1], ["opera"], 2000),
        ask.whole(),
    ]
    return Made(text, tool("get_agents"), questions, "json")


@item("country-names", "flat maps from code to name, by language", "i18n-iso-countries (npm)")
def country_names(work):
    locales = ["de", "pl", "ru"]
    text = json.dumps(
        {
            locale: json.loads((work.npm / "i18n-iso-countries" / "langs" / f"{locale}.json").read_text())["countries"]
            for locale in locales
        },
        ensure_ascii=False,
    )
    names = json.loads(
        work.run(
            "node",
            "-e",
            "const c=require('i18n-iso-countries');const o={};for(const l of ['de','pl','ru']){c.registerLocale(require(`i18n-iso-countries/langs/${l}.json`));"
            "o[l]=c.getNames(l,{select:'official'})}console.log(JSON.stringify(o))",
            NODE_PATH=str(work.npm),
        )
    )
    sizes = {locale: len(names[locale]) for locale in locales}
    questions = [
        ask.members("schema", "Which languages are there?", locales),
        ask.stated("count", "How many countries have a German name?", sizes["de"], "len(d['de'])", ["de"], 60),
        ask.lookup("What is UY called in Polish?", names["pl"]["UY"], ["UY"], 30),
        ask.lookup("What is TN called in German?", names["de"]["TN"], ["TN"], 30),
        ask.words("first_last", "What is the first code?", list(json.loads(text)["de"])[0], derive="list(d['de'])[0]"),
        ask.words("first_last", "What is the last code?", list(json.loads(text)["ru"])[-1], derive="list(d['ru'])[-1]"),
        ask.stated(
            "rare",
            "How many German entries are lists of several names?",
            sum(isinstance(value, list) for value in json.loads(text)["de"].values()),
            "sum(isinstance(x,list) for x in d['de'].values())",
            ["list", "array"],
            60,
        ),
        ask.whole(),
    ]
    return Made(text, tool("get_locales", locales=locales), questions, "json")


ROLES = r"""
const {JSDOM} = require('jsdom');
const dom = new JSDOM(require('fs').readFileSync('page.html', 'utf8'));
Object.assign(globalThis, {window: dom.window, document: dom.window.document, Node: dom.window.Node, Element: dom.window.Element});
const {logRoles} = require('@testing-library/dom');
logRoles(dom.window.document.body);
"""


@item("aria-roles", "accessibility roles of a page", "@testing-library/dom and jsdom (npm), a generated page")
def aria_roles(work):
    people = staff(work, 40)
    rows = "".join(
        f"<tr><td>{person['name']}</td><td>{person['team']}</td><td><button>Remove {person['name']}</button></td></tr>"
        for person in people
    )
    links = "".join(
        f'<a href="/team/{team.lower()}">{team}</a>' for team in sorted({person["team"] for person in people})
    )
    work.write(
        "page.html",
        f"<body><h1>Staff directory</h1><nav aria-label='Teams'>{links}</nav><h2>Members</h2><table>{rows}</table>"
        "<h2>Invite</h2><form aria-label='Invite'><label>Mail <input type='text' value='x@example.org'></label><input type='checkbox' aria-label='Send copy' checked><button disabled>Send</button></form></body>",
    )
    work.write("roles.js", ROLES)
    text = work.run("node", "roles.js", NODE_PATH=str(work.npm))
    teams = sorted({person["team"] for person in people})
    questions = [
        ask.stated("count", "How many buttons are there?", 41, "len(re.findall(r'<button',t))", ["button"], 48),
        ask.stated("count", "How many links are there?", len(teams), "len(re.findall(r'<a\\b',t))", ["link"], 48),
        ask.members("schema", "Which headings does the page have?", ["Staff directory", "Members", "Invite"]),
        ask.members(
            "aggregate",
            "Which roles occur (at least the controls)?",
            ["button", "link", "textbox", "checkbox", "heading", "navigation", "form"],
        ),
        ask.words("lookup", "Where does the link to Sales lead?", "/team/sales"),
        ask.words("rare", "What is the checkbox called?", "Send copy"),
        ask.whole(),
    ]
    return Made(text, tool("log_roles"), questions)


@item("html-table", "HTML table", "pandas to_html, staff of a generated firm")
def html_table(work):
    import pandas

    rows = staff(work, 110)
    frame = pandas.DataFrame(rows).astype({"manager": "Int64"})
    text = f"<!DOCTYPE html>\n<html><head><title>Staff report</title></head><body>\n<h1>Staff report</h1>\n{frame.to_html(index=False, border=0, na_rep='')}\n</body></html>\n"
    parse = "import html\nL=[[html.unescape(c) for c in re.findall(r'<t[hd][^>]*>(.*?)</t[hd]>',r,re.S)] for r in re.findall(r'<tr.*?</tr>',t,re.S)]\nrows=[dict(zip(L[0],r)) for r in L[1:]]"
    table = Table(rows, "people", parse, "row", "people")
    questions = [
        table.count(),
        ask.words("fact", "What is the title of the page?", "Staff report"),
        table.columns(),
        table.most("team"),
        table.maximum("salary"),
        table.top("salary", "name"),
        table.rare("team", "Legal", "name"),
        table.last("name"),
        ask.whole(),
    ]
    return Made(text, tool("fetch", url="http://localhost/staff.html", raw=True), questions)


@item("csv-semicolon", "CSV with semicolons and decimal commas", "Python's csv module, a generated bank statement")
def csv_semicolon(work):
    import csv
    import io

    rows, balance = [], 250000
    for number in range(180):
        cents = work.random.choice([-1, -1, -1, 1]) * work.random.randint(150, 90000)
        if number == 120:
            cents = -1234567
        balance += cents
        rows.append(
            {
                "Buchung": f"{1 + number % 28:02}.{1 + number // 28:02}.2024",
                "Art": work.random.choices(
                    ["Lastschrift", "Gutschrift", "Überweisung", "Dauerauftrag"], weights=[6, 3, 2, 1]
                )[0],
                "Betrag": f"{cents / 100:.2f}".replace(".", ","),
                "Saldo": f"{balance / 100:.2f}".replace(".", ","),
                "Zweck": f"Beleg {4000 + number}",
            }
        )
    out = io.StringIO()
    writer = csv.DictWriter(out, rows[0], delimiter=";", lineterminator="\r\n")
    writer.writeheader()
    writer.writerows(rows)
    table = Table(rows, "bookings", "rows=list(csv.DictReader(io.StringIO(t),delimiter=';'))", "row", "booking")
    questions = [
        table.count(),
        table.columns(),
        table.most("Art"),
        table.group("Art", "Dauerauftrag"),
        ask.words(
            "outlier",
            "What is the largest debit?",
            "-12345,67",
            derive=(
                "rows=list(csv.DictReader(io.StringIO(t),delimiter=';'))\nmin((x['Betrag'] for x in rows),key=lambda v:float(v.replace(',','.')))"
            ),
        ),
        table.lookup("Zweck", "Beleg 4133", "Betrag", 100),
        table.first("Buchung"),
        table.last("Saldo"),
        ask.whole(),
    ]
    return Made(out.getvalue(), tool("read_file", path="umsaetze.csv"), questions)


@item("json-in-string", "JSON inside a JSON string", "Python's json module, the answer of a function service")
def json_in_string(work):
    rows = [{**row, "active": row["id"] % 9 != 4} for row in staff(work, 120)]
    text = json.dumps(
        {
            "statusCode": 200,
            "headers": {"content-type": "application/json", "x-request-id": "5b1f0c9e"},
            "body": json.dumps({"page": 1, "members": rows}),
            "isBase64Encoded": False,
        }
    )
    table = Table(rows, "members", "rows=json.loads(d['body'])['members']", "row", "member")
    questions = [
        table.count(),
        ask.words("fact", "What is the request id?", "5b1f0c9e"),
        table.columns(),
        table.most("team"),
        table.top("salary", "name"),
        table.mean("salary"),
        table.lookup("name", next(row["name"] for row in rows[70:] if row["name"].isascii()), "salary", 120),
        table.rare("team", "Legal", "name"),
        ask.whole(),
    ]
    return Made(text, tool("invoke", function="members"), questions, "json")
