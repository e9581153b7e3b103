"""What jobs of a Ray cluster wait for, and whether any node has it. Pure.

Source: ``/api/v0/nodes``, ``actors``, ``tasks`` and ``placement_groups`` of the state API, 2.60.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

from jobmon_core.domain.backends import RAY_SHORT
from jobmon_core.domain.humanize import listed
from jobmon_core.scheduler.json_values import dicts, text
from jobmon_core.scheduler.ray.cluster_state import SUPERVISOR

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    Resources = dict[str, float]

_HIDDEN = ("node:", "object_store_memory", "memory", "bundle_")
_MAX_SHOWN = 3
_MAX_AMOUNT = 1e18
_GIB = 1 << 30


class Demand(NamedTuple):
    """An entrypoint, actor, task or placement group that waits."""

    driver: str
    submission_id: str
    what: str
    bundles: tuple[Resources, ...]
    is_infeasible: bool = False


def demands_of(
    actors: Iterable[dict[str, Any]], tasks: Iterable[dict[str, Any]], groups: Iterable[dict[str, Any]]
) -> list[Demand]:
    """What the pending entries of the state API wait for."""
    found = []
    for actor in actors:
        name = text(actor, "name")
        if name.startswith(SUPERVISOR):
            needs = _resources(actor.get("required_resources"))
            found.append(Demand("", name.removeprefix(SUPERVISOR), "the entrypoint", (needs,)))
    for task in tasks:
        what = "the actor" if task.get("type") == "ACTOR_CREATION_TASK" else "the task"
        name = text(task, "name").removesuffix(".__init__")
        needs = _resources(task.get("required_resources"))
        found.append(Demand(text(task, "job_id"), "", f"{what} {name[:40]}", (needs,)))
    for group in groups:
        is_infeasible = text(group, "stats", "scheduling_state") == "INFEASIBLE"
        bundles = tuple(_resources(each.get("unit_resources")) for each in dicts(group, "bundles"))
        found.append(Demand(text(group, "creator_job_id"), "", "a placement group", bundles, is_infeasible))
    return found


def totals_of(nodes: Iterable[dict[str, Any]]) -> list[Resources]:
    """The resources of each node that lives."""
    return [_resources(node.get("resources_total")) for node in nodes if node.get("state") == "ALIVE"]


def shortage(demands: Sequence[Demand], totals: Sequence[Resources]) -> str:
    """What was asked for that no node has, and what there is."""
    missing = [each for each in demands if each.is_infeasible or not _may_fit(each, totals)]
    if not missing or not totals:
        return ""
    asked = list(dict.fromkeys(f"{each.what} asks for {_bundles(each.bundles)}" for each in missing))
    nodes = "its node has"
    if len(totals) > 1:
        nodes = f"its {len(totals)} nodes have"
    whole = {key: sum(each.get(key, 0) for each in totals) for each in totals for key in each}
    return f"{RAY_SHORT}: {listed(asked, _MAX_SHOWN, '; ')}. The cluster: {nodes} {_shown(whole)}"


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
