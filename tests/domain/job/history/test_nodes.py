"""A node is named if it kills runs, and only then."""

from __future__ import annotations

import pytest

from jobmon_core.domain.job.history.nodes import (
    DAY_S,
    at_least,
    blamed_node,
    slow_nodes,
    suspect_nodes,
)
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


def paced(slow: int | str | None = None, *, days: int = 6, **changes: object) -> list[HistoryRecord]:
    """Return runs of two names on twelve nodes a day; those on the slow node take 1.5 times as long."""
    return [
        HistoryRecord(
            day * 100 + number,
            1,
            1.0,
            name=f"train{number % 2}",
            nodes=f"n{number}",
            ended_s=int(NOW_S - (days - day) * DAY_S + 60 * number),
            outcome="success",
            unit="step",
            step_s=(1 + number % 2) * (1.5 if number == slow else 1.0 + 0.01 * day),
        )._replace(**changes)  # type: ignore[arg-type]
        for day in range(days)
        for number in range(12)
    ]


def test_a_node_on_which_runs_take_longer_is_named() -> None:
    (found,) = slow_nodes(paced(3), NOW_S)
    assert (found.node, found.option, found.failures, found.runs) == ("n3", "--exclude=n3", 6, 6)
    assert found.sentence.startswith(
        "6 of 6 runs were slow on n3 (1.5 times the usual time per unit), 0 of 36 elsewhere (chance "
    )


@pytest.mark.parametrize(
    "runs",
    [
        paced(None),
        paced(3, days=3),  # too few
        [each for each in paced(3) if each.nodes != "n3"],
        [each._replace(ended_s=(each.ended_s or 0) - 20 * int(DAY_S)) for each in paced(3)],
        paced(3, unit=""),
        [each._replace(name=each.nodes) for each in paced(3)],  # nothing like it elsewhere
        # on one day, for which something else may be the reason
        [*paced(None), *(each._replace(job_id=number, step_s=9.0, ended_s=int(NOW_S) - 90) for number, each in
                         enumerate(paced(3)) if each.nodes == "n3")],
    ],
)  # fmt: skip
def test_a_node_is_not_called_slow_otherwise(runs: list[HistoryRecord]) -> None:
    assert slow_nodes(runs, NOW_S) == []


def test_a_program_that_became_slower_makes_no_node_slow() -> None:
    runs = [
        each._replace(step_s=(each.step_s or 0) * (2 if number > 30 else 1))
        for number, each in enumerate(paced(None))
    ]
    assert slow_nodes(runs, NOW_S) == []


def test_the_tasks_of_an_array_on_a_node_count_as_one_run() -> None:
    array = [each._replace(task=str(task)) for each in paced(3, days=2) for task in range(9)]
    assert slow_nodes(array, NOW_S) == []


def test_two_runs_at_the_usual_pace_clear_a_slow_node() -> None:
    runs = [*paced(3, days=8)[:-24], *paced(None, days=8)[-24:]]
    assert slow_nodes(runs, NOW_S) == []
    assert slow_nodes(runs[:-12], NOW_S) != []


def test_what_speaks_against_the_node_of_a_run_is_what_was_known_when_it_ended() -> None:
    runs = paced(3)
    last = next(each for each in reversed(runs) if each.nodes == "n3")
    assert [each.slowdown for each in blamed_node(last, runs)] == [pytest.approx(1.5, abs=0.1)]
    first = next(each for each in runs if each.nodes == "n3")
    assert blamed_node(first, runs) == []
    dead = runs_of_dead_node()[-1]
    (found,) = blamed_node(dead, [*GOOD, *runs_of_dead_node()])
    assert (found.node, found.slowdown) == ("n77", 0.0)
    assert blamed_node(dead._replace(cause="cuda_oom"), [*GOOD, *runs_of_dead_node()]) == []


def runs_of_dead_node() -> list[HistoryRecord]:
    return [each._replace(job_id=700 + each.job_id) for each in runs("n77", True, True, True, True)]
