"""A job is submitted to a Ray cluster once, also if answers get lost."""

from __future__ import annotations

import io
import json
import os
import tracemalloc
import zipfile
from pathlib import Path

import pytest

from jobmon_core.domain.errors import SchedulerRejected
from jobmon_core.domain.job.restart.model import why_alive
from jobmon_core.domain.slurm.rows import NotListed
from jobmon_core.domain.slurm.states import JobState
from jobmon_core.scheduler.base import Fate, SubmitResult
from jobmon_core.scheduler.ray import submission as submit
from jobmon_core.scheduler.ray.api import RayApi
from jobmon_core.scheduler.ray.client import RayScheduler, processes_left
from jobmon_core.scheduler.ray.ray_job import SUBMISSION_KEY
from jobmon_core.scheduler.ray.records import RayJobFolder
from jobmon_core.scheduler.ray.submission import RaySubmission, package_of, send
from tests.support.fake_ray import FakeRay, ray_job, ray_resources

JOB = {"submission_id": "jobmon-1", "entrypoint": "python train.py"}


@pytest.fixture(autouse=True)
def no_pause(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(submit, "_WAIT_S", 0.01)


def sent(ray: FakeRay, folder: Path, within_s: float = 60.0) -> SubmitResult:
    return send(RayApi(ray.service, os.environ), JOB, within_s, RayJobFolder(folder))


def look(scheduler: RayScheduler, job_id: int) -> JobState | str:
    """Return the state of a job after another query; why it has none, if it is gone."""
    answer = scheduler.ask_queue("me")
    assert isinstance(answer, str)
    rows = scheduler.read_queue(answer, [job_id])
    record = scheduler.ask_record(job_id)
    return rows[0].state if rows else record.why if isinstance(record, NotListed) else "listed"


@pytest.mark.parametrize(("dropped", "ignored"), [(0, 0), (1, 0), (3, 0), (0, 2)])
def test_a_submission_whose_answers_get_lost_is_sent_again_and_started_once(
    ray: FakeRay, folder: Path, dropped: int, ignored: int
) -> None:
    ray.dropped_posts, ray.ignored_posts = dropped, ignored
    assert sent(ray, folder).fate is Fate.ACCEPTED
    assert ray.started == ["jobmon-1"]


def test_a_refusal_is_final(ray: FakeRay, folder: Path) -> None:
    ray.refusals["/api/jobs/"] = (400, "ValueError: runtime_env must be a dict")
    assert sent(ray, folder) == SubmitResult(
        Fate.REFUSED,
        f"the Ray dashboard {ray.service} answered HTTP 400: ValueError: runtime_env must be a dict",
    )
    assert ray.count("POST") == 1


def test_an_error_of_the_server_proves_nothing(ray: FakeRay, folder: Path) -> None:
    ray.refusals["/api/jobs/"] = (500, "KeyError")
    assert sent(ray, folder, within_s=0.05).fate is Fate.UNKNOWN


def test_a_cluster_that_cannot_be_reached_has_accepted_nothing(folder: Path) -> None:
    answer = send(RayApi("127.0.0.1:1", os.environ), JOB, 60.0, RayJobFolder(folder))
    assert answer.fate is Fate.REFUSED
    assert "Connection refused" in answer.why


def test_another_job_with_the_id_is_not_taken_for_the_submitted_one(ray: FakeRay, folder: Path) -> None:
    ray.jobs = [ray_job("jobmon-1")]
    submission = RaySubmission(ray_resources(folder), ray.service, JOB)
    submission.record()
    assert submission.submit().fate is Fate.REFUSED
    assert ray.count("POST") == 0


def test_a_job_is_recorded_first_and_may_still_appear_later(
    ray: FakeRay, folder: Path, scheduler: RayScheduler
) -> None:
    RaySubmission(ray_resources(folder), ray.service, JOB).record()

    assert look(scheduler, 1) is JobState.PENDING  # that Ray does not know it yet proves nothing
    ray.jobs = [ray_job("jobmon-1")]
    assert look(scheduler, 1) is JobState.RUNNING
    ray.jobs = []
    assert "it was deleted" in str(look(scheduler, 1))


@pytest.fixture
def never_shown(
    ray: FakeRay, folder: Path, scheduler: RayScheduler, monkeypatch: pytest.MonkeyPatch
) -> RayScheduler:
    """A submission, job 1, that Ray did not show in time; the process that made it has ended."""
    RaySubmission(ray_resources(folder), ray.service, JOB).record()
    monkeypatch.setattr("jobmon_core.scheduler.ray.records._APPEARS_WITHIN_S", 0.0)
    assert look(scheduler, 1) is JobState.PENDING  # the process that submits it, this one, lives
    attempt = json.loads((folder / "1" / "attempt.json").read_text())
    attempt["process"]["start_ticks"] += 1
    (folder / "1" / "attempt.json").write_text(json.dumps(attempt))
    assert "never confirmed" in str(look(scheduler, 1))
    return scheduler


def test_a_submission_that_appears_late_is_followed_after_all(
    ray: FakeRay, folder: Path, never_shown: RayScheduler
) -> None:
    ray.jobs = [ray_job("jobmon-1")]
    assert look(never_shown, 1) is JobState.RUNNING
    assert not (folder / "1" / "ended").exists()


def test_watching_a_submission_that_appears_much_later_finds_it(
    ray: FakeRay, folder: Path, never_shown: RayScheduler, remote: RayScheduler
) -> None:
    ray.jobs = [ray_job("jobmon-1")]
    os.utime(folder / "1" / "ended", (0, 0))
    assert remote.register("jobmon-1").ref.job_id == 1
    assert look(never_shown, 1) is JobState.RUNNING


def test_each_request_is_noted_before_it_is_sent(ray: FakeRay, folder: Path) -> None:
    submission = RaySubmission(ray_resources(folder), ray.service, JOB)
    submission.record()
    before = RayJobFolder(folder / "1").attempt()
    ray.refusals["/api/jobs/"] = (400, "no")
    assert submission.submit().fate is Fate.REFUSED
    after = RayJobFolder(folder / "1").attempt()
    assert before is not None
    assert after is not None
    assert (before.is_sent, after.is_sent) == (False, True)
    assert after.at_s > before.at_s
    assert after.process != before.process  # the helper, which may outlive the command


def test_a_working_folder_is_sent_once_without_what_the_job_does_not_need(
    ray: FakeRay, folder: Path, tmp_path: Path
) -> None:
    work = tmp_path / "work"
    (work / ".git").mkdir(parents=True)
    (work / ".git" / "HEAD").write_text("ref")
    (work / "pkg").mkdir()
    (work / "pkg" / "train.py").write_text("print(1)")
    for name in ("a", "b"):
        job = {
            **JOB,
            "submission_id": name,
            "runtime_env": {"working_dir": str(work), "env_vars": {"A": "1"}},
        }
        submission = RaySubmission(ray_resources(folder), ray.service, job)
        submission.record()
        assert submission.submit().fate is Fate.ACCEPTED
    assert ray.count("PUT") == 1
    ((name, content),) = ray.packages.items()
    assert zipfile.ZipFile(io.BytesIO(content)).namelist() == ["pkg/train.py"]
    assert ray.jobs[1]["runtime_env"] == {"working_dir": f"gcs://{name}", "env_vars": {"A": "1"}}
    with pytest.raises(SchedulerRejected, match="is not a folder"):
        package_of(work / "pkg" / "train.py")


def test_a_folder_that_is_too_large_is_refused_unread(tmp_path: Path) -> None:
    with (tmp_path / "data.bin").open("wb") as file:
        file.truncate(300 << 20)
    tracemalloc.start()
    with pytest.raises(SchedulerRejected, match="is larger than 100 MiB"):
        package_of(tmp_path)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 10 << 20


def test_an_error_before_the_request_is_a_refusal(
    ray: FakeRay, folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    work = tmp_path / "work"
    work.mkdir()
    submission = RaySubmission(
        ray_resources(folder), ray.service, {**JOB, "runtime_env": {"working_dir": str(work)}}
    )
    submission.record()

    def fail(_: Path) -> None:
        raise MemoryError("no memory")

    monkeypatch.setattr(submit, "package_of", fail)
    assert submission.submit() == SubmitResult(Fate.REFUSED, "MemoryError: no memory")
    monkeypatch.undo()
    Path(os.fsdecode(os.fsencode(work) + b"/caf\xe9.txt")).touch()
    why = "--working-dir: the file name caf\\xe9.txt is not UTF-8; rename it"
    assert submission.submit() == SubmitResult(Fate.REFUSED, why)
    assert ray.count("POST") == 0


def test_an_error_after_a_request_proves_nothing(
    ray: FakeRay, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    submission = RaySubmission(ray_resources(folder), ray.service, JOB)
    submission.record()

    def fail(_api: RayApi, _description: object) -> None:
        raise OSError("a bug")

    monkeypatch.setattr(RayApi, "submit", fail)
    assert submission.submit() == SubmitResult(Fate.UNKNOWN, "OSError: a bug")


def test_two_submissions_under_one_id_are_one(ray: FakeRay, folder: Path, scheduler: RayScheduler) -> None:
    first, second = (RaySubmission(ray_resources(folder), ray.service, JOB) for _ in range(2))
    first.record()
    with pytest.raises(SchedulerRejected, match="has submitted jobmon-1 to this cluster as job 1"):
        second.record()
    first.discard()  # it was refused
    second.record()
    assert second.submit().fate is Fate.ACCEPTED
    assert look(scheduler, 1) is JobState.PENDING
    third = RaySubmission(ray_resources(folder), ray.service, JOB)
    third.record()
    assert third.submit().fate is Fate.REFUSED


def test_of_two_homes_that_submit_one_id_only_the_one_whose_job_was_started_follows_it(
    ray: FakeRay, folder: Path, scheduler: RayScheduler
) -> None:
    ray.rivals = [ray_job("jobmon-1", metadata={SUBMISSION_KEY: "of another home"})]
    submission = RaySubmission(ray_resources(folder), ray.service, {**JOB, "metadata": {"team": "a"}})
    submission.record()
    assert submission.submit() == SubmitResult(
        Fate.REFUSED, "the Ray cluster has a job with this submission id already"
    )
    assert ray.started == ["jobmon-1"]
    assert look(scheduler, 1) is JobState.PENDING  # the other home's job is not ours


def test_the_token_of_a_submission_is_added_to_the_metadata_of_the_user(ray: FakeRay, folder: Path) -> None:
    submission = RaySubmission(ray_resources(folder), ray.service, {**JOB, "metadata": {"team": "a"}})
    submission.record()
    assert submission.submit().fate is Fate.ACCEPTED
    job = RayJobFolder(folder / "1").registered()
    assert job is not None
    assert ray.jobs[0]["metadata"] == {"team": "a", SUBMISSION_KEY: job.token}


def test_an_id_that_ray_never_showed_can_be_submitted_again_and_the_token_says_which_it_is(
    ray: FakeRay, folder: Path, never_shown: RayScheduler
) -> None:
    second = RaySubmission(ray_resources(folder), ray.service, JOB)
    assert second.record().ref.job_id == 2
    assert second.submit().fate is Fate.ACCEPTED
    assert look(never_shown, 2) is JobState.PENDING
    assert "never confirmed" in str(look(never_shown, 1))


def test_a_record_holds_no_secret_of_the_environment(ray: FakeRay, folder: Path) -> None:
    job = {**JOB, "runtime_env": {"env_vars": {"WANDB_API_KEY": "k3y"}}}
    RaySubmission(ray_resources(folder), ray.service, job).record()
    assert "k3y" not in (folder / "1" / "job.json").read_text()
    assert json.loads((folder / "1" / "job.json").read_text())["name"] == "jobmon-1"


@pytest.mark.parametrize("step", ["recorded", "sent"])
def test_a_submission_that_was_cut_off_is_made_again_under_the_same_id(
    ray: FakeRay, folder: Path, step: str
) -> None:
    first = RaySubmission(ray_resources(folder), ray.service, JOB)
    number = first.record().ref.job_id
    if step == "sent":
        assert first.submit().fate is Fate.ACCEPTED
    again = RaySubmission(ray_resources(folder), ray.service, JOB, number)
    assert again.submit().fate is Fate.ACCEPTED
    assert ray.started == ["jobmon-1"]
    ray.jobs[0]["metadata"] = {SUBMISSION_KEY: "of another home"}
    assert again.submit().fate is Fate.REFUSED


def test_what_is_left_of_a_job_is_known_only_from_ray(ray: FakeRay, folder: Path) -> None:
    submission = RaySubmission(ray_resources(folder), ray.service, JOB)
    number = submission.record().ref.job_id
    resources = ray_resources(folder)
    assert "does not know the job any more" in why_alive(processes_left(resources, ray.service, number, ""))
    ray.jobs = [ray_job("jobmon-1", "FAILED", driver_exit_code=3)]
    ray.state["workers"] = [{"worker_id": f"05000000{'f' * 48}", "is_alive": True}]
    assert "its driver runs" in why_alive(processes_left(resources, ray.service, number, ""))
    ray.state["workers"][0]["is_alive"] = False
    assert why_alive(processes_left(resources, ray.service, number, "")) == ""
    ray.refusals["/api/"] = (500, "down")
    assert "down" in why_alive(processes_left(resources, ray.service, number, ""))
