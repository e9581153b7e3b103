"""A monitor sends the message at a fixed period, also one that starts between two of them."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest

from jobmon.cli import main
from jobmon_core.context import Context
from jobmon_core.domain.channels import Level
from jobmon_core.lifecycle.start import MonitorStarter
from jobmon_core.monitor.job_monitor import JobMonitor
from jobmon_core.monitor.wiring import MonitorFactory
from jobmon_core.scheduler.backends import BACKENDS, WITH_SCRIPTS
from jobmon_core.store.home import Home
from jobmon_core.store.owner import Owner
from tests.support.clock import FakeClock
from tests.support.toy_backend import toy_backend


def test_a_configured_period_is_kept_by_monitors_that_follow_each_other(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    clock = FakeClock()
    monkeypatch.setitem(BACKENDS, "toy", toy_backend(clock.now))
    monkeypatch.setattr("jobmon_core.context.WITH_SCRIPTS", (*WITH_SCRIPTS, "toy"))
    monkeypatch.setattr(MonitorStarter, "start", lambda _self, job_ids: tuple(job_ids))  # no process
    monkeypatch.setattr(MonitorStarter, "prefork", lambda _self, _record: None)
    monkeypatch.setenv("JOBMON_HOME", str(tmp_path))
    ctx = Context(Home(tmp_path), os.environ, clock=clock)
    ctx.home.config.write_text(json.dumps({"progress": {"every": "1h"}}), encoding="utf-8")
    ctx.home.config.chmod(0o600)
    assert main(["submit", "--backend", "toy", "7"]) == 0
    (job,) = ctx.store.all()
    ctx.owner_record(job.id).write(Owner.this_process())  # type: ignore[union-attr] # it can be read

    def monitor() -> JobMonitor:
        return MonitorFactory(ctx).job_monitor(job.id, lambda _event: None)  # type: ignore[union-attr] # as above

    def told(watching: JobMonitor, polls: int) -> int:
        before = set(watching.job.alerted)
        for _ in range(polls):
            clock.wait(900)
            watching.poll_once()
        return len(set(watching.job.alerted) - before)

    first = monitor()
    first.poll_once()
    assert (told(first, 3), told(first, 2)) == (0, 1)  # after 45 minutes, and after 75
    (entry,) = (each for each in first.job.outbox if each.message.level is Level.PROGRESS)
    assert entry.message.title.endswith("its log shows no progress yet")
    second = monitor()
    assert (told(second, 2), told(second, 2)) == (0, 1)  # after 105 minutes, and after 135
