"""The one rule by which a file is evidence about a run."""

from __future__ import annotations

from dataclasses import replace

import pytest

from jobmon_core.domain.backends import Machine, machine_of_files
from jobmon_core.domain.job.own_files import KILLED_TOLERANCE_S, TOLERANCE_S, Origin, OwnFiles

OWN = OwnFiles(1000.0, 2000.0, Origin.FOUND, uid=500)


@pytest.mark.parametrize(
    ("modified_s", "is_own"),
    [
        (1000.0 - 30 * 86_400, False),
        (1000.0 - TOLERANCE_S - 1, False),
        (1000.0 - TOLERANCE_S, True),
        (1500.0, True),
        (2000.0 + TOLERANCE_S, True),
        (2000.0 + TOLERANCE_S + 1, False),
    ],
)
def test_a_file_is_written_between_the_start_and_the_end(modified_s: float, *, is_own: bool) -> None:
    assert OWN.include(modified_s) is is_own


def test_while_a_run_goes_on_there_is_no_latest_time() -> None:
    assert replace(OWN, ended_s=None).include(1e12)


def test_a_job_that_was_killed_may_save_for_a_while() -> None:
    assert replace(OWN, late_s=KILLED_TOLERANCE_S).include(2031.0)


@pytest.mark.parametrize(
    ("origin", "owner", "is_own"),
    [
        (Origin.FOUND, 500, True),
        (Origin.FOUND, 501, False),
        (Origin.FOUND, 0, True),  # a container of root's daemon writes as root
        (Origin.FOUND, None, True),
        (Origin.NAMED, 501, True),
    ],
)
def test_what_was_only_found_must_belong_to_the_user(
    origin: Origin, owner: int | None, *, is_own: bool
) -> None:
    assert replace(OWN, origin=origin).include(1500.0, owner) is is_own


@pytest.mark.parametrize(
    ("backend", "named", "found"),
    [
        ("slurm", True, True),
        ("local", True, True),
        ("process", True, True),
        ("ray", True, False),  # whether its nodes share a file system with this machine is not known
        ("ssh", False, False),
    ],
)
def test_files_of_another_machine_are_not_looked_for_on_this_one(
    backend: str, *, named: bool, found: bool
) -> None:
    own = replace(OWN, machine=machine_of_files(backend))
    assert own.machine in Machine
    assert replace(own, origin=Origin.NAMED).include(1500.0) is named
    assert own.include(1500.0) is found


def test_the_log_that_the_scheduler_opens_may_be_a_minute_older_than_the_start() -> None:
    assert [OWN.may_be_log(at_s) for at_s in (930.0, 941.0, 9999.0)] == [False, True, True]
