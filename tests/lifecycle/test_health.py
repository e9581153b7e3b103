from __future__ import annotations

import os
import time
from dataclasses import replace
from pathlib import Path

import pytest

from jobmon_core.context import Workshop
from jobmon_core.domain.channels import Route
from jobmon_core.domain.delivery.outbox import Message, Owed, Tone
from jobmon_core.domain.tracking.model import WatchedJob
from jobmon_core.lifecycle.health import STALE_AFTER_S, Health, Snapshot, census, snapshot
from jobmon_core.store.home import Home
from jobmon_core.store.jobs import Unreadable
from jobmon_core.store.owner import Owner

JOB = WatchedJob("slurm-12-x", 12, 100.0)
OWED = Owed(Message("m1", Route.ERROR, Tone.FAILURE, "it failed"))
ELSEWHERE = replace(Owner.this_process(), host="another-login-node")
REBOOTED = replace(Owner.this_process(), boot_id="another")


@pytest.fixture
def shop(tmp_path: Path) -> Workshop:
    return Workshop(Home(tmp_path), {})


def health(
    shop: Workshop, job: WatchedJob = JOB, owner: Owner | None = None, silent_s: float = 0.0
) -> Health:
    if owner is not None:
        record = shop.owner_record(job.id)
        record.write(owner)
        os.utime(record.path, (0, time.time() - silent_s))
    return snapshot(shop, job).health


def test_a_job_whose_monitor_runs_is_watched(shop: Workshop) -> None:
    assert health(shop, owner=Owner.this_process(), silent_s=10 * STALE_AFTER_S) is Health.ALIVE


@pytest.mark.parametrize("owner", [None, REBOOTED])
def test_a_job_with_work_left_and_no_monitor_is_an_orphan(shop: Workshop, owner: Owner | None) -> None:
    assert health(shop, owner=owner) is Health.DEAD


def test_a_monitor_on_another_host_lives_while_it_gives_signs(shop: Workshop) -> None:
    assert health(shop, owner=ELSEWHERE) is Health.ELSEWHERE
    assert health(shop, owner=ELSEWHERE, silent_s=STALE_AFTER_S + 1) is Health.STALE


def test_a_told_job_needs_no_monitor(shop: Workshop) -> None:
    told = replace(JOB, concluded_s=200.0, outbox=(replace(OWED, delivered_s=201.0),))
    assert health(shop, told) is Health.DONE
    assert health(shop, replace(told, outbox=(replace(OWED, given_up="404"),))) is Health.DONE


def test_a_job_that_ended_untold_needs_its_monitor(shop: Workshop) -> None:
    assert health(shop, replace(JOB, concluded_s=200.0, outbox=(OWED,)), REBOOTED) is Health.DEAD


def test_a_dropped_job_needs_no_monitor_whatever_is_owed(shop: Workshop) -> None:
    assert health(shop, replace(JOB, dropped_s=200.0, outbox=(OWED,))) is Health.DONE


def test_every_job_is_listed_from_old_to_young_and_every_bad_file_before(shop: Workshop) -> None:
    young, old = replace(JOB, id="a", taken_s=300.0), replace(JOB, id="b", taken_s=100.0)
    for job in (young, old):
        shop.store.save(job)
    shop.store.path("c").write_text("{", encoding="ascii")
    bad, *good = census(shop)
    assert isinstance(bad, Unreadable)
    assert good == [Snapshot(old, Health.DEAD), Snapshot(young, Health.DEAD)]


def test_what_is_known_is_known_without_any_scheduler(shop: Workshop) -> None:
    shop.store.save(replace(JOB, backend="of a later jobmon"))
    (found,) = census(shop)
    assert isinstance(found, Snapshot)
