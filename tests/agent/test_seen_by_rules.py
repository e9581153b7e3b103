"""The rules judge what an agent's files hold at any moment, however old the agent is."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from jobmon_core.agent.report_files import ReportFiles
from jobmon_core.analysis.followed_task import TaskLook
from jobmon_core.analysis.triage import situation_of
from jobmon_core.domain.job.job_progress import FollowedTask
from jobmon_core.domain.job.job_settings import JobSettings
from jobmon_core.domain.job.tracking.model import Task, WatchedJob
from jobmon_core.domain.logs.progress.events.event import Event
from jobmon_core.domain.node.telemetry.model import AgentReport, Memory, WorkerStatus
from jobmon_core.domain.node.triage.judge import judge
from jobmon_core.domain.node.triage.state import Thresholds
from jobmon_core.domain.slurm.states import JobState
from jobmon_core.store.telemetry import TaskTelemetry
from tests.support.situations import GIB, START_S, sample, worker

_AGE_S, _FOR_S = 1200.0, 240.0  # of the agent; what is wrong begins at this age and lasts so long
_ZOMBIE = sample(
    [worker(0), worker(1, 0.0, status=WorkerStatus.ZOMBIE)], memory=Memory(31 * GIB, 32 * GIB, 0)
)


@pytest.mark.parametrize(
    ("interval_s", "must_last_s", "seen_after_s"),
    [(5.0, 300.0, 130.0), (5.0, 60.0, 130.0), (60.0, 300.0, 125.0)],
)
def test_what_lasts_for_a_minute_is_seen_at_each_moment(
    tmp_path: Path, interval_s: float, must_last_s: float, seen_after_s: float
) -> None:
    files, blind = ReportFiles(tmp_path / "n1", START_S), []
    settings = JobSettings(thresholds=Thresholds(must_last_s=must_last_s))
    reports = int((_AGE_S + _FOR_S) / interval_s)
    for at_s in (START_S + interval_s * (number + 1) for number in range(reports)):
        wrong_for_s = at_s - START_S - _AGE_S
        measured = _ZOMBIE if wrong_for_s > 0 else sample([worker(0), worker(1)])
        files.write(AgentReport(replace(measured, at_s=at_s, span_s=interval_s), START_S, interval_s))
        if wrong_for_s >= seen_after_s:
            for late_s in (0.0, 0.9 * interval_s):
                found = {verdict.name for verdict in judge_at(tmp_path, settings, at_s + late_s)}
                blind += [at_s + late_s] if not found >= {"memory-near-limit", "zombie-workers"} else []
    assert blind == []


def judge_at(folder: Path, settings: JobSettings, now_s: float) -> tuple[Event, ...]:
    task = Task("", JobState.RUNNING, "RUNNING", start_s=int(START_S))
    job = WatchedJob("slurm-1-x", 1, START_S, tasks={"": task}, settings=settings)
    look = TaskLook(now_s, job, task)
    return judge(situation_of(FollowedTask(), look, TaskTelemetry(folder)))
