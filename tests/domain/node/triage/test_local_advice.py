"""What to do where there is no Slurm."""

from __future__ import annotations

import pytest

from jobmon_core.domain.node.telemetry.model import Memory, Node, Sample
from jobmon_core.domain.node.triage.judge import advised_for, judge
from tests.support.situations import GIB, gpu, sample, situation, worker

_OF_SLURM = ("--mem", "--exclu", "scancel", "more cores")


@pytest.mark.parametrize(
    ("measured", "steps"),
    [
        (sample(memory=Memory(31 * GIB, 32 * GIB)), True),
        (sample([worker(0, 150)], node=Node("n1", 16, 40.0, 99.0)), True),
        (sample([worker(0, 0.2)], [gpu(0, 0.0)]), False),
        (sample([worker(0, 790)], [gpu(0, 5.0)]), True),
    ],
)
def test_the_advice_about_a_local_job_names_no_option_of_slurm(measured: Sample, *, steps: bool) -> None:
    verdicts = judge(situation(measured, steps=steps))
    assert verdicts
    assert any(word in each.advice for each in advised_for(verdicts, "slurm") for word in _OF_SLURM)
    for backend in ("local", "process"):
        advised = advised_for(verdicts, backend)
        assert all(each.advice for each in advised)
        assert not [each for each in advised for word in _OF_SLURM if word in each.advice]
