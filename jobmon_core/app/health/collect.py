"""Use case: the health of jobs, of all members of groups, and of programs in pods."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from typing import TYPE_CHECKING

from jobmon_core.app.health.files import JobFiles, read_files
from jobmon_core.app.jobs.find import StateGroup, find_job
from jobmon_core.app.jobs.overview import (
    Overview,
    current_status,
    end_text,
    ending_of,
    group_intervals_s,
    overview,
    policy,
    state_text,
)
from jobmon_core.app.live.job_view import JobView, job_view
from jobmon_core.app.live.patrol import named_state_ids
from jobmon_core.app.live.telemetry import task_agents
from jobmon_core.app.live.verdict import LiveVerdict, live_verdict
from jobmon_core.domain.artifacts.checkpoints.recognize import step_of
from jobmon_core.domain.artifacts.model import Checkpoints, ListedFile
from jobmon_core.domain.backends import is_local, is_ray, lists_all_nodes
from jobmon_core.domain.errors import JobmonError
from jobmon_core.domain.humanize import duration
from jobmon_core.domain.node.health.assess import HealthFacts, assess
from jobmon_core.domain.node.health.model import HealthReport, Stage
from jobmon_core.domain.node.health.nccl import NcclLines
from jobmon_core.domain.node.health.network import NodeFabric, network_verdict
from jobmon_core.domain.node.health.pods import PodAnswer
from jobmon_core.domain.node.telemetry.model import AgentReport, Fabric, Node, Sample
from jobmon_core.domain.node.telemetry.summary import is_current
from jobmon_core.domain.slurm.pending_reasons import pending_hint
from jobmon_core.domain.slurm.rows import Unreachable, node_names
from jobmon_core.domain.slurm.states import JobState, Phase, stated_reason
from jobmon_core.lifecycle.health import Health
from jobmon_core.observe.kubectl import ask_pod
from jobmon_core.system.runner import MAX_POD_BYTES, Runner

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from jobmon_core.app.live.tasks import LiveTask
    from jobmon_core.context import Context
    from jobmon_core.domain.artifacts.checkpoints.model import FoundCheckpoints
    from jobmon_core.domain.finding import Finding
    from jobmon_core.domain.node.triage.situation import Situation


_NO_FILES, _UNJUDGED = JobFiles(), LiveVerdict(())
_STAGES = {
    StateGroup.RUNNING: Stage.RUNNING,
    StateGroup.PENDING: Stage.WAITING,
    StateGroup.ENDING: Stage.ENDING,
    StateGroup.RESTARTING: Stage.FAILED,
    StateGroup.COMPLETED: Stage.SUCCEEDED,
    StateGroup.FAILED: Stage.FAILED,
    StateGroup.CANCELLED: Stage.CANCELLED,
    StateGroup.UNKNOWN: Stage.UNKNOWN,
    StateGroup.UNWATCHED: Stage.UNWATCHED,
}
_NO_MONITOR = {
    Health.DEAD: "its monitor is dead; `jobmon recover` restarts it",
    Health.STALE: "its monitor on another host gives no sign of life; `jobmon recover` replaces it",
}


def collect_health(ctx: Context, arguments: Sequence[str]) -> tuple[HealthReport, ...]:
    """Return the health of each task of the jobs and groups that the arguments name, without asking Slurm.

    Raises:
        UnknownJob, StateUnreadable: see `find_job`.
        JobmonError: the groups have no jobs yet.
    """
    return tuple(map(assess, _facts(ctx, arguments)))


def known_health(ctx: Context, argument: str) -> tuple[HealthReport, ...]:
    """Return the health of a job as far as its monitor knows it, at once; errors are those of `find_job`."""
    job, ref = find_job(ctx, argument)
    status = current_status(ctx, job)
    known = Overview([status], [], policy(ctx), group_intervals_s=group_intervals_s(ctx))
    view = job_view(ctx, known, status, agents=task_agents(ctx, status.job))
    return tuple(assess(_job_facts(ctx, view, live, None)) for live in _named(view, ref.key))


def health_with_pods(
    ctx: Context, arguments: Sequence[str], pods: Sequence[str], namespace: str, checkpoint_folder: str
) -> HealthReport:
    """Return the health of a program in pods, together with that of the job that an argument names, if any.

    ``pods`` are names of pods of Kubernetes, Ray's head first. An empty ``namespace`` is that of kubectl's
    configuration. The first pod sees ``checkpoint_folder``.

    Raises:
        CommandMissing, PodUnreachable: no pod can be asked.
        JobmonError: as `collect_health`, or several jobs are named.
    """
    found = _facts(ctx, arguments) if arguments else []
    if len(found) > 1:
        raise JobmonError("the pods are those of one job: name only one together with --pod")
    answers, problems = ask_pods(pods, namespace, checkpoint_folder)
    job = found[0] if found else None
    return assess(facts_of_pods(answers, problems, ctx.clock.now(), job))


def _facts(ctx: Context, arguments: Sequence[str]) -> list[HealthFacts]:
    found = {live.id: (view, live) for view, live in _tasks(ctx, overview(ctx), arguments)}
    if not found:
        raise JobmonError("no run of this group has been submitted yet")
    tasks = [live for _, live in found.values()]
    files, unread = read_files(ctx, tasks, with_checkpoints=len(tasks) == 1)
    return [
        _job_facts(ctx, view, live, files.get(name, _NO_FILES), unread)
        for name, (view, live) in found.items()
    ]


def _tasks(ctx: Context, known: Overview, arguments: Sequence[str]) -> Iterator[tuple[JobView, LiveTask]]:
    by_id = {status.job.id: status for status in known.jobs}
    for argument in arguments:
        key = _task_key(ctx, argument)
        for state_id in named_state_ids(ctx, [argument]):
            status = by_id[state_id]
            view = job_view(ctx, known, status, agents=task_agents(ctx, status.job))
            yield from ((view, live) for live in _named(view, key))


def _named(view: JobView, key: str) -> Sequence[LiveTask]:
    return [live for live in view.tasks if key and live.task and live.task.key == key] or view.tasks


def _task_key(ctx: Context, argument: str) -> str:
    """Return the key of the task that an argument names, if it names one."""
    try:
        return find_job(ctx, argument)[1].key
    except JobmonError:  # a group; `named_state_ids` reports anything else
        return ""


def _job_facts(
    ctx: Context, view: JobView, live: LiveTask, files: JobFiles | None, unread: str = ""
) -> HealthFacts:
    """``files``: None if neither they nor a cluster are asked; ``unread``: why they could not be read."""
    now_s, job, task = ctx.clock.now(), live.job, live.task
    reports = tuple(report for report in live.reports if is_current(report, now_s))
    found, cluster, not_seen = _UNJUDGED, None, list[str]()
    if live.group is StateGroup.RUNNING and task:
        found = live_verdict(ctx, job, task)
        not_seen += found.unseen
        if live.agents.problem:
            not_seen.append(f"the agent beside the job: {live.agents.problem}")
        if files:
            cluster = ctx.cluster_resources(job.backend, job.cluster)
        elif is_ray(job.backend):
            not_seen.append(f"resources of the cluster: jobmon health {live.ref} asks for them")
    if isinstance(cluster, Unreachable):
        not_seen.append(f"resources of the cluster: {cluster.why}")
        cluster = None
    if unread:
        not_seen.append(f"logs and checkpoints: {unread}")
    seen = live.artifacts.checkpoints
    files = files or _NO_FILES
    report = HealthReport(
        at_s=now_s,
        ref=live.ref,
        name=job.name,
        state=_state(live),
        stage=_STAGES[live.group],
        elapsed_s=_elapsed_s(live, now_s),
        progress=live.progress.progress,
        estimate=live.estimate,
        network=_network(live, files, reports, found.situation, unread),
        cluster=cluster,
        checkpoints=_found_checkpoints(files.checkpoints)
        or (seen and replace(seen, step=step_of(seen.name))),
        errors=files.errors,
        not_seen=tuple(not_seen),
    )
    return HealthFacts(
        report,
        _reason(live),
        _problem(live),
        found.situation,
        found.findings,
        live.launch,
        reports,
        live.artifacts,
        outdated=_outdated(view),
    )


def _state(live: LiveTask) -> str:
    if live.task is None:
        return JobState.PENDING
    if live.task.end:
        return state_text(live.task.end)
    ending = ending_of(live.task)
    return (ending.state if ending else None) or live.task.raw_state or live.task.state


def _reason(live: LiveTask) -> str:
    """Return why a task waits, or how it ended, if its state does not say that."""
    task = live.task
    if task is None:
        waiting = [each.reason for each in live.job.tasks.values() if each.state.phase is Phase.WAITING]
        return next(filter(None, map(stated_reason, (*waiting, live.job.pending_reason))), "")
    if task.end is None:
        return ""
    if task.diagnosis and task.diagnosis.cause:
        return task.diagnosis.headline
    if live.group is StateGroup.UNKNOWN:
        return task.end.why
    return end_text(task.end)


def _problem(live: LiveTask) -> str:
    """Return why a pending task never starts, or why a success is doubtful."""
    if live.group is StateGroup.PENDING:
        hint = pending_hint(_reason(live))
        if hint and not hint.starts_by_itself:
            return f"it {hint.problem}"
        return ""
    task = live.task
    if task is None or not task.is_doubtful_success or task.diagnosis is None:
        return ""
    return f"doubtful success: {task.diagnosis.headline}"


def _elapsed_s(live: LiveTask, now_s: float) -> float | None:
    task = live.task
    if task is None or live.group is StateGroup.PENDING:
        return None
    if task.end:
        return task.end.elapsed_s
    if task.start_s:
        return max(0.0, now_s - task.start_s)
    return None


def _network(
    live: LiveTask,
    files: JobFiles,
    reports: tuple[AgentReport, ...],
    situation: Situation | None,
    unread: str,
) -> Finding:
    fabrics = [
        NodeFabric(report.latest.node.name, report.fabric, _is_exclusive(report))
        for report in reports
        if report.fabric is not None
    ]
    has_gpus = None
    if reports:
        has_gpus = any(report.latest.gpus for report in reports)
    is_advancing = situation is not None and situation.is_advancing
    return network_verdict(
        _nodes(live), files.nccl, fabrics, has_gpus=has_gpus, is_advancing=is_advancing, unread=unread
    )


def _nodes(live: LiveTask) -> int | None:
    if is_local(live.job.backend):
        return 1
    if not lists_all_nodes(live.job.backend):
        return None
    task = live.task
    nodes = ""
    if task:
        nodes = (task.end.nodes if task.end else "") or task.nodes
    return len(node_names(nodes)) or None


def _is_exclusive(report: AgentReport) -> bool:
    """Whether no other job can run on a node: the task may use all of its cores."""
    sample = report.latest
    shares_gpus = any(gpu.other_processes for gpu in sample.gpus)
    return sample.cpu is not None and sample.cpu.cores >= sample.node.cores > 0 and not shares_gpus


def _found_checkpoints(found: FoundCheckpoints | None) -> Checkpoints | None:
    """Return what a look at the folder found."""
    if found is None or not found.checkpoints:
        return None
    best = found.newest_complete or found.checkpoints[0]
    return Checkpoints(
        found.folder,
        len(found.checkpoints),
        ListedFile(best.path, modified_s=best.saved_s),
        found.interval_s,
        step=best.step,
        is_complete=best.is_complete,
    )


def _outdated(view: JobView) -> str:
    """Return why what is known of a watched job may be out of date."""
    if view.job.closed or view.status.health is Health.DONE:
        return ""
    if text := _NO_MONITOR.get(view.status.health):
        return text
    if view.age_s is None:
        return ""
    return f"the scheduler last answered about it {duration(view.age_s)} ago"


_AT_ONCE = 8
_BUSY_PERCENT = 5.0  # as utilisation; less is a driver's own
_RUNNER = Runner(max_bytes=MAX_POD_BYTES)


def ask_pods(
    names: Sequence[str], namespace: str = "", checkpoint_folder: str = ""
) -> tuple[tuple[PodAnswer, ...], tuple[str, ...]]:
    """Ask pods; the first one is Ray's head, or any other in which ``ray status`` works.

    Return what they show, and what could not be asked.

    Raises:
        CommandMissing, PodUnreachable: no pod can be asked; the error is that of the first one.
    """
    results = ask_each(names, namespace, checkpoint_folder, with_ray=True).values()
    answers = tuple(each for each in results if isinstance(each, PodAnswer))
    errors = [each for each in results if isinstance(each, JobmonError)]
    if not answers:
        raise errors[0]
    return answers, (*map(str, errors), *(text for each in answers for text in each.problems))


def ask_each(
    names: Sequence[str], namespace: str, checkpoint_folder: str = "", *, with_ray: bool = False
) -> dict[str, PodAnswer | JobmonError]:
    """Ask pods in parallel; only the first one about checkpoints and, ``with_ray``, for `ray status`."""

    def ask(name: str) -> PodAnswer | JobmonError:
        is_first = name == names[0]
        folder = ""
        if is_first:
            folder = checkpoint_folder
        try:
            return ask_pod(_RUNNER, name, namespace, with_ray=with_ray and is_first, checkpoint_folder=folder)
        except JobmonError as error:
            return error

    with ThreadPoolExecutor(_AT_ONCE) as pool:
        return dict(zip(names, pool.map(ask, names), strict=True))


def gpus_in_pod(service: str, pod: str) -> str:
    """Return a sentence about whether the GPUs of a pod are in use now; ``service``: CONTEXT/NAMESPACE."""
    context, _, namespace = service.rpartition("/")
    again = f"`jobmon health --pod {pod} --namespace {namespace}` looks again"
    try:
        answer = ask_pod(_RUNNER, pod, namespace, context=context)
    except JobmonError as error:
        return f"it is not known whether its GPUs are in use: {error}"
    if not answer.gpus:
        return f"no GPU is seen in pod {pod}"
    busy = [gpu for gpu in answer.gpus if (gpu.utilization_percent or 0) >= _BUSY_PERCENT]
    shown = ", ".join(f"{gpu.index}: {gpu.utilization_percent or 0:.0f} %" for gpu in answer.gpus)
    if busy:
        return f"GPUs of pod {pod} in use: {len(busy)} of {len(answer.gpus)} ({shown})"
    return f"no GPU of pod {pod} is in use yet ({shown}); {again}"


def network_of(answers: Sequence[PodAnswer], nodes: int | None, *, has_gpus: bool | None = None) -> Finding:
    """Judge by NCCL's lines in the logs of pods and their devices."""
    fabrics = [NodeFabric(each.pod, Fabric(each.ports), is_exclusive=False) for each in answers if each.ports]
    lines = NcclLines.together(each.nccl for each in answers)
    return network_verdict(nodes, lines, fabrics, has_gpus=has_gpus)


def facts_of_pods(
    answers: Sequence[PodAnswer], problems: Sequence[str], at_s: float, job: HealthFacts | None = None
) -> HealthFacts:
    """Return what pods show, in place of what agents show about the job."""
    first = answers[0]
    facts = job or HealthFacts(HealthReport(at_s, name=", ".join(each.pod for each in answers)))
    known = facts.known
    number = None
    if len(answers) > 1:
        number = len(answers)
    reports = tuple(
        AgentReport(Sample(at_s, node=Node(each.pod), gpus=each.gpus)) for each in answers if each.gpus
    )
    report = replace(
        known,
        network=network_of(answers, number, has_gpus=bool(reports) or None),
        cluster=first.cluster or known.cluster,
        checkpoints=first.checkpoints or known.checkpoints,
        not_seen=(*known.not_seen, *problems),
    )
    return replace(facts, known=report, reports=reports, is_snapshot=True)
