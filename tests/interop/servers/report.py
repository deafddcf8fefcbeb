"""What the checks found: one line each as they happen, and the table of measured sizes."""
from dataclasses import dataclass, field


@dataclass
class Row:
    """A large result: what it would have cost, what it cost, and a follow-up that was right."""

    tool: str
    server: str
    raw_tokens: int
    shown_tokens: int
    follow_up: str = ""

    def line(self) -> str:
        """The row of the table."""
        saved = 100 * (1 - self.shown_tokens / self.raw_tokens)
        # In a table even a bar inside code ends the cell.
        follow_up = self.follow_up.replace("|", "\\|")
        return (f"| `{self.tool}` ({self.server}) | {self.raw_tokens:,} | {self.shown_tokens:,} "
                f"| {saved:.1f}% | {follow_up} |")


@dataclass
class Report:
    """All checks of one run."""

    rows: list[Row] = field(default_factory=list)
    passed: int = 0
    failed: int = 0

    def check(self, server: str, what: str, problem: str) -> bool:
        """Prints one check; an empty problem means that it is fine."""
        if problem:
            self.failed += 1
            print(f"failed  {server}: {what}: {problem}", flush=True)
        else:
            self.passed += 1
            print(f"ok      {server}: {what}", flush=True)
        return not problem

    def table(self) -> str:
        """The rows as Markdown."""
        head = [
            "| tool (real server, version) | raw tokens | in context | saved | follow-up that answered |",
            "|---|---:|---:|---:|---|",
        ]
        return "\n".join(head + [row.line() for row in self.rows]) + "\n"


def shortened(value: object, most: int = 300) -> str:
    """A value as it may stand in one line."""
    text = str(value).replace("\n", "\\n")
    return text if len(text) <= most else f"{text[:most]}... ({len(text)} characters)"
