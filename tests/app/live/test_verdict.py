"""What agents measure and what the logs show, as one list."""

from __future__ import annotations

from jobmon_core.app.live.verdict import all_problems
from jobmon_core.domain.logs.progress.events.event import Event, EventKind
from tests.support.situations import trouble

NAN = Event(100.0, EventKind.DIVERGED, "the loss is nan")
STALLED = Event(100.0, EventKind.STALLED, "no progress for 12m")
OOM = Event(
    100.0, EventKind.ERROR, "CUDA out of memory", "", None, "gpu_oom", is_critical=True, advice="Use less."
)
QUIET = trouble("noisy-neighbour", "its node is full", is_quiet=True)
DEADLOCK = trouble("deadlock", "everything is idle", is_critical=True)


def names(*found: Event, judged: tuple[Event, ...] = (), backend: str = "slurm") -> list[str]:
    return [each.name for each in all_problems(judged, found, backend)]


def test_what_the_log_shows_stands_before_what_is_only_worth_knowing() -> None:
    assert names(NAN, judged=(QUIET,)) == ["diverged", "noisy-neighbour"]
    assert names(NAN, OOM, judged=(QUIET,)) == ["error", "diverged", "noisy-neighbour"]


def test_a_stall_that_a_verdict_explains_is_not_listed_twice() -> None:
    assert names(STALLED, judged=(DEADLOCK,)) == ["deadlock"]
    assert names(STALLED, judged=(QUIET,)) == ["stalled", "noisy-neighbour"]


def test_an_event_about_what_agents_measure_gives_way_to_the_newer_verdict() -> None:
    earlier = Event(90.0, EventKind.TROUBLE, "everything is idle", subject="deadlock")
    assert names(earlier) == []
    assert names(earlier, judged=(DEADLOCK,)) == ["deadlock"]


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
