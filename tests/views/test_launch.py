"""The list of checks after the start of a run, in `jobmon show`, `jobmon top` and as JSON."""

from __future__ import annotations

from dataclasses import replace

from jobmon.views.running import launch_json, launch_label, launch_lines
from jobmon.views.top.drawing import ASCII
from jobmon.views.top.job_page import JobPage
from jobmon_core.app.jobs.find import StateGroup
from jobmon_core.app.live.tasks import LiveTask, live_tasks
from jobmon_core.domain.finding import Finding, Severity
from jobmon_core.domain.job.job_progress import FollowedTask, JobProgress
from jobmon_core.domain.messages.card import card_of
from jobmon_core.domain.node.launch.model import FIRST_OUTPUT, GPUS, WORKERS, LaunchState
from jobmon_core.lifecycle.health import Health, JobStatus
from tests.support.job_records import NOW_S, job_of
from tests.support.live_jobs import running_task, some_artifacts

STARTED = LaunchState(
    NOW_S - 40,
    items=(
        Finding(Severity.INFO, "8/8 workers", id=WORKERS),
        Finding(Severity.INFO, "8/8 GPUs in use", id=GPUS),
        Finding(Severity.WARNING, "its logs have no output yet", id=FIRST_OUTPUT),
    ),
)
PASSED = replace(STARTED, verdict=Severity.INFO)
MISSING = Finding(
    Severity.CRITICAL,
    "only 3 of 4 workers are running",
    evidence=tuple(f"line {n}" for n in range(6)),
    id=WORKERS,
)
FAILED = LaunchState(NOW_S - 90, verdict=Severity.CRITICAL, items=(MISSING,))


def progress(state: LaunchState) -> JobProgress:
    return JobProgress(tasks={"": FollowedTask(launch=state)})


def live(state: LaunchState) -> LiveTask:
    (found,) = live_tasks(JobStatus(job_of(running_task()), Health.ALIVE, None), progress(state), NOW_S)
    return found


def lines(state: LaunchState) -> list[str]:
    task = live(state)
    return [launch_label(task), *(text for _, text in launch_lines(task, NOW_S))]


def test_a_launch_that_passed_is_one_line_and_its_warnings() -> None:
    shown = ["launched", "8/8 workers, 8/8 GPUs in use", "warning: its logs have no output yet"]
    assert lines(PASSED) == shown


def test_a_launch_that_is_being_checked_shows_all_checks_and_the_time_left() -> None:
    assert lines(STARTED) == [
        "launch",
        "being checked, 20s left",
        "ok: 8/8 workers",
        "ok: 8/8 GPUs in use",
        "warning: its logs have no output yet",
    ]
    waiting = replace(STARTED, started_s=NOW_S - 75, items=(replace(MISSING, severity=Severity.PENDING),))
    assert lines(waiting)[1:4] == [
        "being checked, 1m 15s after the start",
        "waiting: only 3 of 4 workers are running",
        "  line 0",
    ]
    assert lines(waiting)[-1] == "  and 2 more"


def test_a_launch_that_failed_shows_the_list_without_the_evidence_that_the_problem_has() -> None:
    assert lines(FAILED) == ["launch", "failed", "failed: only 3 of 4 workers are running"]


def test_what_is_not_known_or_over_is_not_shown() -> None:
    assert lines(replace(STARTED, verdict=Severity.UNKNOWN)) == ["launch"]
    ended = replace(live(PASSED), group=StateGroup.COMPLETED)
    assert not list(launch_lines(ended, NOW_S))


def test_json_has_the_verdict_and_each_check_of_a_single_task() -> None:
    found = launch_json([live(FAILED)])["launch"]
    assert found["verdict"] == "failed"
    (item,) = found["items"]
    assert (item["name"], item["result"]) == ("workers", "failed")
    assert item["details"] == [f"line {n}" for n in range(6)]
    assert launch_json([live(PASSED), live(PASSED)]) == launch_json([]) == {"launch": None}
    ended = replace(live(STARTED), group=StateGroup.FAILED)
    assert launch_json([ended])["launch"]["verdict"] == "not known"


def test_the_card_has_a_line_once_all_has_started() -> None:
    job = job_of(running_task())
    shown = card_of(job, progress(PASSED), (), NOW_S)
    assert shown.text == "launched: 8/8 workers, 8/8 GPUs in use, 1 warning"
    assert card_of(job, progress(STARTED), (), NOW_S).text == ""


def test_the_page_of_an_opened_job_has_the_list() -> None:
    page = JobPage(live(FAILED), (), None, NOW_S, symbols=ASCII).lines(80, 24)
    texts = ["".join(span.text for span in line).rstrip() for line in page]
    at = texts.index("Launch:      failed")
    assert texts[at + 1] == "             failed: only 3 of 4 workers are running"
    page = JobPage(live(PASSED), (), None, NOW_S, symbols=ASCII).lines(80, 24)
    assert "Launched:    8/8 workers, 8/8 GPUs in use" in [
        "".join(span.text for span in line) for line in page
    ]


def test_checks_that_passed_give_way_where_there_is_no_room_for_workers_and_outputs() -> None:
    checking = LaunchState(
        NOW_S - 9, items=tuple(Finding(Severity.INFO, f"item {n}", id=f"item {n}") for n in range(9))
    )
    task = replace(live(checking), artifacts=some_artifacts())
    page = JobPage(task, (), None, NOW_S, symbols=ASCII)
    texts = ["".join(span.text for span in line).rstrip() for line in page.lines(80, 20)]
    assert "output_0.jsonl" in "".join(texts)
    assert not any("ok: item" in text for text in texts)
    assert any("ok: item 8" in "".join(span.text for span in line) for line in page.lines(80, 24, 1))
