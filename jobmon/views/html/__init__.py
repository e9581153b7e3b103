"""The pages of `jobmon web`, and the style sheet that they share with the report and the history."""

from __future__ import annotations

from pathlib import Path


def resource(name: str) -> str:
    """Return the content of a file in this folder."""
    return Path(__file__).with_name(name).read_text(encoding="utf-8")
