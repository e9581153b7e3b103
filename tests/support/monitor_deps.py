"""What the monitor of one job depends on, for tests that run it without a process of its own."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from jobmon_core.domain.job.restart.model import Decision, Verdict
from jobmon_core.domain.job.tracking.policy import Policy
from jobmon_core.domain.logs.diagnosis.model import Diagnosis
from jobmon_core.domain.node.telemetry.agent import AgentSettings
from jobmon_core.monitor.agents import Agents
from jobmon_core.monitor.done_hints import DoneHints
from jobmon_core.monitor.job_monitor import MonitorDeps
from jobmon_core.monitor.outage_notifier import OutageNotifier
from jobmon_core.monitor.progress_follower import ProgressFollower
from jobmon_core.monitor.task_agent import AgentProcesses
from jobmon_core.polling.accounting import SharedAccounting
from jobmon_core.polling.queue import SharedQueue
from jobmon_core.scheduler.base import Scheduler
from jobmon_core.store.jobs import JobStore
from jobmon_core.store.shared_answers import SharedAnswer, outage_notice_file
from jobmon_core.store.telemetry import TaskTelemetry
from jobmon_core.system.clock import Clock
from tests.support.helper import AtHome


def monitor_deps(folder: Path, scheduler: Scheduler, clock: Clock) -> MonitorDeps:
    """Return dependencies with files in ``folder``; diagnoses are empty, and every message is delivered."""
    notice = outage_notice_file(folder, "any")
    return MonitorDeps(
        scheduler=scheduler,
        queue=SharedQueue(scheduler, SharedAnswer(folder / "queue.reply"), clock),
        accounting=SharedAccounting(scheduler, SharedAnswer(folder / "accounting.reply"), clock),
        outages=OutageNotifier(lambda _job: notice, clock, Policy(), "login1", lambda _job_id: False),
        store=JobStore(folder),
        clock=clock,
        policy=Policy(),
        cluster_name=str,
        diagnose=lambda _job, keys: dict.fromkeys(keys, Diagnosis(None, "", "", "")),
        check_owner=lambda: None,
        deliver=lambda entry, _note: (replace(entry, delivered_s=clock.now()),),
        earlier_logs=lambda _job: {},
        progress=ProgressFollower(lambda _jobs: {}, AtHome(), clock, 30.0),
        update_card=lambda job: job.card,
        agents=Agents(
            launches=lambda _job, _task, _settings: (),
            processes=AgentProcesses(),
            telemetry=lambda state_id, key: TaskTelemetry(folder / "telemetry" / state_id / (key or "job")),
            settings=lambda: AgentSettings(enabled=False),
            clock=clock,
        ),
        decide_restart=lambda _job: Decision(Verdict.STOP, "test", "this is a test", clock.now()),
        restart=lambda job: replace(job, restart_due_s=None),
        record=lambda _job: None,
        with_proof=lambda _job, answer: answer,
        done_hints=DoneHints(clock),
        is_cancelled=lambda: False,
        log=lambda _event: None,
    )
