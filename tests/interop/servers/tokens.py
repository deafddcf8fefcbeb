"""Counts tokens (o200k) with tiktoken, or with tidegate itself if tiktoken has no vocabulary.

The vocabulary is read from the corpus of recorded tool outputs (TIDEGATE_SHARED, by default ../shared). Without a
corpus tiktoken downloads it.
"""
import base64
import gzip
import json
import os
import subprocess
from collections.abc import Callable
from pathlib import Path

REPOSITORY = Path(__file__).resolve().parents[3]
VOCABULARY = "corpus/o200k_base.tiktoken.gz"
WORD_END = r"(?i:'s|'t|'re|'ve|'m|'ll|'d)?"
PATTERN = "|".join([
    r"[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]*[\p{Ll}\p{Lm}\p{Lo}\p{M}]+" + WORD_END,
    r"[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]+[\p{Ll}\p{Lm}\p{Lo}\p{M}]*" + WORD_END,
    r"\p{N}{1,3}",
    r" ?[^\s\p{L}\p{N}]+[\r\n/]*",
    r"\s*[\r\n]+",
    r"\s+(?!\S)",
    r"\s+",
])


def counter(tidegate: Path) -> tuple[str, Callable[[str], int]]:
    """Returns the name of the counter and the function that counts."""
    shared = Path(os.environ.get("TIDEGATE_SHARED", REPOSITORY / ".." / "shared"))
    try:
        encoding = load(shared / VOCABULARY)
    except Exception as error:
        name = f"tidegate (tiktoken has no vocabulary: {type(error).__name__})"
        return name, lambda text: shape_count(tidegate, text)
    return "tiktoken", lambda text: len(encoding.encode_ordinary(text))


def load(vocabulary: Path):
    """Returns the encoding, from the file if it exists."""
    import tiktoken
    if not vocabulary.exists():
        return tiktoken.get_encoding("o200k_base")
    ranks = {}
    for line in gzip.decompress(vocabulary.read_bytes()).splitlines():
        token, rank = line.split()
        ranks[base64.b64decode(token)] = int(rank)
    return tiktoken.Encoding("o200k_base", pat_str=PATTERN, mergeable_ranks=ranks, special_tokens={})


def shape_count(tidegate: Path, text: str) -> int:
    """Returns the count of `tidegate shape`, which is an estimate for long texts."""
    result = json.dumps({"content": [{"type": "text", "text": text}]})
    command = [str(tidegate), "shape", "--format", "json"]
    done = subprocess.run(command, input=result.encode(), stdout=subprocess.PIPE, check=True)
    return json.loads(done.stdout)["raw"]["tokens"]
