"""Builds job monitors from the adapters of a `Context`, and from what the jobs of one process share."""

from __future__ import annotations

import os
from contextlib import suppress
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING

from jobmon_core.analysis.job_logs import earlier_logs_of, named_path, written_logs
from jobmon_core.domain.delivery.card import JobCard
from jobmon_core.domain.errors import ConfigInvalid, JobmonError, StateUnreadable, StorageFailed
from jobmon_core.domain.job.job_settings import JobSettings
from jobmon_core.domain.job.tracking.policy import Policy
from jobmon_core.domain.job.tracking.tasks import with_diagnoses
from jobmon_core.domain.logs.diagnosis.model import Diagnosis
from jobmon_core.domain.messages.card_schedule import closed_card, postponed_card
from jobmon_core.domain.node.telemetry.agent import AgentOptions, AgentSettings
from jobmon_core.monitor.agents import Agents
from jobmon_core.monitor.done_hints import DoneHints, with_proof
from jobmon_core.monitor.groups.keeper import GroupKeeper
from jobmon_core.monitor.heartbeat import Heartbeat, call_url
from jobmon_core.monitor.job_monitor import JobMonitor, MonitorDeps
from jobmon_core.monitor.outage_notifier import OutageNotifier
from jobmon_core.monitor.progress_follower import Events, ProgressFollower
from jobmon_core.monitor.settings import SettingsReader
from jobmon_core.monitor.task_agent import AgentProcesses
from jobmon_core.polling.accounting import SharedAccounting
from jobmon_core.polling.queue import SharedQueue
from jobmon_core.store.shared_answers import outage_notice_file
from jobmon_core.system.helper import Helper, HelperFailed
from jobmon_core.system.process import die_with_parent

if TYPE_CHECKING:
    from collections.abc import Callable, Generator, Mapping

    from jobmon_core.analysis.ending.files import EndFiles
    from jobmon_core.context import Context
    from jobmon_core.domain.delivery.outbox import OutboxEntry
    from jobmon_core.domain.job.history.prices import Prices
    from jobmon_core.domain.job.job_progress import JobProgress
    from jobmon_core.domain.job.restart.model import Decision
    from jobmon_core.domain.job.tracking.model import Task, WatchedJob
    from jobmon_core.domain.logs.diagnosis.model import EarlierLog
    from jobmon_core.domain.logs.progress.events.event import Followed
    from jobmon_core.domain.many.groups.model import GroupSettings
    from jobmon_core.domain.messages.scheduler_outage import OutageNotice
    from jobmon_core.polling.cluster_name import SharedClusterName
    from jobmon_core.scheduler.base import AgentLaunch
    from jobmon_core.store.json_file import JsonFile
    from jobmon_core.system.helper import Step

    Log = Callable[[str], None]
    Save = Callable[[WatchedJob], None]

Diagnoses = dict[str, Diagnosis]

_CARD_TIMEOUT_S, _CARD_RETRY_S = 20.0, 60.0
_RECORD_RETRY_S = 30.0


@dataclass(slots=True)
class _JobWork:
    """What `MonitorDeps` needs for one job: one object, since a monitor keeps it for each of 500 jobs."""

    ctx: Context
    helper: Helper
    state_id: str
    check_owner: Callable[[], None]
    log: Log
    read_progress: Callable[[tuple[WatchedJob, ...]], object]
    groups: GroupKeeper
    accounting: SharedAccounting
    prices: Callable[[], Prices | None]
    # the diagnosed job whose runs a child adds to the history, and what yields its results
    recording: tuple[WatchedJob, Generator[Diagnoses]] | None = None

    def group(self) -> GroupSettings | None:
        return self.groups.settings_of(self.state_id)

    def earlier_logs(self, job: WatchedJob) -> dict[str, EarlierLog]:
        return earlier_logs_of(job, self.helper, self.log)

    def stop_if_stalled(self, job: WatchedJob, events: Events, save: Save) -> None:
        from jobmon_core.monitor.restarts import stop_if_stalled  # only for jobs whose user orders it

        stop_if_stalled(self.ctx, self.log, job, events, save)

    def diagnose(self, job: WatchedJob, keys: tuple[str, ...]) -> Mapping[str, Diagnosis]:
        from jobmon_core.analysis.ending.complete import end_steps  # only after an end

        note = f"jobmon could not analyse the log; `jobmon logs --monitor {job.ref}` shows why"
        unknown = dict.fromkeys(keys, Diagnosis(None, "", "", "", note=note))
        steps = end_steps(job, keys, self._files(job))
        # the child has loaded what the history needs; the message does not wait for it
        steps_on = [*steps, *self._record_steps(job)]
        found, rest = self.helper.begin_steps(Diagnoses, unknown, steps_on, self.log, len(steps))
        self.recording = with_diagnoses(job, found), rest
        return found

    def _files(self, job: WatchedJob) -> EndFiles:
        from jobmon_core.analysis.ending.files import EndFiles

        ctx = self.ctx
        read_progress = ctx.progress_file(job.id).read

        def read_on() -> JobProgress:
            self.read_progress((job,))  # what the job printed since the last look
            return read_progress()

        return EndFiles(
            read_on,
            read_progress,
            ctx.home.patterns,
            partial(self._changes_of, job),
            ctx.home.bundle_file,
            ctx.telemetry,
            ctx.home.history,
            ctx.clock.now,
            self.prices,
        )

    def _changes_of(self, job: WatchedJob, found: Mapping[str, Diagnosis]) -> dict[str, str]:
        from jobmon_core.analysis.ending.run_changes import changes_lines  # only in a child

        with suppress(JobmonError, OSError):  # the diagnosis matters more than these lines
            return changes_lines(self.ctx.home, self.ctx.store, job, found)
        return {}

    def deliver(self, entry: OutboxEntry, save: Callable[[OutboxEntry], None]) -> tuple[OutboxEntry, ...]:
        from jobmon_core.monitor.outbox import new_outbox  # needed only for sending

        self.check_owner()
        return new_outbox(self.ctx, self.ctx.locks, self.check_owner, self.state_id).deliver(entry, save)

    def update_card(self, job: WatchedJob) -> JobCard:
        ctx = self.ctx
        if not ctx.owner_record(job.id).heartbeat():
            return postponed_card(job, ctx.clock.now() + _CARD_RETRY_S)
        monitor_pid = os.getpid()

        def update() -> JobCard:
            die_with_parent(monitor_pid)  # a surviving child could post a second card
            from jobmon_core.monitor.card import updated_card  # only in a child

            return updated_card(ctx, job)

        try:
            return self.helper.run(JobCard, update, _CARD_TIMEOUT_S)
        except HelperFailed as error:
            self.log(f"the card could not be updated: {error}")
            if job.card.message_id:
                return postponed_card(job, ctx.clock.now() + _CARD_RETRY_S)
            return closed_card(job.card, "it may have been posted, but that is not certain")

    def decide_restart(self, job: WatchedJob) -> Decision:
        from jobmon_core.monitor.restarts import decide_restart  # only after an end

        return decide_restart(self.ctx, self.helper, self.log, job)

    def restart(self, job: WatchedJob) -> WatchedJob:
        from jobmon_core.monitor.restarts import restart

        return restart(self.ctx, self.log, job)

    def _record_steps(self, job: WatchedJob) -> list[Step[Diagnoses]]:
        from jobmon_core.monitor.recording import record_steps  # only after an end

        return record_steps(self.ctx, job, self._files(job), self.accounting)

    def record(self, job: WatchedJob) -> float | None:
        from jobmon_core.monitor.recording import is_recorded

        diagnosed, results = self.recording or (None, None)
        self.recording = None
        if results is None or diagnosed is None or diagnosed.tasks != job.tasks:
            results = self.helper.begin_steps(Diagnoses, {}, self._record_steps(job), self.log, 0)[1]
        if is_recorded(results, self.log):
            return None
        return self.ctx.clock.now() + _RECORD_RETRY_S

    def with_late_warning(self, job: WatchedJob) -> WatchedJob:
        if job.attempt is None:  # most jobs have no lineage
            return job
        from jobmon_core.monitor.restarts import with_late_warning

        return with_late_warning(self.ctx, job)

    def is_restart_off(self, job: WatchedJob) -> bool:
        try:
            lineage = self.ctx.lineages.of_job(job)
        except StorageFailed:  # `restart` reports it when the restart is due
            return False
        if lineage is None or lineage.newest is None:
            return False
        return lineage.ended_s is not None or lineage.newest.state_id != job.id


class MonitorFactory:
    """Builds the job monitors of one process, and keeps what they share."""

    def __init__(self, ctx: Context) -> None:
        """Build what does not depend on a job."""
        self._ctx = ctx
        self._helper = Helper(ctx.locks)
        self._settings = SettingsReader(ctx.home.config, ctx.configuration, self._helper)
        self._polling: dict[tuple[str, str, str], tuple[SharedQueue, SharedAccounting]] = {}
        self._cluster_names: dict[str, SharedClusterName] = {}  # by backend
        self._progress: ProgressFollower | None = None
        self._outages: OutageNotifier | None = None
        self._done_hints = DoneHints(ctx.clock)
        self._with_proof = partial(with_proof, self._helper, ctx.clock)
        self._groups: GroupKeeper | None = None
        self._agent_settings = AgentSettings(enabled=False)  # until a valid configuration was read
        self.agents = Agents(
            launches=self._agent_launches,
            processes=AgentProcesses(),
            telemetry=ctx.telemetry,
            settings=self._current_agent_settings,
            clock=ctx.clock,
        )

    def job_monitor(self, state_id: str, log: Log) -> JobMonitor:
        """Return a monitor for a job; ``log`` writes a line to the job's log. StateUnreadable."""
        ctx = self._ctx
        job = ctx.store.load(state_id)
        local_cluster = self._cluster_name(job.backend)
        # login nodes of several clusters may share a home: other clusters are addressed by name
        cluster = ""
        if job.is_elsewhere(local_cluster.get):
            cluster = job.cluster
        key = job.backend, cluster, job.user
        if key not in self._polling:  # shared by all jobs of a user on a cluster: an answer is parsed once
            self._polling[key] = self._new_polling(*key)
        queue, accounting = self._polling[key]
        policy = self._policy(log)
        check_owner = ctx.owner_record(job.id).check  # here: finding the path creates folders
        read, groups = self._read_progress, self.groups(log)
        work = _JobWork(ctx, self._helper, job.id, check_owner, log, read, groups, accounting, self._prices)
        deps = MonitorDeps(
            scheduler=queue.scheduler,
            queue=queue,
            accounting=accounting,
            outages=self._outage_notifier(policy),
            store=ctx.store,
            clock=ctx.clock,
            policy=policy,
            cluster_name=local_cluster.get,
            diagnose=work.diagnose,
            earlier_logs=work.earlier_logs,
            check_owner=check_owner,
            deliver=work.deliver,
            update_card=work.update_card,
            decide_restart=work.decide_restart,
            restart=work.restart,
            record=work.record,
            with_late_warning=work.with_late_warning,
            is_restart_off=work.is_restart_off,
            with_proof=self._with_proof,
            done_hints=self._done_hints,
            progress=self._progress_follower(policy),
            agents=self.agents,
            is_cancelled=ctx.cancel_request(job.id).is_pending,
            log=log,
            group=work.group,
            stop_if_stalled=work.stop_if_stalled,
            replay=ctx.replay_request(job.id),
        )
        return JobMonitor(job, deps)

    def groups(self, log: Log) -> GroupKeeper:
        """Return what polls the groups of jobs, if there are any."""
        if self._groups is None:
            self._groups = GroupKeeper(self._ctx, self._helper, log)
        return self._groups

    def heartbeat(self, log: Log) -> Heartbeat:
        """Return what calls the user's heartbeat URL, if one is configured."""
        stamp = self._ctx.home.monitors / "heartbeat.stamp"
        return Heartbeat(self._settings.settings, call_url, self._helper, self._ctx.clock, stamp, log)

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
            self._progress = ProgressFollower(self._read_progress, self._helper, clock, policy.running_s)
        return self._progress

    def _read_progress(self, jobs: tuple[WatchedJob, ...]) -> dict[str, Followed]:
        from jobmon_core.analysis.progress import follow_progress  # only in a child: see `ProgressFollower`
        from jobmon_core.analysis.tracker_servers import TrackerServers
        from jobmon_core.analysis.triage import add_machine_samples

        ctx, home, now_s, servers = self._ctx, self._ctx.home, self._ctx.clock.now(), None
        with suppress(ConfigInvalid, StorageFailed):  # which `_policy` and the progress report
            if named := dict(self._settings.settings().servers):
                servers = TrackerServers(home.shared_answers, named, jobs, now_s)
        add_machine_samples(
            jobs, lambda job: machine.sample() if (machine := ctx.machine(job)) else None, ctx.telemetry
        )
        return follow_progress(
            jobs,
            home.progress_file,
            now_s,
            home.patterns,
            ctx.telemetry,
            files_elsewhere=lambda job: machine.outputs() if (machine := ctx.machine(job)) else None,
            lineages=ctx.lineages,
            every_s=self._policy(lambda _: None).progress_every_s,
            history=home.history,
            servers=servers,
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
            logs=written_logs(job, task),
            cloud=settings.cloud,
            on_notice=named.on_notice,
        )
        launches = ctx.agent_launches(job, task, options)
        return launches if settings.ssh else launches[:1]

    def _current_agent_settings(self) -> AgentSettings:
        """Return the configured settings; while the configuration is invalid, the last valid ones."""
        with suppress(ConfigInvalid):  # which `_policy` and the messages report
            self._agent_settings = self._settings.settings().agent
        return self._agent_settings

    def _prices(self) -> Prices | None:
        """Return what resources cost; only in a child, since reading it takes memory."""
        with suppress(ConfigInvalid):  # as above
            if self._settings.settings().has_prices:
                return self._ctx.prices()
        return None

    def look(self) -> set[str] | None:
        """Return the state ids of jobs that agents or markers make due; None without agents and markers."""
        looks = [found for found in (self.agents.look(), self._done_hints.look()) if found is not None]
        if looks:
            return set[str]().union(*looks)
        return None

    def _outage_notifier(self, policy: Policy) -> OutageNotifier:
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

        if self._outages is None:
            host = os.uname().nodename
            self._outages = OutageNotifier(notice_file, ctx.clock, policy, host, is_reporting)
        return self._outages

    def _policy(self, log: Log) -> Policy:
        """Return the configured policy; the default one if the configuration is invalid."""
        try:
            return self._settings.settings().policy
        except ConfigInvalid as error:
            log(f"using the default settings: {error}")
            return Policy()
