"""What is known about the network of a job, and the verdict on it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, field
from enum import StrEnum

SOCKET = "Socket"  # NCCL's own name of TCP


class NetworkState(StrEnum):
    """The verdict on the network of a job; the values are stable in ``--json``."""

    OK = "OK"
    DEGRADED = "DEGRADED"  # some traffic, nodes or cards are slower than the network allows
    FALLBACK = "FALLBACK"  # TCP sockets, although a fast fabric is there
    UNKNOWN = "UNKNOWN"
    NOT_APPLICABLE = "NOT APPLICABLE"  # nothing leaves the node, or the job has no GPUs


@dataclass(frozen=True, slots=True)
class NetworkVerdict:
    """Which network a job uses, and what proves it."""

    state: NetworkState = NetworkState.UNKNOWN
    transport: str = ""  # e.g. ``EFA``, ``InfiniBand``, ``TCP sockets``; empty if it is not known
    text: str = ""  # why, one line
    evidence: tuple[str, ...] = ()  # lines of the log, or figures of the counters
    advice: str = ""  # what to do, or what to set in order to know more; empty if there is nothing to do

    @property
    def is_slow(self) -> bool:
        """Whether the job communicates more slowly than it could."""
        return self.state in (NetworkState.DEGRADED, NetworkState.FALLBACK)


@dataclass(frozen=True, slots=True)
class NcclLines:
    """What lines of NCCL (also RCCL) and of its network plugins in the logs of one run say.

    Channels, networks and providers are counted in lines: each process prints its own, and Ray leaves out
    repeated ones.
    """

    channels: dict[str, int] = field(default_factory=dict)  # between nodes, by NCCL's name of the network
    rdma_channels: int = 0  # those of the channels that use GPUDirect RDMA
    networks: dict[str, int] = field(default_factory=dict)  # that processes chose, by name
    providers: dict[str, int] = field(default_factory=dict)  # that aws-ofi-nccl selected, by name
    node_counts: tuple[int, ...] = ()  # different numbers of nodes that communicators span, ascending
    multi_node_nvlink: bool = False
    gdr: bool | None = None  # whether the rings use GPUDirect RDMA, as NCCL 2.24 and later print it
    settings: dict[str, str] = field(default_factory=dict)  # variables that NCCL reports, e.g. NCCL_NET
    # for each fact the first line that shows it, by keys such as ``channel Socket``, ``plugin missing``
    evidence: dict[str, str] = field(default_factory=dict)

    @property
    def is_empty(self) -> bool:
        """Whether there is no line that says anything about the network."""
        return not (self.evidence or self.settings)

    @classmethod
    def together(cls, parts: Iterable[NcclLines]) -> NcclLines:
        """Return what lines, or logs, say together; of a setting the last counts, of a proof the first."""
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
        ordered = tuple(sorted(nodes))
        return cls(
            dict(channels), rdma_channels, dict(networks), dict(providers), ordered, has_nvlink, gdr,
            settings, evidence,
        )  # fmt: skip
