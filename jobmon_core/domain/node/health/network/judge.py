"""Which network a job uses: NCCL's own lines decide, counters of the nodes add to them or stand in."""

from __future__ import annotations

from dataclasses import dataclass, replace

from jobmon_core.domain.humanize import count
from jobmon_core.domain.node.health.network import advice
from jobmon_core.domain.node.health.network.counters import NodeFabric, counters_verdict, fabric_text
from jobmon_core.domain.node.health.network.model import NcclLines, NetworkState, NetworkVerdict
from jobmon_core.domain.node.health.network.nccl_verdict import TCP, nccl_verdict

_NO_LINES = NcclLines()


@dataclass(frozen=True, slots=True)
class NetworkFacts:
    """All that is known about the network of a running job. None means "not known"."""

    nodes: int | None = None  # of the job
    nccl: NcclLines = _NO_LINES
    fabrics: tuple[NodeFabric, ...] = ()  # as the agents of the nodes see them
    has_gpus: bool | None = None
    is_advancing: bool = False  # its steps advance, so its collectives run
    unread: str = ""  # why its logs could not be read


def network_verdict(facts: NetworkFacts) -> NetworkVerdict:
    """Return the verdict on the network of a job."""
    if facts.nodes == 1 and max(facts.nccl.node_counts, default=1) == 1:
        text = "the job has one node, so nothing has to leave it"
        return NetworkVerdict(NetworkState.NOT_APPLICABLE, text=text)
    fabric = fabric_text(facts.fabrics)
    said = nccl_verdict(facts.nccl, facts.nodes, fabric)
    counted = counters_verdict(facts.fabrics, facts.nodes) if facts.is_advancing else None
    if said is not None and said.state is not NetworkState.UNKNOWN:
        return _confirmed(said, counted)
    if counted is not None and counted.state is not NetworkState.UNKNOWN:
        return counted
    if said is not None:
        lacks_one = not fabric and facts.nodes is not None and len(facts.fabrics) == facts.nodes
        return _without_fabric(said) if lacks_one else said
    return counted or _unknown(facts, fabric)


def _confirmed(said: NetworkVerdict, counted: NetworkVerdict | None) -> NetworkVerdict:
    """Return what NCCL says, unless the counters of a node or a card show that it does not hold there."""
    if counted is None or said.state is not NetworkState.OK:
        return said
    if counted.state is NetworkState.DEGRADED:
        return replace(counted, transport=said.transport, evidence=(*said.evidence, *counted.evidence))
    return said


def _without_fabric(said: NetworkVerdict) -> NetworkVerdict:
    if said.transport != TCP:
        return said
    text = "NCCL uses TCP sockets; the nodes show no faster network"
    return NetworkVerdict(NetworkState.OK, TCP, text, said.evidence)


def _unknown(facts: NetworkFacts, fabric: str) -> NetworkVerdict:
    if facts.has_gpus is False:
        text = "the job has no GPUs, so NCCL connects none"
        return NetworkVerdict(NetworkState.NOT_APPLICABLE, text=text)
    where = "" if facts.nodes is None else f" of its {count(facts.nodes, 'node')}"
    if facts.unread:
        text = f"the logs could not be read: {facts.unread}"
    elif facts.nccl.is_empty:
        text = f"the log has no line of NCCL about the network{where}"
    else:
        text = "what the log has of NCCL does not say which network it uses"
    evidence = (fabric,) if fabric else ()
    return NetworkVerdict(NetworkState.UNKNOWN, text=text, evidence=evidence, advice=advice.SHOW_NCCL)
