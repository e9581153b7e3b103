from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from jobmon_core.domain.errors import ConfigInvalid
from jobmon_core.domain.heartbeat import HeartbeatUrl
from jobmon_core.domain.job.tracking.policy import Policy
from jobmon_core.monitor.heartbeat import Heartbeat
from jobmon_core.monitor.settings import Settings
from jobmon_core.system.helper import Helper
from jobmon_core.system.lock import try_lock
from tests.support.clock import FakeClock

ADDRESS = HeartbeatUrl.parse("https://hc.example.org/s3cret")
SETTINGS = Settings(Policy(running_s=30.0), ADDRESS)


class Stage:
    """Monitors of one home, and the calls that they make; each call is a line of a file."""

    def __init__(self, folder: Path) -> None:
        self.clock = FakeClock()
        self.folder = folder
        self.settings: Callable[[], Settings] = lambda: SETTINGS
        self.failure = ""
        self.log: list[str] = []

    def monitor(self) -> Heartbeat:
        return Heartbeat(
            self.settings,
            self._call,
            Helper(),
            self.clock,
            self.folder / "heartbeat.stamp",
            self.log.append,
        )

    def later(self, monitor: Heartbeat, seconds: float) -> int:
        """Let time pass, and a pass of a monitor that heard the scheduler; return all calls so far."""
        self.clock.now_s += seconds
        monitor.after_poll(self.clock.now_s)
        return self.calls

    @property
    def calls(self) -> int:
        path = self.folder / "calls"
        return len(path.read_text().splitlines()) if path.exists() else 0

    def _call(self, address: HeartbeatUrl) -> str:
        assert address == ADDRESS
        with (self.folder / "calls").open("a") as file:
            file.write("called\n")
        return self.failure


@pytest.fixture
def stage(tmp_path: Path) -> Stage:
    return Stage(tmp_path)


def test_the_url_is_called_once_an_interval_while_the_scheduler_answers(stage: Stage) -> None:
    monitor = stage.monitor()
    assert [stage.later(monitor, seconds) for seconds in (0, 5, 24, 1, 30, 30)] == [1, 1, 1, 2, 3, 4]
    assert stage.log == []


def test_one_monitor_of_a_home_calls_for_all(stage: Stage) -> None:
    monitors = [stage.monitor() for _ in range(5)]
    for interval in (1, 2, 3):
        assert {stage.later(monitor, 1) for monitor in monitors} == {interval}
        stage.clock.now_s += 30


def test_there_is_no_call_while_the_scheduler_does_not_answer(stage: Stage) -> None:
    monitor = stage.monitor()
    monitor.after_poll(None)
    assert stage.calls == 0


def test_an_old_answer_causes_no_call(stage: Stage) -> None:
    monitor = stage.monitor()
    answered_s = stage.clock.now_s
    for _ in range(3):
        monitor.after_poll(answered_s)
        stage.clock.now_s += 60
    assert stage.calls == 1


def test_without_an_address_nothing_is_called(stage: Stage) -> None:
    stage.settings = Settings
    assert stage.later(stage.monitor(), 0) == 0
    assert not (stage.folder / "heartbeat.stamp").exists()


def test_failures_are_logged_once_and_make_calls_less_frequent_until_one_succeeds(stage: Stage) -> None:
    stage.failure = "hc.example.org answered 500"
    monitor = stage.monitor()
    assert [stage.later(monitor, 30) for _ in range(7)] == [1, 1, 2, 2, 2, 2, 3]
    assert stage.log == ["the heartbeat failed: hc.example.org answered 500"]
    stage.failure = ""
    assert stage.later(monitor, 600) == 4
    assert stage.later(monitor, 30) == 5
    assert stage.log[1:] == ["the heartbeat works again"]


def test_an_internal_error_in_the_call_neither_stops_the_monitor_nor_logs_the_url(stage: Stage) -> None:
    def broken(address: HeartbeatUrl) -> str:
        raise RuntimeError(address.url)

    monitor = stage.monitor()
    monitor.call = broken
    stage.later(monitor, 0)
    assert stage.log == ["the heartbeat failed: hc.example.org could not be called"]


def test_an_invalid_configuration_and_a_full_disk_do_not_stop_the_monitor(stage: Stage) -> None:
    def broken() -> Settings:
        raise ConfigInvalid("config.json", ["not valid JSON"])

    stage.settings = broken
    monitor = stage.monitor()
    stage.later(monitor, 0)
    monitor.settings = lambda: SETTINGS
    monitor.stamp = Path("/proc/nowhere/heartbeat.stamp")
    stage.later(monitor, 600)
    assert stage.calls == 0
    assert stage.log == ["the heartbeat failed: cannot be sent now (ConfigInvalid)"]


def test_no_monitor_waits_for_the_one_that_calls(stage: Stage) -> None:
    with try_lock(stage.folder / "heartbeat.lock"):
        assert stage.later(stage.monitor(), 0) == 0


@pytest.mark.parametrize("stamp", [b"", b"nonsense", b"\xff\xfe", b"nan"])
def test_a_damaged_stamp_costs_one_call(stage: Stage, stamp: bytes) -> None:
    (stage.folder / "heartbeat.stamp").write_bytes(stamp)
    monitor = stage.monitor()
    assert [stage.later(monitor, seconds) for seconds in (0, 10, 10)] == [1, 1, 1]


def test_a_clock_that_was_set_back_does_not_silence_it(stage: Stage) -> None:
    monitor = stage.monitor()
    assert [stage.later(monitor, seconds) for seconds in (0, -3600, 30)] == [1, 2, 3]
