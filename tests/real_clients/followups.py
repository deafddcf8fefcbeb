"""The follow-ups to the probe server's large results, and what the answers must show.

A follow-up is a plan step after those of probe_plan.json. `shows` and `lacks` are regular expressions for what the model
must and must not read. The data come from `lines()` and `rows()` of the probe server: line N + 2 of a text is `line N`,
row N has `"id": N` and `"name": "row N"`.
"""
from __future__ import annotations

from dataclasses import dataclass

from clients import READ_RESOURCE

QUERY = "result_query"
UNKNOWN_ID = "text_60k-000000000000"


@dataclass(frozen=True)
class FollowUp:
    """One step, and the expected answer."""

    label: str
    arguments: dict | str
    shows: tuple[str, ...]
    lacks: tuple[str, ...] = ()
    tool: str = QUERY
    script: str | None = None
    refusal: bool = False              # the answer explains what is wrong with the call

    @property
    def step(self) -> dict:
        step = {"tool": self.tool, "label": self.label, "arguments": self.arguments}
        return {**step, "script": self.script} if self.script else step


def about_rows(label: str, count: int) -> list[FollowUp]:
    """Returns follow-ups to a result that is `{"rows": [...]}` with `count` rows."""
    handle = f"{{handle:{label}}}"
    return [
        FollowUp(f"{label}_jq", {"id": handle, "jq": ".rows[10:12]"},
                 (r"\brow 10\b", r"\brow 11\b"), (r"\brow 9\b", r"\brow 12\b")),
        FollowUp(f"{label}_sql", {"id": handle, "sql": "select count(*) from t"}, (rf"\b{count}\b",)),
        FollowUp(f"{label}_page", {"id": handle, "page": 2, "page_size": 20},
                 (r"\brow 20\b", r"\brow 39\b"), (r"\brow 19\b", r"\brow 40\b")),
        FollowUp(f"{label}_fields", {"id": handle, "fields": ["id", "name"]}, (r"\brow 1\b",), (r"\blorem ipsum\b",)),
    ]


FOLLOWUPS = [
    FollowUp("text_60k_lines", {"id": "{handle:text_60k}", "lines": "100-105"},
             ("line 000098 x{60}", "line 000103 x{60}"), ("line 000097", "line 000104")),
    FollowUp("text_250k_grep", {"id": "{handle:text_250k}", "grep": "TAIL-MARK"}, ("TAIL-MARK",), ("line 0",)),
    *about_rows("one_line_60k", 960),
    *about_rows("structured_60k", 1100),
    FollowUp("schema_60k_sql", {"id": "{handle:schema_60k}", "sql": "select count(*) from t"}, (r"\b960\b",)),
    FollowUp("error_60k_lines", {"id": "{handle:error_60k}", "lines": "824-824"}, ("TAIL-MARK",), ("line 0",)),
    # The call in the last line, copied as written, and then the one in its answer.
    FollowUp("one_line_60k_next", "{next:one_line_60k}", (r"\brow 1\b",)),
    FollowUp("one_line_60k_after", "{next:one_line_60k_next}", (r"\brow \d+\b",), (r"\brow 1\b",)),
    FollowUp("unknown_id", {"id": UNKNOWN_ID, "page": 1}, (UNKNOWN_ID,), refusal=True),
    FollowUp("two_views", {"id": "{handle:one_line_60k}", "jq": ".", "sql": "select 1"}, ("two views",), refusal=True),
    FollowUp("ax_resource", {"uri": "ax://text_60k/{id:text_60k}"}, ("000821",), tool=READ_RESOURCE),
    # A script gets the whole result, whatever its size.
    FollowUp("text_60k_in_script", {}, (r"(?m)^60000$",), tool="text_60k",
             script="text(result.content[0].text.length);"),
    FollowUp("structured_60k_in_script", {}, (r"(?m)^1100$",), tool="structured_60k",
             script="text(result.structuredContent.rows.length);"),
]
