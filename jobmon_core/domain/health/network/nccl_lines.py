"""Read the lines in which NCCL and its network plugins say what they use.

The forms are those of NCCL 2.18 to 2.30 with ``NCCL_DEBUG=INFO`` (src/transport/net_ib*, net_socket.cc,
plugin/net.cc, init.cc, transport/net.cc) and of aws-ofi-nccl 1.4 to 1.17 (nccl_ofi_net.cpp, nccl_ofi_rdma).
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterable
from typing import NamedTuple

from jobmon_core.domain.health.network.model import NcclLines

# the names of `NcclLines.evidence`; CHANNEL, NETWORK and PROVIDER are followed by the name of what is used
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
_OTHERS = (
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


class _Reader:
    """What the lines up to the last one say."""

    def __init__(self) -> None:
        self.channels: Counter[str] = Counter()
        self.networks: Counter[str] = Counter()
        self.providers: Counter[str] = Counter()
        self.rdma_channels = 0
        self.nodes: set[int] = set()
        self.gdr: bool | None = None
        self.settings: dict[str, str] = {}
        self.evidence: dict[str, str] = {}

    def channel(self, found: re.Match[str]) -> str:
        self.channels[found[1]] += 1
        self.rdma_channels += found[2] is not None
        return f"{CHANNEL} {found[1]}"

    def network(self, found: re.Match[str]) -> str:
        self.networks[found[1].strip()] += 1
        return f"{NETWORK} {found[1].strip()}"

    def provider(self, found: re.Match[str]) -> str:
        self.providers[found[1]] += 1
        return f"{PROVIDER} {found[1]}"

    def node_count(self, found: re.Match[str]) -> str:
        self.nodes.add(int(found[1]))
        return ONE_NODE if int(found[1]) == 1 else SEVERAL_NODES

    def rings(self, found: re.Match[str]) -> str:
        self.gdr = bool(self.gdr) or found[1] != "0"
        return RINGS

    def setting(self, found: re.Match[str]) -> str:
        self.settings[found[1]] = found[2].strip().strip("\"'")
        return found[1]

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


class _Form(NamedTuple):
    """A form of a line, and what notes it; that returns the name of the evidence."""

    regex: re.Pattern[str]
    note: Callable[[_Reader, re.Match[str]], str]


_FORMS = (
    _Form(_NET_CHANNEL, _Reader.channel),
    _Form(_CHOSEN, _Reader.network),
    _Form(_ASSIGNED, _Reader.network),
    _Form(_NODES, _Reader.node_count),
    _Form(_RING_USE, _Reader.rings),
    _Form(_PROVIDER, _Reader.provider),
    _Form(_SETTING, _Reader.setting),
)


def read_nccl(lines: Iterable[str]) -> NcclLines:
    """Return what the lines of a log say; lines of other programs are skipped."""
    reader = _Reader()
    for line in lines:
        mark = _MARK.search(line)
        if mark is not None:
            _read(reader, _plain(line[mark.start() :]), _plain(line))
    return reader.result()


def _plain(line: str) -> str:
    return _REPEATED.sub("", _TERMINAL_CODES.sub("", line)).strip()


def _read(reader: _Reader, said: str, line: str) -> None:
    names = []
    for form in _FORMS:
        if found := form.regex.search(said):
            names.append(form.note(reader, found))
            break
    names += [name for name, regex in _OTHERS if regex.search(said)]
    for name in names:
        reader.evidence.setdefault(name, line[:_MAX_CHARS])
