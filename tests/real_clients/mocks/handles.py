"""Arguments that depend on what an earlier step showed the model.

A server may keep a large result and name it in what it answers:

    Complete result: "list_issues-3f9c2kq7m0xw" (kept 24 h).
    ...
    next: result_query {"id":"list_issues-3f9c2kq7m0xw","page":2}

A plan refers to them by the label of the earlier step. Inside a string, `{handle:LABEL}` becomes the handle and
`{id:LABEL}` its last part (`3f9c2kq7m0xw`); arguments that are `"{next:LABEL}"` as a whole become the arguments
of the call in the line that begins with `next:`. Where the answer was a JSON object, `{value:LABEL:KEY}` becomes the
string under that key. `{path:LABEL}` becomes the first absolute path in the answer.
"""
from __future__ import annotations

import json
import re

PLACEHOLDER = re.compile(r"\{(handle|id|next|value|path):([^{}:]+)(?::([^{}]+))?\}")
# A client that shows a failed result as JSON escapes the quotation marks.
HANDLE = re.compile(r'Complete result: \\?"([^"\\]+)\\?"')
PATH = re.compile(r"(?<![\w~/:.<])(/[^\s/\"'`,;\\]+){2,}")
NEXT = re.compile(r"(?m)^next: result_query (?=\{)")


class PlaceholderError(Exception):
    """What a placeholder refers to is not in what the model saw."""


def labels(arguments: dict | list | str) -> set[str]:
    """Returns the labels of the steps that the arguments refer to."""
    return {label for _, label, _ in PLACEHOLDER.findall(json.dumps(arguments, ensure_ascii=False))}


def fill(arguments, seen: dict[str, str]):
    """Returns the arguments with every placeholder replaced; `seen` is what the model saw, by label."""
    if isinstance(arguments, dict):
        return {key: fill(value, seen) for key, value in arguments.items()}
    if isinstance(arguments, list):
        return [fill(value, seen) for value in arguments]
    if not isinstance(arguments, str):
        return arguments
    whole = PLACEHOLDER.fullmatch(arguments)
    if whole and whole[1] == "next":
        return _next_call(whole[2], seen)
    return PLACEHOLDER.sub(lambda match: _resolve(match[1], match[2], match[3], seen), arguments)


def _resolve(part: str, label: str, key: str | None, seen: dict[str, str]) -> str:
    if part == "value":
        # Clients show JSON in different ways; all keep the key and a string without quotes.
        found = re.search(rf'\\?"{re.escape(key or "")}\\?": ?\\?"([^"\\]+)\\?"', seen.get(label, ""))
        if not found:
            raise PlaceholderError(f"what the model saw of {label} has no string {key}")
        return found[1]
    found = (PATH if part == "path" else HANDLE).search(seen.get(label, ""))
    if not found:
        raise PlaceholderError(f"what the model saw of {label} has no {'path' if part == 'path' else 'handle'}")
    if part == "path":
        return found[0]
    return found[1].rpartition("-")[2] if part == "id" else found[1]


def _next_call(label: str, seen: dict[str, str]) -> dict:
    text = seen.get(label, "")
    found = NEXT.search(text)
    if not found:
        raise PlaceholderError(f"what the model saw of {label} has no next: line with a call")
    try:
        return json.JSONDecoder().raw_decode(text, found.end())[0]
    except ValueError:
        raise PlaceholderError(f"the call in the next: line of {label} is not JSON") from None
