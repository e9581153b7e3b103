"""However many look, the scheduler is asked once a minute what is free."""

from __future__ import annotations

from pathlib import Path

from jobmon_core.app.web.partitions import Partitions
from jobmon_core.context import Context
from jobmon_core.scheduler.slurm.commands import SEP
from jobmon_core.store.home import Home
from tests.support.clock import FakeClock
from tests.support.fake_runner import FakeRunner, said

_ROW = SEP.join(("main*", "up", "idle", "3", "0/192/0/192", "gpu:4", "gpu:0"))


def test_it_asks_once_a_minute(tmp_path: Path) -> None:
    clock, runner = FakeClock(), FakeRunner().on("sinfo", answers=[said(_ROW)])
    partitions = Partitions(Context(Home(tmp_path), {}, clock=clock), runner)
    for _ in range(100):
        assert partitions.free().partitions[0].idle_nodes == 3
    assert len(runner.asked) == 1
    clock.now_s += 59
    partitions.free()
    assert len(runner.asked) == 1
    clock.now_s += 2
    partitions.free()
    assert len(runner.asked) == 2


def test_it_does_not_ask_more_often_while_there_is_no_answer(tmp_path: Path) -> None:
    clock, runner = FakeClock(), FakeRunner().on("sinfo", answers=[said(stderr="no reply", exit_code=1)])
    partitions = Partitions(Context(Home(tmp_path), {}, clock=clock), runner)
    assert [partitions.free().why_not for _ in range(5)] == ["sinfo: no reply"] * 5
    assert len(runner.asked) == 1
