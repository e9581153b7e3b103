"""Traffic of a node over its fast fabric (InfiniBand, RoCE, EFA) and over its ordinary network interfaces.

Rates are bytes per second, sent and received together unless stated. None means "not available".
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum


class FabricKind(StrEnum):
    """What a port belongs to."""

    EFA = "EFA"
    INFINIBAND = "InfiniBand"
    ROCE = "RoCE"


@dataclass(frozen=True, slots=True)
class FabricPort:
    """One port of a device in /sys/class/infiniband."""

    device: str  # e.g. ``mlx5_0``
    port: int = 1
    kind: FabricKind = FabricKind.INFINIBAND
    is_active: bool = True
    bytes_per_s: float | None = None  # None: its counters are hidden, as in some containers


@dataclass(frozen=True, slots=True)
class Fabric:
    """What the counters of a whole node showed over one span; its other jobs are included."""

    ports: tuple[FabricPort, ...] = ()  # empty: the node shows no fabric
    span_s: float = 0.0  # between the two samples; 0: only one was taken so far
    sent_per_s: float | None = None  # over all network interfaces but the loopback
    received_per_s: float | None = None
    # IP over InfiniBand, both directions: part of these two, and the ports of the fabric count it, too
    over_fabric_per_s: float | None = None
