"""File names out of any words: of clusters, users, channels."""

from __future__ import annotations

from urllib.parse import quote


def file_name(*words: str) -> str:
    """Return one file name for several words, a different one for any others."""
    return ",".join(quote(word, safe="") for word in words)  # the comma is what no quoted word holds
