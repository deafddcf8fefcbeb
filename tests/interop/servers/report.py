"""Reports the checks, one line each, and the table of measured sizes."""
from dataclasses import dataclass, field


@dataclass
class Row:
    """A large result: its tokens, the tokens of its overview, and a follow-up that was answered correctly."""

    tool: str
    server: str
    raw_tokens: int
    shown_tokens: int
    follow_up: str = ""

    def line(self) -> str:
        """Returns the row as Markdown."""
        saved = 100 * (1 - self.shown_tokens / self.raw_tokens)
        # Even inside code a bar ends a table cell.
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
        """Counts and prints one check; an empty problem means that it passed."""
        if problem:
            self.failed += 1
            print(f"failed  {server}: {what}: {problem}", flush=True)
        else:
            self.passed += 1
            print(f"ok      {server}: {what}", flush=True)
        return not problem

    def table(self) -> str:
        """Returns the table as Markdown."""
        head = [
            "| tool (real server, version) | raw tokens | in context | saved | follow-up that answered |",
            "|---|---:|---:|---:|---|",
        ]
        return "\n".join(head + [row.line() for row in self.rows]) + "\n"


def shortened(value: object, max_chars: int = 300) -> str:
    """Returns a value as one line of limited length."""
    text = str(value).replace("\n", "\\n")
    return text if len(text) <= max_chars else f"{text[:max_chars]}... ({len(text)} characters)"
