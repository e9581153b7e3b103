"""Rules about jobs that their own request keeps from starting: limits, conditions, times, accounts."""

from __future__ import annotations

from collections.abc import Iterator

from jobmon_core.domain.humanize import count, duration
from jobmon_core.domain.pending.capacity import unusable_texts
from jobmon_core.domain.pending.case import NO_ACTION, Case, by_hint, free_sentences, request_sentences
from jobmon_core.domain.pending.categories import pending_words, reason_name
from jobmon_core.domain.pending.limits import limit_sentences
from jobmon_core.domain.pending.model import Category, Dependency, Explanation, Partition, PendingJob
from jobmon_core.domain.slurm.pending_reasons import pending_hint
from jobmon_core.domain.slurm.states import JobState

_OTHER_ACCOUNT = (
    "Set another one (`scontrol update jobid=JOBID account=...` or `qos=...`), or cancel it "
    "(`scancel JOBID`) and submit it again."
)


def limit(case: Case) -> Explanation:
    """Explain a limit of a QOS or an account, with what counts towards it."""
    found = by_hint(case)
    evidence = tuple(limit_sentences(reason_name(case.job.reason), case.facts.limits))
    problem = found.problem
    if found.action in ("", NO_ACTION):
        problem = f"waits: {pending_words(case.job.reason)}"
    return Explanation(Category.LIMIT, problem, evidence, found.action)


def dependency(case: Case) -> Explanation:
    """Explain a dependency by the states of the other jobs."""
    found = by_hint(case)
    evidence = tuple(_dependency_text(each) for each in case.facts.dependencies)
    if pending_hint(case.job.reason):
        return Explanation(Category.DEPENDENCY, found.problem, evidence, found.action)
    pending = next((each.job for each in case.facts.dependencies if each.job_state == JobState.PENDING), "")
    first = f"`jobmon why {pending}` explains why job {pending} is pending." if pending else NO_ACTION
    change = "To drop the condition: `scontrol update jobid=JOBID dependency=`."
    return Explanation(Category.DEPENDENCY, "waits for another job", evidence, f"{first} {change}")


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


def begin_time(case: Case) -> Explanation:
    """Explain a begin time in the future."""
    begins_s = case.job.eligible_s or case.job.expected_start_s
    evidence = (f"The earliest start: {case.at(begins_s)}.",) if begins_s else ()
    advice = "To start it as soon as possible: `scontrol update jobid=JOBID starttime=now`."
    return Explanation(Category.BEGIN_TIME, "waits for its begin time", evidence, advice)


def licenses(case: Case) -> Explanation:
    """Explain licences that are in use."""
    evidence = [f"It asks for the licences {case.job.licenses}."] if case.job.licenses else []
    evidence += [f"Of {each.name}, {each.free} of {each.total} are free." for each in case.facts.licenses]
    problem = "waits: the licences that it asks for are in use"
    return Explanation(Category.LICENSES, problem, tuple(evidence), "It starts when other jobs release them.")


def constraints(case: Case) -> Explanation:
    """Explain a request that no node can satisfy."""
    job, found = case.job, by_hint(case)
    known = sorted({feature for node in case.facts.nodes or () for feature in node.features})
    evidence = list(request_sentences(case))
    if job.features:
        evidence.append(f"It asks for nodes with the features {job.features}.")
        listed = ", ".join(known[:12]) or "none"
        evidence.append(f"The features of the nodes in {case.facts.where}: {listed}.")
    return Explanation(Category.CONSTRAINTS, found.problem, (*evidence, *free_sentences(case)), found.action)


def array_limit(case: Case) -> Explanation:
    """Explain the limit of an array's running tasks."""
    job, facts = case.job, case.facts
    advice = (
        "No action is needed: the next task starts when one ends. To let more run at a time: "
        f"`scontrol update jobid={job.ref.job_id} arraytaskthrottle=...`."
    )
    evidence: tuple[str, ...] = ()
    if job.at_once:
        most = count(job.at_once, "task")
        evidence = (f"The array may run {most} at a time (%{job.at_once}); now running: {facts.running}.",)
    return Explanation(Category.ARRAY_LIMIT, "waits: enough tasks of its array run already", evidence, advice)


def partition(case: Case) -> Explanation:
    """Explain what of a partition, its state or a limit, does not suit the job."""
    found = by_hint(case)
    evidence = [text for each in case.facts.partitions for text in _misfits(case.job, each)]
    if not evidence and reason_name(case.job.reason) == "PartitionNodeLimit":
        evidence = list(unusable_texts(case.facts.nodes or ()))
    return Explanation(Category.PARTITION, found.problem, tuple(evidence), found.action)


def _misfits(job: PendingJob, each: Partition) -> Iterator[str]:
    """Yield what keeps a partition from taking a job."""
    if each.state and each.state != "UP":
        yield f"Partition {each.name} is {each.state}."
    if each.max_time_s and (job.limit_s is None or job.limit_s > each.max_time_s):
        own = f"its time limit is {duration(job.limit_s)}" if job.limit_s else "it has no time limit"
        yield f"Partition {each.name} allows {duration(each.max_time_s)}; {own}."
    limits = [limit for limit in (each.max_nodes, each.total_nodes) if limit is not None]
    if limits and job.request and job.request.nodes > min(limits):
        yield f"Partition {each.name} allows {count(min(limits), 'node')}; it asks for {job.request.nodes}."


def account(case: Case) -> Explanation:
    """Explain an account or a QOS that is invalid, or that the partition does not take."""
    found, job = by_hint(case), case.job
    evidence = (f"Its account is {job.account or 'not set'}, its QOS {job.qos or 'not set'}.",)
    if pending_hint(job.reason):
        return Explanation(Category.ACCOUNT, found.problem, evidence, found.action)
    problem = "will not start: its partition does not accept its account or QOS"
    return Explanation(Category.ACCOUNT, problem, evidence, _OTHER_ACCOUNT)
