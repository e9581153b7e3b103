"""Ask Slurm about one pending job and what it waits for."""

from __future__ import annotations

import os
from dataclasses import replace
from typing import TYPE_CHECKING

from jobmon_core.domain.before.pending.categories import category_of, is_eligible
from jobmon_core.domain.before.pending.model import Category, PendingFacts
from jobmon_core.domain.slurm.rows import NotListed, Unreachable
from jobmon_core.domain.slurm.states import JobState, Phase
from jobmon_core.scheduler.slurm import commands
from jobmon_core.scheduler.slurm.client import version_of
from jobmon_core.scheduler.slurm.commands import OLDEST_VERSION, SEP
from jobmon_core.scheduler.slurm.site_records import (
    place_of,
    read_dependencies,
    read_jobs,
    read_licenses,
    read_limits,
    read_nodes,
    read_partitions,
    read_reservations,
)
from jobmon_core.system.environment import missing_slurm_conf
from jobmon_core.system.runner import Ran, succeeded

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from jobmon_core.domain.before.pending.model import Dependency, Limit, Node, Partition, PendingJob
    from jobmon_core.domain.slurm.job_ids import JobRef
    from jobmon_core.system.runner import Result, Runner

_TIMEOUT_S = 30.0
_UNKNOWN_JOB = "Invalid job id specified"
_MOST_DEPENDENCIES = 4


def ask_pending(runner: Runner, ref: JobRef, cluster: str) -> PendingFacts | NotListed | Unreachable:
    """What Slurm says about a job; of an array, about the first of its pending tasks.

    If the job has started or ended lately, its state says so and nothing else is asked.
    """
    if why := missing_slurm_conf(os.environ):
        return Unreachable(f"squeue: {why}")
    fields = commands.fields_of(version_of(runner, "squeue") or OLDEST_VERSION)
    jobs = _jobs_of(runner.capture(commands.job(str(ref), cluster, fields), _TIMEOUT_S), fields)
    if not isinstance(jobs, tuple):
        return jobs
    pending = [job for job in jobs if job.state.phase is Phase.WAITING]
    if not pending:
        return PendingFacts(next((job for job in jobs if job.state.is_alive), jobs[0]))
    # the components of a het job start together: the one that was named, or the first, stands for all
    pending.sort(key=lambda job: (job.ref != ref, job.ref.component or 0))
    others = [job for job in pending[1:] if job.ref.component is None]
    facts = PendingFacts(
        pending[0],
        also_pending=sum(len(job.pending_indices or (0,)) for job in others),
        running=sum(job.state.phase is Phase.ACTIVE for job in jobs),
    )
    return _Site(runner, cluster, fields).complete(facts)


def _jobs_of(answer: Result, fields: Sequence[str]) -> tuple[PendingJob, ...] | NotListed | Unreachable:
    if not isinstance(answer, Ran):
        return Unreachable(answer.error_text)
    if answer.exit_code and _UNKNOWN_JOB in answer.stderr:
        return NotListed()
    if answer.exit_code:
        return Unreachable(answer.error_text)
    if jobs := read_jobs(answer.stdout, fields):
        return jobs
    if answer.stdout:
        return Unreachable(f"squeue: unintelligible output: {answer.stdout[:80]!r:.120}")
    return NotListed()


class _Site:
    def __init__(self, runner: Runner, cluster: str, fields: Sequence[str]) -> None:
        self._runner, self._cluster, self._fields = runner, cluster, fields
        self._unavailable: list[str] = []

    def complete(self, facts: PendingFacts) -> PendingFacts:
        facts = replace(facts, partitions=tuple(self._partitions(facts.job)))
        for query in _QUERIES.get(category_of(facts.job.reason, facts.job.state), ()):
            facts = query(self, facts)
        return replace(facts, unavailable=tuple(self._unavailable))

    def _output(self, argv: Sequence[str]) -> str:
        answer = self._runner.capture(argv, _TIMEOUT_S)
        if succeeded(answer):
            return answer.stdout
        self._unavailable.append(answer.error_text)
        return ""

    def _partitions(self, job: PendingJob) -> Iterator[Partition]:
        for name in job.partitions:
            yield from read_partitions(self._output(commands.show(self._cluster, "partition", name)))

    def place(self, facts: PendingFacts) -> PendingFacts:
        job = facts.job
        if job.reservation or not job.partitions or not is_eligible(category_of(job.reason, job.state)):
            return facts
        text = self._output(commands.waiting(job.partitions, self._cluster))
        return replace(facts, place=place_of(job, text) if text else None)

    def nodes(self, facts: PendingFacts) -> PendingFacts:
        names = ",".join(each.nodes for each in facts.partitions if each.nodes)
        if not names:
            return facts
        found: dict[str, Node] = {
            node.name: node for node in read_nodes(self._output(commands.nodes(names, self._cluster)))
        }
        return replace(facts, nodes=tuple(found.values()) or None)

    def reservations(self, facts: PendingFacts) -> PendingFacts:
        text = self._output(commands.show(self._cluster, "reservation"))
        return replace(facts, reservations=read_reservations(text))

    def limits(self, facts: PendingFacts) -> PendingFacts:
        job = facts.job
        qos = [name for name in (job.qos, *(each.qos for each in facts.partitions)) if name]
        text = self._output(commands.limits(job.user, job.account, qos, self._cluster))
        found: tuple[Limit, ...] = read_limits(text, job.user, job.uid, job.account)
        return replace(facts, limits=found)

    def dependencies(self, facts: PendingFacts) -> PendingFacts:
        found = read_dependencies(facts.job.dependency)
        looked_up = tuple(map(self._with_state, found[:_MOST_DEPENDENCIES]))
        return replace(facts, dependencies=looked_up + found[_MOST_DEPENDENCIES:])

    def _with_state(self, dependency: Dependency) -> Dependency:
        if not dependency.job:
            return dependency
        answer = self._runner.capture(commands.job(dependency.job, self._cluster, self._fields), _TIMEOUT_S)
        if jobs := read_jobs(answer.stdout if succeeded(answer) else "", self._fields):
            alive = next((job for job in jobs if job.state.is_alive), jobs[0])
            return replace(dependency, job_name=alive.name, job_state=alive.raw_state)
        ended = self._runner.capture(commands.final_state(dependency.job, self._cluster), _TIMEOUT_S)
        row = ended.stdout.partition("\n")[0] if succeeded(ended) else ""
        state, _, name = row.partition(SEP)
        is_known = JobState.from_slurm(state) is not JobState.UNKNOWN
        return replace(dependency, job_name=name, job_state=state if is_known else "")

    def licenses(self, facts: PendingFacts) -> PendingFacts:
        text = self._output(commands.show(self._cluster, "licenses"))
        return replace(facts, licenses=read_licenses(text, facts.job.licenses))


_FITTING = (_Site.place, _Site.nodes, _Site.reservations)
_QUERIES: dict[Category, tuple[Callable[[_Site, PendingFacts], PendingFacts], ...]] = {
    Category.SCHEDULING: (_Site.place,),
    Category.PRIORITY: _FITTING,
    Category.RESOURCES: _FITTING,
    Category.RESERVATION: _FITTING,
    Category.NODES: _FITTING,
    Category.CONSTRAINTS: (_Site.nodes,),
    Category.PARTITION: (_Site.nodes,),
    Category.LIMIT: (_Site.limits,),
    Category.DEPENDENCY: (_Site.dependencies,),
    Category.LICENSES: (_Site.licenses, _Site.place),
}
