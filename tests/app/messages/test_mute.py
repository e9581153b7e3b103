"""The names of muted jobs whose state file is damaged or gone."""

from __future__ import annotations

from pathlib import Path

from jobmon_core.app.messages.mute import mute, muted
from jobmon_core.context import Context
from jobmon_core.store.home import Home
from tests.support.clock import FakeClock
from tests.support.job_records import NOW_S, RUNNING, job_of


def test_a_damaged_state_file_does_not_make_a_forgotten_job(tmp_path: Path) -> None:
    ctx, job = Context(Home(tmp_path), {}, clock=FakeClock(NOW_S)), job_of(RUNNING)
    ctx.store.save(job)
    mute(ctx, "12", 60.0)
    ctx.store.path(job.id).write_text("{", encoding="utf-8")
    assert [subject for subject, _ in muted(ctx)] == [f"{job.id}, whose state file cannot be read"]
    ctx.store.path(job.id).unlink()
    assert [subject for subject, _ in muted(ctx)] == [f"the forgotten job {job.id}"]
