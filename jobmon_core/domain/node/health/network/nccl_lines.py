"""Read the lines in which NCCL and its network plugins say what they use.

The formats are those of NCCL 2.18 to 2.30 with ``NCCL_DEBUG=INFO`` (src/transport/net_ib*, net_socket.cc,
plugin/net.cc, init.cc, transport/net.cc) and of aws-ofi-nccl 1.4 to 1.17 (nccl_ofi_net.cpp, nccl_ofi_rdma).
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator

from jobmon_core.domain.node.health.network.model import NcclLines

# the keys of `NcclLines.evidence`, besides the names of variables; CHANNEL, NETWORK and PROVIDER are followed
# by the name of what is used
CHANNEL, NETWORK, PROVIDER = "channel", "network", "provider"
IB_DEVICES, IB_NONE, SOCKETS = "IB devices", "no IB devices", "sockets"
PLUGIN_MISSING, OFI, OFI_NONE, OFI_OLD = "plugin missing", "OFI", "no OFI provider", "libfabric too old"
GDR_OFF, ONE_NODE, SEVERAL_NODES, NVLINK = "GDR off", "one node", "several nodes", "multi-node NVLink"
RINGS, IB_INTERFACE = "rings", "IB interface"

_MARK = re.compile(r"NCCL (?:INFO|WARN|TRACE) +")
_TERMINAL_CODES = re.compile(r"\x1b\[[0-9;]*[A-Za-z]")
_REPEATED = re.compile(r" *\[repeated \d+x across cluster\].*$")  # Ray's summary of equal lines
_MAX_CHARS = 200  # of a line that proves something

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


def _channel(match: re.Match[str], line: str) -> NcclLines:
    return NcclLines({match[1]: 1}, int(match[2] is not None), evidence={f"{CHANNEL} {match[1]}": line})


def _network(match: re.Match[str], line: str) -> NcclLines:
    name = match[1].strip()
    return NcclLines(networks={name: 1}, evidence={f"{NETWORK} {name}": line})


def _provider(match: re.Match[str], line: str) -> NcclLines:
    return NcclLines(providers={match[1]: 1}, evidence={f"{PROVIDER} {match[1]}": line})


def _node_count(match: re.Match[str], line: str) -> NcclLines:
    number = int(match[1])
    return NcclLines(node_counts=(number,), evidence={ONE_NODE if number == 1 else SEVERAL_NODES: line})


def _ring(match: re.Match[str], line: str) -> NcclLines:
    return NcclLines(gdr=match[1] != "0", evidence={RINGS: line})


def _setting(match: re.Match[str], line: str) -> NcclLines:
    value = match[2].strip().strip("\"'")
    return NcclLines(settings={match[1]: value}, evidence={match[1]: line})


_FORMATS = (  # the first that matches tells what a line says
    (_NET_CHANNEL, _channel),
    (_CHOSEN, _network),
    (_ASSIGNED, _network),
    (_NODES, _node_count),
    (_RING_USE, _ring),
    (_PROVIDER, _provider),
    (_SETTING, _setting),
)


def read_nccl(lines: Iterable[str]) -> NcclLines:
    """Return what the lines of a log say; lines of other programs are skipped."""
    return NcclLines.together(said for line in lines for said in _said_by(line))


def _said_by(line: str) -> Iterator[NcclLines]:
    mark = _MARK.search(line)
    if mark is None:
        return
    message, shown = _plain(line[mark.start() :]), _plain(line)[:_MAX_CHARS]
    for regex, said in _FORMATS:
        if match := regex.search(message):
            yield said(match, shown)
            break
    for key, regex in _FACTS:
        if regex.search(message):
            yield NcclLines(multi_node_nvlink=key == NVLINK, evidence={key: shown})


def _plain(line: str) -> str:
    return _REPEATED.sub("", _TERMINAL_CODES.sub("", line)).strip()
