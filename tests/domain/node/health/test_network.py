"""Which network a job uses."""

from __future__ import annotations

import pytest

from jobmon_core.domain.finding import Finding
from jobmon_core.domain.node.health.model import NetworkState
from jobmon_core.domain.node.health.nccl import read_nccl
from jobmon_core.domain.node.health.network import NodeFabric, counters_verdict, network_verdict
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


def _verdict(*nodes: NodeFabric, advancing: bool = True, log: tuple[str, ...] = ()) -> Finding:
    nccl = read_nccl(f"n1:1:1 [0] NCCL INFO {line}" for line in log)
    return network_verdict(2, nccl, nodes, has_gpus=True, is_advancing=advancing)


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
    assert found.id == state, found.text
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
    assert verdict.id == UNKNOWN
    assert verdict.text == "only 2 of 3 nodes show counters of EFA"


def test_counters_prove_nothing_while_the_job_makes_no_steps() -> None:
    busy = (800 * _MB, 800 * _MB)
    nodes = _node("n1", EFA, (0.0,), busy), _node("n2", EFA, (0.0,), busy)
    assert _verdict(*nodes, advancing=False).id == UNKNOWN
    assert _verdict(*nodes).id == FALLBACK


def test_the_first_sample_alone_proves_nothing() -> None:
    one = NodeFabric("n1", Fabric((FabricPort("efa_0", kind=EFA),)), is_exclusive=True)
    assert _verdict(one, one).evidence == ("n1 has 1 active EFA port",)


def test_nccl_decides_and_counters_add_the_node_that_does_not_take_part() -> None:
    log = ("Using network Libfabric", "NET/OFI Selected provider is efa, fabric is efa (found 1 nics)")
    used, flat = _node("n1", EFA, (_GB,)), _node("n2", EFA, (0.0,))
    assert _verdict(used, used, log=log).evidence[0].endswith(log[1])
    found = _verdict(used, flat, log=log)
    assert (found.id, found.title) == (DEGRADED, "EFA")
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
    assert (found.id, found.title) == (FALLBACK, "TCP sockets")
    assert "n1 has 1 active EFA port" in found.text
    assert "/opt/amazon/ofi-nccl" in found.advice
    assert _verdict(_node("n1", EFA, ()), _node("n2", EFA, ()), log=log).id == OK
    assert _verdict(_node("n1", EFA, ()), log=log).id == UNKNOWN  # the other node is not seen


def test_a_job_without_gpus_needs_no_nccl() -> None:
    assert network_verdict(2, has_gpus=False).id == NOT_APPLICABLE


def test_logs_that_cannot_be_read_are_named() -> None:
    found = network_verdict(2, unread="no result within 20 s")
    assert found.text == "the logs could not be read: no result within 20 s"


_IB = "NET/IB : Using [0]mlx5_0:1/IB [1]mlx5_1:1/IB [RO]; OOB eth0:10.1.1.1<0>"
_ROCE = "NET/IB : Using [0]mlx5_0:1/RoCE [RO]; OOB eth0:10.1.1.1<0>"
_NO_PLUGIN_OLD = "NET/Plugin : No plugin found, using internal implementation"
_NO_PLUGIN_NEW = "NET/Plugin: Could not find: libnccl-net.so. Using internal network plugin."
_NO_IB = "NET/IB : No device found."
_SOCKET = "NET/Socket : Using [0]eth0:10.1.1.1<0>"
_TWO_NODES = "comm 0x55 rank 8 nRanks 16 nNodes 2 localRanks 8 localRank 0 MNNVL 0"
_ONE_NODE = "comm 0x55 rank 3 nRanks 8 nNodes 1 localRanks 8 localRank 3 MNNVL 0"
_NVLINK = "Channel 00/0 : 4[0] -> 5[0] via P2P/MNNVL"
_OFI = "NET/OFI Initializing aws-ofi-nccl 1.14.0"
_EFA = "NET/OFI Selected provider is efa, fabric is efa-direct (found 16 nics)"
_TCP_PROVIDER = "NET/OFI Selected Provider is tcp (found 1 nics)"


def _channel(network: str, rest: str = "") -> str:
    return f"Channel 00/0 : 8[0] -> 0[0] [receive] via NET/{network}/0{rest}"


def _said(lines: tuple[str, ...], nodes: int | None = 2) -> Finding:
    log = [f"gpu1:4242:4301 [0] NCCL {'' if each.startswith('WARN') else 'INFO '}{each}" for each in lines]
    return network_verdict(nodes, read_nccl(log))


@pytest.mark.parametrize(
    ("lines", "state", "transport"),
    [
        # 2.18 to 2.20
        ((_NO_PLUGIN_OLD, _IB, "Using network IB", _channel("IB", "/GDRDMA")), OK, "InfiniBand"),
        ((_ROCE, "Using network IB", _channel("IB")), OK, "RoCE"),
        (("Ring 00 : 15 -> 0 [receive] via NET/IB/0/GDRDMA",), OK, "InfiniBand"),
        # the same cluster whose program cannot open the cards
        ((_IB, "NCCL_IB_DISABLE set by environment to 1.", "Using network Socket"), FALLBACK, "TCP sockets"),
        (("NCCL_NET set by environment to Socket.", _IB, "Using network Socket"), FALLBACK, "TCP sockets"),
        (("Bootstrap : Using ibp12s0:10.149.0.32<0>", _NO_IB, _channel("Socket")), FALLBACK, "TCP sockets"),
        (("NET/Socket : Using [0]eth0:1.2.3.4<0> [1]ib0:5.6.7.8<0>", _NO_IB), FALLBACK, "TCP sockets"),
        # plain TCP: a missing plugin is usual where there is no fabric
        ((_NO_PLUGIN_OLD, _NO_IB, _SOCKET, "Using network Socket"), UNKNOWN, "TCP sockets"),
        ((_NO_PLUGIN_NEW, _NO_IB, _SOCKET, "Using network Socket", _TWO_NODES), UNKNOWN, "TCP sockets"),
        # from 2.22 on: the plugin that the user asked for is missing
        (
            ("NCCL_NET_PLUGIN set by environment to ofi.", _NO_PLUGIN_NEW, "Using network Socket"),
            FALLBACK,
            "TCP sockets",
        ),
        (("NCCL_NET_PLUGIN set by environment to none.", "Using network Socket"), UNKNOWN, "TCP sockets"),
        (("FI_PROVIDER set by environment to efa.", _NO_IB, _channel("Socket")), FALLBACK, "TCP sockets"),
        # 2.27 and later
        (("Initialized NET plugin IB", "Assigned NET plugin IB to comm", _IB), OK, "InfiniBand"),
        (("Assigned NET plugin Socket to comm", _IB), FALLBACK, "TCP sockets"),
        (("Connected all rings, use ring PXN 1 GDR 1", "Using network IB", _IB), OK, "InfiniBand"),
        # from 2.22 on, the channels may come only with the first collective
        (("Using network IB", _IB, _TWO_NODES), OK, "InfiniBand"),
        (("Channel 01/0 : 0[0] -> 8[0] [send] via NET/IB/0/GDRDMA", _IB), OK, "InfiniBand"),
        (("Channel 01/0 : 0[0] -> 8[0] [send] via NET/Socket/0", _IB), FALLBACK, "TCP sockets"),
        # PXN names the rank that forwards, newer versions the device with direct access
        ((_channel("IB", "(12)/GDRDMA"), _IB), OK, "InfiniBand"),
        ((_channel("IB", "/GDRDMA(PCI)/Shared"), _IB), OK, "InfiniBand"),
        # aws-ofi-nccl 1.4, 1.7 to 1.12, and from 1.14 on
        (("NET/OFI Selected Provider is efa", "Using network AWS Libfabric"), OK, "EFA"),
        ((_OFI, "NET/OFI Selected Provider is efa (found 4 nics)", _channel("AWS Libfabric")), OK, "EFA"),
        ((_OFI, _EFA, "Using network Libfabric", _channel("Libfabric", "/GDRDMA")), OK, "EFA"),
        ((_EFA,), OK, "EFA"),
        ((_OFI, "NET/OFI Using transport protocol RDMA", _EFA), OK, "EFA"),
        ((_OFI, "NET/OFI Using transport protocol SENDRECV", _TCP_PROVIDER), FALLBACK, "TCP sockets"),
        (("NET/OFI Selected Provider is cxi (found 4 nics)", "Using network AWS Libfabric"), OK, "Slingshot"),
        # the plugin is there, the cards are not
        ((_OFI, _TCP_PROVIDER, "Using network AWS Libfabric"), FALLBACK, "TCP sockets"),
        ((_OFI, _TCP_PROVIDER, _channel("AWS Libfabric")), FALLBACK, "TCP sockets"),
        (("NET/OFI Selected Provider is tcp;ofi_rxm (found 1 nics)",), FALLBACK, "TCP sockets"),
        ((_OFI, "NET/OFI No eligible providers were found", _channel("Socket")), FALLBACK, "TCP sockets"),
        (
            ("WARN NET/OFI EFA provider requires at least libfabric version 1.22", _channel("Socket")),
            FALLBACK,
            "TCP sockets",
        ),
        # NET/OFI alone is no proof
        (("Using network AWS Libfabric",), UNKNOWN, "libfabric"),
        (("Using network AWS Libfabric", _channel("AWS Libfabric", "/GDRDMA")), OK, "libfabric"),
        # a part of the job
        ((_EFA, _TCP_PROVIDER, "Using network Libfabric"), DEGRADED, "TCP sockets and EFA"),
        (("Using network IB", "Using network Socket", _IB), DEGRADED, "TCP sockets and InfiniBand"),
        (
            (_channel("IB", "/GDRDMA"), _channel("Socket"), _IB),
            DEGRADED,
            "TCP sockets and InfiniBand",
        ),
        (
            ("WARN NET/OFI GDR disabled on GDR-supported instance type p5.48xlarge", _EFA),
            DEGRADED,
            "EFA",
        ),
        # plugins of other makers
        (("Using network IBext_v8", _channel("IBext_v8", "/GDRDMA")), OK, "InfiniBand"),
        (("Using network FasTrak", _channel("FasTrak")), OK, "FasTrak"),
        # NVLink between the nodes of a rack
        (("Using network IB", _NVLINK, _TWO_NODES), OK, "NVLink between nodes"),
        # what proves nothing
        ((_TWO_NODES, "Channel 00/0 : 1[1] -> 0[0] via P2P/CUMEM"), UNKNOWN, ""),
        ((_TWO_NODES, "Channel 00/0 : 1[1] -> 0[0] via P2P/IPC"), UNKNOWN, ""),
        ((_TWO_NODES, "Channel 00/0 : 1[1] -> 0[0] via P2P/direct pointer"), UNKNOWN, ""),
        ((_TWO_NODES, "Channel 00 : 1[1] -> 0[0] via SHM/direct/direct"), UNKNOWN, ""),
        ((_TWO_NODES, "Channel 00 : 1[1] -> 0[0] via SHM/CE/direct"), UNKNOWN, ""),
        (("NET/OFI Using transport protocol RDMA",), UNKNOWN, ""),
        (("NCCL version 2.21.5+cuda12.4",), UNKNOWN, ""),
    ],
)  # fmt: skip
def test_the_lines_of_a_job_on_two_nodes(lines: tuple[str, ...], state: NetworkState, transport: str) -> None:
    found = _said(lines)
    assert (found.id, found.title) == (state, transport), found.text
    assert found.text
    assert bool(found.advice) == (state not in (OK, NOT_APPLICABLE))
    if transport:
        assert found.evidence
        assert all(
            any(each.endswith(said.removeprefix("WARN ")) for said in lines) for each in found.evidence
        )


@pytest.mark.parametrize(
    ("nodes", "lines", "state"),
    [
        (1, ("Using network Socket", _channel("Socket")), NOT_APPLICABLE),
        (1, (), NOT_APPLICABLE),
        # NCCL counts more nodes than are known
        (1, (_TWO_NODES, "Using network IB", _IB), OK),
        # NCCL names a network within one node, too
        (None, ("Using network Socket", _ONE_NODE), NOT_APPLICABLE),
        (None, ("Using network Socket",), UNKNOWN),
        (None, ("Using network Socket", _IB, _channel("Socket")), FALLBACK),
        (None, (_ONE_NODE, _TWO_NODES, "Using network IB", _IB), OK),
        (None, (), UNKNOWN),
        # a job of two nodes whose groups across them are not there yet
        (2, (_ONE_NODE,), UNKNOWN),
    ],
)
def test_how_many_nodes_take_part(nodes: int | None, lines: tuple[str, ...], state: NetworkState) -> None:
    assert _said(lines, nodes).id == state


def test_without_lines_the_verdict_says_what_to_set() -> None:
    found = _said(())
    assert found.id == UNKNOWN
    assert found.text == "the log has no line of NCCL about the network of its 2 nodes"
    assert "NCCL_DEBUG=INFO" in found.advice


def test_the_advice_about_efa_does_not_repeat_the_setting_that_fails() -> None:
    found = _said(("NCCL_NET_PLUGIN set by environment to ofi.", _NO_PLUGIN_NEW, "Using network Socket"))
    assert "/opt/amazon/ofi-nccl/lib/x86_64-linux-gnu" in found.advice
    assert '"AWS Libfabric"' in found.advice
    assert "NCCL_NET=ofi" not in found.advice


def test_a_variable_that_switches_the_fabric_off_is_named_with_its_line() -> None:
    found = _said((_IB, "NCCL_IB_DISABLE set by environment to 1.", "Using network Socket"))
    assert found.text.endswith("NCCL_IB_DISABLE is set to 1")
    assert found.evidence[0].endswith("NCCL_IB_DISABLE set by environment to 1.")
    assert found.advice == "Unset NCCL_IB_DISABLE (1 now), unless it is meant."


def test_direct_access_of_the_gpus_is_shown() -> None:
    assert _said((_channel("IB"), _channel("IB"))).text.endswith("without GPUDirect RDMA")
    assert _said((_channel("IB", "/GDRDMA"),)).text.endswith("with GPUDirect RDMA")
    mixed = _said((_channel("IB", "/GDRDMA"), _channel("IB")))
    assert mixed.text.endswith("1 of 2 channels with GPUDirect RDMA")


def test_lines_that_ray_prefixes_colours_and_shortens_are_read() -> None:
    prefix = "\x1b[36m(RayTrainWorker pid=812, ip=10.0.3.7)\x1b[0m gpu1:812:990 [0] NCCL INFO "
    repeated = "\x1b[32m [repeated 15x across cluster] (Ray deduplicates logs by default.)\x1b[0m"
    found = read_nccl([f"{prefix}Using network AWS Libfabric{repeated}", f"{prefix}{_EFA}{repeated}"])
    assert found.networks == {"AWS Libfabric": 1}
    assert found.providers == {"efa": 1}
    assert network_verdict(2, found).title == "EFA"


def test_what_another_program_says_about_networks_is_no_proof() -> None:
    assert read_nccl(["Using network Socket", "echo via NET/Socket/0", "NET/IB : No device found."]).is_empty
