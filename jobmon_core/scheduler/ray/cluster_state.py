"""What Ray's state API shows beyond the list of jobs: whether processes of a job live, what waits for what.

Source: the entries of ``/api/v0/nodes``, ``actors``, ``tasks``, ``workers``, ``placement_groups``, 2.60.

That Ray calls a job FAILED does not prove that its processes have ended. The exit code of the driver shows
that its command ended, and STOPPED that Ray killed it. But the command may be a shell that was killed, while
the driver below it, or an actor, runs on and writes checkpoints.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

from jobmon_core.domain.humanize import count, listed
from jobmon_core.domain.logs.diagnosis.ray_reasons import SHORT
from jobmon_core.scheduler.ray.ray_job import RayFailed, read_job

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from jobmon_core.scheduler.ray.api import RayApi
    from jobmon_core.scheduler.ray.ray_job import RayJob

    Resources = dict[str, float]

SUPERVISOR = "_ray_internal_job_actor_"  # the name of the actor that runs an entrypoint, before the job's id
_HIDDEN = ("node:", "object_store_memory", "memory", "bundle_")
_MAX_SHOWN = 3
_MAX_AMOUNT = 1e18
_GIB = 1 << 30


def death_of(api: RayApi, entry: RayJob) -> tuple[str, str]:
    """Return what proves that no process of a job lives, or an empty text, and why that is not known."""
    reading = read_job(entry)
    doubt = reading.ended_unknown_why
    if not entry.has_ended:
        doubt = f"Ray shows {entry.status}"
    elif reading.is_late and may_start(api, entry):
        doubt = "Ray did not start it in time, but may start it later"
    elif not doubt and entry.job_id:
        doubt = _still_there(api, entry, is_lost=reading.is_lost)
    elif reading.is_lost:
        doubt = reading.reason
    code = "" if entry.exit_code is None else f", exit code {entry.exit_code}"
    if doubt:
        return "", doubt
    return f"Ray shows {entry.status}{code}, and no process of it", ""


def _still_there(api: RayApi, entry: RayJob, *, is_lost: bool) -> str:
    is_alive = driver_is_alive(api, entry)
    if is_alive or (is_alive is None and is_lost):
        more = "nothing shows that its driver has ended"
        if is_alive:
            more = "its driver runs"
        return f"Ray shows {entry.status}, but {more}"
    try:
        actors = api.state("actors", job_id=entry.job_id, state="ALIVE")
    except RayFailed as error:
        return f"it is not known whether its actors live: {error}"
    if actors:
        return f"{count(len(actors), 'actor')} of it live: {actors[0].get('class_name')}"
    return ""


def driver_is_alive(api: RayApi, entry: RayJob) -> bool | None:
    """Return whether the process of a driver lives.

    Ray keeps calling the processes of a node alive whose raylet died.
    """
    try:
        # the worker id of a driver is its job id, filled up with f
        (worker,) = api.state("workers", worker_id=f"{entry.job_id}{'f' * 48}")
    except (RayFailed, ValueError):
        return None
    is_alive = worker.get("is_alive")
    return is_alive if isinstance(is_alive, bool) else None


def may_start(api: RayApi, entry: RayJob) -> bool:
    """Whether the actor that starts an entrypoint waits or lives; also if that is not known.

    After its time to start is over, Ray may still place it, e.g. on a node that comes up (ray#41437, #55858).
    """
    try:
        actors = api.state("actors", name=f"{SUPERVISOR}{entry.submission_id}")
    except RayFailed:
        return True
    return any(actor.get("state") != "DEAD" for actor in actors)


class Demand(NamedTuple):
    """An entrypoint, actor, task or placement group that waits for resources."""

    driver: str
    submission_id: str
    what: str
    bundles: tuple[Resources, ...]
    is_infeasible: bool = False


def demands_of(
    actors: Iterable[dict[str, Any]], tasks: Iterable[dict[str, Any]], groups: Iterable[dict[str, Any]]
) -> list[Demand]:
    """Return what waits, of the entries of the state API that are pending."""
    found = []
    for actor in actors:
        name = str(actor.get("name") or "")
        if name.startswith(SUPERVISOR):
            sid = name.removeprefix(SUPERVISOR)
            found.append(Demand("", sid, "the entrypoint", (_resources(actor.get("required_resources")),)))
    for task in tasks:
        what = "the task"
        if task.get("type") == "ACTOR_CREATION_TASK":
            what = "the actor"
        name = str(task.get("name") or "").removesuffix(".__init__")
        needs = _resources(task.get("required_resources"))
        found.append(Demand(str(task.get("job_id") or ""), "", f"{what} {name[:40]}", (needs,)))
    for group in groups:
        stats, bundles = group.get("stats"), group.get("bundles")
        is_infeasible = isinstance(stats, dict) and stats.get("scheduling_state") == "INFEASIBLE"
        needs_of = [each.get("unit_resources") for each in bundles or () if isinstance(each, dict)]
        driver, needs_all = str(group.get("creator_job_id") or ""), tuple(map(_resources, needs_of))
        found.append(Demand(driver, "", "a placement group", needs_all, is_infeasible))
    return found


def totals_of(nodes: Iterable[dict[str, Any]]) -> list[Resources]:
    """Return the resources of each node that lives."""
    return [_resources(node.get("resources_total")) for node in nodes if node.get("state") == "ALIVE"]


def shortage(demands: Sequence[Demand], totals: Sequence[Resources]) -> str:
    """Return what was asked for that no node has, and what there is, as a reason."""
    missing = [each for each in demands if each.is_infeasible or not _may_fit(each, totals)]
    if not missing or not totals:
        return ""
    asked = list(dict.fromkeys(f"{each.what} asks for {_bundles(each.bundles)}" for each in missing))
    nodes = "its node has"
    if len(totals) > 1:
        nodes = f"its {len(totals)} nodes have"
    whole = {key: sum(each.get(key, 0) for each in totals) for each in totals for key in each}
    return f"{SHORT}: {listed(asked, _MAX_SHOWN, '; ')}. The cluster: {nodes} {_shown(whole)}"


def _may_fit(demand: Demand, totals: Sequence[Resources]) -> bool:
    return all(
        any(all(node.get(key, 0) >= amount for key, amount in needs.items()) for node in totals)
        for needs in demand.bundles
    )


def _resources(value: object) -> Resources:
    if not isinstance(value, dict):
        return {}
    return {
        str(key): float(amount)
        for key, amount in value.items()
        if isinstance(amount, int | float) and abs(amount) < _MAX_AMOUNT
    }


def _bundles(bundles: Sequence[Resources]) -> str:
    counted: dict[str, int] = {}
    for needs in bundles:
        counted[_shown(needs)] = counted.get(_shown(needs), 0) + 1
    return ", ".join(text if number == 1 else f"{number} x ({text})" for text, number in counted.items())


def _shown(resources: Resources) -> str:
    known = {key: amount for key, amount in resources.items() if not key.startswith(_HIDDEN)}
    memory = resources.get("memory")
    texts = [f"{key} {amount:g}" for key, amount in known.items()]
    texts += [f"memory {memory / _GIB:.3g} GiB"] if memory else []
    return " + ".join(texts) or "nothing"
