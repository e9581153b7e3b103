"""What a poll of a group decides, and the exact texts of its log."""

from __future__ import annotations

import time
from dataclasses import replace

import pytest

from jobmon_core.domain.channels import Route
from jobmon_core.domain.many.groups.log_text import EventText, GpuFigures
from jobmon_core.domain.many.groups.member_view import MemberView
from jobmon_core.domain.many.groups.model import Group, GroupSettings, Member
from jobmon_core.domain.many.groups.poll import (
    after_poll,
    is_complete,
    is_due,
    logs_gpu_figures,
    summary,
    to_append,
)
from jobmon_core.domain.slurm.rows import Usage
from jobmon_core.domain.slurm.states import Outcome

START_S = 1_762_872_492.0  # 2025-11-11 14:48:12 UTC
GIB = 2**30


def local_time(seconds: float) -> str:
    return time.strftime("%Y-%m-%d %H:%M:%S", time.gmtime(seconds))


def text(now_s: float = START_S) -> EventText:
    return EventText(now_s, local_time)


def group_of(*names: str, **settings: object) -> Group:
    members = {name: Member(f"slurm-{number}-x") for number, name in enumerate(names, 1)}
    return Group("sweep1", START_S - 900, GroupSettings(**settings), members)  # type: ignore[arg-type]


PENDING = MemberView("PENDING", "12345690")
RUNNING = PENDING._replace(state="RUNNING", started_s=START_S - 292)
COMPLETED = RUNNING._replace(
    state="COMPLETED",
    outcome=Outcome.SUCCESS,
    is_over=True,
    ended_s=START_S,
    limit_s=600,
    usage=Usage(max_rss_bytes=3 * GIB, requested_bytes=8 * GIB, cpu_s=146.0, cpus=1),
    log_folder="r8_lr1e-5/eval/logs/",
    gpu_hours=0.1,
)
FAILED = COMPLETED._replace(
    state="FAILED", outcome=Outcome.FAILURE, cause="KeyError: 'lr'", fingerprint="f00d", ended_s=START_S - 280
)
STUCK = PENDING._replace(never_starts="DependencyNeverSatisfied")


def test_the_log_has_the_shape_that_other_programs_read() -> None:
    name = "r8_lr1e-5/capitalization/epoch0"
    group = replace(group_of(name), members={name: Member("slurm-1-x", logged_state="RUNNING")})
    assert after_poll(group, {name: COMPLETED}, {}, text()).log.pending == (
        "[2025-11-11 14:48:12] STATUS_CHECK: Polling SLURM\n"
        "Result: 1 job found - 0 PENDING, 0 RUNNING, 1 COMPLETED\n\n"
        "[2025-11-11 14:48:12] STATE_CHANGE: r8_lr1e-5/capitalization/epoch0\n"
        "Previous: RUNNING\n"
        "Current: COMPLETED\n"
        "Completed: 2025-11-11 14:48:12\n"
        "Elapsed: 4m 52s\n"
        "Action: Updated run state\n"
        "Result log: r8_lr1e-5/eval/logs/\n\n"
        "[2025-11-11 14:48:12] COMPUTE_METRICS: r8_lr1e-5/capitalization/epoch0\n"
        "Job ID: 12345690\n"
        "GPU Time: 4m 52s / 10m 00s (49%)\n"
        "Memory: 3.00 GB / 8.00 GB\n"
        "CPU Efficiency: 50.0%\n\n"
        "[2025-11-11 14:48:12] ALL_COMPLETE: Monitoring finished\n"
        "Summary: 1 job ended - 1 COMPLETED, 0 FAILED\n"
        "Total time: 15 minutes\n\n"
    )


def test_a_start_has_the_job_id_and_a_poll_without_news_still_counts() -> None:
    group = group_of("a", "b")
    group = after_poll(group, {"a": PENDING, "b": PENDING}, {}, text())
    assert (
        "Previous: none\nCurrent: PENDING\nJob ID: 12345690\nAction: Updated run state" in group.log.pending
    )
    group = replace(group, log=replace(group.log, pending=""))
    group = after_poll(group, {"a": RUNNING, "b": PENDING}, {"a": GpuFigures(57.4, 30.2, 79.6)}, text())
    assert "Result: 2 jobs found - 1 PENDING, 1 RUNNING, 0 COMPLETED" in group.log.pending
    assert "STATE_CHANGE: a\nPrevious: PENDING\nCurrent: RUNNING\nJob ID: 12345690\n" in group.log.pending
    assert "RESOURCE_STATUS: a\nGPU Utilization: 57% | GPU Memory: 30.2/79.6 GB" in group.log.pending
    assert "STATE_CHANGE: b" not in group.log.pending
    group = replace(group, log=replace(group.log, pending=""))
    quiet = after_poll(group, {"a": RUNNING, "b": PENDING}, {}, text()).log.pending
    assert quiet.count("\n\n") == 1
    assert "Result: 2 jobs found" in quiet


def test_every_fifth_poll_shows_resources() -> None:
    group = group_of("a")
    assert [number for number in range(12) if logs_gpu_figures(replace(group, polls=number))] == [4, 9]


def test_a_run_over_its_limit_is_flagged_and_what_is_not_recorded_is_said_so() -> None:
    late = COMPLETED._replace(state="TIMEOUT", outcome=Outcome.FAILURE, usage=Usage())
    log = after_poll(group_of("a"), {"a": late}, {}, text()).log.pending
    assert "GPU Time: 4m 52s / 10m 00s (**EXCEEDED**)" in log
    assert "⚠️ Time limit exceeded — consider increasing the time limit (`--time`)" in log
    assert "Memory: not recorded / not recorded\nCPU Efficiency: not recorded" in log


def test_the_time_of_a_job_without_gpus_is_not_called_gpu_time() -> None:
    log = after_poll(group_of("a"), {"a": COMPLETED._replace(gpu_hours=None)}, {}, text()).log.pending
    assert "Wall Time: 4m 52s / 10m 00s (49%)" in log


def test_a_poll_without_an_answer_says_so_and_how_old_its_states_are() -> None:
    silent = RUNNING._replace(
        unanswered_since_s=START_S - 60, unanswered_why="squeue: Unable to contact slurm controller"
    )
    log = after_poll(group_of("a", "b"), {"a": silent, "b": RUNNING}, {}, text()).log.pending
    assert (
        "Result: no answer since 2025-11-11 14:47:12 (squeue: Unable to contact slurm controller); "
        "as of then, 2 jobs found - 0 PENDING, 2 RUNNING, 0 COMPLETED"
    ) in log


def test_an_end_that_slurm_shows_is_logged_with_its_facts_once_it_is_concluded() -> None:
    ending = RUNNING._replace(state="COMPLETED", is_ending=True)
    group = after_poll(group_of("a"), {"a": ending}, {}, text())
    assert "STATE_CHANGE" not in group.log.pending
    log = after_poll(group, {"a": COMPLETED}, {}, text()).log.pending
    assert "Current: COMPLETED\nCompleted: 2025-11-11 14:48:12\nElapsed: 4m 52s\n" in log


def test_the_tasks_of_an_array_are_counted() -> None:
    states = ("COMPLETED",) * 10 + ("FAILED",) * 2
    words = ("completed",) * 10 + ("failed",) * 2
    array = FAILED._replace(task_states=states, task_words=words)
    running = RUNNING._replace(task_states=("RUNNING", "PENDING", "PENDING"))
    log = after_poll(group_of("a"), {"a": running}, {}, text()).log.pending
    assert "3 jobs found - 2 PENDING, 1 RUNNING" in log
    group = after_poll(group_of("a", "b"), {"a": array, "b": COMPLETED}, {}, text())
    (message,) = group.unsent
    assert message.title == "sweep1 is complete: 11 completed, 2 failed"
    assert message.summary.startswith("2 jobs with 13 tasks, ")
    assert message.results[0].text.splitlines()[0] == "a  2 of 12 failed  12s"
    assert "Summary: 13 jobs ended - 11 COMPLETED, 2 FAILED" in group.log.pending
    assert summary(group, {"a": array})["counts"] == {"completed": 10, "failed": 2}


def test_the_digest_has_the_last_figures_of_each_run_and_the_command_that_repeats_the_failed_ones() -> None:
    views = {"lr0.1": COMPLETED._replace(metrics="loss 0.412, accuracy 0.93"), "lr1": FAILED}
    (message,) = after_poll(group_of(*views), views, {}, text()).unsent
    assert message.results[0].text.splitlines()[1] == "lr0.1  completed  4m 52s  loss 0.412, accuracy 0.93"
    assert message.advice.startswith("`jobmon group resubmit-failed sweep1` submits the failed ones again.")


def test_an_end_is_logged_once_it_is_explained() -> None:
    unexplained = FAILED._replace(is_over=False)
    group = after_poll(group_of("a"), {"a": unexplained}, {}, text())
    assert "STATE_CHANGE" not in group.log.pending
    assert group.complete_s is None
    assert "Current: FAILED" in after_poll(group, {"a": FAILED}, {}, text()).log.pending


def test_the_digest_has_all_members_and_their_causes_and_comes_once() -> None:
    views = {"a": COMPLETED, "b": FAILED, "c": STUCK}
    group = after_poll(group_of("a", "b", "c"), views, {}, text())
    (message,) = group.unsent
    assert message.title == "sweep1 is complete: 1 completed, 1 can never start, 1 failed"
    assert message.route is Route.ERROR
    assert message.evidence == (
        "1 failed: KeyError: 'lr' (b)",
        "1 can never start: DependencyNeverSatisfied (c)",
    )
    assert message.results[0].text.splitlines()[0] == "b  failed           12s"
    assert group.complete_s == START_S
    assert group.next_due_s() is None


def test_a_digest_of_successes_goes_to_the_channel_for_successes() -> None:
    (message,) = after_poll(group_of("a"), {"a": COMPLETED}, {}, text()).unsent
    assert (message.route, message.advice) == (Route.SUCCESS, "")


def test_a_member_that_can_never_start_is_logged_once_and_not_waited_for() -> None:
    views = {"a": RUNNING, "b": STUCK}
    group = after_poll(group_of("a", "b"), views, {}, text())
    assert "NEVER_STARTS: b" in group.log.pending
    group = after_poll(replace(group, log=replace(group.log, pending="")), views, {}, text())
    assert "NEVER_STARTS" not in group.log.pending
    assert is_complete({"a": COMPLETED, "b": STUCK})


@pytest.mark.parametrize(("cluster", "command"), [("", "scancel 12"), ("north", "scancel -M north 12")])
def test_the_command_that_removes_a_stuck_member_names_the_cluster_of_its_job(
    cluster: str, command: str
) -> None:
    view = STUCK._replace(job_id="12", other_cluster=cluster)
    group = after_poll(group_of("a"), {"a": view}, {}, text())
    assert f"`{command}` removes it" in group.log.pending
    assert not is_complete({"a": COMPLETED, "b": MemberView()})  # not submitted yet


@pytest.mark.parametrize(
    ("views", "settings", "title"),
    [
        (
            [FAILED] * 3 + [PENDING],
            {},
            "sweep1: 3 members failed in the same way within 60 s of their",
        ),
        ([FAILED] * 2 + [PENDING], {}, None),
        ([FAILED] * 2 + [PENDING], {"stop_after": 2}, "sweep1: 2 members failed in the same way within 60 s"),
        ([FAILED] * 3 + [PENDING], {"stop_after": 0}, None),
        ([FAILED._replace(fingerprint=str(each)) for each in range(3)] + [PENDING], {}, None),
        ([FAILED._replace(fingerprint="")] * 3 + [PENDING], {}, None),
        ([FAILED._replace(ended_s=START_S)] * 3 + [PENDING], {}, None),  # after almost five minutes
    ],
)
def test_a_sweep_that_looks_broken_is_told_once(
    views: list[MemberView], settings: dict[str, object], title: str | None
) -> None:
    by_name = {str(number): view for number, view in enumerate(views)}
    group = after_poll(group_of(*by_name, **settings), by_name, {}, text())
    assert [message.title.startswith(title or "") for message in group.unsent] == [True] * (title is not None)
    assert len(after_poll(group, by_name, {}, text()).unsent) == len(group.unsent)
    assert not group.hold


def test_the_pending_members_of_a_broken_sweep_are_held_only_where_the_user_wants_it() -> None:
    views = {"a": FAILED, "b": FAILED, "c": FAILED, "d": PENDING}
    group = after_poll(group_of(*views, hold_when_broken=True), views, {}, text())
    assert group.hold
    assert "Action: Holding the pending members" in group.log.pending
    assert "release sweep1" in group.unsent[0].advice


def test_a_poll_is_due_after_the_interval_or_when_all_have_ended() -> None:
    group = replace(group_of("a"), polled_s=START_S)
    assert not is_due(group, {"a": RUNNING}, START_S + 59)
    assert is_due(group, {"a": RUNNING}, START_S + 60)
    assert is_due(group, {"a": COMPLETED}, START_S + 1)


@pytest.mark.parametrize("cut", range(8))
def test_what_a_killed_process_wrote_is_not_appended_again(cut: int) -> None:
    pending = "[x] ä\n"
    written = pending.encode()[:cut]
    assert written + to_append(pending, written) == pending.encode()


def test_a_new_member_makes_a_complete_group_open_again() -> None:
    group = after_poll(group_of("a"), {"a": COMPLETED}, {}, text())
    assert group.with_member("b", Member("slurm-9-x")).complete_s is None
    assert group.with_member("a", group.members["a"]).complete_s is not None


def test_metrics_say_what_would_have_been_enough_and_the_digest_counts_gpu_hours() -> None:
    usage = Usage(max_rss_bytes=GIB, requested_bytes=8 * GIB, cpu_s=7000.0, cpus=1, run_s=7200, gpus=4)
    view = COMPLETED._replace(limit_s=8000, usage=usage, gpu_hours=8.0)
    timeout = view._replace(state="TIMEOUT", outcome=Outcome.FAILURE, gpu_hours=0.5)
    group = replace(group_of("a"), members={name: Member(f"slurm-{name}-x") for name in "ab"})
    done = after_poll(group, {"a": view, "b": timeout}, {}, text())
    assert "CPU Efficiency: 97.2%\nAdvice: `--mem 2G` would have been enough\n\n" in done.log.pending
    assert "GPU Time: 2h 00m 00s / 2h 13m 20s (**EXCEEDED**)" in done.log.pending
    assert {field.name: field.value for field in done.unsent[0].fields}["GPU hours"] == "8.5"


def test_no_name_writes_a_line_or_a_control_code_of_its_own_into_the_log() -> None:
    name = "a\n[2026-01-01 00:00:00] ALL_COMPLETE: x\x1b]0;owned\x07\u202e"
    text = EventText(0.0, lambda _at_s: "now").broken(name, "none")
    assert len(text.strip().split("\n")) == len(EventText(0.0, str).broken("a", "none").strip().split("\n"))
    assert not [each for each in text if not each.isprintable() and each != "\n"]
