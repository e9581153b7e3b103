"""The quick search for failures in new text of a log."""

from __future__ import annotations

import pytest

from jobmon_core.domain.logs.diagnosis.log_lines import searched_text
from jobmon_core.observe.patterns.load import load_patterns
from jobmon_core.observe.patterns.prefilter import may_show_failure

NOISE = "2026-11-23 03:12:{0:02} WARNING data.py:77 error rate {0} %, retrying sample {0}\n"


def test_every_example_of_a_failure_that_is_reported_early_is_found() -> None:
    patterns = [pattern for pattern in load_patterns() if pattern.is_reported_early]
    assert len(patterns) > 150
    for pattern in patterns:
        for example in pattern.examples:
            assert may_show_failure(f"step 1\n{searched_text(example)}\nstep 2\n".encode()), example


def test_it_is_found_among_many_lines_and_behind_the_label_of_a_rank() -> None:
    noise = "".join(NOISE.format(second) for second in range(60)).encode()
    assert may_show_failure(noise + b"[rank3]: RuntimeError: CUDA out of memory. Tried to allocate 2 GiB\n")


def test_a_traceback_may_be_a_failure_that_no_pattern_knows() -> None:
    assert may_show_failure(b"Traceback (most recent call last):\n")


@pytest.mark.parametrize(
    "text",
    [
        "",
        "".join(NOISE.format(second) for second in range(60)),
        "step 12/100 loss 0.3 nan iterations: 0 | errors: 0\n",
        " 30%|###       | 30/100 [00:30<01:10, 1.0it/s]\r" * 50,
        "Floating point exception trapping enabled (FOAM_SIGFPE).\n",
        "Binary \x00\xff\xfe text\n",
    ],
)
def test_ordinary_text_shows_none(text: str) -> None:
    assert not may_show_failure(text.encode("utf-8", "replace"))


def test_expressions_of_the_user_count_too_even_without_a_literal() -> None:
    text = b"my solver gave up\n"
    assert not may_show_failure(text)
    assert may_show_failure(text, ("solver (gave up|stopped)",))
    assert may_show_failure(text, ("^my .*p$", "xyz"))
    assert not may_show_failure(text, ("^[0-9]+$",))
