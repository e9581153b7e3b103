"""A cause that a cloud announced counts where the end shows no other one; a notice alone proves nothing."""

from __future__ import annotations

from dataclasses import replace

import pytest

from jobmon_core.domain.job.history.nodes import is_node_failure
from jobmon_core.domain.job.history.record import HistoryRecord
from jobmon_core.domain.job.tracking.announced_end import with_announced_end
from jobmon_core.domain.job.tracking.model import End, Source
from jobmon_core.domain.logs.diagnosis.model import Diagnosis
from jobmon_core.domain.logs.diagnosis.patterns import label_of
from jobmon_core.domain.node.telemetry.model import Notice
from jobmon_core.domain.slurm.states import JobState, Outcome

LOST = End(JobState.NODE_FAIL, "NODE_FAIL", Outcome.FAILURE, Source.QUEUE, started_s=1000, ended_s=2400)
KILLED = replace(LOST, state=JobState.FAILED, raw_state="FAILED", ended_s=2125)
STATED = Diagnosis("node_fail", "A node failed", "", "")
UNKNOWN, PROVED = Diagnosis(None, "", "", ""), Diagnosis("cuda_oom", "", "", "", is_proved=True)
NOTICE = Notice("AWS", "terminate", 2120.0, 2000.0)


@pytest.mark.parametrize(
    ("end", "found"),
    [
        (LOST, STATED),
        (LOST, PROVED),  # the others failed as the node went away
        (replace(KILLED, signal=15), UNKNOWN),
        (replace(KILLED, exit_code=137), UNKNOWN),
    ],
)
def test_an_end_after_a_notice_is_a_preemption(end: End, found: Diagnosis) -> None:
    preempted = with_announced_end(found, end, [None, NOTICE])
    assert preempted.cause == "slurm_preempted.cloud"
    assert label_of(preempted.cause) == preempted.label == "slurm_preempted"
    assert (preempted.title, preempted.is_proved) == ("Preempted: AWS took its node away", True)
    run = HistoryRecord(1, 1, 2.0, state=end.state, outcome="failure", cause=preempted.cause)
    assert not is_node_failure(run)  # the node is a good one


@pytest.mark.parametrize(
    ("end", "found", "notice"),
    [
        (LOST, STATED, None),
        (LOST, STATED, replace(NOTICE, seen_s=900.0)),  # about an earlier run
        (replace(LOST, ended_s=9000), STATED, NOTICE),  # it outlived the notice by far
        (replace(LOST, ended_s=1500), STATED, NOTICE),
        (replace(LOST, ended_s=None), STATED, NOTICE),
        (replace(KILLED, exit_code=1), UNKNOWN, NOTICE),
        (replace(KILLED, signal=11), UNKNOWN, NOTICE),
        (replace(KILLED, signal=9), PROVED, NOTICE),
        (replace(KILLED, state=JobState.OUT_OF_MEMORY, signal=9), UNKNOWN, NOTICE),
        (replace(KILLED, state=JobState.TIMEOUT, signal=15), UNKNOWN, NOTICE),
        (replace(KILLED, state=JobState.CANCELLED, outcome=Outcome.CANCELLED, signal=15), UNKNOWN, NOTICE),
        (replace(LOST, state=JobState.COMPLETED, outcome=Outcome.SUCCESS, exit_code=0), UNKNOWN, NOTICE),
        (replace(LOST, outcome=Outcome.UNKNOWN), UNKNOWN, NOTICE),
    ],
)
def test_every_other_end_keeps_its_cause(end: End, found: Diagnosis, notice: Notice | None) -> None:
    assert with_announced_end(found, end, [notice]) is found
