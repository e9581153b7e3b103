"""Lines of a screen as text."""

from __future__ import annotations

from collections.abc import Sequence

from jobmon.views.top.drawing import Line


def as_text(lines: Sequence[Line]) -> list[str]:
    """Return the lines without styles."""
    return ["".join(span.text for span in line).rstrip() for line in lines]
