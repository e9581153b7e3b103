from __future__ import annotations

import pytest

from tests.support.pattern_files import document, entry, faults


def test_a_regex_that_re2_rejects_is_a_fault_with_its_reason(capfd: pytest.CaptureFixture[str]) -> None:
    (fault,) = faults(document(entry(regex="(boom")))
    assert fault.startswith("rules[0].regex: missing )")
    assert capfd.readouterr().err == ""


@pytest.mark.parametrize("regex", [r"(a)\1", "(?=boom)"])
def test_syntax_without_linear_time_matching_is_a_fault(regex: str) -> None:
    assert faults(document(entry(regex=regex)))[0].startswith("rules[0].regex: ")


def test_a_regex_that_matches_every_line_is_a_fault() -> None:
    assert faults(document(entry(regex="x*"))) == (
        "rules[0].regex: matches an empty line; it must require some text",
    )
