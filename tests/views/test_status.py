from __future__ import annotations

import re
from dataclasses import replace

import pytest

from jobmon.views.console import Console
from jobmon.views.model import clock
from jobmon.views.status import status_lines, watch_lines
from jobmon.views.text_width import text_width
from jobmon_core.app.jobs.find import Selection, select
from jobmon_core.app.jobs.overview import Overview
from jobmon_core.domain.job.job_settings import JobSettings
from jobmon_core.domain.job.tracking.model import AccountingStatus, EndInquiry, WatchedJob
from jobmon_core.domain.messages.parts import job_title
from jobmon_core.domain.slurm.states import JobState, Outcome
from jobmon_core.lifecycle.health import Health, JobStatus
from tests.support.job_records import (
    ENTRY,
    JOB,
    NOW_S,
    OOM,
    PENDING,
    RUNNING,
    ended,
    failed,
    job_of,
    status_of,
)
from tests.support.job_records import succeeded as done

PIPE = Console()


def screen(
    *statuses: JobStatus, console: Console = PIPE, age_s: float = 5.0, limit: int | None = None
) -> list[str]:
    now_s = NOW_S + age_s
    selected = select(statuses, Selection(all=True, limit=limit), now_s)
    return list(status_lines(selected, Overview(list(statuses), []), now_s, console))


def row(job: WatchedJob, health: Health = Health.ALIVE, age_s: float = 5.0) -> str:
    return screen(status_of(job, health), age_s=age_s)[1]


def notes(*jobs: WatchedJob, health: Health = Health.ALIVE) -> list[str]:
    lines = screen(*(status_of(job, health) for job in jobs))
    return lines[lines.index("") + 2 :]


@pytest.mark.parametrize(
    ("health", "words"),
    [
        (Health.ALIVE, "alive"),
        (Health.DEAD, "DEAD"),
        (Health.STALE, "stale (login2)"),
        (Health.REMOTE, "elsewhere (login2)"),
        (Health.DONE, "done"),
    ],
)
def test_the_health_of_the_monitor_ends_the_row(health: Health, words: str) -> None:
    assert row(JOB, health).endswith(f" {words}")


def test_a_run_of_a_sweep_has_its_own_name_in_lists_and_messages() -> None:
    job = replace(JOB, settings=JobSettings(run="sweep1/r8_lr1e-5/epoch0"))
    assert "sweep1/r8_lr1e-5/epoch0" in row(job)
    assert job_title(job, "").startswith("sweep1/r8_lr1e-5/epoch0 (")
    assert "r1e-5/epoch0" in screen(status_of(job), console=Console(width=80))[1]  # cut at its start
    assert {"sweep1/r8_lr1e-5/epoch0", JOB.name} <= {*job.names}


def test_data_older_than_one_interval_show_their_age() -> None:
    running, pending = replace(JOB, registered_s=0.0), replace(job_of(PENDING), registered_s=0.0)
    assert "last answer" not in row(running, age_s=35)
    assert "  last answer 42s ago  " in row(running, age_s=42)
    assert "last answer" not in row(pending, age_s=65)
    assert "  behind other jobs (Priority), last answer 12m ago  " in row(pending, age_s=725)
    assert "last answer" not in row(job_of(done(), concluded_s=NOW_S), age_s=9000)


def test_a_job_is_fresh_right_after_its_submission() -> None:
    new = replace(JOB, answered_s=None, tasks={})
    assert "  submitted  " in row(new)
    assert "not yet listed" in row(new)
    assert "scheduler not responding" in row(replace(new, stale_since_s=NOW_S))


def test_a_pending_job_shows_what_it_waits_for_and_the_reason() -> None:
    assert row(job_of(PENDING)).endswith("  behind other jobs (Priority)  alive")
    array = replace(JOB, tasks={}, pending_indices="0-9", pending_reason="Dependency")
    assert "  waits for another job (Dependency)  " in row(array)
    narrow = screen(status_of(job_of(replace(PENDING, limit_s=7200))), console=Console(40))
    assert narrow[1:3] == ["  PENDING, limit 2h", "  behind other jobs (Priority)"]


@pytest.mark.parametrize(
    ("task", "words"),
    [
        (done(), "success"),
        (failed(), "exit code 1"),
        (failed(diagnosis=OOM), "CUDA out of memory"),
        (ended(JobState.CANCELLED, Outcome.CANCELLED), "cancelled"),
    ],
)
def test_an_ended_job_shows_its_outcome_or_the_cause(task: object, words: str) -> None:
    assert f"  {words}  " in row(replace(JOB, tasks={"": task}, concluded_s=NOW_S))  # type: ignore[dict-item] # parametrized


def test_a_success_whose_log_ends_in_a_failure_is_doubted() -> None:
    doubtful = replace(done(), diagnosis=OOM)
    assert "  doubtful: CUDA out of memory  " in row(job_of(doubtful, concluded_s=NOW_S))


def test_the_states_of_an_array_are_short_where_they_do_not_fit() -> None:
    tasks = [*(done(str(n)) for n in range(5)), *(failed(str(n), OOM) for n in range(5, 8))]
    array = status_of(replace(job_of(*tasks, name="x" * 40), array_indices="0-7"), Health.REMOTE)
    assert " F:3 CD:5 " in screen(array, console=Console(80))[1]
    assert " FAILED:3 COMPLETED:5 " in screen(array, console=Console(120))[1]
    assert " FAILED:3 COMPLETED:5 " in screen(array)[1]


def test_a_terminal_shows_monitors_only_if_one_needs_attention() -> None:
    quiet = [status_of(JOB), status_of(job_of(done(), job_id=13), Health.DONE)]
    for width in (40, 80):
        assert "alive" not in "".join(screen(*quiet, console=Console(width)))
        for health in (Health.DEAD, Health.REMOTE, Health.STALE):
            shown = "".join(
                screen(*quiet, status_of(job_of(RUNNING, job_id=14), health), console=Console(width))
            )
            assert "alive" in shown
            assert "done" in shown
    assert "alive" in "".join(screen(*quiet))


def test_an_array_shows_how_many_tasks_it_has_and_how_many_are_doubtful() -> None:
    tasks = [replace(done(str(n)), diagnosis=OOM if n % 3 == 1 else None) for n in range(8)]
    job = replace(job_of(*tasks, concluded_s=NOW_S), array_indices="0-7")
    assert "  COMPLETED:8  " in row(job)
    assert "  3 of 8 doubtful: CUDA out of memory  " in row(job)
    assert "  FAILED:2  " in row(replace(job_of(failed("1"), failed("2")), array_indices="1-2"))


@pytest.mark.parametrize(
    ("reason", "shown"),
    [
        ("QOSMaxJobsPerUserLimit", "limit of its QOS reached"),
        ("Priority", "behind other jobs (Priority)"),
        ("Resources", "no free resources (Resources)"),
        ("SomethingNew", "SomethingNew"),
        ("PartitionNodeLimit", "will not start: PartitionNodeLimit"),
    ],
)
def test_of_a_pending_job_the_words_that_help_stay_where_not_all_fit(reason: str, shown: str) -> None:
    job = job_of(replace(PENDING, reason=reason), name="x" * 40)
    line = screen(status_of(job), console=Console(80))[1]
    assert text_width(line) <= 80
    assert line.endswith(f"  {shown}")


def test_no_word_of_slurm_is_cut_where_a_plain_clause_fits() -> None:
    job = job_of(replace(PENDING, reason="DependencyNeverSatisfied"), name="x" * 40)
    assert screen(status_of(job), console=Console(80))[1].endswith("  will never start")


def test_a_pending_job_that_needs_its_user_says_why() -> None:
    assert "  held by its user (JobHeldUser)  " in row(job_of(replace(PENDING, reason="JobHeldUser")))
    assert "waits" not in row(job_of(replace(PENDING, reason="QOSMaxJobsPerUserLimit")))


def test_a_running_array_says_how_many_tasks_failed_so_far() -> None:
    array = replace(job_of(failed("1"), replace(RUNNING, key="2")), array_indices="1-2")
    assert "FAILED:1 RUNNING:1" in row(array)
    assert "  1 failed so far  " in row(array)


def test_the_reason_of_a_part_of_an_array_is_shown_only_if_its_user_must_act() -> None:
    array = replace(job_of(RUNNING), pending_indices="4-9", pending_reason="Resources")
    assert "Resources" not in row(array)
    assert "  held by its user (JobHeldUser)  " in row(replace(array, pending_reason="JobHeldUser"))


def test_a_job_no_longer_watched_says_so() -> None:
    assert "no longer watched" in row(replace(JOB, unwatched_s=NOW_S), Health.DONE)


def test_an_outage_is_explained_once_for_all_jobs_that_it_concerns() -> None:
    jobs = [
        replace(job_of(RUNNING, job_id=n), stale_since_s=NOW_S, stale_why="connect failure") for n in (1, 2)
    ]
    (note,) = notes(*jobs)
    assert re.fullmatch(
        r"1, 2: Slurm has not responded since \S.*\d \(last answer at \S.*\d\): connect failure", note
    )


def test_one_outage_that_monitors_noticed_at_different_times_is_explained_once() -> None:
    job = replace(job_of(RUNNING, job_id=1), stale_why="connect failure")
    jobs = [
        replace(job, job_id=n, answered_s=NOW_S - 60 * before, stale_since_s=NOW_S - 60 * since)
        for n, before, since in ((1, 40, 30), (2, 39, 29), (3, 36, 25), (4, 35, 24))
    ]
    (note,) = notes(*jobs)
    since, last = clock(NOW_S - 30 * 60, NOW_S), clock(NOW_S - 35 * 60, NOW_S)
    assert (
        note == f"1, 2, 3, 4: Slurm has not responded since {since} (last answer at {last}): connect failure"
    )
    other = replace(job, job_id=5, cluster="big", stale_since_s=NOW_S)
    assert len(notes(*jobs, other)) == 2


def test_an_outage_begins_after_the_last_answer_that_any_monitor_got() -> None:
    early = replace(job_of(RUNNING, job_id=1), answered_s=NOW_S - 600, stale_since_s=NOW_S - 540)
    late = replace(early, job_id=2, answered_s=NOW_S - 300, stale_since_s=NOW_S - 240)
    (note,) = notes(early, late)
    assert f"since {clock(NOW_S - 240, NOW_S)} (last answer at {clock(NOW_S - 300, NOW_S)})" in note


def test_a_silent_sacct_is_explained() -> None:
    inquiry = EndInquiry(
        NOW_S, NOW_S, accounting=AccountingStatus.UNREACHABLE, accounting_error="sacct: Connection refused"
    )
    (note,) = notes(job_of(replace(RUNNING, inquiry=inquiry)))
    assert note.startswith("12: left the queue, but sacct has not answered since ")
    assert note.endswith(": sacct: Connection refused")


def test_an_undelivered_message_is_explained_with_what_to_do() -> None:
    waiting = replace(ENTRY, attempts=2, problem="connection refused", next_try_s=NOW_S + 60)
    given_up = replace(
        ENTRY, given_up="no error webhook is configured; after `jobmon init` run `jobmon recover`"
    )
    first, second = notes(
        replace(job_of(failed(), job_id=1), outbox=(waiting,)),
        replace(job_of(failed(), job_id=2), outbox=(given_up,)),
    )
    assert first.startswith("1: message not delivered: connection refused, next try ")
    assert first.endswith("; jobmon keeps trying; `jobmon test` checks the channel")
    assert second == f"2: message not delivered, given up: {given_up.given_up}"


def test_many_jobs_with_the_same_note_are_counted() -> None:
    jobs = [
        replace(job_of(failed(), job_id=n), outbox=(replace(ENTRY, given_up="404"),)) for n in range(1, 9)
    ]
    (note,) = notes(*jobs)
    assert note.startswith("1, 2, 3, 4, 5 and 3 more: message not delivered, given up: 404; ")


def test_the_counts_follow_the_table() -> None:
    jobs = [job_of(RUNNING, job_id=1), job_of(failed(), job_id=2), job_of(done(), job_id=3)]
    assert screen(*map(status_of, jobs))[-1] == "3 jobs: 1 running, 1 completed, 1 failed"
    assert screen(*map(status_of, jobs), limit=1)[-1] == "1 job: 1 completed; 2 more match"


def test_of_running_arrays_the_running_tasks_are_counted() -> None:
    tasks = {str(key): replace(RUNNING, key=str(key)) for key in range(12)} | {"12": done("12")}
    array = replace(job_of(job_id=2), tasks=tasks, array_indices="0-39", pending_indices="13-39")
    assert screen(status_of(array))[-1] == "1 job: 1 running (12 of 40 array tasks)"
    single, waiting = job_of(RUNNING, job_id=1), job_of(PENDING, job_id=3)
    last = screen(*map(status_of, (single, array, waiting)))[-1]
    assert last == "3 jobs: 2 running (12 of 40 array tasks), 1 pending"


def test_doubtful_successes_are_counted() -> None:
    doubtful = replace(done(), diagnosis=OOM)
    jobs = [job_of(doubtful, job_id=1), job_of(done(), job_id=2), job_of(failed(), job_id=3)]
    assert screen(*map(status_of, jobs))[-1] == "3 jobs: 2 completed (1 doubtful), 1 failed"


def test_a_job_that_waits_for_its_outcome_does_not_run() -> None:
    shown = EndInquiry(NOW_S, NOW_S, queue_state=JobState.FAILED)
    seen = replace(RUNNING, start_s=int(NOW_S), inquiry=shown)
    lines = screen(status_of(job_of(seen)))
    assert "  FAILED  " in lines[1]
    assert "  ended, waiting for details  " in lines[1]
    assert lines[-1] == "1 job: 1 ending"
    assert "no longer listed, outcome not known yet" in row(
        job_of(replace(seen, inquiry=EndInquiry(0.0, 0.0)))
    )
    preempted = replace(shown, queue_state=JobState.PREEMPTED)
    assert "ended, unless requeued" in row(job_of(replace(seen, inquiry=preempted)))
    array = replace(job_of(replace(seen, key="1"), replace(RUNNING, key="2")), array_indices="1-2")
    assert screen(status_of(array))[-1] == "1 job: 1 running (1 of 2 array tasks)"


def test_a_job_that_no_answer_has_shown_is_not_counted_as_pending() -> None:
    submitted = replace(job_of(job_id=2), answered_s=None)
    assert screen(status_of(submitted))[-1] == "1 job: 1 not seen yet"
    lines = screen(status_of(job_of(PENDING, job_id=1)), status_of(submitted))
    assert lines[-1] == "2 jobs: 1 pending, 1 not seen yet"


def test_a_terminal_shows_the_age_of_the_oldest_data_while_a_job_is_active() -> None:
    stale = replace(job_of(RUNNING, job_id=1), answered_s=NOW_S - 100)
    fresh, ended_job = job_of(PENDING, job_id=2), job_of(done(), job_id=3, concluded_s=NOW_S)

    def last_line(*jobs: WatchedJob, width: int = 120) -> str:
        return screen(*map(status_of, jobs), console=Console(width), age_s=20)[-1]

    assert last_line(stale, fresh) == "2 jobs: 1 running, 1 pending (Slurm last answered 20s ago)"
    older = replace(fresh, answered_s=NOW_S - 15, registered_s=0.0)
    assert last_line(fresh, older) == "2 jobs: 2 pending (Slurm last answered 35s ago)"
    local = replace(fresh, backend="local")
    assert last_line(local) == "1 job: 1 pending (local jobs last checked 20s ago)"
    both = "2 jobs: 2 pending (Slurm last answered 20s ago, local jobs last checked 20s ago)"
    assert last_line(fresh, replace(local, job_id=4)) == both
    process = replace(fresh, backend="process")
    assert last_line(process) == "1 job: 1 pending (processes last checked 20s ago)"
    assert last_line(stale) == "1 job: 1 running"
    assert last_line(stale, fresh, width=40) == "answered 20s ago)"
    assert last_line(ended_job) == "1 job: 1 completed"
    assert last_line(fresh, width=0) == "1 job: 1 pending"


def watched(*statuses: JobStatus, height: int, width: int = 80, notices: tuple[str, ...] = ()) -> list[str]:
    selected = select(statuses, Selection(all=True), NOW_S)
    known = Overview(list(statuses), [])
    return watch_lines(selected, known, NOW_S, Console(width), notices=notices, height=height)


MANY = [status_of(job_of(done(), job_id=n), Health.DONE) for n in range(1, 11)] + [
    status_of(job_of(failed() if n % 2 else RUNNING, job_id=n), Health.ALIVE) for n in range(11, 31)
]


def test_a_short_window_hides_some_jobs_but_not_the_counts() -> None:
    lines = watched(*MANY, height=14, notices=("a notice",))
    assert len(lines) == 14
    assert [line.split()[0] for line in lines[:10]] == ["JOB", *map(str, range(14, 31, 2))]
    assert lines[10] == "... 21 more jobs; enlarge the window, or list fewer, e.g. with --running"
    assert lines[11:] == [
        "",
        "30 jobs: 10 running, 10 completed, 10 failed (Slurm last answered 0s ago)",
        "a notice",
    ]


def test_a_window_that_is_high_enough_hides_nothing() -> None:
    lines = watched(*MANY, height=33)
    assert len(lines) == 33
    assert "more jobs" not in "".join(lines)


def test_a_screen_that_refreshes_says_how_to_leave_it_if_that_costs_no_line() -> None:
    assert watched(*MANY, height=33, width=100)[-1].endswith("(Slurm last answered 0s ago); Ctrl-C quits")
    assert watched(*MANY, height=33, width=80)[-1].endswith("(Slurm last answered 0s ago)")
    assert "... 2 more jobs; " in "".join(watched(*MANY, height=32))


@pytest.mark.parametrize("width", [40, 80])
@pytest.mark.parametrize("height", range(2, 40))
def test_the_counts_stay_in_any_window(width: int, height: int) -> None:
    undelivered = [
        replace(each, job=replace(each.job, outbox=(replace(ENTRY, given_up=f"{number} " * 30),)))
        for number, each in enumerate(MANY)
    ]
    for jobs in (MANY, undelivered):
        lines = watched(*jobs, height=height, width=width)
        assert len(lines) <= height
        assert any(line.startswith("30 jobs: 10 running") for line in lines)
        assert max(map(text_width, lines)) <= width


def test_nothing_watched_says_how_to_begin() -> None:
    assert "`jobmon submit SCRIPT`" in screen()[0]


@pytest.mark.parametrize("width", [40, 76, 80, 120])
def test_the_screen_fits_the_terminal(width: int) -> None:
    long = replace(
        job_of(failed(diagnosis=OOM), job_id=12345678, name="学習" * 30),
        outbox=(replace(ENTRY, attempts=1, problem="could not reach discord.com: connection refused"),),
    )
    array = replace(
        job_of(failed("1"), replace(RUNNING, key="2"), done("3")),
        pending_indices="4-9",
        pending_reason="Resources",
    )
    lines = screen(status_of(long), status_of(array, Health.REMOTE), console=Console(width))
    assert max(map(text_width, lines)) <= width
    assert any("12345678" in line for line in lines)


def test_a_pipe_gets_everything_uncut() -> None:
    assert f" {'x' * 99} " in row(replace(JOB, name="x" * 99))


def test_no_name_breaks_the_table() -> None:
    assert "a b  2J" in row(replace(JOB, name="a\nb\x1b\x07" + "2J"))
    assert " 1e5 " in row(replace(JOB, name="1e5"))


def test_only_a_terminal_with_colours_gets_them() -> None:
    failing = status_of(job_of(failed(), concluded_s=NOW_S))
    assert "\x1b[31mFAILED" in "".join(screen(failing, console=Console(80, colour=True)))
    assert "\x1b" not in "".join(screen(failing, console=Console(80)))


def test_an_impossible_time_hides_no_job() -> None:
    assert "train" in row(replace(JOB, answered_s=1e300, stale_since_s=1e300))
    assert "last answer ? ago" in row(replace(JOB, answered_s=float("-inf")))


def test_no_line_of_the_counts_ends_between_a_number_and_its_word() -> None:
    jobs = [job_of(task, job_id=n) for n, task in enumerate([RUNNING, PENDING, done(), failed(), failed()])]
    for width in range(30, 60):
        lines = screen(*map(status_of, jobs), console=Console(width))
        counted = lines[lines.index("") + 1 :]
        assert " ".join(counted) == (
            "5 jobs: 1 running, 1 pending, 1 completed, 2 failed (Slurm last answered 5s ago)"
        )
        assert not any(line[-1].isdigit() for line in counted)
