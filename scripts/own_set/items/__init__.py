"""The items, by family. Importing this package lists them all."""

from ..registry import ITEMS
from . import system, git, logs, sql, frames, telemetry, tests, compilers, documents, files, packages  # noqa: F401

__all__ = ["ITEMS"]
