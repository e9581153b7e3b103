"""Read the lines in which NCCL and its network plugins say what they use.

The formats are those of NCCL 2.18 to 2.30 with ``NCCL_DEBUG=INFO`` (src/transport/net_ib*, net_socket.cc,
plugin/net.cc, init.cc, transport/net.cc) and of aws-ofi-nccl 1.4 to 1.17 (nccl_ofi_net.cpp, nccl_ofi_rdma).
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterable
from typing import NamedTuple

from jobmon_core.domain.health.network.model import NcclLines

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


class _Collector:
    """Collects what the lines say; each method takes a match and returns its key in `NcclLines.evidence`."""

    def __init__(self) -> None:
        self.channels: Counter[str] = Counter()
        self.networks: Counter[str] = Counter()
        self.providers: Counter[str] = Counter()
        self.rdma_channels = 0
        self.nodes: set[int] = set()
        self.gdr: bool | None = None
        self.settings: dict[str, str] = {}
        self.evidence: dict[str, str] = {}

    def add_channel(self, match: re.Match[str]) -> str:
        self.channels[match[1]] += 1
        self.rdma_channels += match[2] is not None
        return f"{CHANNEL} {match[1]}"

    def add_network(self, match: re.Match[str]) -> str:
        self.networks[match[1].strip()] += 1
        return f"{NETWORK} {match[1].strip()}"

    def add_provider(self, match: re.Match[str]) -> str:
        self.providers[match[1]] += 1
        return f"{PROVIDER} {match[1]}"

    def add_node_count(self, match: re.Match[str]) -> str:
        self.nodes.add(int(match[1]))
        return ONE_NODE if int(match[1]) == 1 else SEVERAL_NODES

    def add_ring_gdr(self, match: re.Match[str]) -> str:
        self.gdr = bool(self.gdr) or match[1] != "0"
        return RINGS

    def add_setting(self, match: re.Match[str]) -> str:
        self.settings[match[1]] = match[2].strip().strip("\"'")
        return match[1]

    def result(self) -> NcclLines:
        return NcclLines(
            dict(self.channels),
            self.rdma_channels,
            dict(self.networks),
            dict(self.providers),
            tuple(sorted(self.nodes)),
            NVLINK in self.evidence,
            self.gdr,
            self.settings,
            self.evidence,
        )


class _LineFormat(NamedTuple):
    """A format of a line, and the method that collects what it says."""

    regex: re.Pattern[str]
    collect: Callable[[_Collector, re.Match[str]], str]


_LINE_FORMATS = (
    _LineFormat(_NET_CHANNEL, _Collector.add_channel),
    _LineFormat(_CHOSEN, _Collector.add_network),
    _LineFormat(_ASSIGNED, _Collector.add_network),
    _LineFormat(_NODES, _Collector.add_node_count),
    _LineFormat(_RING_USE, _Collector.add_ring_gdr),
    _LineFormat(_PROVIDER, _Collector.add_provider),
    _LineFormat(_SETTING, _Collector.add_setting),
)


def read_nccl(lines: Iterable[str]) -> NcclLines:
    """Return what the lines of a log say; lines of other programs are skipped."""
    collector = _Collector()
    for line in lines:
        mark = _MARK.search(line)
        if mark is not None:
            _read(collector, _plain(line[mark.start() :]), _plain(line))
    return collector.result()


def _plain(line: str) -> str:
    return _REPEATED.sub("", _TERMINAL_CODES.sub("", line)).strip()


def _read(collector: _Collector, message: str, line: str) -> None:
    keys = []
    for each in _LINE_FORMATS:
        if match := each.regex.search(message):
            keys.append(each.collect(collector, match))
            break
    keys += [key for key, regex in _FACTS if regex.search(message)]
    for key in keys:
        collector.evidence.setdefault(key, line[:_MAX_CHARS])
