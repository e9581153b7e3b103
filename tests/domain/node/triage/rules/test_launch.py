"""A task that runs without any process."""

from __future__ import annotations

from dataclasses import replace

from jobmon_core.domain.node.telemetry.model import Sample, Worker, WorkerStatus
from jobmon_core.domain.node.triage.judge import judge
from jobmon_core.domain.node.triage.situation import NodeView
from tests.support.situations import names, sample, situation, worker

EMPTY = replace(sample(), workers=())


def test_a_task_of_which_no_process_was_ever_seen_is_reported() -> None:
    (verdict,) = judge(situation(EMPTY, 6, steps=False))
    assert (verdict.name, verdict.is_critical, verdict.is_quiet) == ("no-processes", False, False)
    assert verdict.text == "runs, but none of its processes was found for 5m"
    assert verdict.evidence == ("n1: no process of the job so far",)
    not_found = replace(EMPTY, workers=(Worker(77, status=WorkerStatus.NOT_FOUND),))
    assert names(situation(not_found, 6, steps=False)) == ["no-processes"]


def test_an_allocation_that_waits_for_its_next_program_is_only_shown() -> None:
    def at(minute: float) -> Sample:
        return sample() if minute < 10 else EMPTY

    (verdict,) = judge(situation(at, 30, steps=False))
    assert (verdict.name, verdict.is_quiet) == ("no-processes", True)
    assert verdict.evidence == ("n1: no process of the job any more",)


def test_a_process_on_one_node_or_for_a_moment_is_enough() -> None:
    def at(minute: float) -> Sample:
        return sample([worker()]) if minute == 57 else EMPTY

    assert names(situation(at, 60, steps=False)) == []
    one = situation(sample(), 30)
    idle = situation(EMPTY, 30)
    both = replace(one, nodes=(*one.nodes, NodeView("n2", idle.nodes[0].samples)))
    assert names(both) == []


def test_a_young_task_is_not_judged() -> None:
    assert names(situation(EMPTY, 3, steps=False)) == []
    assert names(situation(None, 30, steps=False)) == []
