"""A monitor of a job of PBS: one message each with the outcome of its record, and no end without a proof."""

from __future__ import annotations

import random
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from jobmon_core.domain.delivery.outbox import Message
from jobmon_core.domain.job.tracking.model import WatchedJob
from jobmon_core.domain.slurm.states import JobState, Outcome
from jobmon_core.monitor.job_monitor import JobMonitor
from jobmon_core.scheduler.pbs.client import PbsScheduler
from tests.support.clock import FakeClock
from tests.support.fake_pbs import RECORDINGS, FakePbs, Fields, PbsRunner, ended_job, pbs_job, recorded
from tests.support.monitor_deps import monitor_deps

needs_recordings = pytest.mark.skipif(
    not RECORDINGS.is_dir(), reason="the recorded answers of OpenPBS are not on this machine"
)
Watch = Callable[..., WatchedJob]


@pytest.fixture(autouse=True)
def zone(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.setenv("TZ", "UTC")
    time.tzset()
    yield
    monkeypatch.undo()
    time.tzset()


@pytest.fixture
def pbs(tmp_path: Path) -> FakePbs:
    return FakePbs(tmp_path / "server")


class Watching:
    """A monitor, and what it sees."""

    def __init__(self, folder: Path, pbs: FakePbs, job_id: int, user: str) -> None:
        self.clock = FakeClock()
        self.pbs = pbs
        job = WatchedJob(
            id=f"pbs-{job_id}-x", job_id=job_id, registered_s=self.clock.now(), backend="pbs", user=user
        )
        scheduler = PbsScheduler(PbsRunner(pbs))
        self.monitor = JobMonitor(job, monitor_deps(folder, scheduler, self.clock))

    def look(self, times: int = 1) -> WatchedJob:
        """Poll at intervals of a minute."""
        for _ in range(times):
            self.clock.now_s += 60.0
            self.monitor.poll_once()
        return self.monitor.job


@pytest.fixture
def watching(tmp_path: Path, pbs: FakePbs) -> Watching:
    """A job that runs and is watched."""
    pbs.put({"1.pbs1": pbs_job()})
    found = Watching(tmp_path / "home", pbs, 1, "me")
    (tmp_path / "home").mkdir()
    found.look()
    return found


def messages(job: WatchedJob) -> list[Message]:
    return [entry.message for entry in job.outbox]


def test_a_job_that_ends_has_one_message_with_its_exit_code(watching: Watching) -> None:
    assert messages(watching.monitor.job) == []
    watching.pbs.put({"1.pbs1": ended_job(3)})
    job = watching.look(3)
    (message,) = messages(job)
    assert job.outcome is Outcome.FAILURE
    assert "train (1) failed" in message.title
    end = job.tasks[""].end
    assert end is not None
    assert end.exit_code == 3
    assert job.source_phrase(end.source) == "as reported by PBS"


def test_the_name_the_server_and_the_logs_come_from_the_record(watching: Watching) -> None:
    job = watching.monitor.job
    assert (job.name, job.partition, job.workdir) == ("train", "workq", "/home/me")
    assert (job.logs.stdout, job.logs.stderr) == ("/home/me/train.o1", "/home/me/train.e1")


def test_a_running_job_keeps_the_start_the_limit_and_the_nodes_of_its_record(watching: Watching) -> None:
    limit = {"walltime": "01:00:00", "ncpus": 1, "nodect": 1}
    at = "Sun Nov 22 07:50:22 2026"
    watching.pbs.put({"1.pbs1": pbs_job("Q")})
    watching.look(2)
    watching.pbs.put({"1.pbs1": pbs_job(stime=at, exec_host="n1/0", Resource_List=limit)})
    task = watching.look(3).tasks[""]
    assert (task.start_s, task.limit_s, task.nodes) == (1795333822, 3600, "n1")
    watching.pbs.put({"1.pbs1": pbs_job("Q")})
    assert watching.look(2).tasks[""].start_s is None


def test_a_waiting_job_shows_the_comment_of_the_scheduler(tmp_path: Path, pbs: FakePbs) -> None:
    pbs.put({"1.pbs1": pbs_job("Q", comment="Not Running: Not enough free nodes available")})
    (tmp_path / "home").mkdir()
    job = Watching(tmp_path / "home", pbs, 1, "me").look()
    assert job.tasks[""].reason == "Not Running: Not enough free nodes available"


def test_a_request_that_can_never_run_is_told_once(tmp_path: Path, pbs: FakePbs) -> None:
    comment = "Can Never Run: Insufficient amount of resource: ncpus (R: 99 A: 8 T: 8)"
    pbs.put({"1.pbs1": pbs_job("Q", comment=comment)})
    (tmp_path / "home").mkdir()
    (message,) = messages(Watching(tmp_path / "home", pbs, 1, "me").look(4))
    assert message.title == "train (1) will not start: PBS can never run it"
    assert "`qdel 1`" in message.advice


@pytest.mark.parametrize("fault", ["down", "hung", "half", "empty", "forbidden"])
def test_bad_answers_end_nothing(watching: Watching, fault: str) -> None:
    watching.pbs.fail(fault)
    job = watching.look(10)
    assert not job.ended
    watching.pbs.fail("")
    watching.pbs.put({"1.pbs1": ended_job(0)})
    job = watching.look(3)
    assert job.outcome is Outcome.SUCCESS


def test_a_listing_without_the_job_ends_nothing_while_its_record_shows_it_alive(watching: Watching) -> None:
    watching.pbs.fail("empty", record=False)
    assert not watching.look(10).ended


def test_json_that_a_variable_breaks_is_read_as_text(watching: Watching) -> None:
    watching.pbs.fail("broken")
    watching.pbs.put({"1.pbs1": ended_job(0)})
    assert watching.look(3).outcome is Outcome.SUCCESS


def test_without_a_history_the_outcome_is_unknown_and_says_why(watching: Watching) -> None:
    watching.pbs.keep_history(on=False)
    assert not watching.look(3).ended
    watching.pbs.put({"1.pbs1": ended_job(0)})
    job = watching.look(4)
    assert job.outcome is Outcome.UNKNOWN
    (message,) = messages(job)
    assert "this server keeps no history of ended jobs" in message.summary


def test_a_job_that_the_server_forgot_is_no_success(watching: Watching) -> None:
    watching.pbs.forget("1.pbs1")
    job = watching.look(4)
    assert job.outcome is Outcome.UNKNOWN
    assert job.tasks[""].state is JobState.UNKNOWN
    assert len(messages(job)) == 1


def test_a_rerun_is_no_end(watching: Watching) -> None:
    watching.pbs.put({"1.pbs1": pbs_job("Q")})
    watching.look(2)
    watching.pbs.put({"1.pbs1": pbs_job(run_count=2, obittime="Sun Nov 22 07:50:31 2026")})
    job = watching.look(2)
    assert not job.ended
    assert job.tasks[""].restarts == 1


def test_each_subjob_of_an_array_has_its_own_end(tmp_path: Path, pbs: FakePbs) -> None:
    subjobs = {f"5[{index}].pbs1": pbs_job("Q") for index in (1, 2, 3)}
    pbs.put({"5[].pbs1": pbs_job("Q"), **subjobs})
    (tmp_path / "home").mkdir()
    watching = Watching(tmp_path / "home", pbs, 5, "me")
    job = watching.look()
    assert (job.array_indices, job.pending_indices) == ("1-3", "1-3")
    pbs.put({"5[].pbs1": pbs_job("B"), "5[1].pbs1": pbs_job(), "5[2].pbs1": ended_job(7)})
    job = watching.look(2)
    assert job.pending_indices == "3"
    assert not job.ended
    pbs.put({"5[].pbs1": ended_job(0), "5[1].pbs1": ended_job(0), "5[3].pbs1": ended_job(None)})
    job = watching.look(4)
    outcomes = {key: task.end and task.end.outcome for key, task in job.tasks.items()}
    assert outcomes == {"1": Outcome.SUCCESS, "2": Outcome.FAILURE, "3": Outcome.CANCELLED}


# what each recorded end means: the state, the exit code, the signal
RECORDED = {
    "fin_exit0": (JobState.COMPLETED, 0, None),
    "fin_exit3": (JobState.FAILED, 3, None),
    "fin_exit255": (JobState.FAILED, 255, None),
    "fin_exit137": (JobState.FAILED, 137, None),
    "fin_kill9": (JobState.FAILED, 137, None),
    "fin_childk9": (JobState.FAILED, 137, None),
    "fin_segv": (JobState.FAILED, 139, None),
    "fin_term": (JobState.FAILED, 143, None),
    "fin_wall": (JobState.TIMEOUT, None, None),
    "fin_qdelrun": (JobState.CANCELLED, None, 15),
    "fin_qdelforce": (JobState.CANCELLED, None, 15),
    "fin_held": (JobState.CANCELLED, None, None),
    "fin_dep": (JobState.CANCELLED, None, None),
    "fin_env": (JobState.COMPLETED, 0, None),
}


def _watch_recorded(tmp_path: Path, pbs: FakePbs, jobs: dict[str, Fields], before: str) -> Watching:
    (tmp_path / "home").mkdir()
    alive = {
        job_id: {**{k: v for k, v in job.items() if k != "Exit_status"}, "job_state": before}
        for job_id, job in jobs.items()
    }
    pbs.put(alive)
    number = int(next(iter(jobs)).partition(".")[0].partition("[")[0])
    watching = Watching(tmp_path / "home", pbs, number, "alice")
    watching.look()
    return watching


@needs_recordings
@pytest.mark.parametrize("name", RECORDED)
def test_each_recorded_end_has_the_outcome_of_the_table_and_is_told_once(
    tmp_path: Path, pbs: FakePbs, name: str
) -> None:
    jobs = recorded(name)
    watching = _watch_recorded(tmp_path, pbs, jobs, "R" if "stime" in next(iter(jobs.values())) else "Q")
    assert messages(watching.monitor.job) == []
    pbs.put(jobs)
    job = watching.look(5)
    end = job.tasks[""].end
    assert end is not None
    assert (end.state, end.exit_code, end.signal) == RECORDED[name]
    assert len(messages(job)) == 1


@needs_recordings
@pytest.mark.parametrize(
    "name", ["held", "waiting", "running", "queued_unsatisfiable", "fin_rerun", "fin_norerun"]
)
def test_no_recorded_job_that_is_alive_ends(tmp_path: Path, pbs: FakePbs, name: str) -> None:
    jobs = recorded(name)
    state = next(iter(jobs.values()))["job_state"]
    assert not _watch_recorded(tmp_path, pbs, jobs, state).look(10).ended


@needs_recordings
def test_the_recorded_array_has_one_failed_subjob_although_its_own_status_is_0(
    tmp_path: Path, pbs: FakePbs
) -> None:
    jobs = recorded("array_subjobs")
    watching = _watch_recorded(tmp_path, pbs, jobs, "R")
    pbs.put(jobs)
    job = watching.look(5)
    codes = {key: task.end and task.end.exit_code for key, task in job.tasks.items()}
    assert codes == {"1": 0, "2": 7, "3": 0}
    assert job.outcome is Outcome.FAILURE
    assert len(messages(job)) == 1


def _play(folder: Path, seed: int) -> str:
    """One random interleaving of good and bad answers; return what was wrong about the ends, if anything."""
    draw = random.Random(seed)  # noqa: S311 - the same each time
    pbs = FakePbs(folder / "server")
    (folder / "home").mkdir()
    status = draw.choice([0, 1, 137, 271, -29, None])
    pbs.put({"1.pbs1": pbs_job("Q")})
    watching = Watching(folder / "home", pbs, 1, "me")
    states = [*["Q"] * draw.randint(1, 3), *["R"] * draw.randint(1, 5), "E"]
    for state in states:
        for _ in range(draw.randint(1, 3)):
            fault = draw.choice(["", "down", "hung", "half", "empty", "forbidden", "broken"])
            pbs.put({"1.pbs1": pbs_job(state)})
            pbs.fail(fault, listing=draw.random() < 0.7, record=draw.random() < 0.7)
            if watching.look().ended:
                return f"{seed}: ended while {state}"
    pbs.put({"1.pbs1": ended_job(status)})
    for _ in range(draw.randint(0, 4)):
        pbs.fail(draw.choice(["down", "hung", "half", "empty", "forbidden", "broken"]))
        watching.look()
    pbs.fail("")
    job = watching.look(5)
    expected = {0: Outcome.SUCCESS, None: Outcome.CANCELLED}.get(status, Outcome.FAILURE)
    ends = [message for message in messages(job) if message.id.startswith("1/end") or "(1)" in message.title]
    if job.outcome is not expected:
        return f"{seed}: {job.outcome} for {status}"
    return "" if len(ends) == 1 else f"{seed}: {len(ends)} messages"


def test_no_random_interleaving_of_good_and_bad_answers_has_a_wrong_end(tmp_path: Path) -> None:
    wrong = []
    for seed in range(200):
        folder = tmp_path / str(seed)
        folder.mkdir()
        wrong.append(_play(folder, seed))
    assert [each for each in wrong if each] == []
