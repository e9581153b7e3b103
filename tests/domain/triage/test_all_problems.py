"""What agents measure and what the logs show, as one list."""

from __future__ import annotations

from jobmon_core.domain.progress.events.event import Event, EventKind
from jobmon_core.domain.triage.all_problems import all_problems
from jobmon_core.domain.triage.situation import Verdict

NAN = Event(100.0, EventKind.DIVERGED, "the loss is nan")
STALLED = Event(100.0, EventKind.STALLED, "no progress for 12m")
OOM = Event(
    100.0, EventKind.ERROR, "CUDA out of memory", "", None, "gpu_oom", is_critical=True, advice="Use less."
)
QUIET = Verdict("noisy-neighbour", "The node is full", "its node is full", 50.0, is_quiet=True)
DEADLOCK = Verdict("deadlock", "All processes are idle", "everything is idle", 50.0, is_critical=True)


def names(*found: Verdict | Event, backend: str = "slurm") -> list[str]:
    verdicts = [each for each in found if isinstance(each, Verdict)]
    events = [each for each in found if isinstance(each, Event)]
    return [each.name for each in all_problems(verdicts, events, backend)]


def test_what_the_log_shows_stands_before_what_is_only_worth_knowing() -> None:
    assert names(QUIET, NAN) == ["diverged", "noisy-neighbour"]
    assert names(QUIET, NAN, OOM) == ["error", "diverged", "noisy-neighbour"]


def test_a_stall_that_a_verdict_explains_is_not_listed_twice() -> None:
    assert names(DEADLOCK, STALLED) == ["deadlock"]
    assert names(QUIET, STALLED) == ["stalled", "noisy-neighbour"]


def test_an_event_about_what_agents_measure_gives_way_to_the_newer_verdict() -> None:
    trouble = Event(90.0, EventKind.TROUBLE, "everything is idle", subject="deadlock")
    assert names(trouble) == []
    assert names(DEADLOCK, trouble) == ["deadlock"]


def test_the_verdict_has_the_title_and_the_advice_of_the_message() -> None:
    (error,) = all_problems((), (OOM,), "slurm")
    assert (error.title, error.text, error.advice) == (
        "An error in the log",
        "CUDA out of memory",
        "Use less.",
    )
    (stall,) = all_problems((), (STALLED,), "slurm")
    assert "scancel" in stall.advice
    (local,) = all_problems((), (STALLED,), "local")
    assert "scancel" not in local.advice
