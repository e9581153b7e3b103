from __future__ import annotations

import pytest

from jobmon_core.domain.diagnosis.log_lines import LogExcerpt, LogLines
from jobmon_core.domain.diagnosis.model import Line

LINES = LogLines(
    [
        LogExcerpt("a", ("a1", "a2")),
        LogExcerpt("empty"),
        LogExcerpt("b", ("b7",), 7),
        LogExcerpt("c", ("?",), None),
    ]
)


def test_the_lines_of_several_files_keep_their_numbers() -> None:
    lines = [LINES[position] for position in range(len(LINES))]
    assert lines == [Line("a", 1, "a1"), Line("a", 2, "a2"), Line("b", 7, "b7"), Line("c", None, "?")]


def test_there_is_no_line_after_the_last() -> None:
    assert len(LINES) == 4
    with pytest.raises(IndexError):
        LINES[4]


def test_the_excerpt_of_each_line_is_known() -> None:
    ranges = [LINES.excerpt_range(position) for position in range(4)]
    assert ranges == [range(2), range(2), range(2, 3), range(3, 4)]
