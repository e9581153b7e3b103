"""Nodes whose end their cloud has announced."""

from __future__ import annotations

from jobmon_core.domain.node.telemetry.model import Notice
from jobmon_core.domain.node.triage.judge import judge
from jobmon_core.domain.node.triage.situation import NodeView
from tests.support.situations import START_S, sample, situation

LATER = NodeView(
    "n1", (sample(),), notice=Notice("Azure", "Reboot", START_S + 900, START_S + 5), ends_at="12:15:00"
)
FIRST = NodeView(
    "n2",
    (sample(),),
    notice=Notice("Azure", "Preempt", START_S + 30, START_S + 9, "SIGUSR1", 4),
    ends_at="12:00:30",
)
UNTIMED = NodeView("n3", (sample(),), notice=Notice("GCP", "preempted", None, START_S + 9, "SIGUSR1"))


def test_the_node_that_ends_first_is_named_and_all_are_evidence() -> None:
    (verdict,) = judge(situation(sample(), nodes=(LATER, FIRST, NodeView("n4", (sample(),)))))
    assert (verdict.name, verdict.is_critical) == ("node-ends", True)
    assert verdict.text == "its node n2 ends at 12:00:30"
    assert verdict.evidence == (
        "n1: Azure announces Reboot at 12:15:00",
        "n2: Azure announces Preempt at 12:00:30",
        "n2: SIGUSR1 was sent to 4 of its processes, which catch it",
    )


def test_where_the_cloud_says_no_time_none_is_made_up() -> None:
    (verdict,) = judge(situation(sample(), nodes=(UNTIMED,)))
    assert verdict.text == "its node n3 ends soon"
    assert verdict.evidence[-1].startswith("n3: SIGUSR1 was sent to 0 of its processes")
