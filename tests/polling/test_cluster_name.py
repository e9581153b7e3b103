from __future__ import annotations

from jobmon_core.polling.cluster_name import SharedClusterName
from jobmon_core.store.shared_answers import SharedAnswer
from tests.support.clock import FakeClock
from tests.support.scheduler import FakeScheduler


def test_the_last_known_name_is_returned_without_a_query(
    slurm: FakeScheduler, clock: FakeClock, file: SharedAnswer
) -> None:
    name = SharedClusterName(slurm, file, clock)
    assert name.last_known() == ""
    name.get()
    clock.now_s += 1_000_000.0
    assert name.last_known() == "fake"


def test_during_an_outage_the_name_is_kept_and_queried_once_a_minute(
    slurm: FakeScheduler, clock: FakeClock, file: SharedAnswer
) -> None:
    name = SharedClusterName(slurm, file, clock)
    assert name.get() == "fake"
    slurm.cluster = ""
    clock.now_s += 1_000_000.0
    assert [name.get() for _ in range(30)] == ["fake"] * 30
    assert slurm.asked["cluster"] == 2
    slurm.cluster = "renamed"
    clock.now_s += 61.0
    assert name.get() == "renamed"
