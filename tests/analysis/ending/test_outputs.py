from __future__ import annotations

import json
import os
import zipfile
from dataclasses import replace
from pathlib import Path

import pytest

from jobmon_core.analysis.ending.outputs import Results, read_results, with_known_outputs, with_outputs
from jobmon_core.domain.artifacts.model import Artifacts, Outputs
from jobmon_core.domain.job.job_progress import JobProgress
from jobmon_core.domain.job.job_settings import Done, JobSettings
from jobmon_core.domain.job.own_files import OwnFiles
from jobmon_core.domain.job.tracking.model import End, Source, Task, WatchedJob
from jobmon_core.domain.logs.diagnosis.model import DAMAGED_OUTPUTS, MISSING_OUTPUTS, Diagnosis, Quote
from jobmon_core.domain.messages.job_ended import job_ended_messages
from jobmon_core.domain.slurm.log_paths import BY_USER, LogPaths
from jobmon_core.domain.slurm.states import JobState, Outcome
from tests.support.checkpoint_layouts import torch_file

START_S = 1_764_000_000
SUCCESS = End(
    JobState.COMPLETED,
    "COMPLETED",
    Outcome.SUCCESS,
    Source.QUEUE,
    exit_code=0,
    started_s=START_S,
    ended_s=START_S + 300,
)
FAILURE = replace(SUCCESS, state=JobState.FAILED, raw_state="FAILED", outcome=Outcome.FAILURE, exit_code=1)
CLEAN = Diagnosis(None, "Completed", "", "")
NPY = b"{'descr': '<f8', 'fortran_order': False, 'shape': (100,), }".ljust(117) + b"\n"
TOKEN = "ghp_0123456789abcdefghij0123"


@pytest.fixture
def out(tmp_path: Path) -> Path:
    folder = tmp_path / "out"
    folder.mkdir()
    return folder


def write(path: Path, *, at_s: int = START_S + 60, text: str = "x\n") -> None:
    path.parent.mkdir(exist_ok=True)
    path.write_text(text, encoding="utf-8")
    os.utime(path, (at_s, at_s))


def write_npz(path: Path, *, truncated: bool = False) -> None:
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("a.npy", b"\x93NUMPY\x01\x00" + bytes([len(NPY), 0]) + NPY + bytes(800))
    if truncated:
        os.truncate(path, path.stat().st_size - 200)
    os.utime(path, (START_S + 60, START_S + 60))


def job_with(settings: JobSettings | None, end: End = SUCCESS, **more: object) -> WatchedJob:
    job = WatchedJob("slurm-12-x", 12, float(START_S), name="train", workdir="/", submitted_s=START_S - 500)
    return replace(job, settings=settings, tasks={"": Task("", end=end)}, **more)  # type: ignore[arg-type]


def verified(job: WatchedJob, progress: JobProgress | None = None, found: Diagnosis = CLEAN) -> Diagnosis:
    return with_outputs(job, dict.fromkeys(job.tasks, found), progress or JobProgress())[
        next(iter(job.tasks))
    ]


def title(job: WatchedJob, found: Diagnosis) -> str:
    task = replace(job.tasks[""], diagnosis=found)
    (message,) = job_ended_messages(replace(job, tasks={"": task}), START_S, per_task=False)
    return message.title


def test_a_success_without_the_marker_that_was_to_show_it_is_doubtful(out: Path) -> None:
    job = job_with(JobSettings(done=Done(marker=str(out / "DONE"))))
    write(out / "DONE", at_s=START_S - 1)
    found = verified(job)
    assert found.cause == MISSING_OUTPUTS
    assert title(job, found).endswith(f"with exit code 0, but its marker {out}/DONE is missing")
    write(out / "DONE")
    assert verified(job).cause is None


def test_a_job_that_left_all_its_shards_is_verified(out: Path) -> None:
    for number in range(8):
        write(out / f"part-{number}-of-8.json", text='{"a": 1}')
    job = job_with(JobSettings(output_dir=str(out)))
    found = verified(job)
    assert (found.outputs, found.cause) == ("8 of 8 shards, 64 B, 8 valid", None)
    assert title(job, found) == "train (12) completed in 5m, outputs verified"


def test_missing_shards_make_a_success_doubtful(out: Path) -> None:
    for number in range(5):
        write(out / f"part-{number}-of-8.json", text='{"a": 1}')
    job = job_with(JobSettings(output_dir=str(out)))
    found = verified(job)
    assert found.cause == MISSING_OUTPUTS
    assert title(job, found) == "train (12) completed in 5m with exit code 0, but 3 of 8 shards are missing"
    assert "missing: 5, 6, 7." in found.explanation


def test_a_truncated_output_is_named(out: Path) -> None:
    write_npz(out / "a.npz")
    write_npz(out / "b.npz", truncated=True)
    job = job_with(JobSettings(output_dir=str(out)))
    found = verified(job)
    assert found.cause == DAMAGED_OUTPUTS
    assert title(job, found) == "train (12) completed in 5m with exit code 0, but b.npz is truncated"


def test_a_file_from_before_the_run_does_not_count_unless_the_job_was_requeued(out: Path) -> None:
    write(out / "a.csv", at_s=START_S - 100, text="a,b\n1,2\n")
    job = job_with(JobSettings(output_dir=str(out)))
    assert verified(job).what_failed == "it wrote no output"
    requeued = replace(job, tasks={"": replace(job.tasks[""], restarts=1)})
    assert verified(requeued).outputs_verified


def test_a_run_that_wrote_to_a_folder_below_only_is_not_doubtful(out: Path) -> None:
    write(out / "run_1" / "a.csv")
    assert verified(job_with(JobSettings(output_dir=str(out)))).cause is None


def test_a_success_with_a_cause_of_its_own_keeps_it_and_shows_its_outputs(out: Path) -> None:
    write(out / "part-0-of-2.txt")
    nan = Diagnosis("nan_loss.metric", "The loss is NaN", "", "")
    found = verified(job_with(JobSettings(output_dir=str(out))), found=nan)
    assert (found.cause, found.outputs) == ("nan_loss.metric", "1 of 2 shards, 2 B")


def test_a_failure_keeps_its_cause_and_shows_its_outputs(out: Path) -> None:
    write(out / "part-0-of-2.txt")
    found = verified(job_with(JobSettings(output_dir=str(out)), FAILURE))
    assert (found.cause, found.outputs, found.results) == (None, "1 of 2 shards, 2 B", ())


def test_results_are_quoted_without_secrets(tmp_path: Path) -> None:
    write(tmp_path / "metrics.csv", text=f"split,accuracy,note\nval,0.912,{TOKEN}\n")
    write(tmp_path / "eval_12.json", text='{"f1": 0.5000}')
    settings = JobSettings(results=(f"{tmp_path}/metrics.csv", f"{tmp_path}/eval_%j*.json"))
    found = verified(job_with(settings))
    assert found.results == (
        Quote("metrics.csv", "split  accuracy  note\nval       0.912  ghp_[hidden]"),
        Quote("eval_12.json", "f1: 0.5000"),
    )
    assert found.outputs_verified


def test_missing_and_old_results_make_a_success_doubtful(tmp_path: Path) -> None:
    write(tmp_path / "old.csv", at_s=START_S - 3)
    found = verified(job_with(JobSettings(results=(f"{tmp_path}/old.csv", f"{tmp_path}/m*.json"))))
    assert found.what_failed == "its result m*.json is missing and its result old.csv is older than this run"
    assert found.results == ()


def test_the_clock_of_a_file_server_may_be_a_little_behind(out: Path) -> None:
    write(out / "metrics.json", at_s=START_S - 1, text='{"f1": 0.5}')
    found = verified(job_with(JobSettings(results=(f"{out}/metrics.json",))))
    assert (found.cause, len(found.results)) == (None, 1)


def test_a_new_result_is_found_among_many_old_ones(out: Path) -> None:
    for number in range(39):
        write(out / f"eval_{number:03}.json", at_s=START_S - 900)
    write(out / "eval_039.json", text='{"f1": 0.5}')
    found = verified(job_with(JobSettings(results=(f"{out}/eval_*.json",))))
    assert (found.cause, [quote.name for quote in found.results]) == (None, ["eval_039.json"])


def test_of_very_many_results_only_some_are_examined_and_none_is_called_old(out: Path) -> None:
    for number in range(1_001):
        write(out / f"eval_{number:04}.json", at_s=START_S - 900)
    write(out / "eval_0000.json")
    assert verified(job_with(JobSettings(results=(f"{out}/eval_*.json",)))).cause is None


def test_of_large_and_binary_results_only_what_is_readable_is_quoted(tmp_path: Path) -> None:
    rows = "".join(f"{number},0.5\n" for number in range(20_000))
    write(tmp_path / "long.csv", text=f"step,loss\n{rows}")
    (tmp_path / "b.bin").write_bytes(bytes(range(256)) * 40)
    os.utime(tmp_path / "b.bin", (START_S + 60, START_S + 60))
    found = verified(job_with(JobSettings(results=(f"{tmp_path}/long.csv", f"{tmp_path}/b.bin"))))
    lines = found.results[0].text.split("\n")
    assert (lines[0].split(), lines[-1].split()) == (["step", "loss"], ["19999", "0.5"])
    assert found.results[1] == Quote("b.bin", "(a binary file)")


def test_tasks_of_an_array_that_share_their_folder_are_verified_together(out: Path) -> None:
    for number in (0, 1):
        write(out / f"part-{number}-of-3.txt", at_s=START_S - 100)  # by a task that ended early
    tasks = {key: Task(key, end=SUCCESS) for key in ("0", "1")}
    job = replace(job_with(JobSettings(output_dir=str(out))), array_indices="0-1", tasks=tasks)
    found = with_outputs(job, dict.fromkeys(tasks, CLEAN), JobProgress())
    assert [each.what_failed for each in found.values()] == ["1 of 3 shards is missing"] * 2


def test_the_newest_checkpoint_in_a_folder_that_the_log_names_is_in_the_message(out: Path) -> None:
    torch_file(out / "ckpt_1.pt")
    os.utime(out / "ckpt_1.pt", (START_S + 60, START_S + 60))
    torch_file(out / "ckpt_9.pt")  # by another job, since
    log = out.parent / "train.log"
    write(log, text=f"Saving model checkpoint to {out}/ckpt_1.pt\n")
    progress = JobProgress(artifacts={"": Artifacts(1.0, Outputs(str(out), is_found=True))})
    job = replace(job_with(None), logs=LogPaths(str(log), str(log), BY_USER))
    outputs = verified(job, progress).outputs
    assert (outputs[:7], outputs[-38:]) == ("1 file,", "newest checkpoint ckpt_1.pt (complete)")


def test_of_a_folder_that_the_log_names_only_hard_evidence_counts(out: Path) -> None:
    write(out / "part-0-of-2.txt")
    progress = JobProgress(artifacts={"": Artifacts(1.0, Outputs(str(out), is_found=True))})
    found = verified(job_with(None), progress)
    assert (found.cause, found.outputs, found.outputs_verified) == (None, "1 of 2 shards, 2 B", False)
    write_npz(out / "b.npz", truncated=True)
    assert verified(job_with(None), progress).what_failed == "b.npz is truncated"


def test_a_job_of_which_no_output_is_known_is_left_alone() -> None:
    assert verified(job_with(None)) == CLEAN
    tasks = {key: Task(key, end=SUCCESS) for key in ("0", "1")}
    array = replace(job_with(None), array_indices="0-1", tasks=tasks)
    assert with_outputs(array, dict.fromkeys(tasks, CLEAN), JobProgress()) == dict.fromkeys(tasks, CLEAN)


def test_a_missing_folder_is_no_output(tmp_path: Path) -> None:
    found = verified(job_with(JobSettings(output_dir=str(tmp_path / "missing"))))
    assert (found.what_failed, json.dumps(found.outputs)) == ("it wrote no output", '"none from this run"')


def test_a_newest_checkpoint_that_lacks_a_part_makes_a_success_doubtful(out: Path) -> None:
    for step, names in ((500, ("model.safetensors", "optimizer.pt")), (1000, ("model.safetensors",))):
        for name in names:
            write(out / f"checkpoint-{step}" / name, at_s=START_S + step // 10, text="x" * 100)
    job = job_with(JobSettings(checkpoint_dir=str(out)))
    found = verified(job)
    assert found.what_failed == "its newest checkpoint checkpoint-1000 is incomplete"
    assert "checkpoint-1000" in found.explanation


def test_a_later_diagnosis_keeps_what_the_outputs_showed_at_the_end(out: Path) -> None:
    at_the_end = verified(job_with(JobSettings(output_dir=str(out))))
    again = with_known_outputs(CLEAN, at_the_end)
    assert (again.cause, again.headline) == (MISSING_OUTPUTS, "it wrote no output")
    nan = Diagnosis("nan_loss.metric", "The loss is NaN", "", "")
    assert with_known_outputs(nan, at_the_end) == nan
    assert with_known_outputs(CLEAN, None) == with_known_outputs(CLEAN, nan) == CLEAN


def test_a_file_that_something_still_writes_after_the_end_is_not_called_truncated(out: Path) -> None:
    write_npz(out / "a.npz", truncated=True)
    os.utime(out / "a.npz", (START_S + 400, START_S + 400))  # the job ended at 300
    assert verified(job_with(JobSettings(output_dir=str(out)))).cause is None


def array_of_folders(out: Path, count: int) -> WatchedJob:
    """An array whose tasks have their own folders, each with two of three shards."""
    for number in range(count):
        for shard in range(2):
            write(out / str(number) / f"part-{shard}-of-3.json", text='{"a": 1}')
    tasks = {str(key): Task(str(key), end=SUCCESS) for key in range(count)}
    return replace(job_with(JobSettings(output_dir=f"{out}/%a")), array_indices="0-9", tasks=tasks)


def test_all_tasks_together_have_one_time_limit(out: Path) -> None:
    job, times = array_of_folders(out, 4), iter([0.0, 1.0, 2.0, 3.0, 40.0, 41.0, 46.0, 47.0])
    found = with_outputs(job, dict.fromkeys(job.tasks, CLEAN), JobProgress(), lambda: next(times))
    assert [each.cause for each in found.values()] == [MISSING_OUTPUTS, MISSING_OUTPUTS, None, None]
    assert [each.outputs for each in found.values()] == [
        "2 of 3 shards, 16 B, 2 valid",
        "2 of 3 shards, 16 B",
        "",
        "",
    ]
    assert "took too long" in found["3"].note


def test_an_error_with_one_task_costs_only_its_own_verdict(
    out: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def broken_for_the_first(job: WatchedJob, task: Task, own: OwnFiles) -> Results:
        if task.key == "0":
            raise RuntimeError(f"a bug, {TOKEN}")
        return read_results(job, task, own)

    monkeypatch.setattr("jobmon_core.analysis.ending.outputs.read_results", broken_for_the_first)
    job = array_of_folders(out, 2)
    found = with_outputs(job, dict.fromkeys(job.tasks, CLEAN), JobProgress())
    assert found["0"] == replace(
        CLEAN, note="the outputs could not be verified: RuntimeError: a bug, ghp_[hidden]"
    )
    assert found["1"].cause == MISSING_OUTPUTS
