"""The rows of `jobmon show` about a job's settings."""

from __future__ import annotations

import os
from dataclasses import replace

import pytest

from jobmon.views.console import Console
from jobmon.views.details import detail_lines, settings_rows
from jobmon.views.model import clock, stamp
from jobmon.views.text_width import text_width
from jobmon_core.domain.job.job_progress import JobProgress
from jobmon_core.domain.job.job_settings import Done, JobSettings
from jobmon_core.domain.job.tracking.model import AccountingStatus, EndInquiry, StateChange, Task, WatchedJob
from jobmon_core.domain.logs.diagnosis.model import INCOMPLETE, Diagnosis, Line
from jobmon_core.domain.node.triage.state import Thresholds
from jobmon_core.domain.slurm.job_ids import JobRef
from jobmon_core.domain.slurm.log_paths import LogPaths
from jobmon_core.domain.slurm.rows import JobRow, Usage
from jobmon_core.domain.slurm.states import JobState, Outcome
from jobmon_core.lifecycle.health import Health
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
    succeeded,
)
from tests.support.live_jobs import progress_of, running_task


def shown(job: WatchedJob, key: str = "", *, all_tasks: bool = False, console: Console | None = None) -> str:
    status = status_of(job, Health.DONE if job.closed else Health.ALIVE)
    return "\n".join(detail_lines(status, key, NOW_S + 600, console or Console(), all_tasks=all_tasks))


def array(count: int, bad: int) -> WatchedJob:
    tasks = [failed(str(n), OOM if n % 2 else None) for n in range(bad)]
    return replace(
        job_of(*tasks, *(succeeded(str(n)) for n in range(bad, count))), array_indices=f"0-{count - 1}"
    )


def test_a_running_job_shows_its_time_its_limit_and_its_log() -> None:
    running = replace(RUNNING, start_s=int(NOW_S), limit_s=7200, nodes="n17")
    text = shown(replace(job_of(running), logs=LogPaths("/w/%x-%j.out", "/w/%x-%j.err", "Slurm")))
    assert "  started   " in text
    assert "  running   10m of 2h, time limit at " in text
    assert "  stdout    /w/train-12.out\n  stderr    /w/train-12.err" in text


def test_a_task_of_an_array_comes_before_the_states_of_the_whole_array() -> None:
    job = array(3, 1)
    own = replace(job.tasks["0"], raw_job_id=14)
    lines = shown(replace(job, tasks={**job.tasks, "0": own}), "0").splitlines()
    assert "12_0 (job id 14): FAILED, exit code 1" in lines
    assert lines[lines.index("12: the whole job") + 1] == "  tasks     3: 1 FAILED, 2 COMPLETED"


def test_a_failed_job_shows_cause_advice_and_proof() -> None:
    text = shown(job_of(failed(diagnosis=OOM), concluded_s=NOW_S))
    assert "  cause     CUDA out of memory\n            A GPU had" in text
    assert "  to do     Lower the batch size of 12." in text
    assert (
        "  proof     from the log (`jobmon logs 12` shows more):\n            | 7: torch.OutOfMemoryError"
        in text
    )
    assert text.count("/w/train.err") == 1
    assert text.count("outcome") == 1


def test_a_success_shows_what_the_patterns_of_the_job_match() -> None:
    found = Diagnosis(None, "Completed", "", "", label="clean", also_seen=("Error pattern of this job: x",))
    assert "  also seen Error pattern of this job: x" in shown(job_of(failed(diagnosis=found)))


def test_a_watched_process_has_no_scheduler() -> None:
    text = shown(replace(job_of(RUNNING), backend="process"))
    assert "  where     a process of the machine, without a scheduler" in text


def labels(text: str) -> list[str]:
    return [name for line in text.splitlines() if (name := line[2:11].strip())]


def test_what_happened_and_why_comes_first_and_the_bookkeeping_last() -> None:
    task = failed(diagnosis=OOM)
    assert task.end is not None
    end = replace(task.end, limit_s=600, nodes="n17", usage=Usage(2**30, 2**31))
    task = replace(task, end=end, submit_s=int(NOW_S) - 90, history=(StateChange("FAILED", NOW_S + 61),))
    job = replace(
        job_of(task, concluded_s=NOW_S),
        logs=LogPaths("/w/train.out", "/w/train.err", "Slurm"),
        workdir="/w",
        partition="gpu",
        outbox=(ENTRY,),
    )
    text = shown(job)
    assert labels(text)[1:] == [
        "state", "outcome", "cause", "proof", "to do", "submitted", "started", "ended", "peak RAM", "nodes",
        "stdout", "stderr", "where", "folder", "message", "monitor", "history",
    ]  # fmt: skip
    assert "  state     FAILED, exit code 1\n" in text
    assert ", after 1m 30s in the queue\n" in text
    assert task.end
    held = replace(task, end=replace(task.end, eligible_s=(task.submit_s or 0) + 75))
    assert ", after 1m 30s in the queue (1m 15s held)\n" in shown(job_of(held, concluded_s=NOW_S))
    assert ", ran 1m of 10m\n" in text
    assert "  peak RAM  1.0 GiB of 2.0 GiB requested\n" in text


def test_every_line_of_a_wrapped_log_line_is_marked() -> None:
    line = Line("/w/train.err", 7, "word " * 30)
    job = job_of(failed(diagnosis=replace(OOM, evidence=(line,))), concluded_s=NOW_S)
    lines = list(detail_lines(status_of(job, Health.DONE), "", NOW_S, Console(40)))
    quoted = [text for text in lines if " word" in text]
    assert len(quoted) > 2
    assert all(text.startswith(f"{' ' * 12}| ") and len(text) <= 40 for text in quoted)


def test_the_history_has_the_times_of_slurm_and_marks_those_of_jobmon() -> None:
    start_s = int(NOW_S)
    task = replace(
        succeeded(),
        submit_s=start_s - 100,
        history=(
            StateChange("PENDING", start_s - 80, "None"),
            StateChange("PENDING", start_s - 50, "Priority"),
            StateChange("RUNNING", start_s + 9),
            StateChange("COMPLETING", start_s + 70),
            StateChange("COMPLETED", start_s + 95),
        ),
    )
    _, _, rows = shown(job_of(task)).partition("  history   ")
    assert [row.split() for row in rows.splitlines()] == [
        [stamp(start_s - 100, "%X"), "PENDING"],
        [stamp(start_s - 50, "%X"), "PENDING", "(Priority)", "(first", "seen", "then)"],
        [stamp(start_s, "%X"), "RUNNING"],
        [stamp(start_s + 60, "%X"), "COMPLETING"],
        [stamp(start_s + 95, "%X"), "COMPLETED", "(first", "seen", "then)"],
    ]


def test_the_first_run_of_a_requeued_job_does_not_get_the_start_of_the_second() -> None:
    start_s = int(NOW_S)
    seen = (StateChange("RUNNING", start_s - 500), StateChange("RUNNING", start_s + 9))
    _, _, rows = shown(job_of(replace(RUNNING, start_s=start_s, history=seen))).partition("  history   ")
    assert [("first seen" in row, row.split()[0]) for row in rows.splitlines()] == [
        (True, stamp(start_s - 500, "%X")),
        (False, stamp(start_s, "%X")),
    ]


def test_a_job_that_is_held_says_what_to_do() -> None:
    text = shown(job_of(replace(PENDING, reason="JobHeldUser")))
    assert "  state     PENDING (JobHeldUser)\n" in text
    assert "  reason    It is held by its user.\n  to do     Release it with `scontrol release 12`.\n" in text
    assert "  reason" not in shown(job_of(PENDING))


def test_a_task_of_an_array_that_is_held_says_what_to_do() -> None:
    job = replace(job_of(replace(PENDING, key="3", reason="JobHeldUser"), failed("4")), array_indices="3-4")
    text = shown(job, "3")
    assert "12_3: PENDING (JobHeldUser)\n  reason    It is held by its user.\n" in text
    assert "`scontrol release 12_3`." in text
    waits = job_of(replace(PENDING, reason="QOSGrpCpuLimit"))
    assert "limit.\n            It starts when enough of them have ended.\n" in shown(waits)
    assert "to do" not in shown(waits)


def test_the_user_who_cancelled_is_named_once() -> None:
    found = Diagnosis("slurm_cancelled", "Cancelled by you", "scancel was run.", "")
    task = ended(JobState.CANCELLED, Outcome.CANCELLED, diagnosis=found)
    assert task.end is not None
    end = replace(task.end, raw_state="CANCELLED by 0", cancelled_by=os.getuid(), signal=15)
    text = shown(job_of(replace(task, end=end)))
    assert "  state     CANCELLED by you\n" in text
    assert "  cause" not in text


def test_an_array_is_summarised_before_its_failed_tasks() -> None:
    text = shown(array(100, 4))
    assert "  outcome   failure\n  tasks     100: 4 FAILED, 96 COMPLETED\n" in text
    assert (
        "  causes    2 tasks (0,2): FAILED, exit code 1\n            2 tasks (1,3): CUDA out of memory\n"
        in text
    )
    assert [f"12_{n}: FAILED" in text for n in range(5)] == [True] * 4 + [False]
    assert "96 other tasks not shown: add --all" in text
    assert "12_99: COMPLETED" in shown(array(100, 4), all_tasks=True)


def test_an_array_is_summarised_with_the_progress_of_its_running_tasks() -> None:
    job = replace(job_of(), tasks={key: running_task(key) for key in ("1", "2")}, pending_indices="3-40")
    progress = JobProgress(NOW_S, {"1": progress_of(20, 100), "2": progress_of(90, 100)})
    text = "\n".join(detail_lines(status_of(job), "", NOW_S, Console(), progress))
    assert "  progress  20% to 90% (2 running tasks)\n  ETA       10h" in text


def test_tasks_that_failed_alike_are_explained_once() -> None:
    text = shown(array(100, 4))
    assert text.count("A GPU had too little free memory.") == 1
    assert "CUDA out of memory; explained at 12_1" in text


def test_what_concerns_the_whole_array_stands_under_a_heading() -> None:
    lines = shown(array(100, 4)).splitlines()
    position = lines.index("12: the whole job")
    assert lines[position - 1] == ""
    assert lines[position + 1].startswith("  where ")
    assert "the whole job" not in shown(JOB)


def test_of_very_many_failed_tasks_some_of_each_cause_are_shown() -> None:
    text = shown(array(500, 400))
    assert text.count(": FAILED, exit code 1\n") == 10 + 1  # and their cause
    assert "390 more failed and 100 other tasks not shown" in text
    unknown = [ended(JobState.UNKNOWN, Outcome.UNKNOWN, str(n)) for n in range(12)]
    assert "2 more failed or of unknown outcome not shown" in shown(job_of(*unknown))


def test_one_task_of_an_array_can_be_shown_alone() -> None:
    text = shown(array(10, 2), "7")
    assert "12_7: COMPLETED" in text
    assert "12_1" not in text
    assert "not shown" not in text


def test_what_became_of_each_message_is_shown_in_words() -> None:
    outbox = (
        replace(ENTRY, attempts=2, problem="connection refused", next_try_s=NOW_S + 5000, channel="error"),
        replace(ENTRY, given_up="the webhook is gone"),
        replace(ENTRY, delivered_s=NOW_S, message=replace(ENTRY.message, id="12/held")),
    )
    text = shown(replace(JOB, outbox=outbox))
    assert "\"train failed\": not delivered to channel 'error': connection refused, next try " in text
    assert '"train failed": not delivered, given up: the webhook is gone; check the channel with' in text
    assert '"train failed": delivered at ' in text
    assert "  message   delivered at " in shown(replace(JOB, outbox=outbox[2:]))


def test_an_outage_is_shown_with_its_error() -> None:
    inquiry = EndInquiry(
        NOW_S, NOW_S, accounting=AccountingStatus.UNREACHABLE, accounting_error="sacct: Connection refused"
    )
    text = shown(replace(JOB, tasks={"": replace(RUNNING, inquiry=inquiry)}))
    assert "accounting (sacct) has not answered since" in text
    assert "sacct: Connection refused" in text
    assert "not answered" not in shown(replace(JOB, stale_since_s=NOW_S, unwatched_s=NOW_S))


def test_the_clock_of_a_job_that_waits_for_its_outcome_stands_still() -> None:
    record = JobRow(JobRef(12), JobState.FAILED, "FAILED", start_s=int(NOW_S), end_s=int(NOW_S) + 5)
    seen = replace(RUNNING, start_s=int(NOW_S), limit_s=300, inquiry=EndInquiry(NOW_S, NOW_S, record=record))
    text = shown(job_of(seen))
    assert "state     FAILED\n" in text
    assert "outcome   ended, waiting for details\n" in text
    assert ", ran 5s of 5m" in text
    assert "running" not in text
    squeue_only = replace(seen, inquiry=EndInquiry(NOW_S, NOW_S, queue_state=JobState.CANCELLED))
    assert "state     CANCELLED\n" in shown(job_of(squeue_only))
    assert "limit reached" not in shown(job_of(squeue_only))


def test_an_impossible_time_hides_nothing() -> None:
    seen = replace(RUNNING, history=(StateChange("RUNNING", float("inf")),))
    text = shown(replace(JOB, answered_s=1e300, stale_since_s=1e300, tasks={"": seen}))
    assert "the scheduler has not answered since ?" in text
    assert "? RUNNING (first seen then)" in text


ORDER = (
    *("state", "as of", "outage", "outcome", "reason", "cause", "proof", "to do", "note", "submitted"),
    *(
        "restarts",
        "started",
        "running",
        "ended",
        "limit",
        "peak RAM",
        "nodes",
        "log",
        "where",
        "folder",
        "message",
        "monitor",
    ),
    "history",
)


@pytest.mark.parametrize(
    "task",
    [
        PENDING,
        replace(PENDING, reason="JobHeldUser"),
        replace(RUNNING, start_s=int(NOW_S), nodes="n17"),
        succeeded(),
        failed(diagnosis=OOM),
        replace(RUNNING, inquiry=EndInquiry(NOW_S, NOW_S)),
    ],
)
@pytest.mark.parametrize("health", [Health.ALIVE, Health.DEAD])
def test_the_rows_have_the_same_order_for_all_jobs(task: Task, health: Health) -> None:
    task = replace(task, submit_s=int(NOW_S) - 9, restarts=1, history=(StateChange("RUNNING", NOW_S),))
    job = replace(job_of(task), workdir="/w", outbox=(ENTRY,), stale_since_s=NOW_S)
    names = labels("\n".join(detail_lines(status_of(job, health), "", NOW_S + 600, Console())))[1:]
    assert names == sorted(names, key=ORDER.index)
    assert {"state", "as of", "submitted", "restarts", "where", "folder", "monitor", "history"} < set(names)
    assert ("to do" in names) or health is Health.ALIVE


def test_a_dead_monitor_is_something_to_do() -> None:
    lines = "\n".join(detail_lines(status_of(JOB, Health.DEAD), "", NOW_S, Console()))
    assert "  to do     Run `jobmon recover`: it restarts the monitor.\n" in lines
    assert "  monitor   DEAD, process 4711 on login2" in lines


def test_a_time_that_did_not_come_or_is_not_known_says_so() -> None:
    assert "  started   not yet\n" in shown(job_of(PENDING))
    waiting = job_of(replace(PENDING, submit_s=int(NOW_S), limit_s=7200))
    assert "  started   not yet, 10m in the queue so far\n  limit     2h\n" in shown(waiting)
    soon = replace(PENDING, start_s=int(NOW_S) + 3000)
    assert f"  started   not yet, expected {clock(NOW_S + 3000, NOW_S + 600)}\n" in shown(job_of(soon))
    task = ended(JobState.CANCELLED, Outcome.CANCELLED)
    assert task.end is not None
    before_start = shown(job_of(replace(task, end=replace(task.end, started_s=None))))
    assert "  started   never\n  ended     " in before_start
    vanished = replace(task.end, state=JobState.UNKNOWN, started_s=None, ended_s=None)
    assert "  started   unknown\n  ended     unknown\n" in shown(job_of(replace(task, end=vanished)))


def test_a_job_that_nobody_watches_any_more_has_no_time_that_goes_on() -> None:
    left = replace(job_of(replace(RUNNING, start_s=int(NOW_S))), unwatched_s=NOW_S + 60)
    assert "running" not in shown(left)
    assert "  started   " in shown(left)
    assert "not yet" not in shown(replace(job_of(PENDING), unwatched_s=NOW_S + 60))


def test_a_path_that_does_not_fit_beside_its_name_has_its_own_line() -> None:
    path = "/scratch/" + "x" * 60
    job = replace(JOB, workdir=path, command="/w/run.sh")
    lines = shown(job, console=Console(40)).splitlines()
    assert lines[lines.index("  folder") + 1] == f"    {path}"
    assert "  script    /w/run.sh" in lines
    assert f"  folder    {path}" in shown(job).splitlines()


def test_long_advice_is_a_list_of_steps() -> None:
    found = replace(OOM, advice="Lower the batch size. Then run `sacct -j JOBID -o MaxRSS,ReqMem`.")
    job = job_of(failed(diagnosis=found))
    assert (
        "  to do     1. Lower the batch size.\n            2. Then run `sacct -j 12 -o MaxRSS,ReqMem`.\n"
    ) in shown(job)
    assert "            2. Then run\n               `sacct -j 12 -o MaxRSS,ReqMem`.\n" in shown(
        job, console=Console(45)
    )


@pytest.mark.parametrize("width", [40, 80, 120])
def test_the_text_is_wrapped_but_paths_stay_whole(width: int) -> None:
    path = "/scratch/" + "x" * 150
    job = replace(job_of(failed(diagnosis=OOM)), workdir=path, outbox=(replace(ENTRY, given_up="y " * 90),))
    lines = shown(job, console=Console(width)).splitlines()
    task = failed("3")
    assert task.end is not None
    long_end = replace(task.end, exit_code=0, signal=24)
    array = replace(job_of(replace(task, end=long_end), failed("4")), array_indices="3-4")
    assert "(ulimit -t)" in shown(array, console=Console(width)).replace("\n", " ").replace("  ", " ")
    assert all(text_width(line) <= width or path in line for line in lines)
    assert any(line.endswith(path) for line in lines)


def test_a_success_that_is_not_complete_says_how_far_it_came_and_what_to_do() -> None:
    found = Diagnosis(
        INCOMPLETE, "Incomplete", "Why.", "Check the results.", what_failed="Processed only 3 of 9 files"
    )
    text = shown(job_of(replace(succeeded(""), diagnosis=found), concluded_s=NOW_S))
    assert "  outcome   success, but doubtful: not all was processed\n" in text
    tasks = replace(succeeded("1"), diagnosis=found), succeeded("2")
    array = shown(replace(job_of(*tasks, concluded_s=NOW_S), array_indices="1-2"))
    assert "success, but 1 of 2 tasks doubtful: not all was processed\n" in array
    assert "  cause     Processed only 3 of 9 files\n            Incomplete. Why.\n" in text
    assert "  to do     Check the results.\n" in text


def test_a_failed_task_of_a_running_array_says_when_it_is_analysed() -> None:
    array = replace(job_of(failed("3")), array_indices="3-4", pending_indices="4")
    assert "`jobmon diagnose 12_3`" in " ".join(shown(array).split())


def test_every_setting_is_shown_with_what_it_does() -> None:
    settings = JobSettings(
        source="/w/jobmon.yaml",
        launch_timeout_s=300.0,
        stall_timeout_s=600.0,
        slowdown_percent=30.0,
        min_growth_bytes=1024.0,
        done=Done(marker="/w/DONE", log="finished"),
        stacks_on_stall=True,
        no_agent=True,
        thresholds=Thresholds(idle_s=60.0),
    )
    source, text = settings_rows(settings)
    assert source == "/w/jobmon.yaml"
    assert text.split(", ") == [
        "launch timeout 5m",
        "stall timeout 10m",
        "slowdown warning at -30%",
        "minimum output growth 1.0 KiB per check",
        "done marker /w/DONE and log /finished/",
        "stacks on stall",
        "no agent",
        "custom thresholds",
    ]


def test_no_agent_is_shown_although_it_is_the_only_setting() -> None:
    assert list(settings_rows(JobSettings(no_agent=True))) == ["no agent"]
