"""Judge what agents measure of a running task, its stacks, and how its ended workers ended."""

from __future__ import annotations

import sys
import time
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from jobmon_core.analysis.followed_task import running_since_s
from jobmon_core.analysis.job_logs import log_files, modified_s, own_files, own_tails
from jobmon_core.domain.errors import StorageFailed
from jobmon_core.domain.logs.progress.estimate import estimate_or_printed
from jobmon_core.domain.logs.progress.events.event import EventKind
from jobmon_core.domain.logs.progress.workers import has_done_its_share, how_far_each_came
from jobmon_core.domain.node.launch.checklist import step_errors
from jobmon_core.domain.node.telemetry.agent import killed_first
from jobmon_core.domain.node.telemetry.model import WorkerStatus
from jobmon_core.domain.node.triage.judge import advised_for, is_due, judge, of_run, triage_events
from jobmon_core.domain.node.triage.situation import NodeView, Situation
from jobmon_core.domain.node.triage.stacks import Stacks, command
from jobmon_core.domain.node.triage.state import NODE_ENDS
from jobmon_core.domain.slurm.states import Outcome, Phase, exit_phrase
from jobmon_core.observe.logs.read import read_tail
from jobmon_core.observe.patterns.xids import xid_errors
from jobmon_core.observe.progress.reader import read_progress
from jobmon_core.scheduler.backends import find_backend
from jobmon_core.store.json_file import JsonFile
from jobmon_core.system.files import private_folder
from jobmon_core.system.runner import Runner, succeeded

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from jobmon_core.analysis.followed_task import ReadTask, TaskLook
    from jobmon_core.domain.job.tracking.model import End, Task, WatchedJob
    from jobmon_core.domain.logs.diagnosis.model import Diagnosis
    from jobmon_core.domain.logs.progress.events.event import Event
    from jobmon_core.domain.logs.progress.model import TaskProgress
    from jobmon_core.domain.node.telemetry.model import Sample, Worker
    from jobmon_core.domain.node.triage.state import TriageState
    from jobmon_core.store.telemetry import TaskTelemetry

_MAX_NODES = 32
# of the histories of all nodes together; at least of each
_MAX_BYTES, _MIN_NODE_BYTES = 2**20, 2**16
_ENDED = (WorkerStatus.DEAD, WorkerStatus.ZOMBIE)
_STANDSTILLS = ("deadlock", "gpu-hang", "collective-stuck")
_MAX_LOGS = 16  # of ended workers
_TAIL_BYTES = 2**16
_STACKS = "stacks"  # in the folder of the task's telemetry
_TIMEOUT_S = 90.0


def look_at_measures(before: ReadTask, look: TaskLook) -> tuple[ReadTask, tuple[Event, ...]]:
    """Return a running task after one more look, and what is new."""
    telemetry, settings = look.telemetry, look.job.own_settings
    if telemetry is None:
        return before, ()
    state = of_run(before.triage, running_since_s(look.task))
    is_urgent = NODE_ENDS not in state.held and _has_notice(telemetry)
    if not is_urgent and not is_due(state, look.now_s, settings.thresholds.must_last_s):
        return replace(before, triage=state), ()
    situation = situation_of(before, look, telemetry)
    if settings.stacks_on_stall:
        state = _with_request(state, situation, before, telemetry)
    situation = with_memory(situation, state, telemetry)
    verdicts = advised_for(judge(situation), look.job.backend)
    events: tuple[Event, ...] = ()
    if situation.nodes or verdicts or state.held:  # else the progress file stays as it is
        state, events = triage_events(state, situation, verdicts)
    return replace(before, triage=state), events


def _has_notice(telemetry: TaskTelemetry) -> bool:
    signs = (telemetry.signs(node) for node in telemetry.nodes())
    return any(each is not None and each.has_notice for each in signs)


def _with_request(
    state: TriageState, situation: Situation, followed: TaskProgress, telemetry: TaskTelemetry
) -> TriageState:
    """Ask the agents for stacks, once in each stall: a launcher may soon end the processes."""
    is_stalled = followed.known_problems.stalled_since_s is not None or situation.standstill_s is not None
    if is_stalled and not state.stacks_wanted and situation.nodes:
        telemetry.ask_for_stacks()
    return replace(state, stacks_wanted=is_stalled and (state.stacks_wanted or bool(situation.nodes)))


def with_memory(situation: Situation, state: TriageState, telemetry: TaskTelemetry) -> Situation:
    """Add what is remembered from earlier looks."""
    stacks = None
    if state.stacks_wanted:
        stacks = read_stacks(telemetry.answers())
    since = {name: held.since_s for name, held in state.held.items()}
    return replace(situation, since=since, stacks=stacks)


def situation_of(followed: TaskProgress, look: TaskLook, telemetry: TaskTelemetry) -> Situation:
    """Return what is known about a running task, without what `with_memory` adds."""
    job, task, written_s = look.job, look.task, look.written_s
    settings = job.own_settings
    started_s = running_since_s(task)
    limit_s = None
    if task.start_s is not None and task.limit_s is not None:
        limit_s = task.start_s + task.limit_s
    nodes = _nodes(telemetry, started_s)
    ended = [each for node in nodes for each in node.latest.workers if each.status in _ENDED]
    return Situation(
        now_s=look.now_s,
        started_s=started_s,
        nodes=nodes,
        progress=followed.progress,
        history=followed.history,
        estimate=estimate_or_printed(followed.history, followed.progress, look.now_s),
        limit_s=limit_s,
        # the tasks of an array may share the workers of the job
        num_workers=settings.num_workers if len(job.tasks) == 1 and not job.is_array else None,
        has_output=followed.has_output,
        log_idle_s=None if written_s is None else max(0.0, look.now_s - max(written_s, started_s)),
        artifacts=look.artifacts,
        thresholds=settings.thresholds,
        xids=xid_errors(),
        own_logs=own_logs(job, task, ended),
        step_errors=errors_of_steps(job, task) if any(each.rank is not None for each in ended) else {},
    )


def _nodes(telemetry: TaskTelemetry, started_s: float) -> tuple[NodeView, ...]:
    names = telemetry.nodes()[:_MAX_NODES]
    max_bytes = max(_MIN_NODE_BYTES, _MAX_BYTES // max(1, len(names)))
    nodes = []
    for name in names:
        history, report = telemetry.history(name, max_bytes), telemetry.report(name)
        newest_s = 0.0
        if history:
            newest_s = history[-1].at_s
        recent = (report.recent,) if report.recent and report.recent.at_s > newest_s else ()
        # it may be part of the newest mean in the history, but only it has the names of the programs
        latest = (report.latest,) if report.latest.at_s >= newest_s else ()
        samples = (*history, *recent, *latest)
        of_run = tuple(sample for sample in samples if sample.at_s > started_s)
        if of_run:
            is_new = report.notice is not None and report.notice.seen_s > started_s
            notice = report.notice if is_new else None
            at = notice and notice.ends_s and time.strftime("%H:%M:%S", time.localtime(notice.ends_s))
            nodes.append(NodeView(name, of_run, report.unavailable, report.ranks, notice, at or ""))
    return tuple(nodes)


def with_explained_stalls(events: tuple[Event, ...], now_s: float) -> tuple[Event, ...]:
    """Report a standstill that one look at ``now_s`` found and explains once."""
    new = [event for event in events if event.at_s == now_s]
    stalled = {event.task for event in new if event.kind is EventKind.STALLED}
    reasons = {event.task: event for event in new if event.subject in _STANDSTILLS and not event.ended}
    return tuple(
        _explained(event, reasons.get(event.task), event.task in stalled) if event.at_s == now_s else event
        for event in events
    )


def _explained(event: Event, reason: Event | None, is_stalled: bool) -> Event:  # noqa: FBT001 - a fact
    """Add its reason to a stall; the event of the reason itself then causes no message."""
    if reason and event.kind is EventKind.STALLED:
        return replace(event, advice=reason.advice, evidence=reason.evidence, title=reason.title)
    if event is reason and is_stalled:
        return replace(event, is_quiet=True)
    return event


def own_logs(job: WatchedJob, task: Task, ended: Iterable[Worker]) -> dict[str, bool]:
    """Return for each own log of ended workers that can be read whether its worker had done its share."""
    patterns = job.own_settings.progress_patterns
    main = log_files(job, task) if not job.worker_logs else ()
    own = own_files(job, task)
    paths = dict.fromkeys(
        worker.log
        for worker in ended
        if worker.log and worker.log not in main
        if replace(own, started_s=worker.started_s).include(modified_s(worker.log))
    )
    found = {}
    for path in list(paths)[:_MAX_LOGS]:
        reader = read_progress((path,), None, patterns, _MAX_BYTES, ended=True)
        if not reader.files[0].problem:
            lines = read_tail(path, _TAIL_BYTES).texts
            found[path] = has_done_its_share(reader.progress, lines)
    return found


def errors_of_steps(job: WatchedJob, task: Task) -> dict[int, str]:
    """Return what srun says about failed ranks at the ends of the task's logs, in lines of this run."""
    found: dict[int, str] = {}
    for part in own_tails(job, task, _TAIL_BYTES):
        found |= step_errors(part.texts)
    return found


def with_workers(
    diagnosis: Diagnosis, end: End, followed: TaskProgress | None, telemetry: TaskTelemetry
) -> Diagnosis:
    """Unless the task succeeded, add how far each of its workers came."""
    if followed is None or end.outcome is Outcome.SUCCESS:
        return diagnosis
    ended = [worker for node in telemetry.nodes() for worker in telemetry.report(node).latest.workers]
    exits = {
        Path(worker.log).name: exit_phrase(worker.exit_code, worker.signal)
        for worker in ended
        if worker.log and (worker.exit_code is not None or worker.signal)
    }
    found = how_far_each_came(followed.workers, exits)
    return replace(diagnosis, work="; ".join(filter(None, (diagnosis.work, found))))


def take_stacks(job: WatchedJob, task: Task, telemetry: TaskTelemetry) -> Stacks:
    """Return the stacks of a running task; takes up to a minute and a half."""
    folder = _empty_folder(telemetry.folder / _STACKS)
    backend, job_id = find_backend(job.backend), str(task.raw_job_id or job.job_id)
    if backend.in_job:
        take = killed_first((sys.executable, *command((), job_id, str(folder))))
        argv = backend.in_job(job_id, job.other_cluster, take)
    elif pids := _pids(telemetry):
        argv = killed_first((sys.executable, *command(pids, "", str(folder))))
    else:
        return Stacks(problems=("its processes are not known: no agent has reported any",))
    result = Runner().capture(argv, _TIMEOUT_S)
    failed = () if succeeded(result) else (result.error_text,)
    return read_stacks(sorted(folder.glob("*.json")), failed)


def read_stacks(files: Iterable[Path], failed: tuple[str, ...] = ()) -> Stacks:
    """Return what was taken on the nodes, a file each; ``failed`` says why that may not be all."""
    nodes = [JsonFile(path, Stacks, _MAX_BYTES).read() for path in files]
    stacks = [stack for node in nodes for stack in node.stacks]
    stacks.sort(key=lambda stack: (stack.rank is None, stack.rank or 0, stack.node, stack.pid))
    problems = [*failed, *(problem for node in nodes for problem in node.problems)]
    problems += [f"{stack.name} on {stack.node}: {stack.problem}" for stack in stacks if stack.problem]
    dumps = tuple(dump for node in nodes for dump in node.dumps)
    return Stacks(tuple(stacks), tuple(dict.fromkeys(problems)), dumps)


def _empty_folder(folder: Path) -> Path:
    for path in private_folder(folder).glob("*.json"):
        path.unlink(missing_ok=True)
    return folder


def _pids(telemetry: TaskTelemetry) -> tuple[int, ...]:
    """Return the PIDs of the workers; for backends whose agents run on this host."""
    return tuple(worker.pid for node in telemetry.nodes() for worker in telemetry.report(node).latest.workers)


def add_machine_samples(
    jobs: Iterable[WatchedJob],
    sample_of: Callable[[WatchedJob], Sample | None],
    telemetry_of: Callable[[str, str], TaskTelemetry],
) -> None:
    """Add the latest figures of the machine of each running job."""
    for job in jobs:
        for task in job.tasks.values():
            if task.end or task.state.phase is not Phase.ACTIVE:
                continue
            sample = sample_of(job)
            if sample is None:
                continue
            with suppress(OSError, StorageFailed):  # a full disk here must not stop the reading of logs
                telemetry_of(job.id, task.key).add(sample)
