"""Restarts from Python, with jobs of this machine."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from jobmon import api
from jobmon_core.context import Context
from jobmon_core.domain.job.job_settings import RestartMode
from jobmon_core.store.home import Home
from tests.support.checkpoint_layouts import torch_file
from tests.support.lineages import (
    NODE_FAIL,
    attempt,
    checkpoint,
    job_of_attempt,
    lineage_of,
    restart_from,
    save,
)
from tests.support.processes import processes_of
from tests.support.waiting import PATIENCE_S, eventually

SCRIPT = """\
#!/bin/bash
#SBATCH -o out-%j.txt
echo "from ${JOBMON_RESUME_FROM-the start} $*"
mkdir -p ckpt
cp whole.pt ckpt/.tmp && mv ckpt/.tmp ckpt/step_100.pt
exit 1
"""


@pytest.fixture
def ctx(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Context:
    """The home of a user with a script, in its folder."""
    home, work = tmp_path / "home", tmp_path / "work"
    for folder in (home, work):
        folder.mkdir(mode=0o700)
    settings = {"poll": {"running_s": 5}, "agent": {"enabled": False}, "backend": "local"}
    (home / "config.json").write_text(json.dumps(settings), encoding="ascii")
    (home / "config.json").chmod(0o600)
    monkeypatch.setenv("JOBMON_HOME", str(home))
    monkeypatch.chdir(work)
    (work / "job.sh").write_text(SCRIPT, encoding="ascii")
    torch_file(work / "whole.pt")
    return Context(Home(home), {})


def ended(ctx: Context) -> bool:
    return not list(processes_of(ctx.home.root))


def test_a_job_is_restarted_from_a_checkpoint_and_its_attempts_are_listed(ctx: Context) -> None:
    first = api.submit("job.sh")
    api.wait(first.job_id, at_most_s=PATIENCE_S)
    second = api.restart(first.job_id, from_="ckpt/step_100.pt")
    api.wait(second.job_id, at_most_s=PATIENCE_S)
    path = Path.cwd() / "ckpt/step_100.pt"
    assert Path(f"out-{second.job_id}.txt").read_text(encoding="ascii") == f"from {path} \n"
    before, after = api.attempts(second.job_id)
    assert (before.job_id, before.verdict, before.resumed_from) == (first.job_id, "restart", "")
    assert (after.number, after.job_id, after.resumed_from) == (1, second.job_id, str(path))
    eventually(lambda: ended(ctx))


def test_what_cannot_be_restarted_is_an_error(ctx: Context) -> None:
    with pytest.raises(api.UnknownJob):
        api.restart(12)
    job = api.submit("job.sh")
    with pytest.raises(api.JobmonError, match="part of no lineage"):
        api.attempts(job.job_id)
    api.wait(job.job_id, at_most_s=PATIENCE_S)
    with pytest.raises(api.JobmonError, match="is no checkpoint that jobmon knows"):
        api.restart(job.job_id, "ckpt/step_9.pt")
    eventually(lambda: ended(ctx))


def test_restarts_are_asked_for_at_the_submission(ctx: Context) -> None:
    wanted = api.Restart(
        mode="observe", on=["node"], max={"node": 2}, resume_arg="--resume {path}", checkpoint_dir="ckpt"
    )
    job = api.submit("job.sh", restart=wanted)
    settings = ctx.store.load(ctx.store.paths()[0].stem).settings
    assert settings
    assert settings.restart
    assert (settings.restart.mode, settings.restart.on, settings.restart.budgets) == (
        RestartMode.OBSERVE,
        ("node",),
        {"node": 2},
    )
    assert (settings.restart.resume_arg, settings.checkpoint_dir) == (
        "--resume {path}",
        str(Path("ckpt").absolute()),
    )
    assert [each.job_id for each in api.attempts(job.job_id)] == [job.job_id]
    with pytest.raises(api.ConfigInvalid, match="mode"):
        api.submit("job.sh", restart=api.Restart(mode="sometimes"))
    assert len(ctx.store.paths()) == 1
    eventually(lambda: ended(ctx))


def test_the_steps_of_attempts(ctx: Context) -> None:
    first = attempt(0, last_step=4380, decision=restart_from(4200))
    lineage = lineage_of(first, attempt(1, resume=checkpoint(4200)))
    save(ctx, lineage, job_of_attempt(0, NODE_FAIL), job_of_attempt(1))
    before, after = api.attempts(8123)
    assert (before.cause, before.last_step, before.lost_steps) == ("node_fail", 4380, 180)
    assert (after.start_step, after.lost_steps, after.verdict) == (4200, None, "")
