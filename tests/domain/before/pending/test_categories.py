from __future__ import annotations

import pytest

from jobmon_core.domain.before.pending.categories import category_of, is_eligible, pending_words
from jobmon_core.domain.before.pending.model import Category
from jobmon_core.domain.slurm.states import JobState


@pytest.mark.parametrize(
    ("reason", "category"),
    [
        ("None", Category.SCHEDULING),
        ("Priority", Category.PRIORITY),
        ("(Resources)", Category.RESOURCES),
        ("QOSGrpCpuLimit", Category.LIMIT),
        ("AssocMaxWallDurationPerJobLimit", Category.LIMIT),
        ("MaxJobsPerAccount", Category.LIMIT),
        ("QOSMinGRES", Category.LIMIT),
        ("MaxCpuRunMinsPerUser", Category.LIMIT),
        ("DependencyNeverSatisfied", Category.DEPENDENCY),
        ("JobHeldAdmin", Category.HELD),
        ("job_requeued_in_held_state", Category.HELD),
        ("launch failed requeued held", Category.LAUNCH),
        ("Reservation", Category.RESERVATION),
        ("ReqNodeNotAvail, Reserved for maintenance", Category.RESERVATION),
        ("ReqNodeNotAvail,_Reserved_for_maintenance", Category.RESERVATION),
        ("ReqNodeNotAvail, UnavailableNodes:n[1-3]", Category.NODES),
        ("BeginTime", Category.BEGIN_TIME),
        ("Licenses", Category.LICENSES),
        ("BadConstraints", Category.CONSTRAINTS),
        ("JobArrayTaskLimit", Category.ARRAY_LIMIT),
        ("PartitionInactive", Category.PARTITION),
        ("InvalidQOS", Category.ACCOUNT),
        ("BurstBufferStageIn", Category.OTHER),
        ("RaisedSignal:53(Real-time_signal_19)", Category.OTHER),
        ("SomethingNew", Category.UNKNOWN),
    ],
)
def test_a_reason_has_a_category(reason: str, category: Category) -> None:
    assert category_of(reason) is category


def test_a_job_held_after_a_special_exit_is_held_whatever_the_reason() -> None:
    assert category_of("None", JobState.SPECIAL_EXIT) is Category.HELD
    assert category_of("JobHeldUser", JobState.SPECIAL_EXIT) is Category.HELD


def test_every_category_but_the_unknown_has_words_that_fit_a_column() -> None:
    reasons: tuple[str, ...] = (
        "None",
        "Priority",
        "Resources",
        "QOSGrpCpuLimit",
        "Dependency",
        "JobHeldUser",
        "BeginTime",
    )
    reasons += ("launch failed requeued held", "Reservation", "Licenses", "BadConstraints", "PartitionDown")
    reasons += ("JobArrayTaskLimit", "InvalidAccount", "ReqNodeNotAvail, UnavailableNodes:n1")
    for reason in reasons:
        assert 0 < len(pending_words(reason)) <= 50, reason
    assert pending_words("AssocGrpCpuLimit") == "limit of its account reached"
    assert pending_words("MaxCpuRunMinsPerUser") == "limit of its QOS reached"
    assert pending_words("MpiPortsBusy") == "the ports for MPI are in use"
    assert pending_words("SomethingNew") == ""


def test_only_jobs_that_could_start_have_a_place_in_the_queue() -> None:
    assert is_eligible(category_of("Priority"))
    assert not is_eligible(category_of("JobHeldUser"))
    assert not is_eligible(category_of("Dependency"))
