"""No second message about a worker that is missing."""

from __future__ import annotations

from dataclasses import replace

from jobmon_core.domain.logs.progress.events.event import Event, EventKind
from jobmon_core.domain.node.launch.judge import without_repeats

ERROR = Event(10.0, EventKind.ERROR, "CUDA out of memory", "3", subject="cuda_oom")
MISSING = Event(60.0, EventKind.LAUNCH_FAILED, "only 3 of 4 workers are running", "3")
DEAD = Event(600.0, EventKind.TROUBLE, "rank 2 ended", "3", subject="dead-worker")
OVER = Event(900.0, EventKind.RECOVERED, "over", "3", ended=EventKind.TROUBLE, subject="dead-worker")


def quiet(event: Event, *known: Event) -> bool:
    (found,) = without_repeats((event,), known, "3")
    assert replace(found, is_quiet=False) == event
    return found.is_quiet


def test_the_missing_worker_of_a_reported_failure_is_only_shown() -> None:
    assert quiet(MISSING, ERROR)
    assert not quiet(MISSING)
    assert not quiet(MISSING, replace(ERROR, task="4")), "of another task"
    survived = Event(20.0, EventKind.RECOVERED, "survived", "3", ended=EventKind.ERROR, subject="cuda_oom")
    assert not quiet(MISSING, ERROR, survived)


def test_a_worker_whose_absence_was_reported_is_not_reported_again_as_ended() -> None:
    assert quiet(DEAD, MISSING)
    assert not quiet(DEAD)
    assert not quiet(OVER, MISSING)
