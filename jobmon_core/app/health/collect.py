"""Use case: the health of the jobs that the user names, or of all members of groups."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from jobmon_core.app.health.facts import job_facts
from jobmon_core.app.health.files import JobFiles, read_files
from jobmon_core.app.health.pods import ask_pods, facts_of_pods
from jobmon_core.app.jobs.find import find_job
from jobmon_core.app.jobs.overview import overview
from jobmon_core.app.live.telemetry import tasks_with_agents
from jobmon_core.app.patrol.targets import named_state_ids
from jobmon_core.domain.errors import JobmonError
from jobmon_core.domain.health.assess import assess
from jobmon_core.domain.progress.model import JobProgress

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from jobmon_core.app.jobs.overview import Overview
    from jobmon_core.app.live.tasks import LiveTask
    from jobmon_core.context import Context
    from jobmon_core.domain.health.assess import HealthFacts
    from jobmon_core.domain.health.model import HealthReport

_NO_FILES, _NO_PROGRESS = JobFiles(), JobProgress()


@dataclass(frozen=True, slots=True)
class HealthReports:
    """The reports, one for each task."""

    reports: tuple[HealthReport, ...]
    names_one_job: bool = False  # whether there is exactly one report


@dataclass(frozen=True, slots=True)
class PodOptions:
    """Which pods of Kubernetes to look into."""

    names: tuple[str, ...]  # Ray's head first
    namespace: str = ""  # empty: that of kubectl's configuration
    checkpoint_folder: str = ""  # as the first pod sees it


def collect_health(ctx: Context, arguments: Sequence[str]) -> HealthReports:
    """Return the health of the jobs, tasks and groups that the arguments name, without asking Slurm.

    Raises:
        UnknownJob, StateUnreadable: see `find_job`.
        JobmonError: the named groups have no jobs yet.
    """
    found = _facts(ctx, arguments)
    return HealthReports(tuple(map(assess, found)), len(found) == 1)


def health_with_pods(ctx: Context, arguments: Sequence[str], pods: PodOptions) -> HealthReports:
    """Return the health of a program in pods, together with that of the job that an argument names, if any.

    Raises:
        CommandMissing, PodUnreachable: no pod can be asked.
        JobmonError: as `collect_health`, or several jobs are named.
    """
    found = _facts(ctx, arguments) if arguments else []
    if len(found) > 1:
        raise JobmonError("the pods are those of one job: name only one together with --pod")
    answers = ask_pods(pods.names, pods.namespace, pods.checkpoint_folder)
    facts = facts_of_pods(answers, ctx.clock.now(), found[0] if found else None)
    return HealthReports((assess(facts),), names_one_job=True)


def _facts(ctx: Context, arguments: Sequence[str]) -> list[HealthFacts]:
    known = overview(ctx)
    tasks = list({live.id: live for live in _tasks(ctx, known, arguments)}.values())
    if not tasks:
        raise JobmonError("no run of this group has been submitted yet")
    files = read_files(ctx, tasks, with_checkpoints=len(tasks) == 1)
    return [job_facts(ctx, known, live, files.tasks.get(live.id, _NO_FILES), files.problem) for live in tasks]


def _tasks(ctx: Context, known: Overview, arguments: Sequence[str]) -> Iterator[LiveTask]:
    now_s = ctx.clock.now()
    by_id = {status.job.id: status for status in known.jobs}
    for argument in arguments:
        key = _task_key(ctx, argument)
        for state_id in named_state_ids(ctx, [argument]):
            status = by_id[state_id]
            progress = known.progress.get(state_id) or ctx.progress_file(state_id).read()
            found = tasks_with_agents(ctx, status, progress, now_s)
            yield from [live for live in found if _is_named(live, key)] or found


def _is_named(live: LiveTask, key: str) -> bool:
    return not key or (live.task is not None and live.task.key == key)


def _task_key(ctx: Context, argument: str) -> str:
    """Return the key of the task that an argument names; empty for a whole job or a group."""
    try:
        return find_job(ctx, argument)[1].key
    except JobmonError:  # a group; `named_state_ids` reports anything else
        return ""
