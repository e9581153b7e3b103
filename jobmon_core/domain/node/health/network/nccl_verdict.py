"""The verdict on the network that NCCL's own lines prove."""

from __future__ import annotations

import re

from jobmon_core.domain.humanize import count
from jobmon_core.domain.node.health.network import advice
from jobmon_core.domain.node.health.network import nccl_lines as line
from jobmon_core.domain.node.health.network.model import SOCKET, NcclLines, NetworkState, NetworkVerdict

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
# what NCCL or its plugin says only on nodes that have a fabric, or are set up for one
_FABRIC_SIGNS = (line.IB_DEVICES, line.IB_INTERFACE, line.OFI, line.OFI_NONE, line.OFI_OLD)
_OFF = ("", "none", "0", "socket")
_INFINIBAND_PORT = re.compile(r":\d+/IB\b")


def nccl_verdict(found: NcclLines, nodes: int | None, fabric: str = "") -> NetworkVerdict | None:
    """Return the verdict that the lines prove; None if they prove nothing.

    Args:
        found: what the lines say.
        nodes: of the job; None if not known.
        fabric: what else shows that there is a fast fabric, e.g. ``n1 has 4 EFA ports``; empty if nothing.
    """
    if found.multi_node_nvlink and not found.channels:
        return _ok("NVLink between nodes", "NCCL connects the nodes by NVLink", found, line.NVLINK)
    if found.node_counts == (1,) and not found.channels and (nodes is None or nodes == 1):
        text = "all communicators of NCCL stay within one node"
        return NetworkVerdict(NetworkState.NOT_APPLICABLE, "", text, _lines(found, line.ONE_NODE))
    spans_nodes = bool(found.channels) or max((nodes or 0, *found.node_counts)) > 1
    used = found.channels or found.networks
    if not used:
        return _of_first_lines(found, fabric, spans_nodes=spans_nodes)
    slow = used.get(SOCKET, 0)
    if slow == sum(used.values()):
        return _sockets(found, fabric, spans_nodes=spans_nodes)
    if slow:
        what = "channels between nodes" if found.channels else "processes"
        return NetworkVerdict(
            NetworkState.DEGRADED,
            f"{TCP} and {_fast_name(found)}",
            f"{slow:,} of {sum(used.values()):,} {what} use TCP sockets, the others {_fast_name(found)}",
            _lines(found, *_names_used(found)),
            advice.LOOK_AT_NODE,
        )
    return _fast(found)


def _of_first_lines(found: NcclLines, fabric: str, *, spans_nodes: bool) -> NetworkVerdict | None:
    """Return what the lines of the start prove, before NCCL says which network it uses."""
    if found.providers:
        return _libfabric(found)
    if line.IB_DEVICES in found.evidence:
        return _ok(_ib_name(found), f"NCCL found {_ib_name(found)} devices", found, line.IB_DEVICES)
    if line.SOCKETS in found.evidence:
        return _sockets(found, fabric, spans_nodes=spans_nodes)
    return None


def _fast(found: NcclLines) -> NetworkVerdict:
    used = found.channels or found.networks
    if any(_LIBFABRIC in name for name in used):
        return _libfabric(found)
    name = _fast_name(found)
    return _ok(name, f"NCCL uses {name}{_gdr_text(found)}", found, *_names_used(found), line.IB_DEVICES)


def _libfabric(found: NcclLines) -> NetworkVerdict:
    slow = sum(number for name, number in found.providers.items() if _is_tcp(name))
    lines = _lines(found, *(f"{line.PROVIDER} {name}" for name in found.providers), *_names_used(found))
    if not found.providers:
        if not found.rdma_channels:
            text = "NCCL uses libfabric, but the log does not say over which network"
            return NetworkVerdict(NetworkState.UNKNOWN, "libfabric", text, lines, advice.SHOW_NCCL)
        return _ok("libfabric", "NCCL uses libfabric with GPUDirect RDMA", found, *_names_used(found))
    if slow == sum(found.providers.values()):
        text = "libfabric, which NCCL uses, took its TCP provider instead of a fabric"
        return NetworkVerdict(NetworkState.FALLBACK, TCP, text, lines, advice.SHOW_EFA)
    name = _fast_name(found)
    if slow:
        text = f"{slow:,} of {sum(found.providers.values()):,} processes use TCP, the others {name}"
        return NetworkVerdict(NetworkState.DEGRADED, f"{TCP} and {name}", text, lines, advice.LOOK_AT_NODE)
    if line.GDR_OFF in found.evidence:
        text = f"NCCL uses {name} without GPUDirect RDMA, which this instance type offers"
        return NetworkVerdict(
            NetworkState.DEGRADED, name, text, (*_lines(found, line.GDR_OFF), *lines), advice.GDR
        )
    return NetworkVerdict(NetworkState.OK, name, f"NCCL uses {name}{_gdr_text(found)}", lines)


def _sockets(found: NcclLines, fabric: str, *, spans_nodes: bool) -> NetworkVerdict:
    lines = _lines(
        found,
        *_names_used(found),
        line.SOCKETS,
        line.OFI_NONE,
        line.OFI_OLD,
        line.PLUGIN_MISSING,
        line.IB_NONE,
    )
    if not spans_nodes:
        text = "NCCL chose TCP sockets; whether it connects several nodes is not known"
        return NetworkVerdict(NetworkState.UNKNOWN, TCP, text, lines, advice.SHOW_NCCL)
    why = fabric or _fabric_of(found)
    if not why:
        return NetworkVerdict(
            NetworkState.UNKNOWN,
            TCP,
            "NCCL uses TCP sockets; whether the nodes have a faster network is not known",
            lines,
            advice.LOOK_FOR_FABRIC,
        )
    switch = _switched_off(found)
    because = f"{switch} is set to {found.settings[switch]}" if switch else why
    evidence = (*_lines(found, switch), *lines) if switch else lines
    return NetworkVerdict(
        NetworkState.FALLBACK,
        TCP,
        f"NCCL uses TCP sockets, although there is a faster network: {because}",
        evidence,
        advice.unset(switch, found.settings[switch]) if switch else _sockets_advice(found, fabric),
    )


def _sockets_advice(found: NcclLines, fabric: str) -> str:
    if line.OFI_OLD in found.evidence:
        return advice.UPDATE_LIBFABRIC
    if line.OFI_NONE in found.evidence:
        return advice.SHOW_EFA
    wants_ofi = "EFA" in fabric or "ofi" in found.settings.get("NCCL_NET_PLUGIN", "").lower()
    return advice.LOAD_OFI if wants_ofi or line.OFI in found.evidence else advice.USE_IB


def _fabric_of(found: NcclLines) -> str:
    """Return what in the lines shows that there is a fabric, or is meant to be; empty if nothing."""
    if line.IB_DEVICES in found.evidence or line.IB_INTERFACE in found.evidence:
        return f"the nodes have {_ib_name(found)}"
    if any(sign in found.evidence for sign in _FABRIC_SIGNS):
        return "aws-ofi-nccl is installed"
    for name in ("NCCL_NET_PLUGIN", "FI_PROVIDER", "NCCL_IB_HCA"):
        value = found.settings.get(name, "")
        if value.lower() not in _OFF and not _is_tcp(value):
            return f"{name} is set to {value}"
    return ""


def _switched_off(found: NcclLines) -> str:
    """Return the variable by which the user chose TCP; empty if there is none."""
    if found.settings.get("NCCL_NET", "").lower() == SOCKET.lower():
        return "NCCL_NET"
    return "NCCL_IB_DISABLE" if found.settings.get("NCCL_IB_DISABLE", "0") not in ("", "0") else ""


def _ok(transport: str, text: str, found: NcclLines, *names: str) -> NetworkVerdict:
    return NetworkVerdict(NetworkState.OK, transport, text, _lines(found, *names))


def _fast_name(found: NcclLines) -> str:
    """Return the name of the network that is not TCP."""
    providers = [name for name in found.providers if not _is_tcp(name)]
    if providers:
        return _PROVIDER_NAMES.get(providers[0].partition(";")[0], f"libfabric's {providers[0]}")
    names = [name for name in (found.channels or found.networks) if name != SOCKET]
    if names and names[0] != "IB":
        return "InfiniBand" if names[0].startswith("IBext") else names[0]
    return _ib_name(found)


def _ib_name(found: NcclLines) -> str:
    devices = found.evidence.get(line.IB_DEVICES, "")
    return "RoCE" if "/RoCE" in devices and not _INFINIBAND_PORT.search(devices) else "InfiniBand"


def _gdr_text(found: NcclLines) -> str:
    """Return how far GPUs and network cards exchange data directly; empty if that is not known."""
    total = sum(found.channels.values())
    if found.rdma_channels and found.rdma_channels < total:
        return f", {found.rdma_channels:,} of {count(total, 'channel')} with GPUDirect RDMA"
    if found.rdma_channels or found.gdr:
        return " with GPUDirect RDMA"
    return " without GPUDirect RDMA" if total or found.gdr is False else ""


def _is_tcp(provider: str) -> bool:
    return provider.partition(";")[0].lower() in _TCP_PROVIDERS


def _names_used(found: NcclLines) -> tuple[str, ...]:
    channels = [f"{line.CHANNEL} {name}" for name in found.channels]
    return (*channels, *(f"{line.NETWORK} {name}" for name in found.networks))


def _lines(found: NcclLines, *names: str) -> tuple[str, ...]:
    return tuple(dict.fromkeys(found.evidence[name] for name in names if name in found.evidence))
