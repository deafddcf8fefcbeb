"""The sessions of `run.py journey`: the same tasks, with the views of before and with what keeps data out of the context.

    list   5,000 parts
    file   the parts in a file, and a program over it: what it costs to fill up the 109 parts below their minimum
    join   the value of the stock by the country of its supplier
    order  order the 109 parts: a tool that takes rows
    label  print a label for each of the 5,000 parts: not in BEFORE, where all of them would have to be typed
    poll   list the jobs three times, and say each time which changed

BEFORE is economical: its queries answer with only the rows and columns that the tasks need, and rows that were read for
the file are used for the order. What it cannot avoid is to read rows only in order to type them again: as the contents of a
file, as a condition, as an argument. Its file has the 109 parts and the 5 columns that matter; that of NOW has
everything, and is written in two ways. Sums that SQL can answer are no task here: they cost the same in both.
"""
from __future__ import annotations

import json
from collections import defaultdict
from dataclasses import dataclass

import journey_server as server
from clients import SHELL
from followups import QUERY

SAVE = "result_save"
LOW_PARTS = "from t where stock < minimum order by id"
QUANTITY = "(minimum * 2 - stock + pack - 1) / pack * pack"
ACTIVE_JOBS = "select id, state from t where state in ('queued', 'running')"
ORDER = server.order()
PARTS = {part["id"]: part for part in server.parts()}
COST = sum(row["quantity"] * PARTS[row["id"]]["price"] for row in ORDER)
# The columns of parts.csv: id, name, supplier, price, minimum, pack, stock, shelf, checked.
AWK_PARTS = "awk -F, 'NR>1 && $7<$5 {c+=int(($5*2-$7+$6-1)/$6)*$6*$4} END {print NR-1, c}'"
AWK_TYPED = "awk -F, '$5<$3 {c+=int(($3*2-$5+$4-1)/$4)*$4*$2} END {print NR, c}'"
TYPED_COLUMNS = ("id", "price", "minimum", "pack", "stock")
PARTS_SUM = rf"5000 {COST}\b"


@dataclass(frozen=True)
class Step:
    """One call of a session, its task, and regular expressions for what the model must and must not read."""

    task: str
    label: str
    tool: str
    arguments: dict | str | None = None
    shows: tuple[str, ...] = ()
    lacks: tuple[str, ...] = ()
    script: str | None = None

    @property
    def plan(self) -> dict:
        step = {"tool": self.tool, "label": self.label, "arguments": self.arguments or {}}
        return {**step, "script": self.script} if self.script else step


def shell(task: str, label: str, command: str, description: str, *shows: str) -> Step:
    return Step(task, label, SHELL, {"command": command, "description": description}, shows)


def values_by_country() -> dict[str, int]:
    """Returns the value of the stock by the country of its supplier, the largest first."""
    country = {supplier["id"]: supplier["country"] for supplier in server.suppliers()}
    values: defaultdict[str, int] = defaultdict(int)
    for part in server.parts():
        values[country[part["supplier"]]] += part["price"] * part["stock"]
    return dict(sorted(values.items(), key=lambda item: -item[1]))


def shown_values() -> tuple[str, ...]:
    return tuple(rf"\b{country}\b.*\b{value}\b" for country, value in values_by_country().items())


def join(parts: str, suppliers: str) -> dict:
    return {"id": parts, "sql": f'select s.country, sum(t.price * t.stock) value from t join "{suppliers}" s '
                                "on s.id = t.supplier group by 1 order by 2 desc"}


def order(parts: str) -> dict:
    return {"rows": {"$result": parts, "sql": f"select id, {QUANTITY} quantity {LOW_PARTS}"}}


LIST = Step("list", "parts", "list_parts", shows=("5,000 rows", "Complete result: "))
SUPPLIERS = Step("join", "suppliers", "get_suppliers", shows=("240 rows",))
ORDERED = (r'"ordered\\?": ?109', server.digest(ORDER))
LABELLED = (r'"labels\\?": ?5000', server.digest(server.parts()))

NOW = [
    LIST,
    Step("file", "save", SAVE, {"id": "{handle:parts}", "name": "parts.csv"}, (r"parts\.csv", r"\b5,?000\b")),
    shell("file", "write", "tidegate query {handle:parts} -o parts.csv", "Write the parts to a file"),
    shell("file", "saved_file", AWK_PARTS + " {path:save}", "Compute the cost of filling up", PARTS_SUM),
    shell("file", "written_file", AWK_PARTS + " parts.csv", "Compute the cost of filling up", PARTS_SUM),
    SUPPLIERS,
    Step("join", "join", QUERY, join("{handle:parts}", "{handle:suppliers}"), shown_values()),
    Step("order", "order", "order_parts", order("{handle:parts}"), ORDERED),
    Step("label", "labels", "print_labels",
         {"rows": "result://{handle:parts}", "title": "result://{handle:parts}#/4999/name"}, LABELLED),
    Step("poll", "jobs", "list_jobs", shows=("300 rows",)),
    Step("poll", "jobs_again", "list_jobs", shows=("Unchanged: the same bytes",)),
    Step("poll", "jobs_later", "list_jobs",
         shows=("3 rows changed", *(rf"(?m)^~ .*\b{number}\b.*state" for number in server.changed_jobs()))),
]


def low_part(row: dict) -> str:
    """Returns a part below its minimum as a line of CSV."""
    return ",".join(str(PARTS[row["id"]][column]) for column in TYPED_COLUMNS)


def typed_file() -> str:
    """Returns the command with which a model types the rows it read into a file."""
    return "\n".join(["cat > parts.csv <<'END'", *map(low_part, ORDER), "END", AWK_TYPED + " parts.csv"])


def typed_join() -> str:
    """Returns the query with which a model groups parts by what it read of the suppliers."""
    groups: defaultdict[str, list[str]] = defaultdict(list)
    for supplier in server.suppliers():
        groups[supplier["country"]].append(str(supplier["id"]))
    cases = [f"when supplier in ({','.join(numbers)}) then '{country}'" for country, numbers in sorted(groups.items())]
    return f"select case {' '.join(cases)} end country, sum(price * stock) value from t group by 1 order by 2 desc"


BEFORE = [
    LIST,
    Step("file", "rows", QUERY, {"id": "{handle:parts}", "max_tokens": 4000,
                                 "sql": f"select {', '.join(TYPED_COLUMNS)}, {QUANTITY} quantity {LOW_PARTS}"},
         tuple(f"(?m)^{low_part(row)},{row['quantity']}$" for row in ORDER)),
    shell("file", "typed_file", typed_file(), "Write the rows to a file and compute the cost", rf"\b109 {COST}\b"),
    SUPPLIERS,
    Step("join", "groups", QUERY, {"id": "{handle:suppliers}", "sql": "select country, group_concat(id) from t group by 1"},
         (r"Norway.*\d{3}",)),
    Step("join", "typed_join", QUERY, {"id": "{handle:parts}", "sql": typed_join()}, shown_values()),
    Step("order", "order", "order_parts", {"rows": ORDER}, ORDERED),
    Step("poll", "jobs", "list_jobs", shows=("300 rows",)),
    Step("poll", "active", QUERY, {"id": "{handle:jobs}", "sql": ACTIVE_JOBS},
         tuple(rf"(?m)^{number},running$" for number in server.changed_jobs())),
    # The statistics are the same, which does not prove that the jobs are.
    Step("poll", "jobs_again", "list_jobs", shows=("300 rows",), lacks=("Unchanged",)),
    Step("poll", "active_again", QUERY, {"id": "{handle:jobs_again}", "sql": ACTIVE_JOBS},
         tuple(rf"(?m)^{number},running$" for number in server.changed_jobs())),
    Step("poll", "jobs_later", "list_jobs", shows=("300 rows",), lacks=("changed",)),
    Step("poll", "active_later", QUERY, {"id": "{handle:jobs_later}", "sql": ACTIVE_JOBS},
         lacks=tuple(rf"(?m)^{number},running$" for number in server.changed_jobs())),
]

# In code mode a script has whole results, and only what it prints enters the context. It learns the names of results from
# `result_query` without arguments, which lists what the session kept.
NAME = 'const name = tool => result.content[0].text.match(new RegExp(tool + "-\\\\w+"))[0];'
PRINT_COUNT = "text(JSON.parse(result.content[0].text).length);"
SAVE_SCRIPT = f"""{NAME}
const saved = await tools.mcp__warehouse__{SAVE}({{id: name("list_parts"), name: "parts.csv"}});
const [path] = saved.content[0].text.match(/\\/[^\\s"]+parts\\.csv/);
text((await tools.exec_command({{cmd: {json.dumps(AWK_PARTS)} + " " + path}})).output);"""
JOIN_SCRIPT = f"""{NAME}
const joined = await tools.mcp__warehouse__{QUERY}({{id: name("list_parts"), sql: `{
    join("", '${name("get_suppliers")}')["sql"]}`}});
text(joined.content[0].text);"""
ORDER_SCRIPT = f"""{NAME}
const rows = {{$result: name("list_parts"), sql: "{order("")["rows"]["sql"]}"}};
text((await tools.mcp__warehouse__order_parts({{rows}})).content[0].text);"""
POLL_SCRIPT = """const lists = [result];
for (let n = 0; n < 2; n++) lists.push(await tools.mcp__warehouse__list_jobs({}));
const [one, two, three] = lists.map(list => JSON.parse(list.content[0].text).map(job => JSON.stringify(job)));
text(two.filter((job, n) => job !== one[n]).length);
text(three.filter((job, n) => job !== two[n]).join("\\n"));"""

CODE_MODE = [
    Step("list", "parts", "list_parts", shows=("(?m)^5000$",), script=PRINT_COUNT),
    shell("file", "write", f"tidegate query list_parts -o parts.csv && {AWK_PARTS} parts.csv", "", PARTS_SUM),
    Step("file", "save", QUERY, shows=(PARTS_SUM,), script=SAVE_SCRIPT),
    Step("join", "suppliers", "get_suppliers", shows=("(?m)^240$",), script=PRINT_COUNT),
    Step("join", "join", QUERY, shows=shown_values(), script=JOIN_SCRIPT),
    Step("order", "order", QUERY, shows=ORDERED, script=ORDER_SCRIPT),
    Step("poll", "jobs", "list_jobs", script=POLL_SCRIPT,
         shows=("(?m)^0$", *(rf'"id":{number},' for number in server.changed_jobs()))),
]
