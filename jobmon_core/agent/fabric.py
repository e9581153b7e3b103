"""Reads how much a node sends and receives over its fast fabric, and over its network interfaces."""

from __future__ import annotations

import os
from contextlib import suppress
from dataclasses import replace
from typing import TYPE_CHECKING, NamedTuple

from jobmon_core.agent.proc import PROC, SYS, Background, bytes_of_cards, read_file
from jobmon_core.domain.node.telemetry.model import Fabric, FabricKind, FabricPort

if TYPE_CHECKING:
    from collections.abc import Iterator

INTERVAL_S = 30.0
_TIMEOUT_S = 0.1
_MAX_PORTS = 64
_SMALL = 64
_WORD_BYTES = 4
_DATA = ("counters/port_xmit_data", "counters/port_rcv_data")
# EFA counts at two levels, which overlap: packets, and the operations of programs
_EFA_PACKETS = ("hw_counters/tx_bytes", "hw_counters/rx_bytes")
_EFA_OPERATIONS = (
    *("hw_counters/send_bytes", "hw_counters/recv_bytes"),
    *("hw_counters/rdma_read_bytes", "hw_counters/rdma_read_resp_bytes"),
    *("hw_counters/rdma_write_bytes", "hw_counters/rdma_write_recv_bytes"),
)
_INFINIBAND_TYPE = b"32"  # ARPHRD_INFINIBAND: IP over InfiniBand


class _Counters(NamedTuple):
    at_s: float
    ports: dict[FabricPort, int | None]  # bytes so far
    received: int
    sent: int
    over_fabric: int


class FabricMeter:
    """Measures the fabric every `INTERVAL_S` seconds; a driver that does not answer holds up nothing."""

    def __init__(self, proc: str = PROC, sys: str = SYS) -> None:
        """Read nothing yet."""
        self._proc, self._sys = proc, sys
        self._call = Background()
        self._latest: _Counters | None = None
        self._fabric: Fabric | None = None
        self._read_s: float | None = None

    def read(self, at_s: float) -> Fabric | None:
        """Return the latest figures; ``at_s`` is the time by a clock that only grows."""
        if self._read_s is None or at_s - self._read_s >= INTERVAL_S:
            self._read_s = at_s
            if not self._call.run(lambda: self._measure(at_s), _TIMEOUT_S):
                self._fabric = None
        return self._fabric

    def _measure(self, at_s: float) -> None:
        try:
            now = _read(at_s, self._proc, self._sys)
        except (OSError, ValueError, IndexError):
            self._fabric = self._latest = None
            return
        self._fabric = _rates(self._latest, now)
        self._latest = now


def _read(at_s: float, proc: str, sys: str) -> _Counters:
    ports = dict(_ports(f"{sys}/class/infiniband"))
    if not ports:
        return _Counters(at_s, {}, 0, 0, 0)
    cards = bytes_of_cards(proc, sys)
    over_fabric = sum(
        sum(both) for name, both in cards.items() if _text(f"{sys}/class/net/{name}/type") == _INFINIBAND_TYPE
    )
    received = sum(received for received, _ in cards.values())
    return _Counters(at_s, ports, received, sum(sent for _, sent in cards.values()), over_fabric)


def _ports(folder: str) -> Iterator[tuple[FabricPort, int | None]]:
    left = _MAX_PORTS
    for device in _names(folder):
        for number in _names(f"{folder}/{device}/ports"):
            port = f"{folder}/{device}/ports/{number}"
            kind = _kind(port)
            if left and kind is not None and number.isdecimal():
                left -= 1
                is_active = _text(f"{port}/state").startswith(b"4")  # 4: ACTIVE
                total = _total(port, kind) if is_active else None
                yield FabricPort(device, int(number), kind, is_active), total


def _kind(port: str) -> FabricKind | None:
    layer = _text(f"{port}/link_layer")
    if layer == b"InfiniBand":
        return FabricKind.INFINIBAND
    if layer == b"Ethernet":
        return FabricKind.ROCE
    is_efa = any(_number(f"{port}/{name}") is not None for name in _EFA_PACKETS)
    driver = os.path.basename(os.path.realpath(f"{port}/../../device/driver"))  # noqa: PTH119 - as below
    if is_efa or driver == "efa":
        return FabricKind.EFA
    return None


def _total(port: str, kind: FabricKind) -> int | None:
    if kind is FabricKind.EFA:
        sums = [_sum(port, _EFA_PACKETS), _sum(port, _EFA_OPERATIONS)]
        return max((each for each in sums if each is not None), default=None)
    words = _sum(port, _DATA)
    if words is None:
        return None
    return words * _WORD_BYTES


def _sum(port: str, names: tuple[str, ...]) -> int | None:
    values = [value for name in names if (value := _number(f"{port}/{name}")) is not None]
    if values:
        return sum(values)
    return None


def _number(path: str) -> int | None:
    text = _text(path)
    if text.isdigit():
        return int(text)
    return None


def _text(path: str) -> bytes:
    with suppress(OSError):  # hidden, as in some containers, or unknown to this driver
        return read_file(path, _SMALL).strip()
    return b""


def _names(folder: str) -> list[str]:
    with suppress(OSError):
        return sorted(os.listdir(folder))  # noqa: PTH208 - without pathlib, as in `proc`
    return []


def _rates(before: _Counters | None, now: _Counters) -> Fabric:
    span_s = now.at_s - before.at_s if before else 0.0
    if before is None or not before.ports or span_s <= 0:
        return Fabric(tuple(now.ports))
    return Fabric(
        tuple(
            replace(port, bytes_per_s=_rate(before.ports.get(port), total, span_s))
            for port, total in now.ports.items()
        ),
        round(span_s, 1),
        _rate(before.sent, now.sent, span_s),
        _rate(before.received, now.received, span_s),
        _rate(before.over_fabric, now.over_fabric, span_s),
    )


def _rate(before: int | None, now: int | None, span_s: float) -> float | None:
    if before is None or now is None or now < before:
        return None
    return round((now - before) / span_s)
