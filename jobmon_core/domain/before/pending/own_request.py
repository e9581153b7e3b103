"""Rules about jobs that their own request keeps from starting: limits, conditions, times, accounts."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import replace

from jobmon_core.domain.before.pending.capacity import unusable_texts
from jobmon_core.domain.before.pending.case import NO_ACTION, Case, by_hint, free_sentences, request_sentences
from jobmon_core.domain.before.pending.categories import pending_words, reason_name
from jobmon_core.domain.before.pending.model import Dependency, Limit, Partition, PendingJob
from jobmon_core.domain.finding import Finding, pending
from jobmon_core.domain.humanize import count, duration, size
from jobmon_core.domain.slurm.pending_reasons import pending_hint
from jobmon_core.domain.slurm.states import JobState

# Source: the names in ``job_state_reason.c`` and those that ``scontrol show assoc_mgr`` prints.
_REASON = re.compile(
    r"(?P<owner>QOS|Assoc)?(?P<kind>Grp|Max|Min)(?P<what>[A-Za-z]+?)"
    r"(?P<period>RunMinutes|Minutes)?(?P<scope>PerJob|PerNode|PerUser|PerAccount)?(?:Limit|NotSatisfied)?",
    re.ASCII,
)
_RESOURCES = {
    "cpu": "cpu",
    "mem": "mem",
    "memory": "mem",
    "node": "node",
    "gres": "gres/",
    "license": "license/",
}
_RESOURCES |= {"energy": "energy", "billing": "billing", "bb": "bb/"}
_SCOPES = {"PerJob": "PJ", "PerNode": "PN", "PerUser": "PU", "PerAccount": "PA"}
_MEGABYTE = 1024**2
_WORDS = {
    "GrpJobs": "{} in all",
    "GrpSubmitJobs": "{} in all",
    "GrpWall": "{} of run time in all",
    "GrpTRES": "{} in all",
    "GrpTRESMins": "{} in all",
    "GrpTRESRunMins": "{} of running jobs",
    "MaxJobs": "{}",
    "MaxJobsPU": "{} per user",
    "MaxJobsPA": "{} per account",
    "MaxSubmitJobs": "{}",
    "MaxSubmitJobsPU": "{} per user",
    "MaxSubmitJobsPA": "{} per account",
    "MaxTRESPU": "{} per user",
    "MaxTRESPA": "{} per account",
    "MaxTRESPJ": "{} per job",
    "MaxTRESPN": "{} per node",
    "MaxTRESMinsPJ": "{} per job",
    "MaxWallPJ": "{} of run time per job",
    "MinTRESPJ": "{} per job",
}
_RESOURCE_WORDS = {"cpu": "CPU", "node": "node", "billing": "billing unit", "energy": "joule"}
_MINUTES = ("GrpWall", "MaxWallPJ")


def limit(case: Case) -> Finding:
    """With what counts towards it."""
    found = by_hint(case)
    if found.advice in ("", NO_ACTION):
        found = replace(found, text=f"waits: {pending_words(case.job.reason)}")
    evidence = tuple(limit_sentences(reason_name(case.job.reason), case.facts.limits))
    return replace(found, evidence=evidence)


def dependency(case: Case) -> Finding:
    """By the states of the other jobs."""
    evidence = tuple(_dependency_text(each) for each in case.facts.dependencies)
    if pending_hint(case.job.reason):
        return replace(by_hint(case), evidence=evidence)
    waiting = next((each.job for each in case.facts.dependencies if each.job_state == JobState.PENDING), "")
    first = f"`jobmon why {waiting}` explains why job {waiting} is pending." if waiting else NO_ACTION
    change = "To drop the condition: `scontrol update jobid=JOBID dependency=`."
    return pending("waits for another job", f"{first} {change}", evidence)


_CONDITIONS = {
    "afterok": "has ended successfully",
    "afternotok": "has failed",
    "afterany": "has ended",
    "after": "has started",
    "aftercorr": "has completed the same task successfully",
    "afterburstbuffer": "has staged out its files",
}


def _dependency_text(each: Dependency) -> str:
    if each.kind == "singleton":
        return "It starts after all earlier jobs of the same name and user (singleton)."
    condition = _CONDITIONS.get(each.kind, f"meets {each.kind}")
    name = f" ({each.job_name})" if each.job_name else ""
    state = f"; that job is {each.job_state}" if each.job_state else "; Slurm does not know that job any more"
    never = ", which can no longer happen" if each.is_failed else ""
    return f"It starts once job {each.job}{name} {condition} ({each.kind}){never}{state}."


def begin_time(case: Case) -> Finding:
    """In the future."""
    begins_s = case.job.eligible_s or case.job.expected_start_s
    evidence = (f"The earliest start: {case.at(begins_s)}.",) if begins_s else ()
    advice = "To start it as soon as possible: `scontrol update jobid=JOBID starttime=now`."
    return pending("waits for its begin time", advice, evidence)


def licenses(case: Case) -> Finding:
    """In use."""
    evidence = [f"It asks for the licences {case.job.licenses}."] if case.job.licenses else []
    evidence += [f"Of {each.name}, {each.free} of {each.total} are free." for each in case.facts.licenses]
    problem = "waits: the licences that it asks for are in use"
    return pending(problem, "It starts when other jobs release them.", tuple(evidence))


def constraints(case: Case) -> Finding:
    """That no node satisfies."""
    job = case.job
    known = sorted({feature for node in case.facts.nodes or () for feature in node.features})
    evidence = list(request_sentences(case))
    if job.features:
        evidence.append(f"It asks for nodes with the features {job.features}.")
        listed = ", ".join(known[:12]) or "none"
        evidence.append(f"The features of the nodes in {case.facts.where}: {listed}.")
    return replace(by_hint(case), evidence=(*evidence, *free_sentences(case)))


def array_limit(case: Case) -> Finding:
    """Of running tasks."""
    job, facts = case.job, case.facts
    advice = (
        "No action is needed: the next task starts when one ends. To let more run at a time: "
        f"`scontrol update jobid={job.ref.job_id} arraytaskthrottle=...`."
    )
    evidence: tuple[str, ...] = ()
    if job.at_once:
        most = count(job.at_once, "task")
        evidence = (f"The array may run {most} at a time (%{job.at_once}); now running: {facts.running}.",)
    return pending("waits: enough tasks of its array run already", advice, evidence)


def partition(case: Case) -> Finding:
    """What of it does not suit the job."""
    evidence = [text for each in case.facts.partitions for text in _misfits(case.job, each)]
    if not evidence and reason_name(case.job.reason) == "PartitionNodeLimit":
        evidence = list(unusable_texts(case.facts.nodes or ()))
    return replace(by_hint(case), evidence=tuple(evidence))


def _misfits(job: PendingJob, each: Partition) -> Iterator[str]:
    if each.state and each.state != "UP":
        yield f"Partition {each.name} is {each.state}."
    if each.max_time_s and (job.limit_s is None or job.limit_s > each.max_time_s):
        own = f"its time limit is {duration(job.limit_s)}" if job.limit_s else "it has no time limit"
        yield f"Partition {each.name} allows {duration(each.max_time_s)}; {own}."
    limits = [limit for limit in (each.max_nodes, each.total_nodes) if limit is not None]
    if limits and job.request and job.request.nodes > min(limits):
        yield f"Partition {each.name} allows {count(min(limits), 'node')}; it asks for {job.request.nodes}."


def account(case: Case) -> Finding:
    """Or a QOS: invalid, or not taken by the partition."""
    job = case.job
    evidence = (f"Its account is {job.account or 'not set'}, its QOS {job.qos or 'not set'}.",)
    return replace(by_hint(case), evidence=evidence)


def limit_sentences(reason_name: str, limits: Iterable[Limit]) -> Iterator[str]:
    """What each limit that the reason stands for allows or requires, and what counts towards it.

    If some are exhausted, the others are left out, as are those that hold no job back, e.g.
    ``GrpJobsAccrue``.
    """
    matching = [limit for limit in limits if limit.name in _WORDS and _matches(reason_name, limit)]
    exhausted = [limit for limit in matching if limit.used is not None and limit.used >= limit.allowed]
    for limit in exhausted or matching:
        bound = "requires at least" if limit.name.startswith("Min") else "allows at most"
        allowed = _WORDS[limit.name].format(_amount(limit, limit.allowed))
        used = "" if limit.used is None else f"; counted now: {_amount(limit, limit.used)}"
        yield f"{limit.owner} {bound} {allowed} ({limit.name}){used}."


def _matches(reason_name: str, limit: Limit) -> bool:
    """A reason that names no limit stands for all."""
    match = _REASON.fullmatch(reason_name)
    if match is None:
        return True
    owner = "QOS" if match["owner"] != "Assoc" else ""
    if limit.owner.startswith("QOS") != bool(owner):
        return False
    name, resource = _limit_name(match)
    return limit.name == name and limit.resource.startswith(resource)


def _limit_name(match: re.Match[str]) -> tuple[str, str]:
    """Its name in ``scontrol show assoc_mgr``, and the start of its resource."""
    kind, what, scope = match["kind"], match["what"].lower(), _SCOPES.get(match["scope"] or "", "")
    if what == "wallduration":
        return "MaxWallPJ", ""
    if what == "wall":
        return "GrpWall", ""
    if what in ("jobs", "submitjob", "submitjobs"):
        return f"{kind}{'Jobs' if what == 'jobs' else 'SubmitJobs'}{scope}", ""
    resource = _RESOURCES.get(what, "?")
    if kind == "Min":
        return "MinTRESPJ", resource
    period = {"Minutes": "Mins", "RunMinutes": "RunMins"}.get(match["period"] or "", "")
    return f"{kind}TRES{period}{scope}", resource


def _amount(limit: Limit, value: float) -> str:
    """``4 CPUs``, ``600 CPU minutes``, ``2h``, ``64.0 GiB``."""
    if limit.name in _MINUTES:
        return duration(value * 60)
    if not limit.resource:
        return count(round(value), "submitted job" if "Submit" in limit.name else "running job")
    minutes = " minutes" if "Mins" in limit.name else ""
    if limit.resource == "mem":
        return size(value * _MEGABYTE) + minutes
    name = limit.resource.removeprefix("gres/").removeprefix("license/")
    noun = _RESOURCE_WORDS.get(limit.resource, "")
    if limit.resource.startswith("gres/gpu"):
        noun = f"{name.removeprefix('gpu').lstrip(':')} GPU".strip()
    if noun and not minutes:
        return count(round(value), noun)
    return f"{value:,.0f} {noun or name}{minutes}"
