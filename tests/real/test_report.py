"""The report of a job, on the real Slurm."""

from __future__ import annotations

import sys
from pathlib import Path
from xml.etree import ElementTree as ET

from jobmon_core.domain.slurm.states import Outcome
from tests.support.user import User
from tests.support.waiting import eventually

_TRAINING = Path(__file__).with_name("programs") / "training.py"


def _open_gate(user: User, step: int) -> None:
    """Let the training go on up to a step."""
    new = user.work / "gate.new"
    new.write_text(str(step), encoding="ascii")
    new.replace(user.work / "gate")


def test_a_training_has_a_report_while_it_runs_and_after_its_end(user: User) -> None:
    _open_gate(user, 0)
    command = f"{sys.executable} {_TRAINING} bare 100 gate"
    job_id = user.submit("-J", "bare", "-t", "10", "--wrap", command)
    for step in (20, 40, 60):
        _open_gate(user, step)
        eventually(lambda: f"({step}/100 steps)" in user.jobmon("show", str(job_id)).stdout)  # noqa: B023 - at once
    shown = user.jobmon("report", str(job_id)).stdout
    assert shown.startswith(f"{job_id} bare\nRUNNING\n\nNo problem found so far\n")
    assert "\nprogress   60.0% (60/100 steps)" in shown
    assert "\nspeed " in shown
    _open_gate(user, 100)
    assert user.told(job_id).outcome is Outcome.SUCCESS
    shown = user.jobmon("report", "bare").stdout
    assert shown.startswith(f"{job_id} bare\nCOMPLETED, exit code 0 (success)\n\nNo failure found\n")
    assert "100% (100/100 steps)" in shown
    page = user.jobmon("report", "bare", "--html", "-").stdout
    elements = ET.fromstring(page.partition("\n")[2]).iter()  # noqa: S314 - our own page
    figures = [each.get("id") for each in elements if each.tag.endswith("}figure")]
    assert figures[:2] == ["progress", "throughput"]
