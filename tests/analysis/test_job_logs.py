from __future__ import annotations

import json
import os
from dataclasses import replace
from pathlib import Path

import pytest

from jobmon_core.analysis.job_logs import (
    checkpoint_folder,
    log_files,
    logs_of_run,
    named_logs,
    with_scheduler_logs,
    with_script_logs,
)
from jobmon_core.domain.job.job_settings import JobSettings
from jobmon_core.domain.job.own_files import OwnFiles
from jobmon_core.domain.job.tracking.model import EndInquiry, Task, WatchedJob
from jobmon_core.domain.job.tracking.policy import Policy
from jobmon_core.domain.slurm.log_paths import BY_SCRIPT, BY_SLURM, BY_USER, LogPaths
from jobmon_core.scheduler.slurm.client import SlurmScheduler
from jobmon_core.scheduler.slurm.scontrol import read_records
from tests.support.fake_runner import FakeRunner
from tests.support.play import record
from tests.support.processes import in_a_copy
from tests.support.recordings import SCENARIOS, Recordings
from tests.support.scheduler import FakeScheduler

JOB = WatchedJob("slurm-12-x", 12, 0.0, user="me", name="train", workdir="/w")
ARRAY = replace(JOB, array_indices="1-3")


@pytest.fixture
def slurm() -> FakeScheduler:
    return FakeScheduler()


def files(template: str, task: Task, job: WatchedJob = JOB) -> str:
    return log_files(replace(job, logs=LogPaths(template, "", BY_SLURM)), task)[0]


def test_the_logs_of_a_job_come_from_its_record_without_another_query(slurm: FakeScheduler) -> None:
    reported = replace(record("12", "RUNNING"), stdout="/w/slurm-12.out", stderr="/w/err")
    job = with_scheduler_logs(JOB, (reported,), slurm)
    assert job.logs == LogPaths("/w/slurm-12.out", "/w/err", BY_SLURM)
    assert log_files(job, Task("")) == ("/w/slurm-12.out", "/w/err")
    assert not slurm.asked


def test_the_logs_of_a_newer_job_with_the_same_id_are_not_the_jobs_own(slurm: FakeScheduler) -> None:
    job = replace(JOB, not_after_s=1000.0)
    newer = replace(record("12", "RUNNING"), submit_s=2000, stdout="/w/other.out")
    assert with_scheduler_logs(job, (newer,), slurm) == job


def test_the_log_templates_of_an_array_are_expanded_for_each_task(slurm: FakeScheduler) -> None:
    slurm.templates = LogPaths("/w/%A_%a-%j.out", "/w/%a.err")
    reported = replace(record("12_1", "RUNNING"), stdout="/w/12_1-13.out", stderr="/w/1.err")
    job = with_scheduler_logs(ARRAY, (reported,), slurm)
    assert log_files(job, Task("2", raw_job_id=14)) == ("/w/12_2-14.out", "/w/2.err")


def test_one_watched_task_of_an_array_has_its_own_logs(slurm: FakeScheduler) -> None:
    slurm.templates = LogPaths("/w/%A_%a.out", "/w/%A_%a.out")
    reported = replace(record("12_1", "RUNNING"), stdout="/w/12_1.out")
    job = with_scheduler_logs(replace(JOB, watched_part="2"), (reported,), slurm)
    assert log_files(job, Task("2"))[0] == "/w/12_2.out"


def test_without_templates_the_paths_of_the_record_are_used(slurm: FakeScheduler) -> None:
    reported = replace(record("12", "PENDING"), stdout="/w/%j-%x.log", stderr="")
    job = with_scheduler_logs(JOB, (reported,), slurm)
    assert log_files(job, Task("")) == ("/w/12-train.log", "/w/12-train.log")


def test_a_true_path_from_the_record_is_not_expanded_again(slurm: FakeScheduler) -> None:
    reported = replace(record("12", "RUNNING"), stdout="/w/50%j/100%.out", paths_expanded=True)
    job = with_scheduler_logs(JOB, (reported,), slurm)
    assert log_files(job, Task("")) == ("/w/50%j/100%.out", "/w/50%j/100%.out")
    assert not slurm.asked


LOG_FILES = json.loads((SCENARIOS.folder / "log-files.json").read_text())


def recorded_job(number: int, answers: Recordings) -> WatchedJob:
    """A job before its record is known."""
    job_id = read_records(answers.answer(f"log{number}-record").stdout)[0].ref.job_id
    return replace(JOB, job_id=job_id, user="anna", name="odd one", workdir="/home/anna/work")


@pytest.mark.parametrize(("number", "given", "file"), [(n, *each) for n, each in enumerate(LOG_FILES)])
def test_slurm_names_the_file_that_it_created(number: int, given: str, file: str) -> None:
    records = read_records(SCENARIOS.answer(f"log{number}-record").stdout)
    slurm = SlurmScheduler(FakeRunner())  # answers nothing
    job = with_scheduler_logs(recorded_job(number, SCENARIOS), records, slurm)
    assert log_files(job, Task("", nodes="n1"))[0] == f"/home/anna/work/{file}", given


@pytest.mark.parametrize(
    ("number", "given", "file"), [(n, *each) for n, each in enumerate(LOG_FILES) if "%S" not in each[0]]
)
def test_the_template_expands_to_the_file_that_slurm_created(number: int, given: str, file: str) -> None:
    job = recorded_job(number, SCENARIOS)
    answers = [SCENARIOS.answer(f"log{number}-templates")]
    templates = SlurmScheduler(FakeRunner().on("squeue", answers=answers)).ask_log_templates(job.job_id)
    assert templates
    job = replace(job, logs=replace(templates, source=BY_SLURM))
    assert log_files(job, Task("", nodes="n1"))[0] == f"/home/anna/work/{file}", given


def test_each_task_of_an_array_has_the_path_of_its_own_record(slurm: FakeScheduler) -> None:
    records = read_records(SCENARIOS.answer("sluid_array-record").stdout)
    job = replace(JOB, job_id=1290, array_indices="1-2", logs=LogPaths("/w/%a-%S", "/w/%a-%S", BY_SLURM))
    opened = EndInquiry.opened(0.0, Policy(), 0.0)
    tasks = [Task(each.ref.key, inquiry=replace(opened, record=each)) for each in records]
    assert [log_files(job, task)[0] for task in tasks] == [each.stdout for each in records]
    assert not slurm.asked


def test_a_log_with_the_id_that_only_slurm_knows_is_found_by_its_file(tmp_path: Path) -> None:
    for name in ("12-1-s0WHM815BBXS00.log", "12-2-s0WHM815BBXT00.log"):
        (tmp_path / name).touch()
    job = replace(ARRAY, logs=LogPaths(f"{tmp_path}/%A-%a-%S.log", "", BY_SLURM))
    assert log_files(job, Task("2"))[0] == f"{tmp_path}/12-2-s0WHM815BBXT00.log"
    assert log_files(job, Task("3"))[0] == f"{tmp_path}/12-3-%S.log"


def test_a_path_from_the_user_is_not_replaced(slurm: FakeScheduler) -> None:
    job = replace(JOB, logs=LogPaths("/mine", "/mine", BY_USER))
    reported = replace(record("12", "RUNNING"), stdout="/w/slurm-12.out")
    assert with_scheduler_logs(job, (reported,), slurm) == job
    assert with_script_logs(job, slurm) == job
    assert not slurm.asked


@pytest.mark.parametrize("logs", [LogPaths(), LogPaths("/old", "/old", BY_SLURM)])
def test_a_record_without_paths_changes_nothing(slurm: FakeScheduler, logs: LogPaths) -> None:
    job = replace(JOB, logs=logs)
    assert with_scheduler_logs(job, (record("12", "RUNNING"),), slurm) == job
    assert with_scheduler_logs(job, (), slurm) == job


def test_the_script_provides_the_logs_if_slurm_no_longer_knows_the_job(slurm: FakeScheduler) -> None:
    slurm.script = "#!/bin/bash\n#SBATCH -o logs/%j.out --chdir=/other\ntrue\n"
    job = with_script_logs(JOB, slurm)
    assert job.logs == LogPaths("/other/logs/%j.out", "/other/logs/%j.out", BY_SCRIPT)


def test_the_users_copy_of_the_script_is_used_if_slurm_has_none(slurm: FakeScheduler, tmp_path: Path) -> None:
    script = tmp_path / "job.sh"
    script.write_bytes(b"#!/bin/bash\n#SBATCH -o caf\xe9.out\n#SBATCH -e err\n")
    job = with_script_logs(replace(JOB, command=str(script)), slurm)
    assert job.logs.stderr == "/w/err"


@pytest.mark.parametrize("command", ["", "relative.sh", "/no/such/script", "/dev/zero", "pipe", "/job\0.sh"])
def test_without_a_script_the_defaults_of_sbatch_are_used(
    slurm: FakeScheduler, tmp_path: Path, command: str
) -> None:
    os.mkfifo(tmp_path / "pipe")  # without a writer
    job = replace(JOB, command=str(tmp_path / command) if command == "pipe" else command)
    assert with_script_logs(job, slurm).logs.stdout == "/w/slurm-%j.out"
    array = replace(job, array_indices="1-3")
    assert with_script_logs(array, slurm).logs.stdout == "/w/slurm-%A_%a.out"


@pytest.mark.parametrize(
    ("nodes", "node"),
    [
        ("n1", "n1"),
        ("n1,n2", "n1"),
        ("n[1-3,7]", "n1"),
        ("gpu[007-009]", "gpu007"),
        ("a,n[1-3]", "a"),
        ("n[5,8],b", "n5"),
        ("n1.cluster.org", "n1"),
    ],
)
def test_a_node_in_a_path_is_the_first_node_of_the_job(nodes: str, node: str) -> None:
    assert files("/w/%N.out", Task("", nodes=nodes)) == f"/w/{node}.out"


def test_a_log_with_another_host_name_is_found_by_its_file(tmp_path: Path) -> None:
    (tmp_path / "12-host7.out").touch()
    assert files(f"{tmp_path}/%j-%N.out", Task("", nodes="n1")) == f"{tmp_path}/12-host7.out"


def test_brackets_in_a_name_are_not_a_glob_pattern(tmp_path: Path) -> None:
    (tmp_path / "[x*]").mkdir()
    (tmp_path / "[x*]" / "a[1]-host7.out").touch()
    job = replace(JOB, name="a[1]")
    assert files(f"{tmp_path}/[x*]/%x-%N.out", Task("", nodes="n1"), job).endswith("a[1]-host7.out")


def test_none_of_several_candidates_is_used(tmp_path: Path) -> None:
    for host in ("host7", "host8"):
        (tmp_path / f"{host}.out").touch()
    assert files(f"{tmp_path}/%N.out", Task("", nodes="n1")) == f"{tmp_path}/n1.out"


def test_a_log_folder_without_permission_does_not_raise(tmp_path: Path) -> None:
    if os.getuid() != 0:
        pytest.skip("another user can be acted only by root")
    closed = tmp_path / "closed"
    closed.mkdir(mode=0o700)

    def work() -> None:
        assert files(f"{closed}/logs/%N.out", Task("", nodes="n1")) == f"{closed}/logs/n1.out"

    in_a_copy(work, as_nobody=True)


def written(folder: Path, *names: str) -> list[str]:
    """Write files, one second after the other from second 100 on."""
    folder.mkdir(parents=True, exist_ok=True)
    for second, name in enumerate(names, 100):
        (folder / name).write_text("x\n")
        os.utime(folder / name, (second, second))
    return [str(folder / name) for name in names]


def test_the_logs_that_the_settings_name_are_found_oldest_first(tmp_path: Path) -> None:
    written(tmp_path / "12", "b.log", "a.log", "c.txt", "rank.out")
    (tmp_path / "12" / "folder.log").mkdir()
    job = replace(JOB, settings=JobSettings(log_dir=f"{tmp_path}/%j"))
    assert [Path(path).name for path in named_logs(job, Task(""))] == ["b.log", "a.log"]
    assert [Path(path).name for path in named_logs(job, Task(""), OwnFiles(103.0))] == ["a.log"]
    job = replace(JOB, settings=JobSettings(log_dir=f"{tmp_path}/%j", log_pattern="[a-c]*.txt"))
    assert [Path(path).name for path in named_logs(job, Task(""))] == ["c.txt"]


def test_a_name_without_a_folder_is_relative_to_the_job(tmp_path: Path) -> None:
    paths = written(tmp_path, "w0.log", "w1.log")
    named = replace(JOB, settings=JobSettings(log_pattern="w*.log"))
    assert named_logs(replace(named, workdir=str(tmp_path)), Task("")) == tuple(paths)
    assert named_logs(replace(named, workdir=""), Task("")) == ()
    absolute = replace(JOB, settings=JobSettings(log_pattern=f"{tmp_path}/w*.log"))
    assert named_logs(absolute, Task("")) == tuple(paths)


@pytest.mark.parametrize("settings", [None, JobSettings(), JobSettings(num_workers=3)])
def test_without_names_there_are_no_further_logs(settings: JobSettings | None, tmp_path: Path) -> None:
    written(tmp_path, "a.log")
    assert named_logs(replace(JOB, workdir=str(tmp_path), settings=settings), Task("")) == ()


def test_the_main_log_and_files_of_earlier_runs_are_no_further_logs(tmp_path: Path) -> None:
    paths = written(tmp_path, "a.log", "b.log", "main.log")
    job = replace(
        JOB, logs=LogPaths(paths[2], paths[2], BY_SLURM), settings=JobSettings(log_dir=str(tmp_path))
    )
    assert named_logs(job, Task("")) == (paths[0], paths[1])
    assert logs_of_run(job, Task("", start_s=103)) == (paths[1],)
    assert logs_of_run(replace(job, submitted_s=104), Task("")) == ()


def test_tasks_of_an_array_have_only_logs_whose_names_tell_them_apart(tmp_path: Path) -> None:
    paths = written(tmp_path, "1.log", "2.log")
    shared = replace(ARRAY, settings=JobSettings(log_dir=str(tmp_path)))
    assert named_logs(shared, Task("1")) == ()
    own = replace(ARRAY, settings=JobSettings(log_dir=str(tmp_path), log_pattern="%a.log"))
    assert named_logs(own, Task("2")) == (paths[1],)


def test_of_many_further_logs_the_oldest_and_the_newest_are_read(tmp_path: Path) -> None:
    paths = written(tmp_path, *(f"{n}.log" for n in range(100)))
    found = named_logs(replace(JOB, settings=JobSettings(log_dir=str(tmp_path))), Task(""))
    assert list(found) == paths[:32] + paths[-32:]


def test_a_task_with_logs_of_its_own_is_read_from_these_without_expansion() -> None:
    own = LogPaths("/w/50%a.out", "/w/0.err", BY_USER)
    job = replace(ARRAY, logs=LogPaths("/w/all", "/w/all", BY_USER), task_logs={"1": own})
    assert log_files(job, Task("1")) == ("/w/50%a.out", "/w/0.err")
    assert log_files(job, Task("2")) == ("/w/all", "/w/all")


def test_checkpoints_are_looked_for_where_the_settings_say() -> None:
    for settings, folder in (
        (None, ""),
        (JobSettings(), ""),
        (JobSettings(output_dir="/w/out"), "/w/out"),
        (JobSettings(output_dir="/w/out", checkpoint_dir="/w/ckpt-%j"), "/w/ckpt-12"),
    ):
        assert checkpoint_folder(replace(JOB, settings=settings), Task("")) == folder
