from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from jobmon_core.domain.slurm.job_ids import JobRef
from jobmon_core.scheduler.base import Submitted
from jobmon_core.scheduler.slurm.sbatch_output import announced_job, may_have_been_accepted, submitted_quietly
from tests.support.recordings import recorded

NO_JOB = ("sbatch-quiet", "sbatch-test-only", "sbatch-version", "sbatch-bad-option", "sbatch-bad-partition")


def jobs(name: str) -> list[Submitted]:
    return [job for line in recorded(name).stdout.splitlines() if (job := announced_job(line))]


@pytest.mark.parametrize("name", ["sbatch", "sbatch-parsable"])
def test_a_job_is_read_from_either_form(name: str) -> None:
    (job,) = jobs(name)
    assert job.ref.job_id > 0
    assert job.cluster == ""


@pytest.mark.parametrize("name", ["sbatch-cluster", "sbatch-cluster-parsable"])
def test_a_cluster_is_read_where_it_is_named(name: str) -> None:
    (job,) = jobs(name)
    assert job.cluster == recorded(name).argv[2]


@pytest.mark.parametrize("name", NO_JOB)
def test_without_a_job_none_is_read(name: str) -> None:
    assert jobs(name) == []


@pytest.mark.parametrize(
    "line",
    ["Welcome to login 1", "Submitted batch job", "Submitted batch job 5 today", "5;", "job 5", "v22.05", ""],
)
def test_a_banner_is_not_a_job(line: str) -> None:
    assert announced_job(line) is None


def test_surrounding_white_space_is_ignored() -> None:
    assert announced_job("Submitted batch job 5\r") == Submitted(JobRef(5))


def test_only_a_quiet_submission_printed_no_job_id() -> None:
    told = {name: recorded(name) for name in NO_JOB}
    silent = [name for name, ran in told.items() if submitted_quietly(ran.exit_code, ran.stdout, ran.stderr)]
    assert silent == ["sbatch-quiet"]


def test_a_quiet_wait_fails_silently_as_its_job_did() -> None:
    assert submitted_quietly(3, "", "")


@pytest.mark.parametrize(
    "stderr",
    [
        "sbatch: error: Batch job submission failed: Socket timed out on send/recv operation",
        "sbatch: error: Batch job submission failed: Zero Bytes were transmitted or received",
        "sbatch: error: Batch job submission failed: Unable to contact slurm controller (receive failure)",
    ],
)
def test_a_lost_answer_may_have_been_a_yes(stderr: str) -> None:
    assert may_have_been_accepted(1, stderr)


def test_so_may_a_death_by_signal() -> None:
    assert may_have_been_accepted(-2, "")


@pytest.mark.parametrize(
    "name", ["sbatch-no-slurmctld", "sbatch-bad-option", "sbatch-bad-partition", "sbatch-quiet"]
)
def test_a_clear_answer_leaves_no_doubt(name: str) -> None:
    assert not may_have_been_accepted(recorded(name).exit_code, recorded(name).stderr)


@given(st.text() | st.from_regex(r"Submitted batch job \d+.*|\d+;?.*"), st.integers())
def test_no_text_makes_the_readers_raise(text: str, exit_code: int) -> None:
    announced_job(text)
    submitted_quietly(exit_code, text, text)
    may_have_been_accepted(exit_code, text)
