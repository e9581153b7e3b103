from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import pytest

from jobmon_core.domain.slurm.rows import Disabled, Unreachable
from jobmon_core.polling.accounting import COALESCE_S, KEEP_S, MAX_COLLECT_S, SharedAccounting
from jobmon_core.polling.queue import SharedQueue
from jobmon_core.store.shared_answers import SharedAnswer, StoredAnswer
from jobmon_core.system.lock import try_lock
from tests.support.clock import FakeClock
from tests.support.play import row, sacct_row
from tests.support.scheduler import FakeScheduler


@pytest.fixture
def accounting(slurm: FakeScheduler, clock: FakeClock, file: SharedAnswer) -> SharedAccounting:
    return SharedAccounting(slurm, file, clock)


def collect(accounting: SharedAccounting, clock: FakeClock, *job_ids: int) -> None:
    """Request answers, and let the time pass in which a batch is collected."""
    for job_id in job_ids:
        assert accounting.ask(job_id, clock.now()) is None
    clock.now_s += COALESCE_S


def test_forty_jobs_that_end_at_once_cost_one_query(
    slurm: FakeScheduler, accounting: SharedAccounting, clock: FakeClock
) -> None:
    slurm.accounting = [tuple(sacct_row(str(job_id), "COMPLETED") for job_id in range(40))]
    began_s = clock.now()
    collect(accounting, clock, *range(40))
    for job_id in range(40):
        assert accounting.ask(job_id, began_s) == (sacct_row(str(job_id), "COMPLETED"),)
    assert slurm.asked_about == [tuple(range(40))]


def test_an_answer_older_than_the_request_is_not_used(
    slurm: FakeScheduler, accounting: SharedAccounting, clock: FakeClock
) -> None:
    began_s = clock.now()
    collect(accounting, clock, 12)
    assert accounting.ask(12, began_s) == ()
    clock.now_s += 5.0
    slurm.accounting = [(sacct_row("12", "FAILED"),)]
    since_s = clock.now()
    collect(accounting, clock, 12)
    assert accounting.ask(12, since_s) == (sacct_row("12", "FAILED"),)
    assert slurm.asked_about == [(12,), (12,)]


def test_an_answer_about_other_jobs_is_not_used(
    slurm: FakeScheduler, accounting: SharedAccounting, clock: FakeClock
) -> None:
    began_s = clock.now()
    collect(accounting, clock, 12)
    accounting.ask(12, began_s)
    collect(accounting, clock, 13)
    accounting.ask(13, began_s)
    assert slurm.asked_about == [(12,), (13,)]


def test_a_job_whose_monitor_died_is_queried_once_and_then_forgotten(
    slurm: FakeScheduler, accounting: SharedAccounting, clock: FakeClock
) -> None:
    began_s = clock.now()
    collect(accounting, clock, 12, 13)
    accounting.ask(13, began_s)
    clock.now_s += 100.0
    collect(accounting, clock, 13)
    accounting.ask(13, clock.now())
    assert slurm.asked_about == [(12, 13), (13,)]


@pytest.mark.parametrize("answer", [Disabled(), Unreachable("sacct: no answer within 30 s")])
def test_an_accounting_failure_is_shared_by_all_jobs(
    slurm: FakeScheduler, accounting: SharedAccounting, clock: FakeClock, answer: Disabled | Unreachable
) -> None:
    slurm.accounting = [answer]
    began_s = clock.now()
    collect(accounting, clock, 12, 13)
    assert accounting.ask(12, began_s) == answer
    assert accounting.ask(13, began_s) == answer
    assert slurm.asked["accounting"] == 1


def test_accounting_that_hung_for_two_minutes_counts_as_unresponsive(
    slurm: FakeScheduler, accounting: SharedAccounting, clock: FakeClock, monkeypatch: pytest.MonkeyPatch
) -> None:
    def hang(job_ids: Sequence[int], within_s: float) -> Unreachable:
        del job_ids, within_s
        clock.now_s += 120.0
        return Unreachable("no answer within 120 s")

    monkeypatch.setattr(slurm, "ask_accounting", hang)
    unresponsive = []

    def timeout_for(is_unresponsive: bool) -> float:  # noqa: FBT001 - as `ask` calls it
        unresponsive.append(is_unresponsive)
        return 20.0

    for _ in range(2):
        began_s = clock.now()
        collect(accounting, clock, 12)
        accounting.ask(12, began_s, timeout_for)
    assert unresponsive == [False, True]


def test_a_clock_set_back_does_not_stop_accounting_queries(
    slurm: FakeScheduler, accounting: SharedAccounting, clock: FakeClock
) -> None:
    assert accounting.ask(12, clock.now()) is None
    clock.now_s -= 3600.0
    assert accounting.ask(12, clock.now()) == ()
    clock.now_s -= 3600.0
    collect(accounting, clock, 12)
    assert accounting.ask(12, clock.now()) == ()
    assert slurm.asked["accounting"] == 2


def test_no_monitor_waits_for_another_monitors_accounting_query(
    accounting: SharedAccounting, clock: FakeClock
) -> None:
    with try_lock(accounting.file.lock_path):
        assert accounting.ask(12, clock.now()) is None
    assert accounting.file.read().wanted == {}


def test_ends_that_a_busy_host_finds_one_by_one_cost_one_query(
    slurm: FakeScheduler, accounting: SharedAccounting, clock: FakeClock
) -> None:
    began_s = clock.now()
    for job_id in range(40):
        clock.now_s += COALESCE_S / 5
        assert accounting.ask(job_id, began_s) is None
    clock.now_s += COALESCE_S
    assert accounting.ask(0, began_s) == ()
    assert slurm.asked_about == [tuple(range(40))]


def test_a_query_includes_all_jobs_that_have_just_ended(
    slurm: FakeScheduler, clock: FakeClock, tmp_path: Path
) -> None:
    now_s = int(clock.now())
    slurm.queue = [
        (
            replace(row("12", "COMPLETED"), end_s=now_s - 1),
            replace(row("13", "FAILED"), end_s=now_s - 2),
            replace(row("14", "COMPLETED"), end_s=now_s - 290),
            row("15", "RUNNING"),
            replace(row("16", "COMPLETED"), end_s=now_s - 1),
        )
    ]
    queue = SharedQueue(slurm, SharedAnswer(tmp_path / "queue.reply"), clock)
    queue.view("me", 12, 30.0)
    accounting = SharedAccounting(
        slurm,
        SharedAnswer(tmp_path / "accounting.reply"),
        clock,
        recently_ended=lambda: queue.recently_ended((12, 13, 14, 15, 99)),
    )
    began_s = clock.now()
    collect(accounting, clock, 12)
    accounting.ask(12, began_s)
    clock.now_s += 30.0
    assert accounting.ask(13, began_s) == ()
    assert slurm.asked_about == [(12, 13)]


def test_an_answer_is_kept_beside_the_next_until_all_monitors_can_have_read_it(
    slurm: FakeScheduler, accounting: SharedAccounting, clock: FakeClock
) -> None:
    slurm.accounting = [
        (sacct_row("12", "FAILED"), sacct_row("13", "FAILED")),
        (sacct_row("14", "COMPLETED"),),
    ]
    began_s = clock.now()
    for job_ids in ((12, 13), (14,)):
        collect(accounting, clock, *job_ids)
        accounting.ask(job_ids[0], began_s)
    assert accounting.ask(13, began_s) == (sacct_row("13", "FAILED"),)
    assert slurm.asked_about == [(12, 13), (14,)]


def test_answers_do_not_accumulate(
    slurm: FakeScheduler, accounting: SharedAccounting, clock: FakeClock, file: SharedAnswer
) -> None:
    for job_id in range(100):
        collect(accounting, clock, job_id)
        accounting.ask(job_id, clock.now())
        clock.now_s += KEEP_S / 4
    assert len(file.read().earlier) <= 4
    assert not any(each.earlier for each in file.read().earlier)
    assert slurm.asked["accounting"] == 100


def test_a_steady_stream_of_ends_does_not_delay_queries_for_ever(
    slurm: FakeScheduler, accounting: SharedAccounting, clock: FakeClock
) -> None:
    began_s = clock.now()
    for job_id in range(1000):
        clock.now_s += COALESCE_S / 2
        accounting.ask(job_id, clock.now())
    lasted_s = clock.now() - began_s
    assert slurm.asked["accounting"] == pytest.approx(lasted_s / MAX_COLLECT_S, abs=3)


def test_a_job_that_was_just_queried_is_not_added_to_the_next_query(
    slurm: FakeScheduler, clock: FakeClock, file: SharedAnswer
) -> None:
    accounting = SharedAccounting(slurm, file, clock, recently_ended=lambda: (13,))
    for job_id in (12, 14):
        collect(accounting, clock, job_id)
        accounting.ask(job_id, 0.0)
    assert slurm.asked_about == [(12, 13), (14,)]


def test_huge_answers_are_not_kept_beside_newer_ones(
    accounting: SharedAccounting, clock: FakeClock, file: SharedAnswer
) -> None:
    file.write(StoredAnswer(clock.now(), "x" * 5_000_000, about=(11,)))
    collect(accounting, clock, 12)
    accounting.ask(12, clock.now())
    assert file.read().earlier == ()


def test_a_known_answer_is_returned_without_a_query(
    slurm: FakeScheduler, accounting: SharedAccounting, clock: FakeClock
) -> None:
    slurm.accounting = [(sacct_row("12", "FAILED"),)]
    began_s = clock.now()
    assert accounting.known(12, began_s) is None
    collect(accounting, clock, 12)
    accounting.ask(12, began_s)
    assert accounting.known(12, began_s) == (sacct_row("12", "FAILED"),)
    assert slurm.asked["accounting"] == 1
