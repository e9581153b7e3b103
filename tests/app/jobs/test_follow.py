from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from jobmon_core.app.jobs.output import FollowOutput, wait_for_start
from jobmon_core.context import Context
from jobmon_core.domain.job.tracking.model import WatchedJob
from jobmon_core.domain.slurm.job_ids import JobRef
from jobmon_core.store.home import Home
from jobmon_core.store.owner import Owner
from jobmon_core.system.clock import Wake
from tests.support.clock import FakeClock
from tests.support.job_records import PENDING, RUNNING, failed, job_of

RUNS = job_of(RUNNING)
ENDED = job_of(failed(), concluded_s=1.0)


class Playing(FakeClock):
    """A clock; a job's next state is saved while a command waits."""

    def __init__(self, ctx: Context, *states: WatchedJob) -> None:
        super().__init__()
        self._ctx = ctx
        self._states = list(states)

    def wait(self, seconds: float) -> Wake:
        if self._states:
            self._ctx.store.save(self._states.pop(0))
        return super().wait(seconds)


@pytest.fixture
def ctx(tmp_path: Path) -> Context:
    ctx = Context(Home(tmp_path), {})
    ctx.store.save(RUNS)
    ctx.owner_record(RUNS.id).write(Owner.this_process())
    return ctx


def test_output_is_followed_until_the_job_has_ended(ctx: Context, tmp_path: Path) -> None:
    ctx.clock = Playing(ctx, RUNS, ENDED)
    log = tmp_path / "a.out"
    log.write_text("one\n")
    follow = FollowOutput(ctx, RUNS, "", [str(log)])
    assert [text.lines for text in follow.begin(5)] == [("one",)]
    rounds = 0
    while not follow.has_ended():
        ctx.clock.wait(5)
        rounds += 1
        with log.open("a") as file:
            file.write(f"round {rounds}\nunfinished")
        (new,) = follow.new_text()
        assert new.lines[-1].endswith(f"round {rounds}")
        assert new.unfinished == "unfinished"
    assert rounds == 2
    assert [text.lines for text in follow.rest()] == [("unfinished",)]
    assert follow.ending() == "job 12 has ended: FAILED, exit code 1; `jobmon show 12` shows more"


def test_a_pending_job_is_waited_for(ctx: Context) -> None:
    ctx.clock = Playing(ctx, job_of(PENDING), RUNS)
    assert wait_for_start(ctx, job_of(PENDING), JobRef(12)) == RUNS


def test_a_job_cancelled_while_pending_is_not_waited_for(ctx: Context) -> None:
    cancelled = replace(job_of(PENDING), concluded_s=5.0)
    ctx.clock = Playing(ctx, cancelled)
    assert wait_for_start(ctx, job_of(PENDING), JobRef(12)) == cancelled


def test_it_is_said_if_the_end_will_not_be_noticed(ctx: Context) -> None:
    assert FollowOutput(ctx, RUNS, "", []).caveat() == ""
    ctx.owner_record(RUNS.id).write(replace(Owner.this_process(), boot_id="before the reboot"))
    assert "`jobmon recover` restarts the monitor" in FollowOutput(ctx, RUNS, "", []).caveat()
    stopped = replace(RUNS, unwatched_s=1.0)
    ctx.store.save(stopped)
    assert "no longer watched" in FollowOutput(ctx, stopped, "", []).caveat()
