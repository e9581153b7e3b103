from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace

from hypothesis import given
from hypothesis import strategies as st

from jobmon_core.domain.slurm.job_ids import JobRef
from jobmon_core.domain.slurm.rows import NotListed, Unreachable
from jobmon_core.scheduler.slurm.session_search import (
    Candidate,
    Origin,
    SearchResult,
    Sessions,
    newest_job,
    read_sessions,
    search,
)
from tests.support.recordings import job_id, recorded

HERE = Origin(session=100, host="login1.site.example", since_s=1_000)
OURS = Candidate(JobRef(7), session=100, submit_s=1_001, host="login1")
DOWN = Unreachable("squeue: Socket timed out on send/recv operation")


def chosen(*candidates: Candidate, known: tuple[int, ...] = ()) -> JobRef | None:
    return newest_job(candidates, HERE, lambda ref: ref.job_id in known)


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
