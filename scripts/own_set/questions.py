"""Questions about a result, in the form that the corpus's scorer reads.

Each question has an answer, which the caller computed from the source data, and a check, which says how a text must
contain the answer. `derive` works the answer out a second time, from the text of the result alone: a Python program over
`t` (the first text), `ts` (all texts), `d` (the parsed text) and `r` (the result) whose last expression is the value.
A question without `derive` must have its answer literally in the text.
"""

# Words beside a number that say that it is a count.
COUNT_WORDS = [
    "total",
    "count",
    "items",
    "rows",
    "records",
    "entries",
    "elements",
    "length",
    "len",
    "lines",
    "number",
    "array",
    "list",
    "objects",
    "size",
    " of ",
    "n=",
]


def question(kind, text, answer, check, derive=None):
    """Returns a question; `None` values of the check are left out."""
    result = {
        "kind": kind,
        "text": text,
        "answer": answer,
        "check": {key: value for key, value in check.items() if value is not None},
    }
    if derive:
        result["derive"] = derive
    return result


def count(text, value, derive, *nouns):
    """How many: the number beside a word that says what it counts, not as an accidental copy of the raw text."""
    check = {
        "type": "number",
        "value": value,
        "near": COUNT_WORDS + list(nouns),
        "stated": True,
        "window": 48,
        "bracket": True,
    }
    return question("count", text, value, check, derive)


def stated(kind, text, value, derive, near, window=80):
    """A number that the shaped text must state by itself, such as a sum or the size of a group."""
    return question(
        kind, text, value, {"type": "number", "value": value, "near": near, "stated": True, "window": window}, derive
    )


def extreme(text, value, derive, near=None, window=80, sig=4, kind="aggregate"):
    """A number that stands in the raw text, such as a maximum."""
    return question(
        kind,
        text,
        value,
        {
            "type": "number",
            "value": value,
            "near": near,
            "window": window if near else None,
            "sig": sig if isinstance(value, float) else None,
        },
        derive,
    )


def words(kind, text, value, near=None, window=None, derive=None, variants=None):
    """Exact words; with `near`, within `window` characters of one of these."""
    near = [near] if isinstance(near, str) else near
    return question(
        kind,
        text,
        value,
        {"type": "string", "value": value, "near": near, "window": window, "variants": variants},
        derive,
    )


def lookup(text, value, near, window=200, derive=None):
    """One value by its key."""
    return words("lookup", text, value, near, window, derive)


def members(kind, text, values, least=None, derive=None):
    """A set of names; at least the share `least` of them, all by default."""
    values = list(values)
    if least:
        text = f"{text} (at least {least:.0%})"
    return question(kind, text, values, {"type": "set", "values": values, "min": least}, derive)


def pattern(kind, text, answer, expression, derive=None):
    """An answer that may be worded in several ways: a regular expression."""
    return question(kind, text, answer, {"type": "regex", "pattern": expression}, derive)


def whole():
    """Whether the text says that something was left out."""
    return question("whatelse", "Is this the whole result, or was something left out?", None, {"type": "visible"})
