"""What `jobmon run` says about the progress of its command."""

from __future__ import annotations

from pathlib import Path

from jobmon_core.app.processes.run import ProgressWarnings
from jobmon_core.domain.job.job_progress import JobProgress
from jobmon_core.domain.logs.progress.events.event import Event, EventKind
from jobmon_core.store.job_files import progress_file
from tests.support.clock import FakeClock

STALLED = Event(100.0, EventKind.STALLED, "no progress for 12m (step 3 of 10)")
HALF = Event(100.0, EventKind.MILESTONE, "50% done")
MOVES = Event(200.0, EventKind.RECOVERED, "moves again", ended=EventKind.STALLED)
SLOW = Event(200.0, EventKind.SLOW, "31% slower than its best")


def test_a_checkpoint_listed_after_a_warning_does_not_repeat_it(tmp_path: Path) -> None:
    file, clock, told = progress_file(tmp_path / "p.json"), FakeClock(), list[str]()
    warnings = ProgressWarnings(file, clock, told.append)
    earlier = Event(95.0, EventKind.CHECKPOINT, "checkpoint saved")
    for events in ((STALLED, earlier), (STALLED, earlier, HALF)):  # both are new after e.g. Ctrl-Z and `fg`
        file.write(JobProgress(1.0, {}, events))
        clock.now_s += 10.0
        warnings.look()
    assert len(told) == 1


def test_a_warning_and_its_end_are_said_once_on_the_terminal(tmp_path: Path) -> None:
    file, clock, told = progress_file(tmp_path / "p.json"), FakeClock(), list[str]()
    warnings = ProgressWarnings(file, clock, told.append)

    def look(*events: Event) -> list[str]:
        told.clear()
        if events:
            file.write(JobProgress(1.0, {}, events))
        clock.now_s += 10.0
        warnings.look()
        return list(told)

    assert look() == []
    stalled = "stalled: no progress for 12m (step 3 of 10); look at it, jobmon goes on watching"
    assert look(STALLED, HALF) == [stalled]
    assert look() == look(STALLED, HALF) == []
    assert look(STALLED, HALF, MOVES, SLOW) == ["recovered: moves again", f"slow: {SLOW.text}"]


def test_what_is_only_worth_knowing_is_not_said_on_the_terminal(tmp_path: Path) -> None:
    file, clock, told = progress_file(tmp_path / "p.json"), FakeClock(), list[str]()
    quiet = Event(100.0, EventKind.TROUBLE, "all cores of its node are busy", is_quiet=True)
    file.write(JobProgress(1.0, {}, (quiet,)))
    clock.now_s += 10.0
    ProgressWarnings(file, clock, told.append).look()
    assert told == []
