from __future__ import annotations

import errno
import json
import os
import stat
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from jobmon_core.analysis.ending.bundle import MAX_BUNDLES, with_bundles
from jobmon_core.analysis.ending.complete import end_steps
from jobmon_core.analysis.ending.files import EndFiles
from jobmon_core.domain.job.job_progress import JobProgress
from jobmon_core.domain.job.job_settings import JobSettings
from jobmon_core.domain.job.tracking.model import End, EndInquiry, Source, StateChange, Task, WatchedJob
from jobmon_core.domain.logs.diagnosis.model import MISSING_OUTPUTS, Diagnosis, Line
from jobmon_core.domain.logs.progress.events.event import Event, EventKind
from jobmon_core.domain.logs.progress.model import Progress, WorkerProgress
from jobmon_core.domain.node.telemetry.model import AgentReport
from jobmon_core.domain.slurm.job_ids import JobRef
from jobmon_core.domain.slurm.log_paths import BY_USER, LogPaths
from jobmon_core.domain.slurm.rows import GpuSource, GpuUsage, JobRow, Usage
from jobmon_core.domain.slurm.states import JobState, Outcome
from jobmon_core.store.home import Home
from jobmon_core.store.remove_job import remove_job_files
from jobmon_core.store.telemetry import TaskTelemetry
from jobmon_core.system import files
from jobmon_core.system.helper import Helper
from jobmon_core.system.json_codec import to_json
from tests.support.live_jobs import progress_of
from tests.support.situations import gpu, sample, worker

NOW_S = 1_764_000_000.0
TOKEN = "ghp_0123456789abcdefghij0123"
FAILURE = End(
    JobState.FAILED,
    "FAILED",
    Outcome.FAILURE,
    Source.QUEUE,
    exit_code=1,
    started_s=1_763_999_000,
    ended_s=1_763_999_900,
    nodes="n1",
)
SUCCESS = replace(
    FAILURE, state=JobState.COMPLETED, raw_state="COMPLETED", outcome=Outcome.SUCCESS, exit_code=0
)
FOUND = Diagnosis(
    "python_error.exception",
    "Python exception",
    "An exception ended the program.",
    "Fix it.",
    evidence=(Line("/logs/a.err", 7, "KeyError: 'lr'"),),
    is_proved=True,
    what_failed="KeyError: 'lr'",
)


@pytest.fixture
def home(tmp_path: Path) -> Home:
    return Home(tmp_path / "home")


def failed_job(tmp_path: Path) -> WatchedJob:
    stdout, stderr = tmp_path / "train.out", tmp_path / "train.err"
    stdout.write_text("".join(f"step {number}\n" for number in range(1, 101)), encoding="ascii")
    stderr.write_text(f"using token {TOKEN}\nKeyError: 'lr'\n", encoding="ascii")
    record = JobRow(JobRef(12), JobState.FAILED, "FAILED", workdir="/scratch/me", exit_code=1)
    task = Task(
        "",
        end=FAILURE,
        history=(StateChange("PENDING", 1_763_998_000.0, "Priority"), StateChange("FAILED", 1_763_999_900.0)),
        inquiry=EndInquiry(NOW_S, NOW_S, record=record),
    )
    logs = LogPaths(str(stdout), str(stderr), source=BY_USER)
    return WatchedJob("slurm-12-x", 12, 0.0, name="train", workdir="/scratch/me", logs=logs, tasks={"": task})


def end_files(home: Home, progress: JobProgress | None = None) -> EndFiles:
    def telemetry(job_id: str, key: str) -> TaskTelemetry:
        return TaskTelemetry(home.telemetry_folder(job_id, key))

    def read() -> JobProgress:
        return progress or JobProgress()

    return EndFiles(
        read, read, home.patterns, lambda _: {}, home.bundle_file, telemetry, home.history, lambda: NOW_S
    )


def completed(
    job: WatchedJob, found: dict[str, Diagnosis], files: EndFiles, logged: list[str]
) -> dict[str, Diagnosis]:
    steps = end_steps(job, tuple(found), files)[1:]
    return Helper().run_steps(dict[str, Diagnosis], found, steps, logged.append)


def test_a_bundle_holds_all_that_is_known_and_no_secret(tmp_path: Path, home: Home) -> None:
    job = failed_job(tmp_path)
    latest = home.telemetry_folder(job.id, "") / "n1" / "latest.json"
    latest.parent.mkdir(parents=True)
    report = AgentReport(replace(sample([worker(0), worker(1)], [gpu(0)]), at_s=NOW_S))
    latest.write_text(json.dumps(to_json(report)), encoding="utf-8")
    followed = replace(
        progress_of(30, 100), workers={"worker_0.log": WorkerProgress(Progress(12, 50, "item"), NOW_S)}
    )
    progress = JobProgress(
        tasks={"": followed}, events=(Event(NOW_S, EventKind.STALLED, f"no progress, token {TOKEN}"),)
    )
    environ = {"CUDA_VISIBLE_DEVICES": "0", "HF_TOKEN": "hf_secret"}
    (found,) = with_bundles(job, {"": FOUND}, end_files(home, progress), environ).values()
    path = Path(found.bundle)
    text = path.read_text(encoding="utf-8")
    for part in (
        "jobmon diagnostics of job 12 (train)",
        "== Diagnosis\nwhat happened: KeyError: 'lr'",
        "  7: KeyError: 'lr'",
        "== Slurm's record",
        "  exit_code: 1",
        "  ended_s: 2025-11-24T15:58:20Z",
        "slurmctld's record (scontrol show job):",
        "2025-11-24T15:26:40Z  PENDING (Priority)\n2025-11-24T15:58:20Z  FAILED\n",
        "the whole task: step 30 of 100",
        "worker_0.log: item 12 of 50",
        "n1: pid 101, rank 1, python train.py, running, CPU 100%",
        "== Outputs and checkpoints",
        "GPU 0 : 90% busy, 20.0 GiB of 80.0 GiB",
        "  memory of the task: 8.0 GiB of 32.0 GiB",
        "stalled: no progress",
        "CUDA_VISIBLE_DEVICES=0\nalso set, values not shown: HF_TOKEN",
        f"== Last 50 lines of {tmp_path}/train.out\nstep 51\n",
        "step 100\n",
        "using token ghp_[hidden]\nKeyError: 'lr'\n",
    ):
        assert part in text, part
    assert TOKEN not in text
    assert "hf_secret" not in text
    assert "step 50\n" not in text
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert path.parent == home.logs


def test_a_bundle_shows_the_use_of_a_job_in_hours_and_bytes(tmp_path: Path, home: Home) -> None:
    gpu_usage = GpuUsage(GpuSource.ACCOUNTING, percent=40.0, memory_bytes=2**30)
    end = replace(FAILURE, usage=Usage(cpu_s=3600.0, run_s=1900, gpu=gpu_usage))
    job = failed_job(tmp_path)
    job = replace(job, tasks={"": replace(job.tasks[""], end=end)})
    (found,) = with_bundles(job, {"": FOUND}, end_files(home), {}).values()
    text = Path(found.bundle).read_text(encoding="utf-8")
    for line in ("  cpu_s: 1h", "  run_s: 31m 40s", "  percent: 40.0", "  memory_bytes: 1.0 GiB"):
        assert f"\n{line}\n" in text, line


def test_a_monitor_that_was_killed_before_it_saved_the_path_writes_the_same_file_again(
    tmp_path: Path, home: Home
) -> None:
    job = failed_job(tmp_path)
    first = with_bundles(job, {"": FOUND}, end_files(home), {})
    assert with_bundles(job, {"": FOUND}, end_files(home), {}) == first
    assert len(list(home.logs.iterdir())) == 1


def test_a_success_and_a_cancelled_job_have_no_bundle(tmp_path: Path, home: Home) -> None:
    job = failed_job(tmp_path)
    for end in (SUCCESS, replace(FAILURE, state=JobState.CANCELLED, outcome=Outcome.CANCELLED)):
        job = replace(job, tasks={"": replace(job.tasks[""], end=end)})
        assert with_bundles(job, {"": FOUND}, end_files(home), {})[""].bundle == ""


def test_of_an_array_the_first_task_of_each_kind_of_failure_has_a_bundle(tmp_path: Path, home: Home) -> None:
    job = failed_job(tmp_path)
    kinds = {str(key): replace(FOUND, title=f"Kind {key // 2}", what_failed="") for key in range(20)}
    job = replace(job, array_indices="0-19", tasks={key: replace(job.tasks[""], key=key) for key in kinds})
    found = with_bundles(job, kinds, end_files(home), {})
    written = [key for key, diagnosis in found.items() if diagnosis.bundle]
    assert written == ["0", "2", "4", "6", "8", "10"]
    assert len(written) == MAX_BUNDLES
    assert found["2"].bundle == str(home.logs / "slurm-12-x.2.diagnostics.txt")


def test_on_a_full_disk_the_diagnosis_stays_and_says_so(
    tmp_path: Path, home: Home, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(*_: object, **__: object) -> None:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr(files, "_write", full)
    found = with_bundles(failed_job(tmp_path), {"": FOUND}, end_files(home), {})[""]
    assert (found.what_failed, found.bundle) == (FOUND.what_failed, "")
    assert "the diagnostics could not be saved: " in found.note
    assert "No space left on device" in found.note


def test_a_failing_helper_costs_the_bundle_and_not_the_diagnosis(tmp_path: Path, home: Home) -> None:
    def broken() -> JobProgress:
        raise RuntimeError("a bug")

    logged: list[str] = []
    files = end_files(home)._replace(read_progress=broken)
    found = completed(failed_job(tmp_path), {"": FOUND}, files, logged)
    assert found == {"": FOUND}
    assert "a bug" in logged[0]


@pytest.mark.parametrize("fail", [lambda: os._exit(1), lambda: 1 // 0])
def test_a_bundle_that_fails_does_not_cost_the_verdict_on_the_outputs(
    tmp_path: Path, home: Home, fail: Callable[[], object]
) -> None:
    job = failed_job(tmp_path)
    tasks = {"0": replace(job.tasks[""], key="0"), "1": Task("1", end=SUCCESS)}
    settings = JobSettings(results=(f"{tmp_path}/missing.csv",))
    job = replace(job, array_indices="0-1", tasks=tasks, settings=settings)

    def broken(*_: str) -> TaskTelemetry:
        fail()
        raise AssertionError

    logged: list[str] = []
    files = end_files(home)._replace(telemetry_of=broken)
    clean = Diagnosis(None, "Completed", "", "")
    found = completed(job, {"0": FOUND, "1": clean}, files, logged)
    assert found["1"].cause == MISSING_OUTPUTS
    assert found["0"].what_failed == FOUND.what_failed
    assert "no diagnostics were saved" in "".join(logged) or "ZeroDivisionError" in found["0"].note


def test_the_bundles_are_removed_with_the_records(home: Home) -> None:
    own = [home.bundle_file("slurm-12-x", key) for key in ("", "3", "+1")]
    other = home.bundle_file("slurm-12-xy", "")
    for path in (*own, other):
        path.write_text("x", encoding="ascii")
    remove_job_files(home, "slurm-12-x")
    assert not any(path.exists() for path in own)
    assert other.exists()


def test_a_bundle_has_the_whole_traceback_whatever_follows_it(tmp_path: Path, home: Home) -> None:
    job = failed_job(tmp_path)
    stderr = tmp_path / "train.err"
    chain = (
        "loading\nstarting\n"
        "Traceback (most recent call last):\n"
        '  File "train.py", line 3, in load\n    return table["lr"]\nKeyError: \'lr\'\n\n'
        "During handling of the above exception, another exception occurred:\n\n"
        "Traceback (most recent call last):\n"
        '  File "train.py", line 9, in <module>\n    main()\n'
        f'  File "train.py", line 7, in main\n    raise ValueError("{TOKEN}")\nValueError: no rate\n'
    )
    stderr.write_text(chain + "slurmstepd: error: noise\n" * 90, encoding="ascii")
    proof = replace(FOUND, evidence=(Line(str(stderr), 15, "ValueError: no rate"),))
    (found,) = with_bundles(job, {"": proof}, end_files(home), {}).values()
    text = Path(found.bundle).read_text(encoding="utf-8")
    _, _, part = text.partition(f"== The traceback in {stderr}\n")
    lines = part.partition("\n\n==")[0].splitlines()
    assert lines[0] == "1: loading"
    assert lines[2].startswith("3: Traceback")
    assert lines[-1] == "15: ValueError: no rate"
    assert TOKEN not in part
    gone = replace(FOUND, evidence=(Line(str(stderr), 4000, "ValueError: no rate"),))
    (found,) = with_bundles(job, {"": gone}, end_files(home), {}).values()
    assert "The traceback" not in Path(found.bundle).read_text(encoding="utf-8")
