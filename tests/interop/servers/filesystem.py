"""server-filesystem: a file of 4 MB, which the server sends twice in one result, and a tree of 360 files."""
from pathlib import Path

from servers.expectations import contains, equals
from servers.server_pair import ServerPair
from servers.setup import Setup

NAME = "filesystem"
SIZE = 4_000_000
MARKER = "MARKER-7f3a"
MARKED_LINE = 60_000
FOLDERS = 12
FILES = 30


async def run(setup: Setup) -> None:
    """Runs the checks."""
    root = setup.folder / "files"
    lines = write_book(root / "book.txt")
    write_tree(root / "tree")
    (root / "note.txt").write_text("A small file\nof two lines.\n")
    server = setup.node("@modelcontextprotocol/server-filesystem", str(root))
    async with setup.open(NAME, server) as pair:
        await pair.small("list_allowed_directories", {})
        await pair.small("read_text_file", {"path": str(root / "note.txt")})
        await pair.small("read_text_file", {"path": str(root / "missing.txt")}, fails=True)
        await book(pair, root / "book.txt", lines)
        await tree(pair, root / "tree")


async def book(pair: ServerPair, path: Path, lines: list[str]) -> None:
    """Checks the large file."""
    kept = await pair.large("read_text_file", {"path": str(path)})
    marked = f"{MARKED_LINE}: {lines[MARKED_LINE - 1]}"
    await pair.follow(kept, {"grep": MARKER}, equals(marked))
    await pair.follow(kept, {"lines": "30000-30004"}, equals("\n".join(lines[29_999:30_004])))
    tail = len(lines) - 2
    await pair.follow(kept, {"lines": f"{tail}-{len(lines)}"}, equals("\n".join(lines[tail - 1:])))
    start = len(kept.exported) // 2
    part = kept.exported[start:start + 1000].decode()
    await pair.follow(kept, {"range": f"{start}-{start + 999}"}, equals(part))


async def tree(pair: ServerPair, path: Path) -> None:
    """Checks the folder of many files."""
    kept = await pair.large("directory_tree", {"path": str(path)})
    await pair.follow(kept, {"jq": ".[3].children[7].name"}, equals('"record-03-007.txt"'))
    await pair.follow(kept, {"grep": "record-11-029"}, contains("record-11-029.txt"))
    await pair.follow(kept, {"jq": "[.[].children[]]|length"}, equals(str(FOLDERS * FILES)))


def write_book(path: Path) -> list[str]:
    """Writes numbered lines, one of which has the marker, and returns them."""
    lines = []
    size = 0
    while size < SIZE:
        lines.append(book_line(len(lines) + 1))
        size += len(lines[-1]) + 1
    path.parent.mkdir()
    path.write_text("\n".join(lines) + "\n")
    return lines


def book_line(number: int) -> str:
    """Returns one line of the large file."""
    if number == MARKED_LINE:
        return f"{number:06} {MARKER} the gate was left open"
    mile = number * 7 % 997
    tide = number * 13 % 101
    return f"{number:06} the gate at mile {mile} opened for tide {tide} at level {number % 60 / 10}"


def write_tree(folder: Path) -> None:
    """Creates folders of files."""
    for outer in range(FOLDERS):
        inside = folder / f"folder-{outer:02}"
        inside.mkdir(parents=True)
        for inner in range(FILES):
            (inside / f"record-{outer:02}-{inner:03}.txt").write_text("x")
