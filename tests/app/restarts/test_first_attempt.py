"""What makes a submission the first attempt of a lineage, and which submissions cannot be one."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from jobmon_core.app.restarts.first_attempt import first_attempt
from jobmon_core.app.runs.submit_request import SubmitRequest
from jobmon_core.context import Context
from jobmon_core.domain.errors import Invalid
from jobmon_core.domain.job.job_settings import JobSettings, RestartMode, RestartSettings, RunOptions
from jobmon_core.store.home import Home


@pytest.mark.parametrize(
    ("backend", "mode", "is_refused"),
    [("ssh", RestartMode.ON, True), ("ssh", RestartMode.OBSERVE, False), ("local", RestartMode.ON, False)],
)
def test_a_stall_is_to_end_an_attempt_only_where_jobmon_can_cancel_it(
    tmp_path: Path, backend: str, mode: RestartMode, *, is_refused: bool
) -> None:
    ctx = Context(Home(tmp_path), os.environ)
    settings = JobSettings(restart=RestartSettings(mode, stall_is_failure_s=600))
    command = SubmitRequest(backend, ("python", "train.py"), run=RunOptions())
    if is_refused:
        with pytest.raises(Invalid, match=f"jobmon cannot cancel jobs of the backend '{backend}'"):
            first_attempt(ctx, command, settings, print)
    else:
        assert first_attempt(ctx, command, settings, print)
