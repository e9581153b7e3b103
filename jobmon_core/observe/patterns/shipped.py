"""Find the pattern files of jobmon."""

from __future__ import annotations

from pathlib import Path


def shipped_file(name: str) -> Path:
    """Return the path of a pattern file: in the installed package, else in the checkout."""
    package = Path(__file__).resolve().parents[2]
    packaged = package / "patterns" / name
    return packaged if packaged.is_file() else package.parent / "patterns" / name
