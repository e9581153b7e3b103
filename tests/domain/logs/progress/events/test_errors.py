"""Which failures in the log of a running job are reported, and which are taken back."""

from __future__ import annotations

from dataclasses import dataclass, field, replace

from jobmon_core.domain.logs.progress.events.errors import (
    HOLD_S,
    ErrorWatch,
    Failure,
    SearchedLog,
    SearchResult,
    error_events,
    new_run,
)
from jobmon_core.domain.logs.progress.events.event import Event, EventKind

LOG, OTHER_LOG = "/w/train.log", "/w/worker_1.log"
OOM = Event(0.0, EventKind.ERROR, "CUDA out of memory (tried 4.00 GiB)", subject="cuda_oom")
ENDED = Failure(OOM, LOG, ended_process=True, may_be_consequence=False)
PRINTED = replace(ENDED, ended_process=False)
INTERVAL_S = 30.0


@dataclass
class Looks:
    """The looks at the log of one task, at the time of the last one."""

    now_s: float = 1000.0
    watch: ErrorWatch = field(default_factory=ErrorWatch)

    def look(
        self,
        found: Failure | None = None,
        *,
        later_s: float = INTERVAL_S,
        lines: int = 0,
        is_ordinary: bool = False,
        current: float | None = None,
    ) -> list[str]:
        """Look again, at new lines of the log if it has any; return what is reported."""
        self.now_s += later_s
        seen = SearchResult(
            self.now_s,
            {LOG: lines} if lines else {},
            frozenset({LOG} if lines and not is_ordinary else ()),
            found,
            {LOG: current},
        )
        self.watch, events = error_events(self.watch, seen)
        return [f"{event.kind}: {event.text}" for event in events]


TOLD = [f"error: {OOM.text}"]
WITHDRAWN = [f"recovered: goes on after an error: {OOM.text}"]


def test_a_failure_that_ended_a_process_is_reported_after_a_few_seconds() -> None:
    looks = Looks()
    assert looks.look(ENDED, lines=9) == []
    assert looks.watch.recheck_s == looks.now_s + HOLD_S
    assert looks.look(later_s=HOLD_S) == TOLD
    assert looks.watch.recheck_s is None


def test_it_is_reported_although_other_ranks_print_on() -> None:
    looks = Looks()
    looks.look(ENDED, lines=9)
    assert looks.look(ENDED, later_s=HOLD_S, lines=3) == TOLD


def test_what_the_log_then_shows_as_the_cause_is_reported_instead() -> None:
    looks = Looks()
    timeout = replace(ENDED, event=replace(OOM, text="a timeout", subject="nccl"), may_be_consequence=True)
    looks.look(timeout, lines=9)
    assert looks.look(ENDED, later_s=HOLD_S, lines=9) == TOLD


def test_a_printed_failure_is_reported_only_once_the_log_is_silent() -> None:
    looks = Looks()
    looks.look(PRINTED, lines=9)
    assert looks.look(PRINTED, later_s=HOLD_S, lines=1, is_ordinary=True) == []
    assert looks.watch.recheck_s is None
    assert looks.look() == TOLD


def test_a_printed_failure_is_not_reported_if_the_log_goes_on() -> None:
    looks = Looks()
    looks.look(PRINTED, lines=9)
    assert looks.look(PRINTED, lines=1, later_s=HOLD_S, is_ordinary=True) == []
    for _ in range(19):
        assert looks.look(PRINTED, lines=1, is_ordinary=True) == []
    assert looks.watch.suspect is None


def test_a_printed_failure_is_not_reported_if_progress_goes_on() -> None:
    looks = Looks()
    looks.look(PRINTED, lines=9, current=10.0)
    assert looks.look(PRINTED, later_s=HOLD_S, lines=1, current=11.0, is_ordinary=True) == []
    assert looks.watch.suspect is None


def test_each_kind_is_reported_once_in_a_run_even_if_it_was_survived() -> None:
    looks = Looks()
    looks.look(ENDED, lines=9)
    looks.look(later_s=HOLD_S)
    assert [looks.look(ENDED, lines=9) for _ in range(3)] == [[], [], []]


def test_a_consequence_of_a_reported_failure_is_not_reported() -> None:
    looks = Looks()
    looks.look(ENDED, lines=9)
    looks.look(later_s=HOLD_S)
    timeout = replace(ENDED, event=replace(OOM, subject="nccl_timeout"), log=LOG, may_be_consequence=True)
    looks.look(timeout, lines=9)
    assert looks.look(later_s=HOLD_S) == []


def test_a_second_failure_in_another_log_follows_the_first() -> None:
    looks = Looks()
    looks.look(ENDED, lines=9)
    other = Failure(
        replace(OOM, subject="disk_full"), OTHER_LOG, ended_process=True, may_be_consequence=False
    )
    assert looks.look(other, later_s=HOLD_S) == TOLD
    assert looks.look(later_s=HOLD_S) == TOLD


def told_at(current: float | None) -> Looks:
    looks = Looks()
    looks.look(ENDED, lines=9, current=current)
    looks.look(later_s=HOLD_S, current=current)
    return looks


def test_a_failure_is_withdrawn_once_its_log_shows_progress_a_minute_later() -> None:
    looks = told_at(10.0)
    assert looks.look(lines=1, current=11.0) == []  # another rank may have finished a step
    assert looks.look(lines=1, current=12.0, later_s=60.0) == WITHDRAWN
    assert looks.look(lines=1, current=13.0) == []


def test_without_progress_further_output_shows_that_it_was_survived() -> None:
    looks = told_at(None)
    assert looks.look(lines=40, is_ordinary=True) == []
    assert looks.look(lines=1, is_ordinary=True) == WITHDRAWN


def test_lines_that_show_a_failure_are_no_sign_of_life() -> None:
    looks = told_at(None)
    assert looks.look(lines=500) == []


def test_a_job_that_hangs_keeps_its_failure() -> None:
    looks = told_at(10.0)
    assert [looks.look(current=10.0, later_s=3600.0) for _ in range(3)] == [[], [], []]


def test_a_new_run_starts_without_the_failures_of_the_last_one() -> None:
    looks = told_at(10.0)
    looks.watch = replace(looks.watch, logs=(SearchedLog(LOG, 100, 100),))
    looks.watch, (event,) = new_run(looks.watch, looks.now_s)
    assert event.kind is EventKind.RESTARTED
    assert [log.size for log in looks.watch.logs] == [100]
    looks.look(ENDED, lines=9)
    assert looks.look(later_s=HOLD_S) == TOLD
