from __future__ import annotations

import pytest

from jobmon_core.domain.logs.diagnosis.log_lines import LogExcerpt, LogLines
from jobmon_core.domain.logs.diagnosis.model import Line

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


def test_the_prefix_of_slurmstepd_is_not_the_label_of_a_rank() -> None:
    lines = LogLines(
        [LogExcerpt("a", ("[2026-11-22T07:53:10.008] error: x", "3: [2026-11-22T07:53:10] error: x"))]
    )
    assert lines.unprefixed == ("slurmstepd: error: x",) * 2
    assert lines.labels == ("", "3: ")


def test_the_ranks_of_a_step_with_more_than_ten_tasks_are_padded() -> None:
    lines = LogLines([LogExcerpt("a", (" 3: Traceback", '12:   File "a.py", line 3', '  File "a.py"'))])
    assert lines.unprefixed == ("Traceback", '  File "a.py", line 3', '  File "a.py"')
    assert lines.labels == (" 3: ", "12: ", "")


def test_hosts_that_label_the_frames_of_tracebacks_label_all_their_lines() -> None:
    frame = '  File "a.py", line 3, in f'
    lines = LogLines(
        [LogExcerpt("a", (f"n-1: {frame}", "n-1: [rank0]: x", "n-1:", "n-2: x", f"n 3: {frame}"))]
    )
    assert lines.unprefixed == (frame, "x", "", "n-2: x", f"n 3: {frame}")
    assert lines.labels == ("n-1: ", "n-1: [rank0]: ", "n-1:", "", "")


def test_there_is_no_line_after_the_last() -> None:
    assert len(LINES) == 4
    with pytest.raises(IndexError):
        LINES[4]


def test_the_excerpt_of_each_line_is_known() -> None:
    ranges = [LINES.excerpt_range(position) for position in range(4)]
    assert ranges == [range(2), range(2), range(2, 3), range(3, 4)]


APPENDED = LogExcerpt("log", ("old 1", "old 2", "new 3"))


@pytest.mark.parametrize("first", [1, 2, 3])
def test_only_the_lines_below_an_earlier_log_are_its_jobs_own(first: int) -> None:
    earlier = LogExcerpt("log", ("old 1", "old 2")).as_earlier_log()
    read = LogExcerpt("log", APPENDED.texts[first - 1 :], first)
    assert read.appended_to(earlier) == LogExcerpt("log", ("new 3",), 3)
    assert earlier
    assert "old" not in earlier.last_line


def test_all_lines_count_if_the_file_was_written_anew() -> None:
    earlier = LogExcerpt("log", ("gone 1", "gone 2")).as_earlier_log()
    assert APPENDED.appended_to(earlier) == APPENDED
    assert LogExcerpt("log", ("new 1",)).appended_to(earlier) == LogExcerpt("log", ("new 1",))


def test_without_line_numbers_an_earlier_log_is_not_found() -> None:
    uncounted = LogExcerpt("log", ("old 2",), None)
    assert uncounted.as_earlier_log() is LogExcerpt("log").as_earlier_log() is None
    assert uncounted.appended_to(LogExcerpt("log", ("old 2",)).as_earlier_log()) == uncounted
    assert APPENDED.appended_to(None) == APPENDED
