"""A node is named if it kills runs, and only then."""

from __future__ import annotations

import pytest

from jobmon_core.domain.job.history.nodes import DAY_S, at_least, suspect_nodes
from jobmon_core.domain.job.history.record import HistoryRecord

NOW_S = 1_795_900_000.0


def runs(node: str, *died: bool, cause: str = "node_fail", days_ago: float = 1.0) -> list[HistoryRecord]:
    return [
        HistoryRecord(
            number,
            1,
            1.0,
            nodes=node,
            ended_s=int(NOW_S - days_ago * DAY_S + number),
            outcome="failure" if each else "success",
            cause=cause if each else "",
        )
        for number, each in enumerate(died)
    ]


GOOD = [each for number in range(20) for each in runs(f"n{number}", False, False)]


def test_a_node_on_which_all_runs_die_is_named_with_the_option_that_avoids_it() -> None:
    (found,) = suspect_nodes([*GOOD, *runs("n77", True, True, True)], NOW_S)
    assert found.option == "--exclude=n77"
    assert found.sentence.startswith("3 of 3 runs died on n77, 0 of 40 elsewhere (chance 0.0")


@pytest.mark.parametrize(
    "suspicious",
    [
        runs("n77", True),
        runs("n77", True, True, True, cause="cuda_oom"),  # the user's error
        runs("n77", True, True, True, days_ago=15),
        runs("n77", True, True, True, False, False),  # two good runs clear it
        runs("n[77-78]", True, True, True),  # which of the two is not known
    ],
)
def test_it_is_not_named_otherwise(suspicious: list[HistoryRecord]) -> None:
    assert suspect_nodes([*GOOD, *suspicious], NOW_S) == []


def test_failures_everywhere_blame_no_node() -> None:
    everywhere = [each for number in range(20) for each in runs(f"n{number}", True, False, True)]
    assert suspect_nodes([*everywhere, *runs("n77", True, True, True)], NOW_S) == []


def test_at_most_a_tenth_of_the_nodes_is_named() -> None:
    bad = [each for number in range(30, 36) for each in runs(f"n{number}", *[True] * 9)]
    good = [each for number in range(20) for each in runs(f"n{number}", *[False] * 40)]
    assert len(suspect_nodes([*good, *bad], NOW_S)) == 2


def test_the_chance_is_that_of_the_binomial_distribution() -> None:
    assert at_least(0, 3, 0.2) == pytest.approx(1.0)
    assert at_least(3, 3, 0.2) == pytest.approx(0.008)
    assert at_least(2, 3, 0.5) == pytest.approx(0.5)
    assert at_least(2, 1, 0.5) == 0.0
