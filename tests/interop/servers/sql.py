"""dbhub on SQLite: a table of 5,000 rows, and follow-ups that must say what SQLite itself says."""
import random
import sqlite3
from pathlib import Path

from servers.bench import Bench
from servers.case import Case, Kept
from servers.judge import Judge, equals, read_table, table, wrong_rows

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


async def run(bench: Bench) -> None:
    """Runs the checks."""
    path = bench.folder / "orders.db"
    database = make_database(path)
    server = bench.node("@bytebase/dbhub", "--transport", "stdio", "--dsn", f"sqlite://{path}")
    async with bench.open(NAME, server) as case:
        await case.small("execute_sql", {"sql": "select count(*) as n from orders"})
        await case.small("search_objects", {"object_type": "table"})
        await case.small("execute_sql", {"sql": "select * from missing"}, fails=True)
        kept = await case.large("execute_sql", {"sql": "select * from orders"})
        await follow_ups(case, kept, database)


async def follow_ups(case: Case, kept: Kept, database: sqlite3.Connection) -> None:
    """Every way to read on, against SQLite."""
    def asked(query: str) -> list[tuple]:
        return database.execute(query).fetchall()

    names = ["country", "status", "n", "items", "average"]
    await case.follow(kept, {"sql": GROUPS.format("t")}, table(names, asked(GROUPS.format("orders"))))
    await case.follow(kept, {"page": 3, "page_size": 20},
                      table(COLUMNS, asked("select * from orders limit 20 offset 40")))
    await case.follow(kept, {"page": 3}, third_page(asked("select * from orders")))
    await case.follow(kept, {"fields": ["order_id", "status"], "page_size": 30},
                      table(["order_id", "status"], asked("select order_id, status from orders limit 30")))
    [(nowhere,)] = asked("select count(*) from orders where country is null")
    count = "[.data.statements[0].rows[]|select(.country==null)]|length"
    await case.follow(kept, {"jq": count}, equals(str(nowhere)))
    [(customer,)] = asked("select customer from orders where order_id = 4321")
    await case.follow(kept, {"path": "/data/statements/0/rows/4320/customer"}, equals(f'"{customer}"'))


def third_page(rows: list[tuple]) -> Judge:
    """The body is the third page, or the beginning of it, whatever the length of pages is."""
    def judge(body: str) -> str:
        head, shown = read_table(body)
        if head != COLUMNS or not shown:
            return f"the columns are {head} and the rows {len(shown)}"
        before = int(shown[0][0]) - 1
        if before % 2 or len(shown) > before // 2:
            return f"{len(shown)} rows after {before}"
        return wrong_rows(shown, rows[before:before + len(shown)])
    return judge


def make_database(path: Path) -> sqlite3.Connection:
    """Makes the table, the same in every run."""
    chance = random.Random(7)
    database = sqlite3.connect(path)
    database.execute(TABLE)
    rows = [order(number, chance) for number in range(1, COUNT + 1)]
    database.executemany("insert into orders values (?, ?, ?, ?, ?, ?, ?, ?)", rows)
    database.commit()
    return database


def order(number: int, chance: random.Random) -> tuple:
    """One row."""
    day = f"2026-{chance.randrange(1, 11):02}-{chance.randrange(1, 29):02}"
    time = f"{chance.randrange(24):02}:{chance.randrange(60):02}:00Z"
    return (
        number,
        f"customer {chance.randrange(900):03}",
        chance.choice(COUNTRIES),
        chance.choice(STATES),
        round(chance.uniform(5, 900), 2),
        chance.randrange(1, 9),
        f"{day}T{time}",
        chance.choice(NOTES),
    )
