"""The parts of a path that is given as a string."""

from __future__ import annotations


def name_of(path: str) -> str:
    """Return the last part of a path."""
    return path.rpartition("/")[2]


def without_digits(name: str) -> str:
    """Return a name without its numbers: the same for all files of one kind."""
    return "".join(letter for letter in name if not letter.isdecimal())


def parent_of(path: str) -> str:
    """Return the folder of a path; ``.`` if it has none."""
    before, slash, _ = path.rpartition("/")
    return before or slash or "."


def suffix_of(path: str) -> str:
    """Return the suffix of a file's name with its dot, in lower case; empty if it has none."""
    stem, dot, suffix = name_of(path).rpartition(".")
    return f".{suffix.lower()}" if dot and stem else ""
