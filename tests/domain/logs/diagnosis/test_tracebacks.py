from __future__ import annotations

from collections.abc import Sequence

import pytest

from jobmon_core.domain.logs.diagnosis.model import Line
from tests.support.diagnosing import FAILED, TRACEBACK, UNKNOWN, diagnosed


def test_the_evidence_of_a_fatal_error_is_the_user_frame_of_its_dump() -> None:
    found = diagnosed(
        FAILED,
        "Fatal Python error: segfault",
        "",
        "Current thread 0x00007f0000001740 (most recent call first):",
        '  File "/env/lib/python3.11/site-packages/fast/core.py", line 7 in read',
        '  File "/home/u/train.py", line 3 in <module>',
        "Extension modules: fast (total: 1)",
    )
    assert texts(found.evidence) == [
        'File "/home/u/train.py", line 3 in <module>',
        "Fatal Python error: segfault",
    ]


def test_an_exception_without_a_pattern_is_found_by_its_traceback() -> None:
    found = diagnosed(UNKNOWN, *TRACEBACK[:-1], "mypkg.core.Boom: header")
    assert (found.label, found.evidence[-1].text) == ("python_exception_other", "mypkg.core.Boom: header")


@pytest.mark.parametrize(
    "below",
    [
        "main()",
        'main()  File "/home/u/train.py", line 7, in main',
        "^^^^^",
        "2026-11-22 07:53:10 - INFO - go on",
        "INFO:root:go on",
    ],
)
def test_a_line_of_another_rank_below_the_frames_is_no_exception(below: str) -> None:
    """Ranks without labels that fail at the same time tear apart each other's tracebacks."""
    assert diagnosed(FAILED, *TRACEBACK[:-1], below, "python").cause == "python"
    assert diagnosed(UNKNOWN, *TRACEBACK[:-1], below).label == "clean"


@pytest.mark.parametrize(
    "line", ["mypkg.core.Boom", "mypkg.Boom(KeyError): header", "mypkg.f.<locals>.Boom: header"]
)
def test_a_class_below_the_frames_is_an_exception(line: str) -> None:
    assert diagnosed(UNKNOWN, *TRACEBACK[:-1], line).label == "python_exception_other"


def test_code_quoted_by_a_traceback_matches_no_pattern() -> None:
    assert diagnosed(FAILED, *TRACEBACK[:4], "    cuda_oom", "python").symptoms == ()


def test_every_line_of_quoted_code_matches_no_pattern() -> None:
    code = ("    raise ValueError(", '        "cuda_oom"', "    )")
    assert diagnosed(FAILED, *TRACEBACK[:4], *code, "python").symptoms == ()


def test_an_exception_quoted_within_an_indented_block_is_no_code() -> None:
    quoted = ("    " + line for line in (*TRACEBACK[:2], TRACEBACK[2]))
    assert diagnosed(FAILED, "worker said:", *quoted, "    cuda_oom").cause == "cuda_oom"


def texts(found: Sequence[Line]) -> list[str]:
    return [line.text.strip() for line in found]


def test_the_evidence_of_a_traceback_is_the_user_frame_and_the_exception() -> None:
    assert texts(diagnosed(FAILED, *TRACEBACK).evidence) == [
        'File "/home/u/model.py", line 7, in main',
        "x = layer(y)",
        "python",
    ]


def test_a_traceback_without_user_code_shows_its_last_frame() -> None:
    found = diagnosed(FAILED, TRACEBACK[0], *TRACEBACK[6:])
    assert texts(found.evidence)[1:] == ["return forward_call(*args)", "python"]


def test_interleaved_tracebacks_of_ranks_are_separated() -> None:
    ranks = [f"{rank}: {line.replace('u/', f'u{rank}/')}" for line in TRACEBACK for rank in (0, 1)]
    assert texts(diagnosed(FAILED, *ranks).evidence)[0] == '0:   File "/home/u0/model.py", line 7, in main'


def test_an_exception_without_a_traceback_is_the_only_evidence() -> None:
    assert texts(diagnosed(FAILED, "hello", "python").evidence) == ["python"]
