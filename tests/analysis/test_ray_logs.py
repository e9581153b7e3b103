"""What the logs of Ray's drivers show: of recorded jobs of a real Ray, and of lines as Ray prints them."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import pytest

from jobmon_core.analysis.explain import explain
from jobmon_core.domain.logs.diagnosis.diagnose import failure_so_far
from jobmon_core.domain.logs.diagnosis.error_episodes import LogAnalysis
from jobmon_core.domain.logs.diagnosis.log_lines import LogExcerpt, LogLines, clean_lines
from jobmon_core.domain.logs.diagnosis.model import Diagnosis, SlurmEvidence
from jobmon_core.domain.logs.diagnosis.patterns import CLEAN
from jobmon_core.domain.redaction import redacted
from jobmon_core.domain.slurm.states import JobState
from jobmon_core.observe.patterns.load import load_patterns
from jobmon_core.observe.patterns.match import Matcher
from tests.support.ray_recordings import RAY_RECORDINGS, recorded

if TYPE_CHECKING:
    from pathlib import Path

needs_recordings = pytest.mark.skipif(
    not RAY_RECORDINGS.is_dir(), reason="the recordings of Ray are not beside the checkout"
)
MATCHER = Matcher(load_patterns())
SUCCEEDED = SlurmEvidence(JobState.COMPLETED, 0, is_local=True)
FAILED = SlurmEvidence(JobState.FAILED, 1, is_local=True)
STOPPED = SlurmEvidence(JobState.CANCELLED, is_local=True)
CANCELLED = "slurm_cancelled"
# what Ray says about every worker that dies
DEATH = (
    "Worker exit type: SYSTEM_ERROR Worker exit detail: Worker unexpectedly exits with a connection "
    "error code 2. End of file. Some common causes include: (1) the process was killed by the OOM "
    "killer due to high memory usage, (2) ray stop --force was called, or (3) the worker crashed "
    "unexpectedly due to SIGSEGV or another unexpected error."
)
RAYLET = f"\x1b[33m(raylet)\x1b[0m A worker died or was killed while executing a task. {DEATH}\n"
# what Ray prints to the logs of all jobs of a cluster, whichever job the workers belong to
NODE_OOM = (
    "\x1b[33m(raylet)\x1b[0m [2026-11-26 06:08:44,797 E 19584 19584] (raylet) node_manager.cc:3517: 3 "
    "Workers (tasks / actors) killed due to memory pressure (OOM), 0 Workers crashed due to other reasons "
    "at node (ID: 6afbd423, IP: 192.0.2.2) over the last time period.\n"
)
TRACEBACK = """Traceback (most recent call last):
  File "/home/ada/train.py", line 8, in <module>
    ray.get(step.remote(i))
  File "/home/ada/env/lib/python3.11/site-packages/ray/_private/worker.py", line 1053, in get_objects
    raise value.as_instanceof_cause()
ray.exceptions.RayTaskError(KeyError): \x1b[36mray::step()\x1b[39m (pid=954, ip=192.0.2.2)
  File "/home/ada/train.py", line 6, in step
    print(row["lr"])
          ~~~^^^^^^
KeyError: 'lr'
"""


class Recorded(NamedTuple):
    """The cause of a recorded end, and the line that shows it; without a cause, the job is no failure."""

    name: str
    evidence: SlurmEvidence
    cause: str | None
    quote: str = ""
    also: str = ""  # the id of a pattern that the log shows too


JOBS = (
    Recorded("success", SUCCEEDED, None, "(Trainer pid=30251) step 40/40 loss=0.0750"),
    Recorded("train_ok", SUCCEEDED, None),
    Recorded("train_once", SUCCEEDED, None, also="started_again"),
    Recorded("tune1", SUCCEEDED, "python_exception_other.ray_trials", "Number of errored trials: 1"),
    Recorded(
        "exception",
        FAILED,
        "nan_loss",
        "ValueError: loss is NaN at step 5: shapes (32, 10) and (32, 12)",
        also="python_exception_other.wrapped",
    ),
    Recorded("train_exc", FAILED, "nan_loss", "(RayTrainWorker pid=21438) ValueError: loss is NaN at step 4"),
    Recorded(
        "actor_init_error",
        FAILED,
        "cuda_driver_mismatch.architecture",
        "RuntimeError: CUDA error: no kernel image is available",
    ),
    Recorded(
        "oom_raylet_kill",
        FAILED,
        "host_oom_kill.ray",
        "ray.exceptions.OutOfMemoryError: 1 worker(s) were killed due to the node running low on memory.",
    ),
    Recorded(
        "worker_killed",
        FAILED,
        "python_exception_other.ray_worker_crashed",
        "ray.exceptions.WorkerCrashedError: The worker died unexpectedly",
        also="started_again",
    ),
    Recorded(
        "train_kill",
        FAILED,
        "python_exception_other.ray_worker_died",
        "(TrainController pid=16338) The actor is dead because its worker process has died.",
        also="started_again",
    ),
    Recorded(
        "driver_kill9", SlurmEvidence(JobState.FAILED, 137, is_local=True), "host_oom_kill.killed", "Killed"
    ),
    Recorded("stopped", STOPPED, CANCELLED),
    Recorded("pending_task_then_stopped", STOPPED, CANCELLED),
    Recorded("pending_placement_group", STOPPED, CANCELLED),
    Recorded("pending_entry_then_stopped", STOPPED, CANCELLED),
)
# jobs that never began: Ray's message is all there is
MESSAGES = (
    ("badenv_early", "config_error.ray_runtime_env"),
    ("pending_start_timeout", "config_error.ray_start_timeout"),
)
NOT_ENDED = ("pending_task", "pending_entrypoint")


def analysed(text: str) -> LogAnalysis:
    lines = LogLines([LogExcerpt("log", clean_lines(text.encode()))])
    return LogAnalysis(MATCHER.find_matches(lines), lines)


def explained(folder: Path, text: str, evidence: SlurmEvidence = FAILED) -> Diagnosis:
    log = folder / "driver.log"
    log.write_text(text, encoding="utf-8")
    return explain(evidence, str(log), "")


@needs_recordings
@pytest.mark.parametrize("job", JOBS, ids=lambda job: str(job.name))
def test_a_recorded_end_is_judged_rightly(job: Recorded) -> None:
    found = explain(job.evidence, str(recorded(job.name).path), "")
    assert found.cause == job.cause
    assert job.cause is not None or found.label == CLEAN
    assert not job.quote or any(line.text.startswith(job.quote) for line in found.evidence)
    assert job.also in ("", *found.symptoms)


@needs_recordings
@pytest.mark.parametrize(("name", "cause"), MESSAGES)
def test_the_message_of_a_job_that_never_began_shows_why(name: str, cause: str, tmp_path: Path) -> None:
    job = recorded(name)
    assert job.log == ""
    assert explained(tmp_path, job.answer["message"], SlurmEvidence(JobState.FAILED)).cause == cause


@needs_recordings
@pytest.mark.parametrize("name", [*NOT_ENDED, "success", "stopped", "train_ok", "train_once"])
def test_a_recorded_job_that_has_not_failed_gives_no_alarm_at_any_line(name: str) -> None:
    lines = recorded(name).log.splitlines(keepends=True)
    for end in range(1, len(lines) + 1):
        text = "".join(lines[:end])
        # a worker of one of these fails, and Ray says two lines later that it starts again
        assert failure_so_far(analysed(text)) is None or (name == "train_once" and "RETRY" not in text)


@needs_recordings
def test_every_recorded_job_is_in_the_table() -> None:
    judged = {job.name for job in JOBS} | {name for name, _ in MESSAGES} | set(NOT_ENDED)
    assert {path.stem for path in RAY_RECORDINGS.glob("*.log")} == judged


@needs_recordings
def test_the_command_lines_of_other_users_are_hidden() -> None:
    log = recorded("oom_raylet_kill")
    for text in (redacted("\n".join(clean_lines(log.log.encode()))), redacted(log.answer["message"])):
        assert "pytest" not in text
        assert "sys.stdin" not in text
        assert "24862\t0.14\t[hidden]" in text
        assert "13109\t0.09\tray::DashboardAgent" in text


def test_a_table_of_figures_is_no_list_of_commands() -> None:
    rows = "12\t0.50\tcat\n13\t0.25\tlong haired dog\n14\t1.00\t0.33"
    assert redacted(rows) == rows


@pytest.mark.parametrize(
    "death", [RAYLET, f"The actor is dead because its worker process has died. {DEATH}\n"]
)
def test_the_causes_that_ray_lists_for_every_death_prove_none(death: str, tmp_path: Path) -> None:
    found = explained(tmp_path, death)
    assert found.cause == "python_exception_other.ray_worker_died"
    assert not {"host_oom_kill", "segfault"} & {identifier.partition(".")[0] for identifier in found.symptoms}
    assert failure_so_far(analysed(death)) is None  # Ray may start the worker again


def test_after_a_worker_that_was_started_again_a_later_exception_is_the_cause(tmp_path: Path) -> None:
    retried = (
        "\x1b[33m(raylet)\x1b[0m Task step failed. There are 1 retries remaining, so the task will be "
        f"retried. Error: \n{RAYLET}"
    )
    found = explained(tmp_path, f"{retried}{TRACEBACK}")
    assert (found.cause, found.what_failed) == ("python_exception_other.key_error", "KeyError: 'lr'")


def test_a_failure_that_ray_prints_again_is_not_a_second_one(tmp_path: Path) -> None:
    worker = "\x1b[36m(RayTrainWorker pid=7)\x1b[0m "
    error = f"{worker}Traceback (most recent call last):\n{worker}RuntimeError: link lost"
    late = f"{worker}RuntimeError: link lost\x1b[32m [repeated 3x across cluster]\x1b[0m\n"
    retry = "(TrainController pid=5) [FailurePolicy] RETRY\n"
    assert failure_so_far(analysed(f"{error}\n")) is not None
    assert failure_so_far(analysed(f"{error}\n{retry}{late}")) is None
    assert explained(tmp_path, f"{error}\n{retry}{late}", SlurmEvidence()).label == CLEAN
    raised = explained(tmp_path, f"{error}\n(TrainController pid=5) [FailurePolicy] RAISE\n{late}")
    assert raised.what_failed == "link lost"


def test_a_success_whose_log_ends_in_a_traceback_of_ray_is_doubtful(tmp_path: Path) -> None:
    late = "\x1b[36m(step pid=954)\x1b[0m step 5\n" * 9  # what workers printed before arrives after it
    found = explained(tmp_path, f"start\n{TRACEBACK}{late}", SUCCEEDED)
    assert (found.cause, found.doubt) == (
        "python_exception_other.key_error",
        "its log ends in KeyError: 'lr'",
    )


def test_a_success_with_errored_trials_is_doubtful_whatever_follows(tmp_path: Path) -> None:
    found = explained(tmp_path, "Number of errored trials: 2\n" + "best score 8\n" * 60, SUCCEEDED)
    assert found.doubt == "Ray Tune reports: number of errored trials: 2"
    assert explained(tmp_path, "Number of errored trials: 0\n", SUCCEEDED).cause is None


@pytest.mark.parametrize(
    ("text", "evidence", "cause"),
    [
        (TRACEBACK, FAILED, "python_exception_other.key_error"),
        (
            f"{RAYLET}ray.exceptions.WorkerCrashedError: The worker died unexpectedly\n",
            FAILED,
            "python_exception_other.ray_worker_crashed",
        ),
        ("step 40/40\n", SUCCEEDED, None),
    ],
)
def test_that_memory_ran_out_on_a_node_of_the_cluster_proves_nothing_about_one_job(
    text: str, evidence: SlurmEvidence, cause: str | None, tmp_path: Path
) -> None:
    assert explained(tmp_path, f"{text}{NODE_OOM}", evidence).cause == cause
    assert failure_so_far(analysed(NODE_OOM)) is None


@pytest.mark.parametrize(
    ("line", "cause"),
    [
        (
            "[2026-01-01 10:01:00,123 C 954 990] gcs_rpc_client.h:179: Failed to connect to GCS within 60 s",
            "network_error.ray_gcs",
        ),
        (
            "(raylet) Task failed because the node it was running on is dead or unavailable. Node ID: ab12",
            "node_fail.ray",
        ),
        (
            NODE_OOM,
            "host_oom_kill.ray_node",
        ),
    ],
)
def test_what_ray_says_about_the_cluster_is_understood(line: str, cause: str, tmp_path: Path) -> None:
    assert explained(tmp_path, f"start\n{line}\n").cause == cause
