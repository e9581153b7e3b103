from __future__ import annotations

from dataclasses import replace

from jobmon_core.domain.job.tracking.lost_worker import with_lost_worker
from jobmon_core.domain.job.tracking.model import End, Source, Task
from jobmon_core.domain.logs.diagnosis.model import LOST_WORKER, Diagnosis
from jobmon_core.domain.logs.progress.events.event import Event, EventKind
from jobmon_core.domain.slurm.states import JobState, Outcome

TEXT = "rank 2 died: killed by signal 9 (SIGKILL: killed from outside, without cleanup); 3 of 4 workers go on"
DEAD = Event(200.0, EventKind.TROUBLE, TEXT, subject="dead-worker", is_critical=True)
END = End(JobState.COMPLETED, "COMPLETED", Outcome.SUCCESS, Source.QUEUE, exit_code=0, started_s=100)
NOTHING = Diagnosis(None, "", "", "")


def test_a_success_after_the_death_of_a_worker_is_doubtful() -> None:
    found = with_lost_worker(NOTHING, END, (DEAD,), "")
    assert (found.cause, found.label) == (LOST_WORKER, None)
    assert found.doubt == TEXT.partition("; ")[0]
    assert "Then, 3 of 4 workers went on." in found.explanation
    assert Task("", end=END, diagnosis=found).is_doubtful_success


def test_only_a_critical_event_of_this_run_that_is_not_over_counts() -> None:
    over = Event(300.0, EventKind.RECOVERED, "over", ended=EventKind.TROUBLE, subject="dead-worker")
    for events in ((), (replace(DEAD, is_critical=False),), (replace(DEAD, at_s=50.0),), (DEAD, over)):
        assert with_lost_worker(NOTHING, END, events, "").cause is None
    assert with_lost_worker(NOTHING, END, (replace(DEAD, task="3"),), "4").cause is None
    known = replace(NOTHING, cause="cuda_oom")
    assert with_lost_worker(known, END, (DEAD,), "") == known
    cancelled = replace(END, outcome=Outcome.CANCELLED)
    assert with_lost_worker(NOTHING, cancelled, (DEAD,), "").cause is None
