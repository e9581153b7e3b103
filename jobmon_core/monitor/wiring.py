"""Builds job monitors from the adapters of a `Context`, and from what the jobs of one process share."""

from __future__ import annotations

import os
from contextlib import suppress
from functools import partial
from typing import TYPE_CHECKING

from jobmon_core.analysis.job_logs import log_files, named_path
from jobmon_core.domain.delivery.card import JobCard
from jobmon_core.domain.delivery.card_schedule import closed_card, postponed_card
from jobmon_core.domain.errors import ConfigInvalid, JobmonError, StateUnreadable, StorageFailed
from jobmon_core.domain.job_settings import JobSettings
from jobmon_core.domain.telemetry.agent_command import AgentOptions
from jobmon_core.domain.telemetry.agent_settings import AgentSettings
from jobmon_core.domain.tracking.policy import Policy
from jobmon_core.lifecycle.agent_processes import AgentProcesses
from jobmon_core.monitor.agents import AgentDeps, Agents
from jobmon_core.monitor.done.hints import DoneHints
from jobmon_core.monitor.groups.keeper import GroupKeeper
from jobmon_core.monitor.heartbeat import Heartbeat, call_url
from jobmon_core.monitor.job_monitor import JobMonitor, MonitorDeps
from jobmon_core.monitor.outage_notifier import OutageNotifier
from jobmon_core.monitor.progress_follower import ProgressFollower
from jobmon_core.monitor.settings import SettingsReader
from jobmon_core.polling.accounting import SharedAccounting
from jobmon_core.polling.queue import SharedQueue
from jobmon_core.scheduler.base import AgentRequest
from jobmon_core.store.shared_answers import outage_notice_file
from jobmon_core.system.process import die_with_parent
from jobmon_core.system.worker import Worker, WorkerFailed

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from jobmon_core.context import Context
    from jobmon_core.domain.delivery.outbox import OutboxEntry
    from jobmon_core.domain.diagnosis.model import Diagnosis, EarlierLog
    from jobmon_core.domain.messages.scheduler_outage import OutageNotice
    from jobmon_core.domain.progress.events.event import Followed
    from jobmon_core.domain.progress.model import JobProgress
    from jobmon_core.domain.slurm.rows import RecordAnswer
    from jobmon_core.domain.tracking.model import Task, WatchedJob
    from jobmon_core.polling.cluster_name import SharedClusterName
    from jobmon_core.scheduler.base import AgentLaunch
    from jobmon_core.store.json_file import JsonFile

    Log = Callable[[str], None]

_CARD_TIMEOUT_S, _CARD_RETRY_S = 20.0, 60.0


class MonitorFactory:
    """Builds the job monitors of one process, and keeps what they share."""

    def __init__(self, ctx: Context) -> None:
        """Build what does not depend on a job."""
        self._ctx = ctx
        self._worker = Worker(ctx.locks)
        self._settings = SettingsReader(ctx.home.config, ctx.configuration, self._worker)
        self._polling: dict[tuple[str, str, str], tuple[SharedQueue, SharedAccounting]] = {}
        self._cluster_names: dict[str, SharedClusterName] = {}  # by backend
        self._progress: ProgressFollower | None = None
        self._outages: OutageNotifier | None = None
        self._done_hints = DoneHints(ctx.clock)
        self._groups: GroupKeeper | None = None
        self._agent_settings = AgentSettings(enabled=False)  # until a valid configuration was read
        self.agents = Agents(
            AgentDeps(
                launches=self._agent_launches,
                processes=AgentProcesses(),
                telemetry=ctx.telemetry,
                settings=self._current_agent_settings,
                clock=ctx.clock,
            )
        )

    def job_monitor(self, state_id: str, log: Log) -> JobMonitor:
        """Return a monitor for the job with this state id; ``log`` writes a line to the job's log.

        Raises:
            StateUnreadable: the state file cannot be read.
        """
        ctx = self._ctx
        job = ctx.store.load(state_id)
        local_cluster = self._cluster_name(job.backend)
        # login nodes of several clusters may share a home: other clusters are addressed by name
        cluster = job.cluster if job.is_elsewhere(local_cluster.get) else ""
        key = job.backend, cluster, job.user
        if key not in self._polling:  # shared by all jobs of a user on a cluster: an answer is parsed once
            self._polling[key] = self._new_polling(*key)
        queue, accounting = self._polling[key]
        policy = self._policy(log)
        deps = MonitorDeps(
            scheduler=queue.scheduler,
            queue=queue,
            accounting=accounting,
            outages=self._outage_notifier(policy),
            store=ctx.store,
            clock=ctx.clock,
            policy=policy,
            cluster_name=local_cluster.get,
            diagnose=partial(self._diagnose, log),
            earlier_logs=partial(self._earlier_logs, log),
            deliver=partial(self._deliver, job.id),
            update_card=partial(self._update_card, log),
            with_proof=self._with_proof,
            done_hints=self._done_hints,
            progress=self._progress_follower(policy),
            agents=self.agents,
            is_cancelled=ctx.cancel_request(job.id).is_pending,
            log=log,
            group=partial(self.groups(log).settings_of, job.id),
            replay=ctx.replay_request(job.id),
        )
        return JobMonitor(job, deps)

    def groups(self, log: Log) -> GroupKeeper:
        """Return the object that polls the groups of jobs, and does nothing if there are none."""
        if self._groups is None:
            self._groups = GroupKeeper(self._ctx, self._worker, log)
        return self._groups

    def heartbeat(self, log: Log) -> Heartbeat:
        """Return the object that calls the user's heartbeat URL, and does nothing if none is configured."""
        stamp = self._ctx.home.monitors / "heartbeat.stamp"
        return Heartbeat(self._settings.settings, call_url, self._worker, self._ctx.clock, stamp, log)

    def _cluster_name(self, backend: str) -> SharedClusterName:
        if backend not in self._cluster_names:
            self._cluster_names[backend] = self._ctx.cluster_name(backend)
        return self._cluster_names[backend]

    def _new_polling(self, backend: str, cluster: str, user: str) -> tuple[SharedQueue, SharedAccounting]:
        ctx = self._ctx
        scheduler = ctx.scheduler(backend, cluster)
        queue_file, accounting_file = (
            ctx.shared_answer(kind, backend, cluster, user) for kind in ("queue", "accounting")
        )
        queue = SharedQueue(scheduler, queue_file, ctx.clock)
        return queue, SharedAccounting(
            scheduler, accounting_file, ctx.clock, lambda: queue.recently_ended(ctx.store.job_ids())
        )

    def _progress_follower(self, policy: Policy) -> ProgressFollower:
        if self._progress is None:  # shared by all jobs: their logs are read in one child
            clock = self._ctx.clock
            self._progress = ProgressFollower(self._read_progress, self._worker, clock, policy.running_s)
        return self._progress

    def _read_progress(self, jobs: tuple[WatchedJob, ...]) -> dict[str, Followed]:
        from jobmon_core.analysis.machine_samples import add_machine_samples
        from jobmon_core.analysis.progress import follow_progress  # only in a child: see `ProgressFollower`

        ctx, home = self._ctx, self._ctx.home
        add_machine_samples(jobs, ctx.machine_sample, ctx.telemetry)
        return follow_progress(
            jobs,
            home.progress_file,
            ctx.clock.now(),
            home.patterns,
            ctx.telemetry,
            files_elsewhere=ctx.machine_files,
        )

    def _agent_launches(
        self, job: WatchedJob, task: Task, settings: AgentSettings
    ) -> tuple[AgentLaunch, ...]:
        ctx = self._ctx
        if job.is_elsewhere(self._cluster_name(job.backend).get):
            return ()
        named = job.settings or JobSettings()
        written = (named_path(job, task, each) for each in (named.output_dir, named.checkpoint_dir))
        options = AgentOptions(
            folder=str(ctx.home.telemetry_folder(job.id, task.key).absolute()),
            interval_s=settings.interval_s,
            disks=tuple(dict.fromkeys(each for each in (job.workdir, *written) if each)),
            logs=tuple(dict.fromkeys(each for each in log_files(job, task) if each)),
        )
        return ctx.agent_launches(job.backend, AgentRequest(job.job_id, task, options, settings.ssh))

    def _current_agent_settings(self) -> AgentSettings:
        """Return the configured settings; while the configuration is invalid, the last valid ones."""
        with suppress(ConfigInvalid):  # which `_policy` and the messages report
            self._agent_settings = self._settings.settings().agent
        return self._agent_settings

    def _diagnose(self, log: Log, job: WatchedJob, keys: tuple[str, ...]) -> Mapping[str, Diagnosis]:
        from jobmon_core.analysis.ending.complete import EndFiles, completed_diagnoses  # only after an end
        from jobmon_core.analysis.explainer import diagnoses_of

        ctx = self._ctx

        def read_progress() -> JobProgress:
            self._read_progress((job,))  # what the job printed since the last look
            return ctx.progress_file(job.id).read()

        found = diagnoses_of(
            job,
            keys,
            ctx.home.patterns,
            self._worker,
            log,
            read_progress=read_progress,
            has_telemetry=lambda key: bool(ctx.telemetry(job.id, key).nodes()),
            changes_of=partial(self._changes_of, job),
        )
        read = ctx.progress_file(job.id).read
        files = EndFiles(read, ctx.home.bundle_file, ctx.telemetry, ctx.clock.now)
        return completed_diagnoses(job, found, files, self._worker, log)

    def _changes_of(self, job: WatchedJob, found: Mapping[str, Diagnosis]) -> dict[str, str]:
        from jobmon_core.analysis.ending.run_changes import changes_lines  # only in a child

        with suppress(JobmonError, OSError):  # the diagnosis matters more than these lines
            return changes_lines(self._ctx.home, self._ctx.store, job, found)
        return {}

    def _earlier_logs(self, log: Log, job: WatchedJob) -> dict[str, EarlierLog]:
        from jobmon_core.analysis.earlier_logs import earlier_logs_of  # needed only before a job starts

        return earlier_logs_of(job, self._worker, log)

    def look(self) -> set[str] | None:
        """Return the state ids of jobs that agents or markers make due; None without agents and markers."""
        looks = [found for found in (self.agents.look(), self._done_hints.look()) if found is not None]
        return set[str]().union(*looks) if looks else None

    def _with_proof(self, job: WatchedJob, answer: RecordAnswer) -> RecordAnswer:
        from jobmon_core.monitor.done.proof import with_proof  # needed only when processes have ended

        return with_proof(self._worker, self._ctx.clock.now(), job, answer)

    def _deliver(
        self, state_id: str, entry: OutboxEntry, save: Callable[[OutboxEntry], None]
    ) -> tuple[OutboxEntry, ...]:
        """Deliver one message, after checking that this process still owns the job.

        Raises:
            AlreadyWatched: another process became the owner while this one was silent.
            StorageFailed: the attempt cannot be saved; or the owner record is missing, so another process may
                have been the owner meanwhile.
        """
        from jobmon_core.monitor.outbox import new_outbox  # needed only for sending

        ctx = self._ctx
        if not ctx.owner_record(state_id).heartbeat():
            raise StorageFailed("the owner record is missing; messages wait until it is restored")
        return new_outbox(ctx, ctx.locks, state_id).deliver(entry, save)

    def _update_card(self, log: Log, job: WatchedJob) -> JobCard:
        """Update the card of a job, after checking that this process still owns the job.

        Raises:
            AlreadyWatched: another process became the owner while this one was silent.
        """
        ctx = self._ctx
        if not ctx.owner_record(job.id).heartbeat():
            return postponed_card(job, ctx.clock.now() + _CARD_RETRY_S)
        monitor_pid = os.getpid()

        def update() -> JobCard:
            die_with_parent(monitor_pid)  # a surviving child could post a second card
            from jobmon_core.monitor.card import updated_card  # only in a child

            return updated_card(ctx, job)

        try:
            return self._worker.run(JobCard, update, _CARD_TIMEOUT_S)
        except WorkerFailed as error:
            log(f"the card could not be updated: {error}")
            if job.card.message_id:
                return postponed_card(job, ctx.clock.now() + _CARD_RETRY_S)
            return closed_card(job.card, "it may have been posted, but that is not certain")

    def _outage_notifier(self, policy: Policy) -> OutageNotifier:
        if self._outages is None:  # shared by all jobs
            self._outages = self._new_outage_notifier(policy)
        return self._outages

    def _new_outage_notifier(self, policy: Policy) -> OutageNotifier:
        ctx = self._ctx

        def notice_file(job: WatchedJob) -> JsonFile[OutageNotice]:
            cluster = job.cluster or self._cluster_name(job.backend).last_known()
            return outage_notice_file(ctx.home.shared_answers, job.backend, cluster)

        def is_reporting(state_id: str) -> bool:
            from jobmon_core.lifecycle.health import Health, job_status  # needed only in an outage

            try:
                reporter = job_status(ctx, ctx.store.load(state_id))
            except StateUnreadable:
                return False
            return reporter.job.outage_s is not None and reporter.health in (Health.ALIVE, Health.REMOTE)

        return OutageNotifier(notice_file, ctx.clock, policy, os.uname().nodename, is_reporting)

    def _policy(self, log: Log) -> Policy:
        """Return the configured policy; the default one if the configuration is invalid."""
        try:
            return self._settings.settings().policy
        except ConfigInvalid as error:
            log(f"using the default settings: {error}")
            return Policy()
