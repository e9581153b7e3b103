"""Messages about changes of state, and those about a running job that the user asked for."""

from __future__ import annotations

from dataclasses import replace

from jobmon_core.domain.channels import Level, Route
from jobmon_core.domain.delivery.outbox import Change
from jobmon_core.domain.job.tracking.model import Task, WatchedJob
from jobmon_core.domain.job.tracking.policy import Policy
from jobmon_core.domain.logs.progress.events.event import Event, EventKind
from jobmon_core.domain.messages.changes import with_change_messages
from jobmon_core.domain.messages.progress_alerts import with_further_events, with_progress_alerts
from jobmon_core.domain.slurm.states import JobState

NEW = WatchedJob("slurm-12-x", 12, 100.0, name="train")
PENDING = replace(NEW, tasks={"": Task("", JobState.PENDING, "PENDING")})
RUNNING = replace(NEW, tasks={"": Task("", JobState.RUNNING, "RUNNING", nodes="n17")})
PROGRAMS = Policy(has_programs=True)
STARTED = Policy(also=("started",))


def test_a_change_of_state_is_queued_for_programs_alone() -> None:
    job = with_change_messages(NEW, PENDING, PROGRAMS, 110.0)
    job = with_change_messages(PENDING, replace(RUNNING, outbox=job.outbox), PROGRAMS, 120.0)
    first, second = (entry.message for entry in job.outbox)
    assert first.changes == (Change("12", "", "PENDING"),)
    assert second.changes == (Change("12", "PENDING", "RUNNING"),)
    assert second.title == "train (12): PENDING -> RUNNING"
    assert first.id != second.id
    assert second.level is Level.INFO


def test_what_has_not_changed_is_no_event() -> None:
    again = replace(RUNNING, answered_s=130.0, tasks=dict(RUNNING.tasks))
    assert with_change_messages(RUNNING, again, PROGRAMS, 130.0) == again


def test_many_changes_at_once_are_one_event() -> None:
    tasks = {str(n): Task(str(n), JobState.RUNNING, "RUNNING") for n in range(500)}
    (entry,) = with_change_messages(NEW, replace(NEW, tasks=tasks), PROGRAMS, 120.0).outbox
    assert len(entry.message.changes) == 200
    assert entry.message.title.endswith("new -> RUNNING and 499 more changes")


def test_a_start_is_told_once_and_again_after_a_requeue() -> None:
    job = with_change_messages(PENDING, RUNNING, STARTED, 120.0)
    (entry,) = job.outbox
    assert (entry.message.title, entry.message.route) == ("train (12) started", Route.SUCCESS)
    assert entry.message.fields[0].value == "n17"
    suspended = replace(job, tasks={"": Task("", JobState.SUSPENDED, "SUSPENDED")})
    assert with_change_messages(suspended, job, STARTED, 140.0) == job
    again = replace(job, tasks={"": replace(RUNNING.tasks[""], restarts=1)})
    pending = replace(job, tasks=PENDING.tasks)
    assert len(with_change_messages(pending, again, STARTED, 150.0).outbox) == 2


def test_a_start_is_told_once_the_name_of_the_job_is_known() -> None:
    nameless = replace(RUNNING, name="")
    assert with_change_messages(PENDING, nameless, STARTED, 120.0) == nameless
    assert with_change_messages(nameless, RUNNING, STARTED, 121.0).outbox


def test_of_an_array_the_first_start_is_told() -> None:
    array = replace(NEW, array_indices="0-9")
    tasks = {str(n): Task(str(n), JobState.RUNNING, "RUNNING") for n in range(3)}
    job = with_change_messages(array, replace(array, tasks=tasks), STARTED, 120.0)
    assert [entry.message.title for entry in job.outbox] == ["train (12): the first task started"]
    later = replace(job, tasks={**tasks, "3": Task("3", JobState.RUNNING, "RUNNING")})
    assert with_change_messages(job, later, STARTED, 150.0) == later


def test_further_events_are_told_once_if_the_user_wants_them() -> None:
    events = (
        Event(200.0, EventKind.LAUNCHED, "all 8 workers run"),
        Event(300.0, EventKind.CHECKPOINT, "saved step-1000.pt"),
        Event(400.0, EventKind.MILESTONE, "25% done"),
        Event(500.0, EventKind.STALLED, "no progress for 12m"),
    )
    assert with_further_events(RUNNING, events, Policy(), 510.0) == RUNNING
    wanted = Policy(also=("checkpoint", "progress"))
    job = with_further_events(RUNNING, events, wanted, 510.0)
    assert with_further_events(job, events, wanted, 540.0) == job
    assert [(entry.message.title, entry.message.level) for entry in job.outbox] == [
        ("train (12): saved step-1000.pt", Level.INFO),
        ("train (12): 25% done", Level.PROGRESS),
    ]
    warned = with_progress_alerts(job, events, 510.0)
    assert [entry.message.level for entry in warned.outbox][2:] == [Level.WARNING]
