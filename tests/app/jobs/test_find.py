from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from jobmon_core.app.jobs.find import find_job, find_ref, find_ref_by_name
from jobmon_core.context import Context
from jobmon_core.domain.errors import UnknownJob
from jobmon_core.domain.job.job_settings import JobSettings
from jobmon_core.store.home import Home
from tests.support.job_records import NOW_S, RUNNING, job_of


@pytest.fixture
def ctx(tmp_path: Path) -> Context:
    ctx = Context(Home(tmp_path), {})
    tasks = [replace(RUNNING, key=key, raw_job_id=90 + int(key)) for key in ("1", "2")]
    ctx.store.save(replace(job_of(*tasks, job_id=12, name="sweep"), array_indices="1-2"))
    for number, name in ((13, "train"), (14, "train"), (15, "latest")):
        ctx.store.save(replace(job_of(RUNNING, job_id=number, name=name), registered_s=NOW_S + number))
    return ctx


@pytest.mark.parametrize(
    ("argument", "found"),
    [
        ("13", ("slurm-13-x", "13")),
        ("12_2", ("slurm-12-x", "12_2")),
        ("92", ("slurm-12-x", "12_2")),  # the raw job id of a task
        ("train", ("slurm-14-x", "14")),
        ("latest", ("slurm-15-x", "15")),
    ],
)
def test_a_job_is_found_by_id_by_name_or_as_the_latest(
    ctx: Context, argument: str, found: tuple[str, str]
) -> None:
    job, ref = find_job(ctx, argument)
    assert (job.id, str(ref)) == found


def test_the_newest_job_is_the_one_submitted_last_not_the_one_watched_last(ctx: Context) -> None:
    for number, submitted_s, registered_s in ((5, 100, 1000), (6, 900, 901), (7, None, 902)):
        job = replace(job_of(RUNNING, job_id=number, name="old"), registered_s=NOW_S + registered_s)
        ctx.store.save(replace(job, submitted_s=submitted_s and int(NOW_S) + submitted_s))
    assert [str(find_ref(ctx, each)) for each in ("old", "latest")] == ["7", "7"]


def test_a_job_is_also_found_by_the_name_that_its_configuration_gives_it(ctx: Context) -> None:
    ctx.store.save(replace(job_of(RUNNING, job_id=20, name="run.sh"), settings=JobSettings(name="reindex")))
    assert [str(find_ref(ctx, each)) for each in ("run.sh", "reindex")] == ["20", "20"]
    with pytest.raises(UnknownJob, match="did you mean 'reindex'"):
        find_ref(ctx, "reindx")


@pytest.mark.parametrize(
    ("argument", "words"),
    [
        ("4711", "no record of job 4711 (never watched, or forgotten); `jobmon watch 4711` watches it"),
        ("12_9", "unknown job 12_9: job 12 has no such task"),
        (
            "trian",
            "'trian' is neither a job id (12, 12_3, 12+1) nor the name of a watched job; did you mean",
        ),
    ],
)
def test_an_unknown_job_is_reported_with_what_to_do(ctx: Context, argument: str, words: str) -> None:
    with pytest.raises(UnknownJob) as error:
        find_job(ctx, argument)
    assert str(error.value).startswith(words)


def test_a_job_id_needs_no_record_and_a_name_stands_for_its_newest_job(ctx: Context) -> None:
    assert [str(find_ref(ctx, each)) for each in ("4711_2", "train", "latest")] == ["4711_2", "14", "15"]
    with pytest.raises(UnknownJob, match="'trian' is neither a job id"):
        find_ref(ctx, "trian")


def test_without_any_job_there_is_no_latest_one(tmp_path: Path) -> None:
    with pytest.raises(UnknownJob, match="no record of any job"):
        find_job(Context(Home(tmp_path), {}), "latest")


def test_a_run_of_a_group_is_found_by_the_name_that_status_shows(ctx: Context) -> None:
    ctx.store.save(replace(job_of(RUNNING, job_id=21, name="train"), settings=JobSettings(run="lr/0.1")))
    assert str(find_ref_by_name(ctx, "lr/0.1")) == "21"


def test_a_file_of_that_name_is_not_taken_for_a_job(
    ctx: Context, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    assert str(find_ref_by_name(ctx, "train")) == "14"
    assert find_ref_by_name(ctx, "missing.log") is None
    assert find_ref_by_name(ctx, "logs/train") is None
    (tmp_path / "train").touch()
    assert find_ref_by_name(ctx, "train") is None
    assert find_ref_by_name(ctx, "-") is None


def test_a_script_with_the_name_of_its_job_is_not_taken_for_a_log(
    ctx: Context, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    for number, name in enumerate(("train.sbatch", "train.py"), 30):
        ctx.store.save(job_of(RUNNING, job_id=number, name=name))
        (tmp_path / name).write_text("#!/bin/bash\n" if name.endswith("h") else "import torch\n")
        assert str(find_ref_by_name(ctx, name)) == str(number)
    (tmp_path / "other.sbatch").write_text("#!/bin/bash\n")
    assert find_ref_by_name(ctx, "other.sbatch") is None
    job = job_of(RUNNING, job_id=40, name="lr3")  # by `#SBATCH -J`
    ctx.store.save(replace(job, command=f"{tmp_path}/other.sbatch --lr 3"))
    assert str(find_ref_by_name(ctx, "other.sbatch")) == "40"


def test_a_job_that_slurm_has_not_listed_yet_may_be_the_one_that_is_meant(ctx: Context) -> None:
    ctx.store.save(replace(job_of(job_id=50, name=""), concluded_s=None))
    with pytest.raises(UnknownJob, match=r"the name of job 50 is not known yet; `jobmon status --all`"):
        find_job(ctx, "mine")
