"""Warnings about the progress of a running job."""

from __future__ import annotations

from dataclasses import replace

import pytest

from jobmon_core.domain.channels import Level, Route, Tone
from jobmon_core.domain.job.tracking.model import Task, WatchedJob
from jobmon_core.domain.logs.progress.events.event import WARNINGS, Event, EventKind
from jobmon_core.domain.messages.progress_alerts import with_progress_alerts
from jobmon_core.domain.slurm.states import JobState
from tests.support.play import Play, record, row, sacct_row

JOB = WatchedJob("slurm-12-x", 12, 100.0, name="train", partition="gpu")
STALLED = Event(200.0, EventKind.STALLED, "no progress for 12m (step 1,200 of 5,000)")
RECOVERED = Event(300.0, EventKind.RECOVERED, "step 1,300 of 5,000 after 14m without progress")


def test_a_stall_is_told_once() -> None:
    job = with_progress_alerts(JOB, (STALLED,), 210.0)
    assert with_progress_alerts(job, (STALLED,), 240.0) == job
    (entry,) = job.outbox
    assert entry.message.route is Route.ERROR
    assert entry.message.tone is Tone.ATTENTION
    assert entry.message.title == "train (12): no progress for 12m (step 1,200 of 5,000)"
    assert "`jobmon logs 12`" in entry.message.advice


def test_what_is_unlike_earlier_runs_is_told_once_and_points_to_them() -> None:
    advice = "Compare what changed (`jobmon diff JOBID`), and the nodes (`jobmon history JOBID`)."
    slow = Event(
        200.0,
        EventKind.SLOW,
        "slower than usual: 2 s per step; the last 5 took 1 s",
        subject="slower_than_usual",
        advice=advice,
        title="Slower than usual",
    )
    job = with_progress_alerts(JOB, (slow,), 210.0)
    assert with_progress_alerts(job, (slow,), 240.0) == job
    (entry,) = job.outbox
    assert entry.message.headline == "Slower than usual"
    assert "`jobmon history 12`" in entry.message.advice
    waited = replace(slow, kind=EventKind.LONG_WAIT, subject="longer_wait_than_usual", advice="")
    assert len(with_progress_alerts(JOB, (waited,), 210.0).outbox) == 1


def test_a_job_that_waits_for_longer_than_usual_is_told_as_one_that_waits() -> None:
    long = Event(
        200.0,
        EventKind.LONG_WAIT,
        "has waited for longer than usual: 2h; the last 5 took 16m 40s",
        subject="longer_wait_than_usual",
        title="Longer wait than usual",
    )
    pending = replace(JOB, tasks={"": Task("", JobState.PENDING, "PENDING")})
    (entry,) = with_progress_alerts(pending, (long,), 210.0).outbox
    assert entry.message.title.startswith("train (12): has waited for longer than usual: 2h;")
    assert entry.message.summary.startswith("The job is still waiting. ")
    assert entry.message.stated_level is Level.WARNING


def test_the_next_stall_is_told_again() -> None:
    later = Event(900.0, EventKind.STALLED, "no progress for 12m (step 2,000 of 5,000)")
    job = with_progress_alerts(JOB, (STALLED, RECOVERED, later), 910.0)
    assert [entry.message.tone for entry in job.outbox] == [Tone.ATTENTION, Tone.RESOLVED, Tone.ATTENTION]
    assert len({entry.message.id for entry in job.outbox}) == 3


def test_a_warning_that_was_not_sent_before_the_end_is_not_sent_after_it() -> None:
    play = Play().queue(row("12", "RUNNING")).record(record("12", "RUNNING")).later(30)
    play.job = with_progress_alerts(play.job, (STALLED, replace(STALLED, at_s=250.0)), play.now_s)
    sent, _waiting = play.job.outbox
    play.job = replace(play.job, outbox=(replace(sent, attempts=1), _waiting))
    play.queue(row("12", "FAILED")).record(record("12", "FAILED")).later(3).accounting(
        sacct_row("12", "FAILED")
    )
    assert [entry.message.id for entry in play.job.outbox] == ["12/progress-stalled-200", "12/end"]


def test_milestones_and_recoveries_without_a_warning_are_not_told() -> None:
    milestone = Event(150.0, EventKind.MILESTONE, "half done")
    assert with_progress_alerts(JOB, (milestone, RECOVERED), 310.0) == JOB


def test_each_array_task_has_its_own_warnings() -> None:
    job = with_progress_alerts(JOB, (replace(STALLED, task="3"), replace(STALLED, task="4")), 210.0)
    assert [entry.message.title.split(":")[0] for entry in job.outbox] == ["train (12_3)", "train (12_4)"]


def test_an_array_whose_tasks_all_stall_does_not_send_hundreds_of_messages() -> None:
    stalled = tuple(replace(STALLED, task=str(task)) for task in range(100))
    recovered = tuple(
        replace(RECOVERED, task=event.task, ended=EventKind.STALLED, at_s=300.0) for event in stalled
    )
    job = with_progress_alerts(with_progress_alerts(JOB, stalled, 210.0), stalled + recovered, 310.0)
    tones = [entry.message.tone for entry in job.outbox]
    assert tones == [Tone.ATTENTION] * 5 + [Tone.RESOLVED] * 5
    assert ["no more warnings" in entry.message.summary for entry in job.outbox[:5]] == [False] * 4 + [True]
    diverged = Event(400.0, EventKind.DIVERGED, "the loss is nan", "7")
    assert len(with_progress_alerts(job, (*stalled, diverged), 410.0).outbox) == 11


def test_each_kind_of_trouble_is_told_however_many_others_there_were() -> None:
    kinds = [f"kind-{number}" for number in range(7)]
    events = [
        Event(100.0 + number, EventKind.TROUBLE, kind, subject=kind) for number, kind in enumerate(kinds)
    ]
    assert len(with_progress_alerts(JOB, events, 210.0).outbox) == 7
    repeated = [replace(events[0], at_s=200.0 + number) for number in range(9)]
    assert len(with_progress_alerts(JOB, repeated, 310.0).outbox) == 5


def test_a_trouble_whose_name_ends_like_another_one_is_told() -> None:
    gpu = [Event(100.0 + n, EventKind.TROUBLE, "leak", subject="gpu-memory-leak") for n in range(5)]
    job = with_progress_alerts(JOB, gpu, 210.0)
    leak = Event(300.0, EventKind.TROUBLE, "leak", subject="memory-leak")
    assert len(with_progress_alerts(job, (leak,), 310.0).outbox) == len(job.outbox) + 1


def test_one_recovery_ends_one_warning() -> None:
    slow_ended = Event(320.0, EventKind.RECOVERED, "back to its usual speed", ended=EventKind.SLOW)
    moved = replace(RECOVERED, ended=EventKind.STALLED)
    job = with_progress_alerts(JOB, (STALLED, moved, slow_ended, replace(moved, at_s=330.0)), 340.0)
    assert [entry.message.tone for entry in job.outbox] == [Tone.ATTENTION, Tone.RESOLVED]


def test_the_title_has_no_markup() -> None:
    late = Event(200.0, EventKind.TIME_LIMIT, "will need 5h more; `--time=6:00:00` would be enough")
    (entry,) = with_progress_alerts(JOB, (late,), 210.0).outbox
    assert entry.message.title == "train (12): will need 5h more; --time=6:00:00 would be enough"


def test_the_advice_about_a_job_without_slurm_names_no_command_of_slurm() -> None:
    events = tuple(Event(200.0, kind, "text") for kind in WARNINGS)
    outbox = with_progress_alerts(replace(JOB, backend="local"), events, 210.0).outbox
    assert len(outbox) == len(WARNINGS)
    assert not any(
        word in entry.message.advice for entry in outbox for word in ("scancel", "scontrol", "node")
    )


def test_a_job_of_which_one_worker_has_written_nothing_is_not_said_to_have_no_output() -> None:
    missing = Event(200.0, EventKind.NO_OUTPUT, "started 5m ago, but only 3 of 4 workers have written a log")
    (entry,) = with_progress_alerts(JOB, (missing,), 210.0).outbox
    assert entry.message.headline == "Missing output"


OUT_OF_MEMORY = Event(
    200.0,
    EventKind.ERROR,
    "CUDA out of memory (tried 4.00 GiB)",
    subject="cuda_oom",
    title="Out of GPU memory",
    advice="Lower the batch size of JOBID.",
    evidence=("torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 4.00 GiB.",),
)
GOES_ON = Event(
    300.0, EventKind.RECOVERED, "goes on after an error", ended=EventKind.ERROR, subject="cuda_oom"
)


def test_an_error_has_its_title_its_lines_and_its_advice() -> None:
    (entry,) = with_progress_alerts(JOB, (OUT_OF_MEMORY,), 210.0).outbox
    message = entry.message
    assert message.title == "train (12): CUDA out of memory (tried 4.00 GiB)"
    assert message.headline == "Out of GPU memory"
    assert (message.advice, message.evidence) == ("Lower the batch size of 12.", OUT_OF_MEMORY.evidence)
    assert message.tone is Tone.ATTENTION


def test_an_error_that_is_survived_before_its_message_was_sent_gets_none() -> None:
    job = with_progress_alerts(JOB, (OUT_OF_MEMORY,), 210.0)
    job = with_progress_alerts(job, (OUT_OF_MEMORY, GOES_ON), 310.0)
    assert job.outbox == ()
    assert with_progress_alerts(job, (OUT_OF_MEMORY, GOES_ON), 340.0) == job


def test_after_its_message_a_short_one_says_that_the_job_goes_on() -> None:
    job = with_progress_alerts(JOB, (OUT_OF_MEMORY,), 210.0)
    job = replace(job, outbox=tuple(replace(entry, attempts=1, delivered_s=211.0) for entry in job.outbox))
    job = with_progress_alerts(job, (OUT_OF_MEMORY, GOES_ON), 310.0)
    assert [entry.message.tone for entry in job.outbox] == [Tone.ATTENTION, Tone.RESOLVED]


def test_what_is_critical_carries_the_mark_of_a_failure() -> None:
    launch = Event(200.0, EventKind.LAUNCH_FAILED, "launch failed", is_critical=True)
    no_memory = replace(launch, kind=EventKind.TROUBLE, subject="oom-kill")
    idle = replace(launch, kind=EventKind.TROUBLE, subject="idle-allocation")
    outbox = with_progress_alerts(JOB, (launch, no_memory, idle), 210.0).outbox
    assert [entry.message.tone for entry in outbox] == [Tone.FAILURE, Tone.FAILURE, Tone.ATTENTION]
    assert [entry.message.level for entry in outbox] == [Level.CRITICAL, Level.CRITICAL, Level.WARNING]


@pytest.mark.parametrize(
    ("job", "command"),
    [
        (JOB, "`scancel 12`"),
        (replace(JOB, remote=True, cluster="north"), "`scancel -M north 12`"),
        (replace(JOB, backend="local"), "the command that `jobmon handover 12` names"),
        (
            replace(JOB, backend="ray", cluster="head:8265", name="r"),
            "`ray job stop --address http://head:8265 r`",
        ),
    ],
)
def test_the_command_that_ends_a_job_is_its_own(job: WatchedJob, command: str) -> None:
    event = Event(200.0, EventKind.LAUNCH_FAILED, "launch failed", advice="`scancel JOBID` ends the job.")
    (entry,) = with_progress_alerts(job, (event,), 210.0).outbox
    assert entry.message.advice == f"{command} ends the job."
