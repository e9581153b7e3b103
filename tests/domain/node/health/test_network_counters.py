"""What two samples of the counters of each node prove about the network."""

from __future__ import annotations

import pytest

from jobmon_core.domain.node.health.network.counters import NodeFabric, counters_verdict
from jobmon_core.domain.node.health.network.judge import NetworkFacts, network_verdict
from jobmon_core.domain.node.health.network.model import NetworkState, NetworkVerdict
from jobmon_core.domain.node.health.network.nccl_lines import read_nccl
from jobmon_core.domain.node.telemetry.model import Fabric, FabricKind, FabricPort

OK, DEGRADED, FALLBACK = NetworkState.OK, NetworkState.DEGRADED, NetworkState.FALLBACK
UNKNOWN, NOT_APPLICABLE = NetworkState.UNKNOWN, NetworkState.NOT_APPLICABLE
EFA, IB = FabricKind.EFA, FabricKind.INFINIBAND
_GB, _MB = 1e9, 1e6
_SLOW_LOG = (0.02 * _MB, 0.01 * _MB)


def _node(
    name: str,
    kind: FabricKind,
    rates: tuple[float | None, ...],
    ip: tuple[float, float] = _SLOW_LOG,
    *,
    over_ib: float | None = None,
    exclusive: bool = True,
    down: int = 0,
) -> NodeFabric:
    ports = [FabricPort(f"dev{number}", 1, kind, True, rate) for number, rate in enumerate(rates)]
    ports += [FabricPort(f"down{number}", 1, kind, False, 0.0) for number in range(down)]
    return NodeFabric(name, Fabric(tuple(ports), 30.0, *ip, over_ib), exclusive)


def _verdict(*nodes: NodeFabric, advancing: bool = True, log: tuple[str, ...] = ()) -> NetworkVerdict:
    nccl = read_nccl(f"n1:1:1 [0] NCCL INFO {line}" for line in log)
    return network_verdict(NetworkFacts(2, nccl, nodes, has_gpus=True, is_advancing=advancing))


@pytest.mark.parametrize(
    ("first", "second", "state"),
    [
        # used: more than over IP
        (_node("n1", EFA, (_GB,) * 4), _node("n2", EFA, (_GB,) * 4), OK),
        (_node("n1", IB, (_GB,), (9 * _MB, 300 * _MB)), _node("n2", IB, (_GB,)), OK),
        # a port without a cable is no port
        (_node("n1", IB, (_GB,), down=1), _node("n2", IB, (_GB,), down=1), OK),
        # TCP, although the cards are there
        (
            _node("n1", EFA, (0.0,), (800 * _MB, 800 * _MB)),
            _node("n2", EFA, (10.0,), (800 * _MB, 800 * _MB)),
            FALLBACK,
        ),
        # TCP over InfiniBand: its ports count that, too
        (
            _node("n1", IB, (2.1 * _GB,), (_GB, _GB), over_ib=2 * _GB),
            _node("n2", IB, (2.1 * _GB,), (_GB, _GB), over_ib=2 * _GB),
            FALLBACK,
        ),
        # data that is only loaded, as from a file server, is no collective
        (_node("n1", EFA, (0.0,), (_MB, 800 * _MB)), _node("n2", EFA, (0.0,), (_MB, 800 * _MB)), UNKNOWN),
        (_node("n1", EFA, (0.0,)), _node("n2", EFA, (0.0,)), UNKNOWN),
        # the fabric carries something, e.g. a file system, and IP carries more
        (
            _node("n1", IB, (5 * _MB,), (800 * _MB, 800 * _MB)),
            _node("n2", IB, (5 * _MB,), (800 * _MB, 800 * _MB)),
            UNKNOWN,
        ),
        # one node, or some cards, carry nothing
        (_node("n1", EFA, (_GB,)), _node("n2", EFA, (0.0,), (800 * _MB, 800 * _MB)), DEGRADED),
        (_node("n1", EFA, (_GB, 0.0)), _node("n2", EFA, (_GB, 0.0)), DEGRADED),
        (_node("n1", IB, (_GB, _GB)), _node("n2", IB, (_GB, 0.0)), DEGRADED),
        # sites keep a card of InfiniBand for storage
        (_node("n1", IB, (_GB, 0.0)), _node("n2", IB, (_GB, 0.0)), OK),
        # the counters are the node's, not the job's
        (_node("n1", EFA, (_GB,), exclusive=False), _node("n2", EFA, (_GB,)), UNKNOWN),
        # hidden, as in some containers
        (_node("n1", EFA, (None,)), _node("n2", EFA, (None,)), UNKNOWN),
    ],
)
def test_the_counters_of_two_nodes(first: NodeFabric, second: NodeFabric, state: NetworkState) -> None:
    found = _verdict(first, second)
    assert found.state is state, found.text
    assert bool(found.advice) == (state is not OK)


def test_the_verdict_shows_the_figures_of_each_node() -> None:
    found = _verdict(_node("n1", EFA, (_GB, _GB)), _node("n2", EFA, (_GB, 0.0)))
    assert found.text == "EFA works, but not over all cards: nothing over dev1 of n2"
    assert found.evidence == (
        "n1: 1.9 GiB/s over EFA (2 of 2 ports), 29.3 KiB/s over IP",
        "n2: 953.7 MiB/s over EFA (1 of 2 ports), 29.3 KiB/s over IP",
    )


def test_a_node_without_counters_leaves_the_network_unknown() -> None:
    verdict = counters_verdict((_node("n1", EFA, (_GB,)), _node("n2", EFA, (_GB,))), 3)
    assert verdict is not None
    assert verdict.state is UNKNOWN
    assert verdict.text == "only 2 of 3 nodes show counters of EFA"


def test_counters_prove_nothing_while_the_job_makes_no_steps() -> None:
    busy = (800 * _MB, 800 * _MB)
    nodes = _node("n1", EFA, (0.0,), busy), _node("n2", EFA, (0.0,), busy)
    assert _verdict(*nodes, advancing=False).state is UNKNOWN
    assert _verdict(*nodes).state is FALLBACK


def test_the_first_sample_alone_proves_nothing() -> None:
    one = NodeFabric("n1", Fabric((FabricPort("efa_0", kind=EFA),)), is_exclusive=True)
    assert _verdict(one, one).evidence == ("n1 has 1 active EFA port",)


def test_nccl_decides_and_counters_add_the_node_that_does_not_take_part() -> None:
    log = ("Using network Libfabric", "NET/OFI Selected provider is efa, fabric is efa (found 1 nics)")
    used, flat = _node("n1", EFA, (_GB,)), _node("n2", EFA, (0.0,))
    assert _verdict(used, used, log=log).evidence[0].endswith(log[1])
    found = _verdict(used, flat, log=log)
    assert (found.state, found.transport) == (DEGRADED, "EFA")
    assert "n2 sends nothing over EFA" in found.text
    assert len(found.evidence) == 4


def test_sockets_are_a_fallback_where_agents_see_a_fabric_and_fine_where_they_see_none() -> None:
    log = (
        "NET/IB : No device found.",
        "Using network Socket",
        "Channel 00/0 : 1[0] -> 0[0] via NET/Socket/0",
    )
    with_fabric = (_node("n1", EFA, (0.0,)), _node("n2", EFA, (0.0,)))
    found = _verdict(*with_fabric, advancing=False, log=log)
    assert (found.state, found.transport) == (FALLBACK, "TCP sockets")
    assert "n1 has 1 active EFA port" in found.text
    assert "/opt/amazon/ofi-nccl" in found.advice
    assert _verdict(_node("n1", EFA, ()), _node("n2", EFA, ()), log=log).state is OK
    assert _verdict(_node("n1", EFA, ()), log=log).state is UNKNOWN  # the other node is not seen


def test_a_job_without_gpus_needs_no_nccl() -> None:
    assert network_verdict(NetworkFacts(2, has_gpus=False)).state is NOT_APPLICABLE


def test_logs_that_cannot_be_read_are_named() -> None:
    found = network_verdict(NetworkFacts(2, unread="no result within 20 s"))
    assert found.text == "the logs could not be read: no result within 20 s"
