"""The progress of running jobs, on the real Slurm."""

from __future__ import annotations

import json
import os
import signal
import sys
from pathlib import Path
from typing import Any

import pytest

from jobmon_core.domain.channels import Route
from jobmon_core.domain.slurm.states import Outcome
from jobmon_core.lifecycle.health import Health
from tests.support.messages import facts, title
from tests.support.user import User
from tests.support.waiting import eventually

_TRAINING = Path(__file__).with_name("programs") / "training.py"
_STEPS = 100
_STYLES = ("tqdm", "hf", "bare")


def _train(user: User, style: str, *options: str) -> int:
    _open_gate(user, style, 0)
    command = f"{sys.executable} {_TRAINING} {style} {_STEPS} gate-{style}"
    return user.submit(*options, "-J", style, "-t", "10", "--wrap", command)


def _open_gate(user: User, style: str, step: int) -> None:
    """Let a training go on up to a step."""
    gate = user.work / f"gate-{style}"
    gate.with_suffix(".new").write_text(str(step), encoding="ascii")
    gate.with_suffix(".new").replace(gate)


def _progress(user: User, job_id: int) -> dict[str, Any]:
    done = user.jobmon("progress", str(job_id), "--json")
    return dict(json.loads(done.stdout)) if done.returncode == 0 else {}


def _reaches(user: User, job_id: int, step: int) -> None:
    """Wait until the monitor has seen that a training is at this step."""
    eventually(lambda: f"({step}/{_STEPS} steps)" in user.jobmon("show", str(job_id)).stdout)


def test_three_trainings_show_how_far_they_are_until_they_end(user: User) -> None:
    job_ids = {style: _train(user, style) for style in _STYLES}
    for step in (30, 60, 90):
        for style in _STYLES:
            _open_gate(user, style, step)
        for job_id in job_ids.values():
            _reaches(user, job_id, step)
            assert _progress(user, job_id)["progress_pct"] == pytest.approx(step)
        for screen in ("status", "top"):
            text = user.jobmon(screen).stdout
            assert text.count(f"{step}.0%") >= len(_STYLES), text
    for style, job_id in job_ids.items():
        _open_gate(user, style, _STEPS)
        assert user.told(job_id).outcome is Outcome.SUCCESS
        assert _progress(user, job_id)["items_processed"] == _STEPS
    done = [facts(payload)["Work"] for payload in user.discord.received(Route.SUCCESS)]
    assert [text.partition(",")[0] for text in done] == [f"{_STEPS} steps"] * len(_STYLES)
    assert all(text.endswith(" on average") for text in done)


def test_a_hung_training_is_told_and_so_is_its_recovery(user: User) -> None:
    (user.work / "patient.yaml").write_text("monitoring: {stall_timeout: 10}\n", encoding="utf-8")
    job_id = _train(user, "bare", "--job-config", "patient.yaml")
    for step in (10, 20, 30, 40):
        _open_gate(user, "bare", step)
        _reaches(user, job_id, step)
    eventually(lambda: _was_told(user, "no progress for", "(step 40 of 100)"))
    assert user.job(job_id).outcome is None
    assert "stalled" in user.jobmon("status").stdout
    _open_gate(user, "bare", 50)
    eventually(lambda: _was_told(user, "moves again", "(step 50 of 100)"))
    _open_gate(user, "bare", _STEPS)
    assert user.told(job_id).outcome is Outcome.SUCCESS


def _was_told(user: User, *texts: str) -> bool:
    """Whether one message about a problem has all of these texts in its title."""
    titles = map(title, user.discord.received(Route.ERROR))
    return any(all(text in each for text in texts) for each in titles)


def test_a_monitor_that_is_killed_and_replaced_keeps_the_history(user: User) -> None:
    job_id = _train(user, "tqdm")
    for step in (20, 40):
        _open_gate(user, "tqdm", step)
        _reaches(user, job_id, step)
    os.kill(user.monitor_pid(job_id), signal.SIGKILL)
    eventually(lambda: user.snapshot(job_id).health is Health.DEAD)
    _open_gate(user, "tqdm", 60)
    assert user.jobmon("recover").returncode == 0
    _reaches(user, job_id, 60)
    (progress_file,) = (user.home / "state" / "progress").glob("*.json")
    samples = json.loads(progress_file.read_text(encoding="utf-8"))["tasks"][""]["history"]["samples"]
    known = [sample["current"] for sample in samples]  # a look may come between two gates
    assert known == sorted(known)
    assert [step for step in known if step in (20, 40, 60)] == [20, 40, 60]
    _open_gate(user, "tqdm", _STEPS)
    assert user.told(job_id).outcome is Outcome.SUCCESS


def test_the_end_says_how_far_a_job_came_and_that_it_did_not_do_all(user: User) -> None:
    (user.work / "named.yaml").write_text("job: {total_items: 2000}\n", encoding="utf-8")
    script = "for n in $(seq 10 10 {end}); do echo Processed $n/{of} items; sleep 2; done; exit {code}"
    jobs = [
        user.submit(
            "--job-config", "named.yaml", "-t", "10", "--wrap", script.format(end=end, of=of, code=code)
        )
        for end, of, code in ((150, 150, 0), (40, 2000, 1))  # the first thinks that it did all
    ]
    completed, failed = (user.told(job_id) for job_id in jobs)
    assert completed.is_doubtful_success
    assert failed.outcome is Outcome.FAILURE
    (message,) = user.discord.received(Route.SUCCESS)
    assert title(message).endswith("with exit code 0, but processed only 150 of 2,000 items")
    (message,) = user.discord.received(Route.ERROR)
    assert facts(message)["Work"] == "Reached item 40 of 2,000 (2%)"
