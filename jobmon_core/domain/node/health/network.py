"""Which network a job uses: NCCL's own lines decide, counters of the nodes add to them or stand in."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from jobmon_core.domain.finding import Finding
from jobmon_core.domain.humanize import count, size
from jobmon_core.domain.node.health.model import NetworkState, network_finding
from jobmon_core.domain.node.health.nccl import (
    LOAD_OFI,
    LOOK_AT_NODE,
    SHOW_NCCL,
    TCP,
    USE_IB,
    NcclLines,
    nccl_verdict,
)
from jobmon_core.domain.node.telemetry.model import Fabric, FabricKind, FabricPort

_FLAT_PER_S = 1e5  # the management of a fabric and ssh sessions cause far less
_MUCH_PER_S = 5e6  # in each direction; logs and metrics are far less
_HEADERS = 1.25  # a port counts IP over InfiniBand with so many times the bytes of the interface


@dataclass(frozen=True, slots=True)
class NodeFabric:
    """The counters of one node of a job."""

    node: str
    fabric: Fabric
    is_exclusive: bool  # the job has all cores of the node


@dataclass(frozen=True, slots=True)
class _Traffic:
    node: str
    ports: tuple[FabricPort, ...]  # active, with counters
    rdma: float  # without IP over InfiniBand
    ip: float
    is_flat: bool
    is_ip_busy: bool  # both ways, as by collectives; loading data only receives


def fabric_text(nodes: Sequence[NodeFabric]) -> str:
    """Return e.g. ``n1 has 4 active EFA ports``, of the first such node."""
    for each in nodes:
        ports = [port for port in each.fabric.ports if port.is_active]
        if ports:
            return f"{each.node} has {count(len(ports), f'active {ports[0].kind} port')}"
    return ""


def counters_verdict(nodes: Sequence[NodeFabric], number: int | None) -> Finding | None:
    """Return what the counters prove of a job, on ``number`` nodes, whose steps advance; None if nothing."""
    measured = [each for each in nodes if each.fabric.span_s]
    traffic = [found for each in measured if (found := _traffic(each)) is not None]
    if not traffic:
        return None
    evidence = tuple(_line(each) for each in traffic)
    if not all(each.is_exclusive for each in measured):
        text = "other jobs may share the nodes, so the counters of the network cards prove nothing"
        return network_finding(NetworkState.UNKNOWN, "", text, evidence, SHOW_NCCL)
    flat = [each for each in traffic if each.is_flat]
    if len(flat) == len(traffic):
        return _flat(traffic, evidence)
    return _used(traffic, [each.node for each in flat], number, evidence)


def _used(
    traffic: Sequence[_Traffic], flat: Sequence[str], number: int | None, evidence: tuple[str, ...]
) -> Finding:
    """``flat`` are the nodes that do not use the fabric."""
    name = traffic[0].ports[0].kind
    if flat:
        verb = "send"
        if len(flat) == 1:
            verb = "sends"
        text = f"{', '.join(flat)} {verb} nothing over {name}, the other nodes do"
        return network_finding(NetworkState.DEGRADED, name, text, evidence, LOOK_AT_NODE)
    if idle := [*_idle_ports(traffic)]:
        text = f"{name} works, but not over all cards: nothing over {'; '.join(idle)}"
        return network_finding(NetworkState.DEGRADED, name, text, evidence, LOOK_AT_NODE)
    if all(each.rdma > each.ip for each in traffic):
        if number and len(traffic) != number:
            text = f"only {len(traffic)} of {count(number, 'node')} show counters of {name}"
            return network_finding(NetworkState.UNKNOWN, "", text, evidence, SHOW_NCCL)
        text = f"the nodes send more over {name} than over their network interfaces"
        return network_finding(NetworkState.OK, name, text, evidence)
    text = f"the nodes use {name}, but send more over their network interfaces"
    return network_finding(NetworkState.UNKNOWN, "", text, evidence, SHOW_NCCL)


def _flat(traffic: Sequence[_Traffic], evidence: tuple[str, ...]) -> Finding:
    kind = traffic[0].ports[0].kind
    if all(each.is_ip_busy for each in traffic):
        text = f"the nodes exchange data over TCP, and nothing over {kind}"
        help_ = LOAD_OFI if kind is FabricKind.EFA else USE_IB
        return network_finding(NetworkState.FALLBACK, TCP, text, evidence, help_)
    text = "the nodes exchange hardly any data at the moment"
    return network_finding(NetworkState.UNKNOWN, "", text, evidence, SHOW_NCCL)


def _traffic(found: NodeFabric) -> _Traffic | None:
    """Return None if a node has no fabric, or hides its counters."""
    fabric = found.fabric
    ports = tuple(port for port in fabric.ports if port.is_active and port.bytes_per_s is not None)
    if not ports or fabric.sent_per_s is None or fabric.received_per_s is None:
        return None
    total = sum(port.bytes_per_s or 0.0 for port in ports)
    rdma = max(0.0, total - _HEADERS * (fabric.over_fabric_per_s or 0.0))
    ip = fabric.sent_per_s + fabric.received_per_s
    is_ip_busy = min(fabric.sent_per_s, fabric.received_per_s) >= _MUCH_PER_S
    return _Traffic(found.node, ports, rdma, ip, rdma < _FLAT_PER_S, is_ip_busy)


def _idle_ports(traffic: Sequence[_Traffic]) -> Iterator[str]:
    """Yield the ports that carry nothing, although they should.

    Sites keep cards of InfiniBand and RoCE for other purposes, e.g. storage: one that carries nothing counts
    only if the same card of another node carries data. All cards of EFA have the same purpose.
    """
    used = {_key(port) for each in traffic for port in each.ports if not _is_flat(port)}
    for each in traffic:
        idle = [
            port
            for port in each.ports
            if _is_flat(port) and (port.kind is FabricKind.EFA or _key(port) in used)
        ]
        if idle:
            yield f"{', '.join(port.device for port in idle)} of {each.node}"


def _key(port: FabricPort) -> tuple[str, int]:
    return port.device, port.port


def _is_flat(port: FabricPort) -> bool:
    return (port.bytes_per_s or 0.0) < _FLAT_PER_S


def _line(traffic: _Traffic) -> str:
    busy = sum(not _is_flat(port) for port in traffic.ports)
    ports = f"{busy} of {count(len(traffic.ports), 'port')}"
    kind = traffic.ports[0].kind
    return f"{traffic.node}: {size(traffic.rdma)}/s over {kind} ({ports}), {size(traffic.ip)}/s over IP"


_NO_LINES = NcclLines()


def network_verdict(
    nodes: int | None,
    nccl: NcclLines = _NO_LINES,
    fabrics: Sequence[NodeFabric] = (),
    *,
    has_gpus: bool | None = None,
    is_advancing: bool = False,
    unread: str = "",
) -> Finding:
    """Return the verdict on the network of a running job; ``unread``: why its logs could not be read."""
    if nodes == 1 and max(nccl.node_counts, default=1) == 1:
        text = "the job has one node, so nothing has to leave it"
        return network_finding(NetworkState.NOT_APPLICABLE, text=text)
    fabric = fabric_text(fabrics)
    said = nccl_verdict(nccl, nodes, fabric)
    counted = None
    if is_advancing:
        counted = counters_verdict(fabrics, nodes)
    if said is not None and said.id != NetworkState.UNKNOWN:
        return _confirmed(said, counted)
    if counted is not None and counted.id != NetworkState.UNKNOWN:
        return counted
    if said is not None:
        lacks_fabric = not fabric and nodes is not None and len(fabrics) == nodes
        return _without_fabric(said) if lacks_fabric else said
    if counted is None and has_gpus is False:
        text = "the job has no GPUs, so NCCL connects none"
        return network_finding(NetworkState.NOT_APPLICABLE, text=text)
    return counted or _unknown(nodes, nccl, fabric, unread)


def _unknown(nodes: int | None, nccl: NcclLines, fabric: str, unread: str) -> Finding:
    text = "what the log has of NCCL does not say which network it uses"
    if unread:
        text = f"the logs could not be read: {unread}"
    elif nccl.is_empty:
        where = "" if nodes is None else f" of its {count(nodes, 'node')}"
        text = f"the log has no line of NCCL about the network{where}"
    evidence = (fabric,) if fabric else ()
    return network_finding(NetworkState.UNKNOWN, text=text, evidence=evidence, advice=SHOW_NCCL)


def _confirmed(said: Finding, counted: Finding | None) -> Finding:
    """Return what NCCL says, unless the counters of a node or a card contradict it."""
    if counted is None or said.id != NetworkState.OK:
        return said
    if counted.id == NetworkState.DEGRADED:
        return replace(counted, title=said.title, evidence=(*said.evidence, *counted.evidence))
    return said


def _without_fabric(said: Finding) -> Finding:
    if said.title != TCP:
        return said
    text = "NCCL uses TCP sockets; the nodes show no faster network"
    return network_finding(NetworkState.OK, TCP, text, said.evidence)
