"""Slurm's answers about a submission; what sbatch printed is from 22.05."""

from __future__ import annotations

import pytest

from jobmon_core.domain.before.checks.facts import SubmissionAnswer
from jobmon_core.domain.before.pending.model import Partition
from jobmon_core.scheduler.slurm.submission import read_partition, read_test_only
from jobmon_core.scheduler.slurm.submission import test_only as ask_test_only
from jobmon_core.system.runner import NotStarted, TimedOut
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
