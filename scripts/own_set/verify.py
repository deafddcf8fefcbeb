"""Verifies that every answer can be worked out from the text of its result alone."""

import corpuslib


def verify(record, raw):
    """Returns the questions whose answer the text does not give."""
    environment = corpuslib.env_for(record, raw)
    checker = corpuslib.Checker(record, raw)
    problems = []
    for question in record["questions"]:
        if "derive" in question:
            problem = _derived(question, environment)
        else:
            problem = _present(question, checker)
        if problem:
            problems.append(f"{question['id']} ({question['text']}): {problem}")
    return problems


def _derived(question, environment):
    value = corpuslib.derive(question["derive"], environment)
    if isinstance(value, (list, tuple)):
        value = [str(member) for member in value]
    if value != question["answer"]:
        return f"the source says {str(question['answer'])[:80]!r}, the text says {str(value)[:80]!r}"
    check = question["check"]
    # A string must also be where the check looks for it: a text that quotes the raw lines must be able to pass.
    if check["type"] in ("string", "set") and not check.get("near") and not _found(check, environment["r"]):
        return f"{str(question['answer'])[:80]!r} is not in the text"
    return None


def _found(check, result):
    views = corpuslib.views(corpuslib.render(result))
    return all(corpuslib.has_string(views, value) for value in check.get("values") or [check["value"]])


def _present(question, checker):
    check = question["check"]
    if check["type"] == "visible":
        return None
    if check.get("stated"):
        return "a stated number needs a derivation"
    if not checker.check(question, checker.raw_text, complete=False):
        return f"{str(question['answer'])[:80]!r} is not in the text"
    return None
