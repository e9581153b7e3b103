from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from jobmon_core.domain.slurm.job_ids import JobRef
from jobmon_core.scheduler.base import Submitted
from jobmon_core.scheduler.slurm.sbatch_output import (
    announced_jobs,
    certain_job,
    may_have_been_accepted,
    submitted_without_id,
)
from tests.support.recordings import recorded

NO_JOB = ("sbatch-quiet", "sbatch-test-only", "sbatch-version", "sbatch-bad-option", "sbatch-bad-partition")


def jobs(name: str) -> tuple[Submitted, ...]:
    return announced_jobs(recorded(name).stdout.splitlines())


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
    assert jobs(name) == ()


@pytest.mark.parametrize(
    "line",
    ["Welcome to login 1", "Submitted batch job", "Submitted batch job 12345678901", "5;", "job 5", ""],
)
def test_a_banner_is_not_a_job(line: str) -> None:
    assert announced_jobs([line]) == ()


@pytest.mark.parametrize(
    "line",
    [
        "Submitted batch job 5\r",
        "Submitted batch job 5 estimates 2 SUs from allocation abc",
        "Submitted batch job 5.",
        "[site] submitted batch job 5, partition gpu",
        "\x1b[32mSubmitted batch job \x1b[1m5\x1b[0m",
    ],
)
def test_words_around_the_sentence_are_no_matter(line: str) -> None:
    assert certain_job([line], ()) == Submitted(JobRef(5))


def test_the_full_stop_of_a_wrapper_does_not_belong_to_the_cluster() -> None:
    assert certain_job(["Submitted batch job 5 on cluster dev.east-1."], ()) == Submitted(
        JobRef(5), "dev.east-1"
    )


class TestNumbersWithoutASentence:
    def test_the_sentence_wins_wherever_it_stands(self) -> None:
        assert certain_job(["4711", "Submitted batch job 5", "17"], ()) == Submitted(JobRef(5))

    def test_a_number_alone_is_the_job_at_once_only_with_parsable(self) -> None:
        assert certain_job(["5;dev"], ["--parsable", "run.sh"]) == Submitted(JobRef(5), "dev")
        assert certain_job(["5"], ["run.sh"]) is None
        assert certain_job(["5"], ["run.sh"], exit_code=3) == Submitted(
            JobRef(5)
        )  # #SBATCH --parsable --wait

    def test_a_number_below_a_banner_counts_only_with_parsable_and_after_success(self) -> None:
        lines = ["Remaining budget in hours:", "4711"]
        assert certain_job(lines, ["--parsable"], exit_code=0) == Submitted(JobRef(4711))
        assert certain_job(lines, ["--parsable"]) is None
        assert certain_job(lines, ["--parsable"], exit_code=1) is None
        assert certain_job(lines, ["run.sh"], exit_code=0) is None

    def test_of_several_none_is_certain(self) -> None:
        assert certain_job(["4711", "5"], ["--parsable"], exit_code=0) is None
        assert certain_job(["Submitted batch job 4", "Submitted batch job 5"], [], exit_code=0) is None


def test_only_a_quiet_submission_printed_no_job_id() -> None:
    told = {name: recorded(name) for name in NO_JOB}
    arguments = {"sbatch-version": ["--version"]}
    silent = [
        name
        for name, ran in told.items()
        if submitted_without_id(ran.exit_code, ran.stdout, ran.stderr, arguments.get(name, []))
    ]
    assert silent == ["sbatch-quiet"]


def test_a_quiet_wait_fails_silently_as_its_job_did() -> None:
    assert submitted_without_id(3, "", "", [])


@pytest.mark.parametrize(
    "arguments", [["run.sh", "--help"], ["--of-a-plugin", "run.sh"], ["--of-a-plugin=5", "-pmain", "run.sh"]]
)
def test_other_words_than_sbatchs_may_announce_a_job(arguments: list[str]) -> None:
    assert submitted_without_id(0, "Your job was sent.\n", "", arguments)
    assert not submitted_without_id(1, "Your project has no hours left.\n", "", arguments)


@pytest.mark.parametrize("arguments", [["--hel"], ["-p", "main", "--usage"], ["--of-a-plugin", "--help"]])
def test_but_not_if_only_help_was_asked_for(arguments: list[str]) -> None:
    assert not submitted_without_id(0, "Usage: ...\n", "", arguments)


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
    announced_jobs([text])
    certain_job([text], [text], exit_code)
    submitted_without_id(exit_code, text, text, [text])
    may_have_been_accepted(exit_code, text)
