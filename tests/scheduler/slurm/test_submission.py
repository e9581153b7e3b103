"""Slurm's answers about a submission; what sbatch printed is from 22.05."""

from __future__ import annotations

from collections.abc import Sequence

import pytest

from jobmon_core.domain.before.checks.facts import SubmissionAnswer
from jobmon_core.domain.before.pending.model import Partition
from jobmon_core.domain.errors import SchedulerMissing, SchedulerRejected, SchedulerUnavailable
from jobmon_core.domain.slurm.job_ids import JobRef
from jobmon_core.scheduler.base import Submitted
from jobmon_core.scheduler.slurm.submission import read_partition, read_test_only, submit_short_job
from jobmon_core.scheduler.slurm.submission import test_only as ask_test_only
from jobmon_core.system.runner import NotStarted, Result, TimedOut
from tests.support.fake_runner import FakeRunner, said

_START = "sbatch: Job 1001 to start at 1795625866 using 1 processors on nodes n1 in partition main\n"
_START_25 = "sbatch: Job 7 to start at 1795625866 a using 8 processors on nodes n[1-2] in partition gpu\n"
_PARTITIONS = (
    "PartitionName=main AllowGroups=ALL Default=YES DefaultTime=01:00:00 MaxTime=2-00:00:00 State=UP\n"
    "PartitionName=long Default=NO DefaultTime=NONE MaxTime=UNLIMITED State=UP\n"
    "PartitionName=old Default=NO MaxTime=UNLIMITED State=DOWN\n"
)


def test_an_accepted_job_with_its_estimate() -> None:
    assert read_test_only(said("", _START)) == SubmissionAnswer(
        True, "sbatch accepts the job", 1795625866, "n1", "main"
    )
    assert read_test_only(said("", _START_25)).nodes == "n[1-2]"


def test_what_else_sbatch_says_about_an_accepted_job() -> None:
    warning = "sbatch: Warning: can't run 4 processes on 8 nodes, setting nnodes to 4\n"
    assert read_test_only(said("", warning + _START)).remark == warning[len("sbatch: ") : -1]


def test_a_refusal_in_the_words_of_sbatch() -> None:
    errors = "sbatch: error: invalid partition specified: nope\n"
    errors += "allocation failure: Invalid partition name specified\n"
    answer = read_test_only(said("", errors, 1))
    assert answer == SubmissionAnswer(
        False, "invalid partition specified: nope; Invalid partition name specified"
    )


@pytest.mark.parametrize(
    "text",
    [
        "allocation failure: Unable to contact slurm controller (connect failure)",
        "sbatch: fatal: Unable to process configuration file",
        "allocation failure: Socket timed out on send/recv operation",
        "sbatch: fatal: Could not establish a configuration source",
    ],
)
def test_a_slurm_that_does_not_answer_refuses_nothing(text: str) -> None:
    assert read_test_only(said("", text, 1)).accepted is None
    assert read_test_only(TimedOut(("sbatch",), 20.0)).accepted is None
    assert read_test_only(NotStarted(("sbatch",), "not found on PATH")).accepted is None
    assert (
        read_test_only(
            said("", "sbatch: line 2: /opt/slurm/bin/sbatch: No such file or directory", 127)
        ).accepted
        is None
    )


def test_the_users_own_variables_of_sbatch_count_and_are_no_arguments() -> None:
    runner = FakeRunner().on("sbatch", answers=[said("", _START)])
    environment = {"SBATCH_EXPORT": "ALL,MY_PIN=hunter2", "SLURM_JOB_ID": "7", "PATH": "/bin"}
    ask_test_only(runner, ["-t", "5", "a.sh"], environment)
    assert runner.asked == [("sbatch", "--test-only", "-t", "5", "a.sh")]
    assert runner.variables == {"SBATCH_EXPORT": "ALL,MY_PIN=hunter2"}


@pytest.mark.parametrize(
    ("names", "found"),
    [
        ("", Partition("main", 172_800, 3600, "UP", is_default=True)),
        ("long", Partition("long", None, None, "UP")),
        ("main,long", Partition("main,long", None, None, "UP", is_default=True)),
        ("old", Partition("old", None, None, "DOWN")),
        ("none", None),
    ],
)
def test_the_limits_of_partitions(names: str, found: Partition | None) -> None:
    assert read_partition(_PARTITIONS, names) == found


@pytest.mark.parametrize(("limit", "expected"), [("UNLIMITED", 128 * 2**30), ("65536", 64 * 2**30)])
def test_the_memory_of_a_node_is_what_a_partition_has_of_it_or_allows(limit: str, expected: int) -> None:
    text = f"PartitionName=gpu State=UP TotalNodes=3 MaxMemPerNode={limit} TRES=cpu=192,mem=384G,node=3\n"

    found = read_partition(text, "gpu")
    assert found
    assert (found.total_nodes, found.node_memory_bytes) == (3, expected)


NAME = "jobmon-check-17-4"
JOB = Submitted(JobRef(12), "far")
BY_NAME = ("scancel", "--clusters=far", f"--name={NAME}")
NO_ANSWER = TimedOut((), 30.0)
LOST_ANSWER = said(
    stderr="sbatch: error: Batch job submission failed: Socket timed out on send/recv operation", exit_code=1
)


def _submit(runner: FakeRunner) -> Submitted:
    return submit_short_job(runner, NAME, ["--clusters=far", "--time=5"], "/h/a.sh", "/h/a%.out")


def test_the_job_has_a_name_of_its_own() -> None:
    runner = FakeRunner().on("sbatch", answers=[said("a site's banner\n12;far\n")])
    assert _submit(runner) == JOB
    assert f"--job-name={NAME}" in runner.asked[0]


def test_a_refusal_is_in_the_words_of_sbatch() -> None:
    refusal = said(stderr="sbatch: error: invalid partition specified: nope", exit_code=1)
    runner = FakeRunner().on("sbatch", answers=[refusal])
    with pytest.raises(SchedulerRejected, match="nope"):
        _submit(runner)
    assert len(runner.asked) == 1
    with pytest.raises(SchedulerMissing, match="sbatch: not found on PATH"):
        _submit(FakeRunner())


@pytest.mark.parametrize(
    ("answer", "why"),
    [
        (NO_ANSWER, "sbatch: no answer within 30 s"),
        (LOST_ANSWER, "Socket timed out"),
        (said("submitted\n"), "sbatch: printed no job id"),
        (said(exit_code=-9), "sbatch: killed by signal 9"),
    ],
)
def test_a_job_that_may_exist_although_there_was_no_answer_is_cancelled_by_its_name(
    answer: Result, why: str
) -> None:
    runner = FakeRunner().on("sbatch", answers=[answer]).on("scancel", answers=[said()])
    with pytest.raises(SchedulerUnavailable, match=f"{why}.*; the job {NAME} was cancelled, if it exists"):
        _submit(runner)
    assert runner.asked[1] == BY_NAME
    runner.on("scancel", answers=[NO_ANSWER])
    with pytest.raises(SchedulerUnavailable, match=f"; if the job exists, `{' '.join(BY_NAME)}` cancels it"):
        _submit(runner)


def test_a_job_is_cancelled_by_its_name_if_sbatch_is_interrupted() -> None:
    class Interrupted(FakeRunner):
        def capture(self, argv: Sequence[str], timeout_s: float) -> Result:
            answer = super().capture(argv, timeout_s)
            if argv[0] == "sbatch":
                raise KeyboardInterrupt
            return answer

    runner = Interrupted()
    with pytest.raises(KeyboardInterrupt):
        _submit(runner)
    assert runner.asked[1:] == [BY_NAME]
