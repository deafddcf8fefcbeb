"""Questions about rows of named columns, whatever notation the result writes them in.

The answers come from the rows that the source has. `parse` is a program that reads the rows out of the result's text
again, as `rows`, a list of dictionaries; it verifies each answer.
"""

from collections import Counter
from math import fsum

from . import questions as ask


class Table:
    """The rows behind a result, and what an agent asks about them."""

    def __init__(self, rows, noun, parse, *nouns):
        self.rows, self.noun, self.parse, self.nouns = rows, noun, parse, (noun.rstrip("s"), *nouns)

    def _derive(self, expression):
        return f"{self.parse}\n{expression}"

    def _text(self, column):
        return [str(row[column]) for row in self.rows if row[column] is not None]

    def _numbers(self, column):
        return [row[column] for row in self.rows if row[column] is not None]

    def count(self):
        return ask.count(f"How many {self.noun} are there?", len(self.rows), self._derive("len(rows)"), *self.nouns)

    def columns(self, names=None):
        names = names or list(self.rows[0])
        return ask.members("schema", "Which columns or fields are there?", names)

    def group(self, column, value):
        """How many rows have this value."""
        size = self._text(column).count(str(value))
        return ask.stated(
            "aggregate",
            f"How many {self.noun} have the {column} {value}?",
            size,
            self._derive(f"sum(str(x[{column!r}])=={str(value)!r} for x in rows)"),
            [str(value)],
            48,
        )

    def most(self, column):
        """The most frequent value, beside its number of rows."""
        (value, size), (_, second) = Counter(self._text(column)).most_common(2)
        assert size > second, f"{column}: two values are equally frequent"
        return ask.words(
            "aggregate",
            f"Which {column} is the most frequent?",
            value,
            [str(size), f"{size:,}"],
            60,
            self._derive(f"C(str(x[{column!r}]) for x in rows).most_common(1)[0][0]"),
        )

    def distinct(self, column):
        values = sorted(set(self._text(column)))
        return ask.members(
            "aggregate",
            f"Which different values does {column} have?",
            values,
            derive=self._derive(f"sorted(set(str(x[{column!r}]) for x in rows if x[{column!r}] not in (None,'')))"),
        )

    def how_many_distinct(self, column):
        size = len(set(self._text(column)))
        return ask.stated(
            "aggregate",
            f"How many different values does {column} have?",
            size,
            self._derive(f"len(set(str(x[{column!r}]) for x in rows if x[{column!r}] not in (None,'')))"),
            ["distinct", "different", "unique", "values"],
            60,
        )

    def maximum(self, column, least=False):
        values, function = self._numbers(column), "min" if least else "max"
        value = min(values) if least else max(values)
        return ask.extreme(
            f"What is the {'lowest' if least else 'highest'} {column}?",
            value,
            self._derive(f"{function}({self._as_number(column)} for x in rows if x[{column!r}] not in (None,''))"),
            [str(column)],
            120,
            2,
        )

    def minimum(self, column):
        return self.maximum(column, least=True)

    def top(self, column, name, least=False):
        """The name of the row with the extreme value."""
        rows = [row for row in self.rows if row[column] is not None]
        choose = min if least else max
        row = choose(rows, key=lambda row: row[column])
        assert sum(other[column] == row[column] for other in rows) == 1, f"{column}: two rows share the extreme"
        return ask.words(
            "outlier",
            f"Which {name} has the {'lowest' if least else 'highest'} {column}?",
            str(row[name]),
            derive=self._derive(
                f"str({choose.__name__}((x for x in rows if x[{column!r}] not in (None,'')),"
                f"key=lambda x:{self._as_number(column)})[{name!r}])"
            ),
        )

    def total(self, column):
        value = round(fsum(self._numbers(column)), 6)
        value = int(value) if all(isinstance(x, int) for x in self._numbers(column)) else value
        return ask.stated(
            "aggregate",
            f"What is the sum of {column}?",
            value,
            self._derive(
                f"round(math.fsum({self._as_number(column)} for x in rows if x[{column!r}] not in (None,'')),6)"
            ),
            [str(column), "sum", "total"],
        )

    def mean(self, column):
        numbers = self._numbers(column)
        value = round(fsum(numbers) / len(numbers), 9)
        return ask.stated(
            "aggregate",
            f"What is the mean {column}?",
            value,
            self._derive(
                f"v=[{self._as_number(column)} for x in rows if x[{column!r}] not in (None,'')]\n"
                "round(math.fsum(v)/len(v),9)"
            ),
            [str(column), "mean", "avg", "average"],
        )

    def missing(self, column):
        size = sum(row[column] is None for row in self.rows)
        return ask.stated(
            "rare",
            f"How many {self.noun} have no {column}?",
            size,
            self._derive(f"sum(x[{column!r}] in (None,'') for x in rows)"),
            ["null", "missing", "empty", "none", "blank", "no ", "without", "absent"],
            48,
        )

    def first(self, column):
        return ask.words(
            "first_last",
            f"What is the {column} of the first of the {self.noun}?",
            str(self.rows[0][column]),
            derive=self._derive(f"str(rows[0][{column!r}])"),
        )

    def last(self, column):
        return ask.words(
            "first_last",
            f"What is the {column} of the last of the {self.noun}?",
            str(self.rows[-1][column]),
            derive=self._derive(f"str(rows[-1][{column!r}])"),
        )

    def lookup(self, key, value, column, window=250):
        row = next(row for row in self.rows if row[key] == value)
        return ask.lookup(
            f"What is the {column} of {value}?",
            str(row[column]),
            str(value),
            window,
            self._derive(f"[str(x[{column!r}]) for x in rows if str(x[{key!r}])=={str(value)!r}][0]"),
        )

    def rare(self, column, value, name):
        """The names of the few rows that have this value."""
        names = [str(row[name]) for row in self.rows if row[column] == value]
        return ask.members(
            "rare",
            f"Which {self.noun} have the {column} {value}?",
            names,
            derive=self._derive(f"[str(x[{name!r}]) for x in rows if str(x[{column!r}])=={str(value)!r}]"),
        )

    def _as_number(self, column):
        """The expression that reads a cell of `x` as a number."""
        kind = "int" if all(isinstance(x, int) for x in self._numbers(column)) else "float"
        return f"{kind}(x[{column!r}])"
