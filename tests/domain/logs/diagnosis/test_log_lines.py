from __future__ import annotations

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from jobmon_core.domain.logs.diagnosis.log_lines import (
    LINE_LIMIT,
    LogExcerpt,
    LogLines,
    clean_lines,
    fingerprint,
    is_binary,
    searched_text,
    without_label,
)
from jobmon_core.domain.logs.diagnosis.model import Line

ANSI = re.compile(r"\x1b(?:\[[0-?]*[ -/]*[@-~]|\][^\x07\x1b\n]*(?:\x07|\x1b\\)?|[ -/]*[0-~])?")
CONTROLS = re.compile(r"[\x00-\x08\x0b-\x1f\x7f\x80-\x9f]")
UNPRINTABLE = re.compile(r"[\x01-\x06\x0e-\x1a\x1c-\x1f\x7f-\x9f\ufffd]")

# what logs are made of, and what tears it apart
PIECES = [
    b"a", b"word ", b" ", b"\t", b"\n", b"\n", b"\r", b"\r\n", b"\x00", b"\x07", b"\x08", b"\x0b", b"\x1b",
    b"\x1b[31m", b"\x1b]0;", b"\x1b\\", b"[", b"m", b"\x7f", b"\xc2", b"\x85", b"\xc2\x9b", b"\xc2\xa0",
    b"\xc3\xa9", b"\xe2\x80", b"\xa8", b"\xff", "\ufffd".encode(), b"x" * (LINE_LIMIT - 1),
    b"y" * (3 * LINE_LIMIT),
]  # fmt: skip
LOGS = st.one_of(st.binary(), st.lists(st.sampled_from(PIECES), max_size=30).map(b"".join))


def clean_line(text: str) -> str:
    (line,) = clean_lines(text.encode())
    return line


def cleaned_by_hand(line: str) -> str:
    """What cleaning means, for one line, with no thought of speed."""
    states = ANSI.sub("", line).split("\r")
    held = [state for state in states if state.strip(" \t\x00")]
    last = states[0] if len(states) == 1 else (["", *held])[-1]
    shown = CONTROLS.sub("", last).rstrip()
    return shown if len(shown) <= LINE_LIMIT else f"{shown[:2500]} ... {shown[-1500:]}"


def test_terminal_colours_titles_and_cursor_movements_are_stripped() -> None:
    assert clean_line("\x1b[0m\x1b[91mERROR\x1b[K : bad\x1b]0;title\x07 end\x1b(B") == "ERROR : bad end"


def test_zeros_and_control_characters_are_stripped_and_tabs_stay() -> None:
    assert clean_line("\x00\x00a\x08\tb\x00\x7f") == "a\tb"


def test_a_progress_bar_is_reduced_to_its_last_state() -> None:
    assert clean_line(" 10%|#   |\r 50%|##  |\r100%|####|") == "100%|####|"


def test_a_carriage_return_at_the_end_of_a_line_keeps_its_text() -> None:
    assert clean_line("hello\r") == "hello"
    assert clean_line("1/2\r2/2\r   \r") == "2/2"


def test_an_overlong_line_keeps_its_start_and_its_end() -> None:
    shown = clean_line("start" + "x" * 100_000 + "end")
    assert shown.startswith("start")
    assert shown.endswith("end")
    assert len(shown) <= LINE_LIMIT + len(" ... ")


def test_only_line_feeds_split_lines() -> None:
    assert clean_lines("a\x0bb\u2028c\r\nd\n".encode()) == ("ab\u2028c", "d")
    assert clean_lines(b"a\n\nb") == ("a", "", "b")
    assert (clean_lines(b""), clean_lines(b"\n"), clean_lines(b"\n\x00")) == ((), ("",), ("", ""))


def test_invalid_utf8_is_replaced() -> None:
    assert clean_lines(b"caf\xe9 ok") == ("caf\ufffd ok",)


@pytest.mark.parametrize(
    "data",
    [
        b"plain\n",
        "ünïcödé ✓\n".encode() * 40,
        b"caf\xe9\n",
        b"\x00" * 5000 + b"after the crash\n",
        b"\x1b[31mred\x1b[0m\n" * 50,
    ],
)
def test_text_with_accents_colours_or_zeros_is_not_binary(data: bytes) -> None:
    assert not is_binary(data)


@pytest.mark.parametrize("data", [bytes(range(256)) * 20, b"\x7fELF\x02\x01\x01" + bytes(range(1, 200)) * 10])
def test_machine_data_is_binary(data: bytes) -> None:
    assert is_binary(data)


@pytest.mark.parametrize(
    ("line", "bare"),
    [
        ("12: ValueError: x", "ValueError: x"),
        ("[rank3]: ValueError: x", "ValueError: x"),
        ("[default3]:ValueError: x", "ValueError: x"),
        ("[1,0]<stderr>: ValueError: x", "ValueError: x"),
        ("(VllmWorker rank=0 pid=226) ERROR 06-11 01:51:09 [executor.py:527] ValueError: x", "ValueError: x"),
        ("E0501 22:05:19.414000 1396 torch/api.py:881] failed", "failed"),
        ('0:   File "a.py", line 3', '  File "a.py", line 3'),
        ("INFO 06-11 01:51:09 [executor.py:527] fine", "INFO 06-11 01:51:09 [executor.py:527] fine"),
        ("  3: ValueError: x", "ValueError: x"),
        ("3:", ""),
        ("    3 errors: x", "    3 errors: x"),
        ("ValueError: 12: x", "ValueError: 12: x"),
    ],
)  # fmt: skip
def test_the_label_of_a_rank_is_removed(line: str, bare: str) -> None:
    assert without_label(line) == bare


@pytest.mark.parametrize(
    ("line", "searched"),
    [
        ("[2026-11-22T07:53:10.008] error: *** JOB 5 ON n1", "slurmstepd: error: *** JOB 5 ON n1"),
        ("[2026-11-22T07:53:10] fatal: no", "slurmstepd: fatal: no"),
        ("0: [2026-11-22T07:53:10.008] error: execve(): a.out", "slurmstepd: error: execve(): a.out"),
        ("slurmstepd: error: x", "slurmstepd: error: x"),
        ("[2026-11-22T07:53:10.008] error, not of Slurm", "[2026-11-22T07:53:10.008] error, not of Slurm"),
        ("[2026-11-22 07:53:10] error: x", "[2026-11-22 07:53:10] error: x"),
    ],
)
def test_messages_of_slurmstepd_are_searched_alike_in_all_versions(line: str, searched: str) -> None:
    assert searched_text(line) == searched


@given(st.text())
def test_a_label_is_always_the_start_of_the_line(text: str) -> None:
    assert text.endswith(without_label(text))


@given(LOGS)
def test_lines_are_cleaned_together_as_each_is_alone(data: bytes) -> None:
    lines = data.decode(errors="replace").split("\n")
    if lines[-1] == "":
        lines.pop()
    assert clean_lines(data) == tuple(cleaned_by_hand(line) for line in lines)


@given(LOGS)
def test_no_bytes_leave_a_control_character(data: bytes) -> None:
    shown = "".join(clean_lines(data))
    assert not any(ord(char) < 32 and char != "\t" for char in shown)
    assert not CONTROLS.search(shown)


@given(LOGS)
def test_binary_is_what_has_many_unprintable_characters(data: bytes) -> None:
    text = data.decode(errors="replace").replace("\x00", "")
    assert is_binary(data) == (len(UNPRINTABLE.findall(text)) > max(16, 0.15 * len(text)))


OOM = "torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 2.00 GiB. GPU 3 has 79.1 GiB"


@pytest.mark.parametrize(
    ("one", "other"),
    [
        (OOM, f"[rank7]: {OOM.replace('2.00', '512.50').replace('GPU 3', 'GPU 0')}"),
        ("Killed process 4411 at 0x7f3a", "Killed process 12 at 0xdead"),
        ("failed to connect to 10.0.0.4:29500", "failed to connect to 10.0.7.21:29507"),
        ("no route to node17.cluster.local", "no route to node4.cluster.local"),
        ("2024-03-01T10:00:00 lost", "2026-11-21T09:13:59 lost"),
        ("cannot open /tmp/torch_x1/a", "cannot open /tmp/torch_y2/a"),
        (
            "/var/spool/slurmd/job00123/slurm_script: line 3: x",
            "/var/spool/slurmd/job00987/slurm_script: line 3: x",
        ),
        ("no /scratch/me/412377/out.pt", "no /scratch/me/598001/out.pt"),
        ("lost 3b000f1e", "lost af000c77"),
        ("run 0f8fad5b-d9cb-469f-a165-70867728950e", "run 7c9e6679-7425-40de-944b-e07fc1f90ae7"),
    ],
)
def test_rank_node_process_time_and_size_do_not_change_the_fingerprint(one: str, other: str) -> None:
    assert fingerprint("x", one) == fingerprint("x", other)


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("No such file: '/data/shard_07.tar'", "No such file: '/data/shard_08.tar'"),
        ("bad record at index 1200", "bad record at index 1300"),
        ("KeyError: 'loss'", "KeyError: 'lr'"),
        ("KeyError: 12", "KeyError: 13"),
        ("bad archive shard_0001.tar", "bad archive shard_0002.tar"),
        ("bad archive data/a1.npz", "bad archive data/a2.npz"),
    ],
)
def test_the_file_and_the_position_in_the_data_change_the_fingerprint(one: str, other: str) -> None:
    assert fingerprint("x", one) != fingerprint("x", other)


def test_the_function_but_not_the_line_number_changes_the_fingerprint() -> None:
    frame = '  File "/home/u/train.py", line {}, in {}'
    same = fingerprint("x", "ValueError", frame.format(10, "fit")) == fingerprint(
        "x", "ValueError", frame.format(99, "fit")
    )
    assert same
    assert fingerprint("x", "ValueError", frame.format(10, "fit")) != fingerprint(
        "x", "ValueError", frame.format(10, "load")
    )


@given(st.text(), st.text(), st.text())
def test_any_text_has_a_fingerprint_of_sixteen_digits(identifier: str, line: str, frame: str) -> None:
    assert len(fingerprint(identifier, line, frame)) == len("0123456789abcdef")


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
    own = read.appended_to(earlier)
    assert (own.texts, own.first_number) == (("new 3",), 3)
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
