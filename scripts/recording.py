#!/usr/bin/env python3
"""Records the terminal of README.md, docs/demo.svg, from the real program.

    scripts/recording.py --tidegate PATH            writes the recording
    scripts/recording.py --tidegate PATH --check    fails if the program now prints something else

The program runs in a home folder of its own. The random names of results become one fixed name. Token counts depend on those
names by a few tokens, so --check does not compare them.
"""
import argparse
import html
import os
import re
import subprocess
import sys
import tempfile
from pathlib import Path

FILE = Path(__file__).resolve().parent.parent / "docs" / "demo.svg"
COLUMNS = 104
LINE_HEIGHT, CHARACTER_WIDTH, MARGIN, BAR = 18, 7.8, 16, 30
# Seconds: between two characters of a command, between two lines of output, after a command's output.
TYPING, READING, PAUSE = 0.05, 0.09, 1.6
NAME = "list_tickets-3d9tfgecwbx5"
SERVERS = """{
  "mcpServers": {
    "github": { "command": "npx", "args": ["-y", "@x/github-mcp"] }
  }
}
"""
# Which lines of the demo are shown: the beginning of the first answer, its end, and the table.
HEAD, ROWS, TAIL = 14, 5, 2


def run(program, home, *arguments):
    """What the program prints, with its own name and folders as a user has them."""
    folder = home / ".local/bin"
    folder.mkdir(parents=True, exist_ok=True)
    if not (folder / "tidegate").exists():
        (folder / "tidegate").symlink_to(program)
    env = {"HOME": str(home), "PATH": f"{folder}:/usr/bin:/bin", "COLUMNS": str(COLUMNS), "LANG": "C.UTF-8"}
    made = subprocess.run([folder / "tidegate", *arguments], env=env, cwd=home, capture_output=True, text=True, timeout=120)
    if made.returncode != 0:
        raise SystemExit(f"tidegate {' '.join(arguments)} failed:\n{made.stderr}")
    return (made.stdout + made.stderr).replace(str(home), "/home/me")


def demo(program, home):
    """The lines of the demo that fit into a picture."""
    text = run(program, home, "demo")
    name = re.search(r'"(list_tickets-[0-9a-z]{12})"', text).group(1)
    text = text.replace(name, NAME).replace(f"~~{name[-4:]}", f"~~{NAME[-4:]}")
    lines = text.splitlines()
    rows = next(number for number, line in enumerate(lines) if " rows, " in line and line.rstrip().endswith("fields:"))
    end = next(number for number, line in enumerate(lines) if line.startswith("   next: "))
    query = next(number for number, line in enumerate(lines) if line.startswith("── result_query") and '"sql"' in line)
    answer = lines[query:query + 10]
    return [*lines[:HEAD], "   …", *lines[rows:rows + ROWS], "   …", *lines[end - 1:end + 1], "", *answer, "   …", "",
            *lines[-TAIL:]]


def install(program, home):
    (home / ".claude.json").write_text(SERVERS, encoding="utf-8")
    return run(program, home, "install", "--dry-run").splitlines()


def cut(line):
    return line if len(line) <= COLUMNS else line[:COLUMNS - 1] + "…"


def colour(line):
    """The class of a line, by what it is."""
    if line.startswith("── "):
        return "call"
    if line.startswith(("+++", "---", "@@")):
        return "dim"
    if line.startswith("+"):
        return "added"
    if line.startswith("-"):
        return "removed"
    return "dim" if line.strip() == "…" or line.startswith("   ~~") else "plain"


def picture(scenes):
    """The recording as an SVG: every line appears at its time, and all of them are there without animation."""
    rows, time = [], 0.6
    for command, lines in scenes:
        for number, character in enumerate(f"$ {command}"):
            rows.append(("typed", character, number, time))
            time += TYPING if number > 1 else 0
        rows.append(("end", "", 0, time))
        time += 0.5
        for line in lines:
            rows.append((colour(line), cut(line), 0, time))
            time += READING
        rows.append(("plain", "", 0, time))
        time += PAUSE
    body, line = [], 0
    for kind, text, column, at in rows:
        x, y = MARGIN + column * CHARACTER_WIDTH, BAR + MARGIN + line * LINE_HEIGHT
        if text.strip():
            body.append(f'<text class="{kind}" x="{x:.1f}" y="{y}" style="animation-delay:{at:.2f}s">{html.escape(text)}</text>')
        line += kind != "typed"
    width, height = round(2 * MARGIN + COLUMNS * CHARACTER_WIDTH), BAR + MARGIN + line * LINE_HEIGHT
    return f"""<svg xmlns="http://www.w3.org/2000/svg" xml:space="preserve" viewBox="0 0 {width} {height}" width="{width}" height="{height}" role="img">
<title>npx tidegate demo, and npx tidegate install --dry-run</title>
<style>
text {{ font: 13px ui-monospace, SFMono-Regular, Menlo, Consolas, "DejaVu Sans Mono", monospace; white-space: pre; fill: #d8dee9;
  animation: appear 0.05s step-end backwards; }}
.typed {{ fill: #ffffff; font-weight: bold }} .call {{ fill: #88c0d0 }} .dim {{ fill: #7b8494 }}
.added {{ fill: #a3be8c }} .removed {{ fill: #d08770 }}
@keyframes appear {{ from {{ opacity: 0 }} to {{ opacity: 1 }} }}
@media (prefers-reduced-motion: reduce) {{ text {{ animation: none }} }}
</style>
<rect width="{width}" height="{height}" rx="8" fill="#242933"/>
<circle cx="20" cy="16" r="5" fill="#bf616a"/><circle cx="38" cy="16" r="5" fill="#ebcb8b"/><circle cx="56" cy="16" r="5" fill="#a3be8c"/>
{chr(10).join(body)}
</svg>
"""


def record(program):
    with tempfile.TemporaryDirectory() as home:
        home = Path(os.path.realpath(home))
        scenes = [("npx tidegate demo", demo(program, home)), ("npx tidegate install --dry-run", install(program, home))]
    return picture(scenes)


def comparable(text):
    """The recording without token counts, and without the space that aligns them."""
    text = re.sub(r"\(\d+ tokens\)", "(N tokens)", text)
    return re.sub(r"(list_tickets +229,488 +)[\d,]+ +[\d,]+ +[\d.]+", r"\1N", text)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--tidegate", type=Path, required=True, help="the program to record")
    parser.add_argument("--check", action="store_true", help="compare with the file instead of writing it")
    options = parser.parse_args()
    made = record(options.tidegate.resolve())
    if not options.check:
        FILE.write_text(made, encoding="utf-8")
        return 0
    there = FILE.read_text(encoding="utf-8") if FILE.exists() else ""
    if comparable(there) == comparable(made):
        return 0
    print(f"docs/demo.svg is out of date; scripts/recording.py --tidegate {options.tidegate} writes it", file=sys.stderr)
    return 1


if __name__ == "__main__":
    sys.exit(main())
