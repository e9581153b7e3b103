"""The counters of a fast fabric, read from folders that stand for /sys and /proc."""

from __future__ import annotations

from pathlib import Path

import pytest

from jobmon_core.agent.fabric import INTERVAL_S, FabricMeter
from jobmon_core.domain.node.telemetry.model import AgentReport, Fabric, FabricKind, FabricPort
from jobmon_core.system.json_codec import from_json, to_json

_NET = "Inter-|   Receive\n face |bytes\n    lo: 9 0 0 0 0 0 0 0 9 0\n"


class _Host:
    """A host whose counters a test sets."""

    def __init__(self, folder: Path) -> None:
        self.proc, self.sys = folder / "proc", folder / "sys"
        self.meter = FabricMeter(str(self.proc), str(self.sys))
        self.network({})

    def port(self, device: str, layer: str, counters: dict[str, int], *, state: str = "4: ACTIVE") -> None:
        port = self.sys / "class/infiniband" / device / "ports/1"
        for name, value in {**counters, "link_layer": layer, "state": state}.items():
            path = port / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(f"{value}\n", encoding="ascii")

    def network(self, cards: dict[str, tuple[int, int, int]]) -> None:
        """Set the type of each card, and the bytes that it received and sent."""
        lines = [f"{name}: {card[1]} 0 0 0 0 0 0 0 {card[2]} 0\n" for name, card in cards.items()]
        (self.proc / "net").mkdir(parents=True, exist_ok=True)
        (self.proc / "net/dev").write_text(_NET + "".join(lines), encoding="ascii")
        for name, card in cards.items():
            (self.sys / "class/net" / name / "device").mkdir(parents=True, exist_ok=True)
            (self.sys / "class/net" / name / "type").write_text(f"{card[0]}\n", encoding="ascii")

    def read(self, at_s: float) -> Fabric:
        found = self.meter.read(at_s)
        assert found is not None
        return found


@pytest.fixture
def host(tmp_path: Path) -> _Host:
    return _Host(tmp_path)


def test_rates_need_two_samples_and_a_span(host: _Host) -> None:
    host.port("mlx5_0", "InfiniBand", {"counters/port_xmit_data": 100, "counters/port_rcv_data": 50})
    host.network({"eth0": (1, 1000, 2000), "ib0": (32, 500, 500)})
    first = host.read(0.0)
    assert first == Fabric((FabricPort("mlx5_0"),))
    host.port("mlx5_0", "InfiniBand", {"counters/port_xmit_data": 3100, "counters/port_rcv_data": 3050})
    host.network({"eth0": (1, 1000, 2300), "ib0": (32, 800, 800)})
    assert host.read(INTERVAL_S - 1) is first  # read rarely
    # the ports count units of four bytes; ib0 carries IP over InfiniBand
    port = FabricPort("mlx5_0", bytes_per_s=800)
    assert host.read(30.0) == Fabric((port,), 30.0, 20, 10, 20)


def test_efa_counts_at_two_levels_of_which_the_larger_is_the_traffic(host: _Host) -> None:
    def efa(device: str, **counters: int) -> None:
        host.port(device, "Unspecified", {f"hw_counters/{name}": value for name, value in counters.items()})

    efa("rdmap0", tx_bytes=0, rx_bytes=0, rdma_write_bytes=0, rdma_read_resp_bytes=0)
    efa("old", tx_bytes=0, rx_bytes=0)
    host.read(0.0)
    efa("rdmap0", tx_bytes=300, rx_bytes=300, rdma_write_bytes=6000, rdma_read_resp_bytes=3000)
    efa("old", tx_bytes=1500, rx_bytes=1500)
    assert host.read(30.0).ports == (
        FabricPort("old", kind=FabricKind.EFA, bytes_per_s=100),
        FabricPort("rdmap0", kind=FabricKind.EFA, bytes_per_s=300),
    )


def test_what_is_hidden_down_or_reset_is_not_0(host: _Host) -> None:
    data = {"counters/port_xmit_data": 900, "counters/port_rcv_data": 900}
    host.port("down", "InfiniBand", data, state="1: DOWN")
    host.port("hidden", "Ethernet", {})
    host.port("reset", "InfiniBand", data)
    host.port("strange", "Unspecified", {})
    host.read(0.0)
    host.port("reset", "InfiniBand", {"counters/port_xmit_data": 1, "counters/port_rcv_data": 1})
    assert host.read(30.0).ports == (
        FabricPort("down", is_active=False),
        FabricPort("hidden", kind=FabricKind.ROCE),
        FabricPort("reset"),
    )


def test_a_node_without_fabric_says_so(host: _Host, tmp_path: Path) -> None:
    assert host.read(0.0) == Fabric()
    assert host.read(30.0).ports == ()
    assert FabricMeter(str(tmp_path / "none"), str(host.sys)).read(0.0) == Fabric()


def test_reports_with_and_without_these_figures_load() -> None:
    fabric = Fabric((FabricPort("mlx5_0", kind=FabricKind.ROCE),), 30.0, 1.0, 2.0, 0.0)
    report = AgentReport(started_s=1.0, fabric=fabric)
    assert from_json(AgentReport, to_json(report)) == report
    assert from_json(AgentReport, {"started_s": 1.0}).fabric is None


def test_ports_that_appear_later_have_no_rates_yet(host: _Host) -> None:
    host.network({"eth0": (1, 10**12, 10**12)})
    host.read(0.0)
    host.port("mlx5_0", "InfiniBand", {"counters/port_xmit_data": 100, "counters/port_rcv_data": 50})
    assert host.read(30.0) == Fabric((FabricPort("mlx5_0"),))
