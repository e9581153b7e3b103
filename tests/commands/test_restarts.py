"""A lineage in all commands that know one, in a shell."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from jobmon_core.app.jobs.efficiency import find_targets
from jobmon_core.context import Context
from jobmon_core.domain.many.groups.model import Group, Member
from jobmon_core.store.home import Home
from tests.support.job_records import NOW_S, RUNNING
from tests.support.lineages import (
    NODE_FAIL,
    SECRET,
    attempt,
    checkpoint,
    job_of_attempt,
    lineage_of,
    restart_from,
    save,
)
from tests.support.shell import Shell

FIRST = attempt(0, last_step=4380, decision=restart_from(4200))
BOTH = lineage_of(FIRST, attempt(1, resume=checkpoint(4200)))


@pytest.fixture
def ctx(shell: Shell) -> Context:
    """The home of a user with a job that goes on as another one."""
    ctx = Context(Home(shell.home), {})
    save(ctx, BOTH, job_of_attempt(0, NODE_FAIL), job_of_attempt(1, RUNNING))
    return ctx


@pytest.mark.usefixtures("ctx")
def test_restarts_lists_lineages_and_the_attempts_of_one(shell: Shell) -> None:
    listed = shell.jobmon("restarts").stdout.splitlines()
    assert listed[1].split() == ["8124", "train", "2", "step", "4,200", "running"]
    shown = shell.jobmon("restarts", "8123").stdout
    assert shown == shell.jobmon("restarts", "8124").stdout
    assert "0        8123  node fail  restart  0              180\n" in shown
    (each,) = json.loads(shell.jobmon("restarts", "--json").stdout)
    found = json.loads(shell.jobmon("restarts", "8123", "--json").stdout)
    assert [attempt["job"] for attempt in found.pop("attempts")] == ["8123", "8124"]
    assert found == each


def test_times_and_steps_that_the_lineage_lacks_come_from_the_records_of_its_jobs(
    shell: Shell, ctx: Context
) -> None:
    first, second = json.loads(shell.jobmon("restarts", "8123", "--json").stdout)["attempts"]
    assert (first["started_at"], first["ended_at"]) == (int(NOW_S), int(NOW_S) + 60)
    assert (second["started_at"], second["last_step"]) == (None, None)
    ctx.store.path("slurm-8123-x").unlink()
    assert json.loads(shell.jobmon("restarts", "8124", "--json").stdout)["attempts"][0]["ended_at"] is None


@pytest.mark.usefixtures("ctx")
def test_a_lineage_that_cannot_be_read_hides_no_other(shell: Shell) -> None:
    (shell.home / "state/lineages/broken.json").write_text("{", encoding="utf-8")
    done = shell.jobmon("restarts")
    assert (done.returncode, "8124" in done.stdout, "broken.json" in done.stderr) == (1, True, True)


def test_a_job_without_a_lineage_is_named_with_what_to_do(shell: Shell, ctx: Context) -> None:
    assert shell.jobmon("restarts", "9").returncode == 1
    ctx.lineages.remove("7f3a")
    done = shell.jobmon("restarts", "8123")
    assert (done.returncode, done.stdout) == (1, "")
    assert "`jobmon restart 8123` submits it again by hand" in done.stderr
    assert shell.jobmon("restarts").stdout == "no job was submitted with --restart\n"


def test_status_says_what_follows_and_does_not_count_a_restart_that_is_due_as_a_failure(
    shell: Shell, ctx: Context
) -> None:
    assert "NODE_FAIL; went on as 8124" not in shell.jobmon("status").stdout  # before its time
    shown = shell.jobmon("status", "--all").stdout
    assert "failure; went on as 8124" in shown
    save(ctx, lineage_of(FIRST), job_of_attempt(0, NODE_FAIL, restart_due_s=ctx.clock.now() + 5000))
    ctx.store.path("slurm-8124-x").unlink()
    shown = shell.jobmon("status").stdout
    assert "failure; restart in 1h" in shown
    assert "1 job: 1 to be restarted" in shown
    (found,) = json.loads(shell.jobmon("status", "--json").stdout)
    assert found["restart_due_at"] > ctx.clock.now()


@pytest.mark.usefixtures("ctx")
def test_show_and_report_place_a_job_in_its_lineage(shell: Shell) -> None:
    shown = shell.jobmon("show", "8123").stdout
    assert "  lineage   attempt 0 of 2, counted from 0; after: 8124\n" in shown
    assert "restart from /w/ckpt/step-4200 (step 4,200)" in shown
    found = json.loads(shell.jobmon("show", "8124", "--json").stdout)["lineage"]
    assert found == {
        "id": "7f3a",
        "attempt": 1,
        "attempt_count": 2,
        "before": "8123",
        "after": None,
        "decision": None,
    }
    assert "lineage    attempt 0 of 2, counted from 0; after: 8124" in shell.jobmon("report", "8123").stdout


def test_a_job_without_restarts_has_no_lineage(shell: Shell, ctx: Context) -> None:
    ctx.lineages.remove("7f3a")
    assert json.loads(shell.jobmon("show", "8124", "--json").stdout)["lineage"] is None
    assert "lineage" not in shell.jobmon("show", "8124").stdout


def test_efficiency_takes_an_attempt_for_its_whole_lineage(ctx: Context) -> None:
    for argument in ("8123", "8124"):
        assert [str(each.ref) for each in find_targets(ctx, [argument], 0.0)] == ["8123", "8124"]
    assert len(find_targets(ctx, ["8123", "8124"], 0.0)) == 2


@pytest.mark.usefixtures("ctx")
def test_neither_an_archive_nor_a_screen_has_the_environment(shell: Shell, tmp_path: Path) -> None:
    assert SECRET in (shell.home / "state/lineages/7f3a.private.json").read_text("utf-8")
    assert shell.jobmon("archive", "8123", str(tmp_path / "archive")).returncode == 0
    archived = [path.read_bytes() for path in (tmp_path / "archive").rglob("*") if path.is_file()]
    assert archived
    assert not any(SECRET.encode() in content for content in archived)
    for command in (("restarts", "8123", "--json"), ("show", "8123", "--json"), ("handover",), ("where",)):
        assert SECRET not in shell.jobmon(*command).stdout


def test_to_cancel_a_group_calls_off_the_restarts_that_are_due(shell: Shell, ctx: Context) -> None:
    due = job_of_attempt(0, NODE_FAIL, restart_due_s=NOW_S + 60)
    save(ctx, lineage_of(FIRST), due)
    ctx.groups.create(Group("sweep1", NOW_S, members={"a": Member(due.id)}))
    assert "1 to be restarted" in shell.jobmon("group", "status", "sweep1").stdout
    done = shell.jobmon("group", "cancel", "sweep1", "--yes")
    assert (done.returncode, done.stdout) == (0, "group sweep1: 1 job cancelled\n"), done
    assert ctx.lineages.load("7f3a").ended_why
    assert not ctx.lineages.submission("7f3a").path.exists()


@pytest.mark.usefixtures("ctx")
def test_a_run_whose_restart_is_due_is_not_submitted_again_as_failed(shell: Shell, ctx: Context) -> None:
    due = job_of_attempt(0, NODE_FAIL, restart_due_s=NOW_S + 60)
    save(ctx, lineage_of(FIRST), due)
    ctx.groups.create(Group("sweep1", NOW_S, members={"a": Member(due.id)}))
    done = shell.jobmon("group", "resubmit-failed", "sweep1", "--yes")
    assert "no run of group sweep1 has failed" in done.stderr
