"""The literals worked out in advance are those that an expression requires."""

from jobmon_core.observe.patterns.literals import literals_of
from jobmon_core.observe.patterns.load import load_patterns
from jobmon_core.observe.patterns.prefilter import needed_literals


def test_the_literals_of_a_shipped_expression_are_known() -> None:
    for pattern in load_patterns():
        for regex in pattern.regex:
            assert literals_of(regex) == needed_literals(regex), regex


def test_those_of_any_other_expression_are_worked_out() -> None:
    assert literals_of("my program (stopped|died) early") == needed_literals(
        "my program (stopped|died) early"
    )
