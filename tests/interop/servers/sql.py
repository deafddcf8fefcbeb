"""dbhub on SQLite: a table of 5,000 rows, and follow-ups that must give the same answers as SQLite."""
import random
import sqlite3
from pathlib import Path

from servers.expectations import Expectation, equals, read_table, table, wrong_rows
from servers.server_pair import KeptResult, ServerPair
from servers.setup import Setup

NAME = "sql"
COUNT = 5_000
COLUMNS = ["order_id", "customer", "country", "status", "total", "items", "placed_at", "note"]
TABLE = """create table orders (
    order_id integer primary key, customer text not null, country text, status text not null,
    total real not null, items integer not null, placed_at text not null, note text)"""
COUNTRIES = ["DE", "DK", "FR", "NL", None]
STATES = ["open", "paid", "returned", "shipped"]
NOTES = [None, None, "ring twice", "leave with the neighbour, please", 'call "before" coming']
GROUPS = """select country, status, count(*) as n, sum(items) as items, round(avg(total), 1) as average
 from {} group by country, status order by country, status""".replace("\n", "")


async def run(setup: Setup) -> None:
    """Runs the checks."""
    path = setup.folder / "orders.db"
    database = make_database(path)
    server = setup.node("@bytebase/dbhub", "--transport", "stdio", "--dsn", f"sqlite://{path}")
    async with setup.open(NAME, server) as pair:
        await pair.small("execute_sql", {"sql": "select count(*) as n from orders"})
        await pair.small("search_objects", {"object_type": "table"})
        await pair.small("execute_sql", {"sql": "select * from missing"}, fails=True)
        kept = await pair.large("execute_sql", {"sql": "select * from orders"})
        await follow_ups(pair, kept, database)


async def follow_ups(pair: ServerPair, kept: KeptResult, database: sqlite3.Connection) -> None:
    """Checks every view against SQLite."""
    def query_sqlite(query: str) -> list[tuple]:
        return database.execute(query).fetchall()

    names = ["country", "status", "n", "items", "average"]
    await pair.follow(kept, {"sql": GROUPS.format("t")}, table(names, query_sqlite(GROUPS.format("orders"))))
    await pair.follow(kept, {"page": 3, "page_size": 20},
                      table(COLUMNS, query_sqlite("select * from orders limit 20 offset 40")))
    await pair.follow(kept, {"page": 3}, third_page(query_sqlite("select * from orders")))
    await pair.follow(kept, {"fields": ["order_id", "status"], "page_size": 30},
                      table(["order_id", "status"], query_sqlite("select order_id, status from orders limit 30")))
    [(without_country,)] = query_sqlite("select count(*) from orders where country is null")
    count = "[.data.statements[0].rows[]|select(.country==null)]|length"
    await pair.follow(kept, {"jq": count}, equals(str(without_country)))
    [(customer,)] = query_sqlite("select customer from orders where order_id = 4321")
    await pair.follow(kept, {"path": "/data/statements/0/rows/4320/customer"}, equals(f'"{customer}"'))


def third_page(rows: list[tuple]) -> Expectation:
    """Expects the third page, or the beginning of it, for any page size."""
    def expect(body: str) -> str:
        header, shown = read_table(body)
        if header != COLUMNS or not shown:
            return f"the columns are {header} and there are {len(shown)} rows"
        before = int(shown[0][0]) - 1
        if before % 2 or len(shown) > before // 2:
            return f"{len(shown)} rows after {before}"
        return wrong_rows(shown, rows[before:before + len(shown)])
    return expect


def make_database(path: Path) -> sqlite3.Connection:
    """Creates the table; its rows are the same in every run."""
    rng = random.Random(7)
    database = sqlite3.connect(path)
    database.execute(TABLE)
    rows = [order(number, rng) for number in range(1, COUNT + 1)]
    database.executemany("insert into orders values (?, ?, ?, ?, ?, ?, ?, ?)", rows)
    database.commit()
    return database


def order(number: int, rng: random.Random) -> tuple:
    """One row."""
    day = f"2026-{rng.randrange(1, 11):02}-{rng.randrange(1, 29):02}"
    time = f"{rng.randrange(24):02}:{rng.randrange(60):02}:00Z"
    return (
        number,
        f"customer {rng.randrange(900):03}",
        rng.choice(COUNTRIES),
        rng.choice(STATES),
        round(rng.uniform(5, 900), 2),
        rng.randrange(1, 9),
        f"{day}T{time}",
        rng.choice(NOTES),
    )
