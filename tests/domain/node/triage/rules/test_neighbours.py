"""A node that other jobs fill."""

from __future__ import annotations

from jobmon_core.domain.node.telemetry.model import Cpu, Memory, Node, Sample
from jobmon_core.domain.node.triage.judge import judge
from tests.support.situations import GIB, names, sample, situation, worker


def test_a_node_that_others_fill_is_only_shown() -> None:
    full = Node("n1", 16, 40.0, 99.0)
    (verdict,) = judge(situation(sample([worker(0, 150)], node=full)))
    assert (verdict.name, verdict.is_quiet) == ("noisy-neighbour", True)
    assert names(situation(sample([worker(0, 1500)], node=full, cpu=Cpu(16.0, 1500.0)))) == []


def filled(available_gib: float, own_gib: float) -> Sample:
    """Return a sample of a node of 256 GiB whose cores are not busy."""
    node = Node("n1", 16, 4.0, 20.0, 0.0, 256 * GIB, int(available_gib * GIB))
    return sample([worker(0, 150)], node=node, memory=Memory(int(own_gib * GIB), 128 * GIB))


def test_a_node_whose_memory_others_fill_is_only_shown() -> None:
    (verdict,) = judge(situation(filled(10, 20)))
    assert (verdict.name, verdict.is_quiet) == ("noisy-neighbour", True)
    assert verdict.text == "the memory of n1 is nearly full, only 20.0 GiB by this job"
    assert verdict.evidence == ("node: 246.0 GiB of 256.0 GiB of memory used for 10m", "this job: 20.0 GiB")


def test_memory_that_the_job_itself_fills_or_that_is_free_is_no_neighbour() -> None:
    assert "noisy-neighbour" not in names(situation(filled(10, 126)))
    assert names(situation(filled(40, 20))) == []
