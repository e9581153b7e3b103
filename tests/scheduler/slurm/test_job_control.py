"""Find and change jobs: the command lines, and what the answers mean."""

from __future__ import annotations

import pytest

from jobmon_core.domain.slurm.job_ids import JobRef
from jobmon_core.domain.slurm.rows import NotListed, Unreachable
from jobmon_core.scheduler.base import CutOffSubmission, Untraceable
from jobmon_core.scheduler.slurm.job_control import SlurmJobControl
from tests.support.fake_runner import FakeRunner, said

SEP = "\x1f"
SINCE_S = 1_700_000_000.0
SUBMISSION = CutOffSubmission(4711, "login1", SINCE_S, "/w", ("e.sh",))
CONFIG = "Configuration data\nMinJobAge               = 300 sec\nMpiDefault = none\n"


def _row(job_id: int, session: int, submit: str) -> str:
    return SEP.join((str(job_id), "N/A", str(session), submit, "login1")) + "\n"


def test_jobs_are_changed_by_one_command_of_slurm() -> None:
    runner = FakeRunner().on("scancel", answers=[said()]).on("scontrol", answers=[said()])
    refs = [JobRef(12), JobRef(13, task=4)]
    control = SlurmJobControl(runner, "other")
    assert (control.cancel(refs), control.hold(refs), control.release(refs)) == ("", "", "")
    assert runner.asked == [
        ("scancel", "-M", "other", "12", "13_4"),
        ("scontrol", "-M", "other", "uhold", "12,13_4"),
        ("scontrol", "-M", "other", "release", "12,13_4"),
    ]
    runner.asked.clear()
    SlurmJobControl(runner).cancel([JobRef(number) for number in range(1, 402)])
    assert [len(command) - 1 for command in runner.asked] == [200, 200, 1]


def test_a_refusal_is_reported_in_the_words_of_slurm_but_not_that_a_job_has_ended() -> None:
    text = (
        "scancel: error: Kill job error on job id 12: Invalid job id specified\n"
        "scancel: error: Kill job error on job id 13: Access/permission denied\n"
    )
    runner = FakeRunner().on("scancel", answers=[said(stderr=text, exit_code=1)])
    assert "job id 13: Access/permission denied" in SlurmJobControl(runner).cancel([JobRef(12), JobRef(13)])
    ended = said(stderr=text.splitlines()[0], exit_code=1)
    runner = FakeRunner().on("scancel", answers=[ended])
    assert SlurmJobControl(runner).cancel([JobRef(12)]) == ""


def test_an_array_is_one_queued_job_and_a_name_may_contain_anything() -> None:
    rows = "12_[3-9]|eval|2 x\n12_1|eval|2 x\n13+0|het\n13+1|het\nnonsense\n14|\n"
    runner = FakeRunner().on("squeue", answers=[said(rows)])
    assert SlurmJobControl(runner).queued_jobs("me") == {
        JobRef(12): "eval|2 x",
        JobRef(13): "het",
        JobRef(14): "",
    }
    runner = FakeRunner().on("squeue", answers=[said(stderr="squeue: down", exit_code=1)])
    assert isinstance(SlurmJobControl(runner).queued_jobs("me"), Unreachable)


@pytest.mark.parametrize(
    ("listed", "later_s", "config", "found"),
    [
        (_row(12, 4711, "1700000002"), 5.0, CONFIG, JobRef(12)),
        (_row(12, 4711, "1700000002"), 9e5, CONFIG, JobRef(12)),
        (_row(12, 4711, "1600000000"), 5.0, CONFIG, NotListed()),  # an older use of the session's id
        (_row(12, 999, "1700000002"), 5.0, CONFIG, NotListed()),
        (_row(7, 4711, "1700000002"), 5.0, CONFIG, NotListed()),  # another run of the group
        ("", 5.0, CONFIG, NotListed()),
        ("", 295.0, CONFIG, None),  # it may have ended, and be forgotten
        ("", 5.0, "MinJobAge               = 2 sec\n", None),
        ("", 5.0, "", None),
    ],
)
def test_a_submission_made_no_job_only_if_slurm_would_still_list_it(
    listed: str, later_s: float, config: str, found: JobRef | NotListed | None
) -> None:
    runner = FakeRunner().on("squeue", answers=[said(listed)]).on("scontrol", answers=[said(config)])
    answer = SlurmJobControl(runner).find_submission(SUBMISSION, {JobRef(7)}, SINCE_S + later_s)
    assert (None if isinstance(answer, Untraceable) else answer) == found


def test_a_submission_to_another_cluster_may_have_made_a_job_that_is_not_searched_for() -> None:
    runner = FakeRunner().on("squeue", answers=[said("")]).on("scontrol", answers=[said(CONFIG)])
    named = SUBMISSION._replace(arguments=("--clusters=north", "train.sbatch"))
    answer = SlurmJobControl(runner).find_submission(named, set(), SINCE_S + 5.0)
    assert isinstance(answer, Untraceable)
    assert "north" in answer.why
