"""An attempt that stalls for longer than the user allows is cancelled, and that is noted first."""

from __future__ import annotations

import os
from dataclasses import replace
from pathlib import Path

import pytest

from jobmon_core.context import Context
from jobmon_core.domain.job.job_settings import AttemptPlace, JobSettings, RestartMode, RestartSettings
from jobmon_core.domain.job.restart.model import Lineage
from jobmon_core.domain.job.tracking.model import WatchedJob
from jobmon_core.domain.logs.progress.events.event import STALL_CANCELLED, Event, EventKind
from jobmon_core.monitor.restarts import stop_if_stalled
from jobmon_core.store.home import Home
from tests.support.job_records import RUNNING, job_of

ON = RestartSettings(RestartMode.ON, stall_is_failure_s=1800.0)
FAILED = Event(5.0, EventKind.STALLED, "no progress for longer than 30m", subject=STALL_CANCELLED)
STALLED = Event(4.0, EventKind.STALLED, "no progress for 12m")
RECOVERED = Event(6.0, EventKind.RECOVERED, "moves again", ended=EventKind.STALLED)


class Case:
    """An attempt that runs on a Slurm whose scancel writes down its arguments."""

    def __init__(self, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        self.folder = folder
        (folder / "home").mkdir(mode=0o700)
        self.ctx = Context(Home(folder / "home"), dict(os.environ))
        monkeypatch.setenv("PATH", f"{folder}:{os.environ['PATH']}")
        self.scancel('echo "$@" >> "$0.log"')
        self.lineage(ON)
        settings = JobSettings(restart=ON, attempt=AttemptPlace("a1b2"))
        self.job = replace(job_of(RUNNING), settings=settings, backend="slurm")
        self.saved: list[WatchedJob] = []
        self.noted_when_cancelled: list[bool] = []

    def scancel(self, script: str) -> None:
        (self.folder / "scancel").write_text(f"#!/bin/bash\n{script}\n")
        (self.folder / "scancel").chmod(0o755)

    def lineage(self, settings: RestartSettings, **changed: object) -> None:
        lineage = replace(Lineage("a1b2", settings=settings), **changed)  # type: ignore[arg-type] # by name
        self.ctx.lineages.update("a1b2", lambda _before: lineage)

    def save(self, job: WatchedJob) -> None:
        assert not self.cancelled or STALL_CANCELLED not in job.alerted  # noted before, not after
        self.saved.append(job)

    def look(self, *events: Event) -> None:
        stop_if_stalled(self.ctx, lambda _line: None, self.job, events, self.save)

    @property
    def cancelled(self) -> str:
        log = self.folder / "scancel.log"
        return log.read_text() if log.exists() else ""

    @property
    def is_noted(self) -> bool:
        return bool(self.saved) and STALL_CANCELLED in self.saved[-1].alerted


@pytest.fixture
def case(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Case:
    return Case(tmp_path, monkeypatch)


def test_a_stall_that_counts_as_a_failure_is_noted_and_then_cancelled(case: Case) -> None:
    case.look(STALLED, FAILED)
    assert case.cancelled == f"{case.job.ref}\n"
    assert case.is_noted


@pytest.mark.parametrize("events", [(), (STALLED,), (FAILED, RECOVERED)])
def test_any_other_stall_and_one_that_is_over_cancels_nothing(case: Case, events: tuple[Event, ...]) -> None:
    case.look(*events)
    assert (case.cancelled, case.saved) == ("", [])


def test_a_scheduler_that_does_not_cancel_is_asked_again_at_the_next_look(case: Case) -> None:
    case.scancel("echo 'scancel: error: Unable to contact slurm controller' >&2; exit 1")
    case.look(FAILED)
    assert not case.is_noted  # a cancellation by the user in the meantime stays one
    case.scancel('echo "$@" >> "$0.log"')
    case.look(FAILED)
    assert case.is_noted


@pytest.mark.parametrize(
    ("settings", "changed"),
    [
        (replace(ON, mode=RestartMode.OFF), {}),
        (replace(ON, mode=RestartMode.OBSERVE), {}),
        (replace(ON, stall_is_failure_s=None), {}),
        (ON, {"is_held": True}),
        (ON, {"ended_why": "ended by `jobmon restart --off`"}),
    ],
)
def test_nothing_is_cancelled_if_no_attempt_could_follow(
    case: Case, settings: RestartSettings, changed: dict[str, object]
) -> None:
    case.lineage(settings, **changed)
    case.look(FAILED)
    assert (case.cancelled, case.saved) == ("", [])


def test_a_backend_without_a_way_to_cancel_is_no_crash(case: Case) -> None:
    case.job = replace(case.job, backend="process")
    case.look(FAILED)
    assert not case.is_noted
