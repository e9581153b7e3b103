from __future__ import annotations

import os
from collections.abc import Callable
from contextlib import AbstractContextManager
from dataclasses import dataclass, field, replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from jobmon_core.domain.errors import CommandBusy, StorageFailed
from jobmon_core.domain.slurm.job_ids import JobRef
from jobmon_core.domain.slurm.rows import NotListed, Unreachable
from jobmon_core.scheduler.base import Submitted
from jobmon_core.scheduler.slurm import commands
from jobmon_core.scheduler.slurm.find_submitted import (
    Candidate,
    SearchResult,
    Sessions,
    named_cluster,
    newest_job,
    read_sessions,
    search,
)
from jobmon_core.system.runner import Ran
from tests.scheduler.slurm.submitting import NOW_S, User
from tests.support.fake_runner import FakeRunner, said
from tests.support.recordings import job_id, recorded

HUNG = said(
    stderr="sbatch: error: Batch job submission failed: Socket timed out on send/recv operation", exit_code=1
)


def listing(*jobs: tuple[int, int]) -> Ran:
    """A queue with these jobs and the sessions they were submitted from."""
    sep = commands.SEP
    lines = (f"{job}{sep}N/A{sep}{session}{sep}{NOW_S}{sep}here\n" for job, session in jobs)
    return said("".join(lines))


MINE = os.getsid(0)


class TestSearchingForTheJob:
    def test_a_quiet_submission_is_found_by_its_session(self) -> None:
        runner = FakeRunner().on("sbatch", answers=[recorded("sbatch-quiet")])
        user = User(runner.on("squeue", answers=[listing((5, MINE), (6, MINE + 1))]))
        submission = user.submit()
        assert submission.job == Submitted(JobRef(5))
        assert user.jobs == [submission.job]
        assert "job 5 by its login session" in submission.note
        assert "searching for the job" in user.messages[0]

    @pytest.mark.parametrize("text", ["Your job was sent.", "Remaining hours:\n4711", "5 estimates 2 SUs"])
    def test_so_is_one_whose_id_stands_in_no_known_form(self, text: str) -> None:
        runner = FakeRunner().on("sbatch", answers=[said(f"{text}\n")])
        user = User(runner.on("squeue", answers=[listing((6, MINE))]))
        submission = user.submit()
        assert user.jobs == [submission.job] == [Submitted(JobRef(6))]
        assert "job 6 by its login session" in submission.note

    def test_if_that_one_is_not_found_the_user_hears_that_it_is_not_watched(self) -> None:
        runner = FakeRunner().on("sbatch", answers=[said("Your job was sent.\n")])
        submission = User(runner.on("squeue", answers=[listing((5, MINE + 1))])).submit()
        assert submission.job is None
        assert "the job is not watched" in submission.note

    def test_of_two_sentences_the_last_that_names_a_job_of_this_session_counts(self) -> None:
        text = "".join(f"Submitted batch job {job}\n" for job in (5, 6, 7))
        runner = FakeRunner().on("sbatch", answers=[said(text)])
        queue = listing((5, MINE), (6, MINE), (7, MINE + 1), (9, MINE))
        user = User(runner.on("squeue", answers=[queue]))
        assert user.submit().job == Submitted(JobRef(6))
        assert user.jobs == [Submitted(JobRef(6))]

    def test_if_slurm_knows_none_of_them_the_last_is_watched_and_that_is_said(self) -> None:
        text = "Submitted batch job 5\nSubmitted batch job 6\n"
        runner = FakeRunner().on("sbatch", answers=[said(text)])
        user = User(runner.on("squeue", answers=[recorded("queue-no-slurmctld")]))
        submission = user.submit()
        assert user.jobs == [submission.job] == [Submitted(JobRef(6))]
        assert "watches the last, 6" in submission.note

    def test_a_job_that_is_watched_already_is_another(self) -> None:
        runner = FakeRunner().on("sbatch", answers=[recorded("sbatch-quiet")])
        user = User(runner.on("squeue", answers=[listing((5, MINE), (6, MINE))]), watched={6})
        assert user.submit().job == Submitted(JobRef(5))

    def test_a_quiet_submission_that_is_not_found_is_reported(self) -> None:
        runner = FakeRunner().on("sbatch", answers=[recorded("sbatch-quiet")])
        submission = User(runner.on("squeue", answers=[listing()])).submit()
        assert (submission.exit_code, submission.job) == (0, None)
        assert "the job is not watched" in submission.note

    def test_a_job_that_slurm_accepted_although_sbatch_failed_is_found(self) -> None:
        runner = FakeRunner().on("sbatch", answers=[HUNG])
        user = User(runner.on("squeue", answers=[recorded("queue-no-slurmctld"), listing((5, MINE))]))
        submission = user.submit()
        assert (submission.exit_code, submission.job) == (1, Submitted(JobRef(5)))
        assert "do not submit it again" in submission.note
        assert user.jobs == [submission.job]

    def test_a_job_that_slurm_did_not_accept_is_reported_as_not_submitted(self) -> None:
        runner = FakeRunner().on("sbatch", answers=[HUNG])
        submission = User(runner.on("squeue", answers=[listing()])).submit()
        assert (submission.exit_code, submission.job) == (1, None)
        assert "was not submitted" in submission.note

    def test_if_slurm_stays_unreachable_the_user_is_advised_to_check(self) -> None:
        runner = FakeRunner().on("sbatch", answers=[HUNG])
        user = User(runner.on("squeue", answers=[recorded("queue-no-slurmctld")]))
        submission = user.submit()
        assert submission.job is None
        assert "check with `squeue` before you submit it again" in submission.note
        assert user.now_s - NOW_S <= 60

    @pytest.mark.parametrize("sbatch", [HUNG, recorded("sbatch-quiet")])
    def test_a_job_on_one_of_several_clusters_is_not_searched_for(self, sbatch: Ran) -> None:
        user = User(FakeRunner().on("sbatch", answers=[sbatch]), arguments=("-M", "a,b", "run.sh"))
        note = user.submit().note
        assert "jobmon could not search for" in note
        assert "`squeue`" in note
        assert "jobmon watch" in note or "submit it again" in note
        assert "it may be on any cluster of -M a,b" in note
        assert user.messages == []

    def test_a_lock_that_cannot_be_used_is_told_and_leaves_sbatchs_code(self) -> None:
        def unusable() -> AbstractContextManager[None]:
            raise StorageFailed("/home/me/jobmon/state cannot be used: Permission denied")

        runner = FakeRunner().on("sbatch", answers=[recorded("sbatch-quiet")])
        submission = User(runner.on("squeue", answers=[listing((5, MINE))]), lock=unusable).submit()
        assert (submission.exit_code, submission.job) == (0, None)
        assert "state cannot be used" in submission.note

    def test_while_another_search_holds_the_lock_slurm_is_not_blamed(self) -> None:
        def busy() -> AbstractContextManager[None]:
            raise CommandBusy("another `jobmon submit` has held the lock for over 60 s")

        runner = FakeRunner().on("sbatch", answers=[HUNG]).on("squeue", answers=[listing((5, MINE))])
        note = User(runner, lock=busy).submit().note
        assert "jobmon could not search for it: another `jobmon submit`" in note
        assert "check with `squeue` before you submit it again" in note


@pytest.mark.parametrize(
    ("arguments", "named"),
    [
        (["run.sh"], ""),
        (["-M", "dev", "run.sh"], "dev"),
        (["-Mdev", "run.sh"], "dev"),
        (["--clusters=dev,prod", "run.sh"], "dev,prod"),
        (["--clusters", "dev", "run.sh"], "dev"),
        (["-M"], ""),
        (["-M", "dev", "--cluster=prod", "run.sh"], "prod"),
        (["-M", "dev", "-QM", "prod", "run.sh", "-M", "5"], "prod"),
        (["--added-in-2030", "-M", "dev", "run.sh"], "dev"),
    ],
)
def test_the_cluster_is_read_from_the_arguments(arguments: list[str], named: str) -> None:
    assert named_cluster(arguments, {}) == named


def test_the_environment_names_a_cluster_too_and_the_command_line_wins() -> None:
    assert named_cluster(["run.sh"], {"SLURM_CLUSTERS": "a"}) == "a"
    assert named_cluster(["run.sh"], {"SBATCH_CLUSTERS": "b", "SLURM_CLUSTERS": "a"}) == "b"
    assert named_cluster(["-M", "c", "run.sh"], {"SBATCH_CLUSTERS": "b"}) == "c"


OURS = Candidate(JobRef(7), session=100, submit_s=1_001, host="login1")
DOWN = Unreachable("squeue: Socket timed out on send/recv operation")


def chosen(*candidates: Candidate, known: tuple[int, ...] = ()) -> JobRef | None:
    return newest_job(candidates, 100, "login1.site.example", 1_000, lambda ref: ref.job_id in known)


class TestReading:
    def test_recorded_rows_name_their_job_and_session(self) -> None:
        found = read_sessions(recorded("sessions").stdout)
        assert len(found) == len(recorded("sessions").stdout.splitlines())
        assert JobRef(job_id("array")) in {each.ref for each in found}
        assert len({each.session for each in found}) == 1, "one process submitted them all"

    def test_a_component_stands_for_its_whole_job(self) -> None:
        refs = [each.ref for each in read_sessions(recorded("sessions").stdout)]
        assert refs.count(JobRef(job_id("het"))) == 2
        assert JobRef(job_id("het") + 1) not in refs

    @given(st.text() | st.lists(st.text(alphabet="0123456789\x1fN/A\n")).map("\x1f".join))
    def test_no_text_makes_the_reader_raise(self, text: str) -> None:
        read_sessions(text)


class TestChoosing:
    def test_the_job_of_our_session_is_ours(self) -> None:
        assert chosen(OURS, replace(OURS, ref=JobRef(8), session=101)) == JobRef(7)

    def test_the_newest_is_ours(self) -> None:
        assert chosen(OURS, replace(OURS, ref=JobRef(8), submit_s=1_002)) == JobRef(8)
        assert chosen(replace(OURS, ref=JobRef(8)), OURS) == JobRef(8)

    def test_an_older_one_is_not(self) -> None:
        assert chosen(replace(OURS, submit_s=900)) is None

    def test_a_clock_a_little_behind_is_forgiven(self) -> None:
        assert chosen(replace(OURS, submit_s=999)) == JobRef(7)

    def test_a_watched_job_is_not_ours(self) -> None:
        assert chosen(OURS, replace(OURS, ref=JobRef(8)), known=(8,)) == JobRef(7)

    def test_our_host_is_preferred(self) -> None:
        assert chosen(OURS, replace(OURS, ref=JobRef(8), host="login2", submit_s=1_005)) == JobRef(7)

    def test_a_host_by_another_name_is_not_refused(self) -> None:
        assert chosen(replace(OURS, host="localhost")) == JobRef(7)


@dataclass
class World:
    """A queue whose answers are scripted, and a time that passes only by waiting."""

    answers: list[Sessions]
    costs_s: float = 0.0
    now_s: float = 0.0
    queries: int = 0
    sleeps: list[float] = field(default_factory=list)

    def list_candidates(self) -> Sessions:
        self.queries += 1
        self.now_s += self.costs_s
        return self.answers.pop(0) if len(self.answers) > 1 else self.answers[0]

    def sleep(self, length_s: float) -> None:
        self.sleeps.append(length_s)
        self.now_s += length_s

    def found(self) -> SearchResult:
        choose: Callable[[tuple[Candidate, ...]], JobRef | None] = lambda jobs: jobs[0].ref if jobs else None  # noqa: E731
        return search(self.list_candidates, choose, self.sleep, lambda: self.now_s)


class TestSearching:
    def test_a_job_that_is_there_is_found_at_once(self) -> None:
        world = World([(OURS,)])
        assert world.found() == JobRef(7)
        assert (world.queries, world.now_s) == (1, 0)

    def test_a_job_that_appears_when_slurm_answers_again_is_found(self) -> None:
        world = World([DOWN, DOWN, (), (OURS,)], costs_s=10)
        assert world.found() == JobRef(7)

    def test_a_job_that_several_answers_do_not_show_is_not_there(self) -> None:
        world = World([()])
        assert world.found() == NotListed()
        assert world.now_s < 10

    def test_an_unreachable_slurm_is_reported_as_such(self) -> None:
        world = World([DOWN])
        assert world.found() == DOWN
        assert world.now_s <= 60

    def test_slow_silence_takes_hardly_more_than_a_minute(self) -> None:
        world = World([DOWN], costs_s=15)
        assert world.found() == DOWN
        assert world.now_s <= 75
