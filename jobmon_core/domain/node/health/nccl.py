"""What NCCL's own lines in a log say about the network of a job, and the verdict that they prove.

The formats are those of NCCL 2.18 to 2.30 with ``NCCL_DEBUG=INFO`` (src/transport/net_ib*, net_socket.cc,
plugin/net.cc, init.cc, transport/net.cc) and of aws-ofi-nccl 1.4 to 1.17 (nccl_ofi_net.cpp, nccl_ofi_rdma).
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field

from jobmon_core.domain.finding import Finding
from jobmon_core.domain.humanize import count
from jobmon_core.domain.node.health.model import NetworkState, network_finding

SOCKET = "Socket"  # TCP


@dataclass(frozen=True, slots=True)
class NcclLines:
    """What lines of NCCL (also RCCL) and of its network plugins in the logs of one run say.

    Channels, networks and providers are counted in lines: each process prints its own, but Ray drops repeated
    ones.
    """

    channels: dict[str, int] = field(default_factory=dict)  # between nodes, by NCCL's name of the network
    rdma_channels: int = 0  # with GPUDirect RDMA
    networks: dict[str, int] = field(default_factory=dict)  # that processes chose
    providers: dict[str, int] = field(default_factory=dict)  # that aws-ofi-nccl selected
    node_counts: tuple[int, ...] = ()  # that communicators span, ascending
    multi_node_nvlink: bool = False
    gdr: bool | None = None  # whether the rings use GPUDirect RDMA, as NCCL 2.24 and later print it
    settings: dict[str, str] = field(default_factory=dict)  # e.g. NCCL_NET
    # the first line that shows each fact, by keys such as ``channel Socket``, ``plugin missing``
    evidence: dict[str, str] = field(default_factory=dict)

    @property
    def is_empty(self) -> bool:
        """Whether nothing says anything about the network."""
        return not (self.evidence or self.settings)

    @classmethod
    def together(cls, parts: Iterable[NcclLines]) -> NcclLines:
        """Of a setting the last counts, of a proof the first."""
        channels, networks, providers = Counter[str](), Counter[str](), Counter[str]()
        settings, evidence = dict[str, str](), dict[str, str]()
        nodes, rdma_channels, has_nvlink, gdr = set[int](), 0, False, None
        for part in parts:
            channels.update(part.channels)
            networks.update(part.networks)
            providers.update(part.providers)
            nodes.update(part.node_counts)
            settings |= part.settings
            evidence = part.evidence | evidence
            rdma_channels += part.rdma_channels
            has_nvlink = has_nvlink or part.multi_node_nvlink
            gdr = gdr or part.gdr if part.gdr is not None else gdr
        counted = (dict(channels), rdma_channels, dict(networks), dict(providers))
        return cls(*counted, tuple(sorted(nodes)), has_nvlink, gdr, settings, evidence)


SHOW_NCCL = (
    "Set NCCL_DEBUG=INFO (and unset NCCL_DEBUG_SUBSYS and NCCL_DEBUG_FILE) before the next start: NCCL then "
    "prints the network that it chose to the log."
)
LOOK_FOR_FABRIC = "Run `ls /sys/class/infiniband` on a node: if it lists devices, NCCL does not use them."
LOAD_OFI = (
    "Put the folder of libnccl-net.so of aws-ofi-nccl on LD_LIBRARY_PATH, inside the container too: "
    "/opt/amazon/ofi-nccl/lib/x86_64-linux-gnu, on older images /opt/amazon/ofi-nccl/lib or "
    "/opt/aws-ofi-nccl/lib. Set NCCL_NET_PLUGIN=ofi. To have NCCL fail rather than fall back, set NCCL_NET "
    'to the name that NCCL prints after "Using network": "AWS Libfabric", of newer plugins "Libfabric"; '
    '"ofi" is not such a name.'
)
SHOW_EFA = (
    "Make the EFA devices visible to the program: /dev/infiniband in the container, on Kubernetes the "
    "resource vpc.amazonaws.com/efa. `fi_info -p efa` must list them there. If it does, aws-ofi-nccl loads "
    "another libfabric: put /opt/amazon/efa/lib first on LD_LIBRARY_PATH."
)
UPDATE_LIBFABRIC = "Install the libfabric of the EFA installer, or a newer one, in the container."
USE_IB = (
    "Unset NCCL_IB_DISABLE, and look at NCCL_IB_HCA and NCCL_NET. Make /dev/infiniband and libibverbs "
    "visible in the container, with an unlimited `ulimit -l`. `ibv_devinfo` must show an active port there."
)
GDR = (
    "Load the kernel module nvidia-peermem (or use a kernel and driver with DMA-BUF) on the nodes, "
    "so that GPUs and network cards exchange data directly."
)
LOOK_AT_NODE = (
    "Compare that node with the others: `ibv_devinfo` (`fi_info -p efa` on AWS), the container and the "
    "environment of its processes."
)


# keys of `NcclLines.evidence`, besides the names of variables; CHANNEL, NETWORK and PROVIDER are followed by
# the name of what is used
CHANNEL, NETWORK, PROVIDER = "channel", "network", "provider"
IB_DEVICES, IB_NONE, SOCKETS = "IB devices", "no IB devices", "sockets"
PLUGIN_MISSING, OFI, OFI_NONE, OFI_OLD = "plugin missing", "OFI", "no OFI provider", "libfabric too old"
GDR_OFF, ONE_NODE, SEVERAL_NODES, NVLINK = "GDR off", "one node", "several nodes", "multi-node NVLink"
RINGS, IB_INTERFACE = "rings", "IB interface"

_MARK = re.compile(r"NCCL (?:INFO|WARN|TRACE) +")
_TERMINAL_CODES = re.compile(r"\x1b\[[0-9;]*[A-Za-z]")
_REPEATED = re.compile(r" *\[repeated \d+x across cluster\].*$")  # by Ray
_MAX_CHARS = 200  # of a line

_CHOSEN = re.compile(r"Using network (.+)")
_ASSIGNED = re.compile(r"Assigned NET plugin (.+?) to comm")
_NET_CHANNEL = re.compile(r"via NET/([^/]+)/\d+(?:\(\d+\))?(/GDRDMA)?")
_NODES = re.compile(r"\bnRanks \d+ nNodes (\d{1,9})\b")
_RING_USE = re.compile(r"use ring PXN \d+ GDR (\d+)")
_PROVIDER = re.compile(r"NET/OFI Selected [Pp]rovider is ([^\s,(]+)")
_SETTING = re.compile(r"\b((?:NCCL|RCCL|FI|OFI)_[A-Z0-9_]+) set (?:by environment )?to (.*?)\.?$")
_FACTS = (
    (IB_DEVICES, re.compile(r"NET/IB : Using ")),
    (IB_NONE, re.compile(r"NET/IB : No device found")),
    (SOCKETS, re.compile(r"NET/Socket : Using ")),
    (PLUGIN_MISSING, re.compile(r"NET/Plugin ?: (?:No plugin found|Could not find|Plugin load .*returned)")),
    (OFI_NONE, re.compile(r"NET/OFI .*(?:No eligible providers were found|fi_getinfo\(\) call failed)")),
    (OFI_OLD, re.compile(r"EFA provider requires at least libfabric")),
    (GDR_OFF, re.compile(r"GDR disabled on GDR-supported instance type")),
    (OFI, re.compile(r"NET/OFI Initializing aws-ofi-nccl")),
    (NVLINK, re.compile(r"via P2P/MNNVL")),
    (IB_INTERFACE, re.compile(r"(?:Bootstrap|NET/Socket) ?: Using (?:.*\])?ib\w+:")),
)


def read_nccl(lines: Iterable[str]) -> NcclLines:
    """Lines of other programs are skipped."""
    return NcclLines.together(said for line in lines for said in _said_by(line))


def _said_by(line: str) -> Iterator[NcclLines]:
    mark = _MARK.search(line)
    if mark is None:
        return
    message, shown = _plain(line[mark.start() :]), _plain(line)[:_MAX_CHARS]
    if found := _NET_CHANNEL.search(message):
        key = f"{CHANNEL} {found[1]}"
        yield NcclLines({found[1]: 1}, int(found[2] is not None), evidence={key: shown})
    elif found := _CHOSEN.search(message) or _ASSIGNED.search(message):
        name = found[1].strip()
        yield NcclLines(networks={name: 1}, evidence={f"{NETWORK} {name}": shown})
    elif found := _NODES.search(message):
        number = int(found[1])
        yield NcclLines(node_counts=(number,), evidence={ONE_NODE if number == 1 else SEVERAL_NODES: shown})
    elif found := _RING_USE.search(message):
        yield NcclLines(gdr=found[1] != "0", evidence={RINGS: shown})
    elif found := _PROVIDER.search(message):
        yield NcclLines(providers={found[1]: 1}, evidence={f"{PROVIDER} {found[1]}": shown})
    elif found := _SETTING.search(message):
        value = found[2].strip().strip("\"'")
        yield NcclLines(settings={found[1]: value}, evidence={found[1]: shown})
    for key, regex in _FACTS:
        if regex.search(message):
            yield NcclLines(multi_node_nvlink=key == NVLINK, evidence={key: shown})


def _plain(line: str) -> str:
    return _REPEATED.sub("", _TERMINAL_CODES.sub("", line)).strip()


TCP = "TCP sockets"
_LIBFABRIC = "Libfabric"  # part of the names of aws-ofi-nccl's network
_TCP_PROVIDERS = ("tcp", "sockets", "udp", "net")
_PROVIDER_NAMES = {
    "efa": "EFA",
    "cxi": "Slingshot",
    "opx": "Omni-Path",
    "psm2": "Omni-Path",
    "psm3": "Omni-Path",
    "verbs": "InfiniBand (libfabric)",
}
# said only on nodes that have a fabric, or are set up for one
_FABRIC_SIGNS = (IB_DEVICES, IB_INTERFACE, OFI, OFI_NONE, OFI_OLD)
_OFF = ("", "none", "0", "socket")
_INFINIBAND_PORT = re.compile(r":\d+/IB\b")


def nccl_verdict(found: NcclLines, nodes: int | None, fabric: str = "") -> Finding | None:
    """Return the verdict that the lines prove; None if they prove nothing.

    ``fabric`` is what else shows a fast fabric, e.g. ``n1 has 4 EFA ports``.
    """
    if found.multi_node_nvlink and not found.channels:
        return _ok("NVLink between nodes", "NCCL connects the nodes by NVLink", found, NVLINK)
    if found.node_counts == (1,) and not found.channels and (nodes is None or nodes == 1):
        text = "all communicators of NCCL stay within one node"
        return network_finding(NetworkState.NOT_APPLICABLE, "", text, _lines(found, ONE_NODE))
    spans_nodes = bool(found.channels) or max((nodes or 0, *found.node_counts)) > 1
    used = found.channels or found.networks
    if not used:
        return _of_first_lines(found, fabric, spans_nodes=spans_nodes)
    slow = used.get(SOCKET, 0)
    if slow == sum(used.values()):
        return _sockets(found, fabric, spans_nodes=spans_nodes)
    if slow:
        what = "processes"
        if found.channels:
            what = "channels between nodes"
        fast = _fast_name(found)
        text = f"{slow:,} of {sum(used.values()):,} {what} use TCP sockets, the others {fast}"
        lines = _lines(found, *_names_used(found))
        return network_finding(NetworkState.DEGRADED, f"{TCP} and {fast}", text, lines, LOOK_AT_NODE)
    return _fast(found)


def _of_first_lines(found: NcclLines, fabric: str, *, spans_nodes: bool) -> Finding | None:
    if found.providers:
        return _libfabric(found)
    if IB_DEVICES in found.evidence:
        return _ok(_ib_name(found), f"NCCL found {_ib_name(found)} devices", found, IB_DEVICES)
    if SOCKETS in found.evidence:
        return _sockets(found, fabric, spans_nodes=spans_nodes)
    return None


def _fast(found: NcclLines) -> Finding:
    used = found.channels or found.networks
    if any(_LIBFABRIC in name for name in used):
        return _libfabric(found)
    name = _fast_name(found)
    return _ok(name, f"NCCL uses {name}{_gdr_text(found)}", found, *_names_used(found), IB_DEVICES)


def _libfabric(found: NcclLines) -> Finding:
    slow = sum(number for name, number in found.providers.items() if _is_tcp(name))
    lines = _lines(found, *(f"{PROVIDER} {name}" for name in found.providers), *_names_used(found))
    if not found.providers:
        if not found.rdma_channels:
            text = "NCCL uses libfabric, but the log does not say over which network"
            return network_finding(NetworkState.UNKNOWN, "libfabric", text, lines, SHOW_NCCL)
        return _ok("libfabric", "NCCL uses libfabric with GPUDirect RDMA", found, *_names_used(found))
    if slow == sum(found.providers.values()):
        text = "libfabric, which NCCL uses, took its TCP provider instead of a fabric"
        return network_finding(NetworkState.FALLBACK, TCP, text, lines, SHOW_EFA)
    name = _fast_name(found)
    if slow:
        text = f"{slow:,} of {sum(found.providers.values()):,} processes use TCP, the others {name}"
        return network_finding(NetworkState.DEGRADED, f"{TCP} and {name}", text, lines, LOOK_AT_NODE)
    if GDR_OFF in found.evidence:
        text = f"NCCL uses {name} without GPUDirect RDMA, which this instance type offers"
        return network_finding(NetworkState.DEGRADED, name, text, (*_lines(found, GDR_OFF), *lines), GDR)
    return network_finding(NetworkState.OK, name, f"NCCL uses {name}{_gdr_text(found)}", lines)


def _sockets(found: NcclLines, fabric: str, *, spans_nodes: bool) -> Finding:
    lines = _lines(found, *_names_used(found), SOCKETS, OFI_NONE, OFI_OLD, PLUGIN_MISSING, IB_NONE)
    if not spans_nodes:
        text = "NCCL chose TCP sockets; whether it connects several nodes is not known"
        return network_finding(NetworkState.UNKNOWN, TCP, text, lines, SHOW_NCCL)
    why = fabric or _fabric_of(found)
    if not why:
        text = "NCCL uses TCP sockets; whether the nodes have a faster network is not known"
        return network_finding(NetworkState.UNKNOWN, TCP, text, lines, LOOK_FOR_FABRIC)
    advice = _sockets_advice(found, fabric)
    if switch := _switched_off(found):
        value = found.settings[switch]
        why, lines = f"{switch} is set to {value}", (*_lines(found, switch), *lines)
        advice = f"Unset {switch} ({value} now), unless it is meant."
    text = f"NCCL uses TCP sockets, although there is a faster network: {why}"
    return network_finding(NetworkState.FALLBACK, TCP, text, lines, advice)


def _sockets_advice(found: NcclLines, fabric: str) -> str:
    if OFI_OLD in found.evidence:
        return UPDATE_LIBFABRIC
    if OFI_NONE in found.evidence:
        return SHOW_EFA
    wants_ofi = "EFA" in fabric or "ofi" in found.settings.get("NCCL_NET_PLUGIN", "").lower()
    if wants_ofi or OFI in found.evidence:
        return LOAD_OFI
    return USE_IB


def _fabric_of(found: NcclLines) -> str:
    """Return what in the lines shows that there is a fabric, or is meant to be."""
    if IB_DEVICES in found.evidence or IB_INTERFACE in found.evidence:
        return f"the nodes have {_ib_name(found)}"
    if any(sign in found.evidence for sign in _FABRIC_SIGNS):
        return "aws-ofi-nccl is installed"
    for name in ("NCCL_NET_PLUGIN", "FI_PROVIDER", "NCCL_IB_HCA"):
        value = found.settings.get(name, "")
        if value.lower() not in _OFF and not _is_tcp(value):
            return f"{name} is set to {value}"
    return ""


def _switched_off(found: NcclLines) -> str:
    """Return the variable by which the user chose TCP."""
    if found.settings.get("NCCL_NET", "").lower() == SOCKET.lower():
        return "NCCL_NET"
    if found.settings.get("NCCL_IB_DISABLE", "0") not in ("", "0"):
        return "NCCL_IB_DISABLE"
    return ""


def _ok(transport: str, text: str, found: NcclLines, *names: str) -> Finding:
    return network_finding(NetworkState.OK, transport, text, _lines(found, *names))


def _fast_name(found: NcclLines) -> str:
    providers = [name for name in found.providers if not _is_tcp(name)]
    if providers:
        return _PROVIDER_NAMES.get(providers[0].partition(";")[0], f"libfabric's {providers[0]}")
    names = [name for name in (found.channels or found.networks) if name != SOCKET]
    if names and names[0] != "IB":
        if names[0].startswith("IBext"):
            return "InfiniBand"
        return names[0]
    return _ib_name(found)


def _ib_name(found: NcclLines) -> str:
    devices = found.evidence.get(IB_DEVICES, "")
    if "/RoCE" in devices and not _INFINIBAND_PORT.search(devices):
        return "RoCE"
    return "InfiniBand"


def _gdr_text(found: NcclLines) -> str:
    """Return how far GPUs and network cards exchange data directly."""
    total = sum(found.channels.values())
    if found.rdma_channels and found.rdma_channels < total:
        return f", {found.rdma_channels:,} of {count(total, 'channel')} with GPUDirect RDMA"
    if found.rdma_channels or found.gdr:
        return " with GPUDirect RDMA"
    if total or found.gdr is False:
        return " without GPUDirect RDMA"
    return ""


def _is_tcp(provider: str) -> bool:
    return provider.partition(";")[0].lower() in _TCP_PROVIDERS


def _names_used(found: NcclLines) -> tuple[str, ...]:
    channels = [f"{CHANNEL} {name}" for name in found.channels]
    return (*channels, *(f"{NETWORK} {name}" for name in found.networks))


def _lines(found: NcclLines, *names: str) -> tuple[str, ...]:
    return tuple(dict.fromkeys(found.evidence[name] for name in names if name in found.evidence))
