"""What jobmon knows of earlier jobs of the same script bears on the next submission."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from jobmon_core.app.checks.check import CheckSubmission
from jobmon_core.context import Context
from jobmon_core.domain.artifacts.model import Artifacts, Checkpoints
from jobmon_core.domain.finding import Finding, Severity
from jobmon_core.domain.job.history.record import HistoryRecord
from jobmon_core.domain.job.job_progress import JobProgress
from jobmon_core.domain.job.tracking.model import WatchedJob
from jobmon_core.domain.many.provenance.model import digest
from jobmon_core.store.history.lines import append
from jobmon_core.store.home import Home
from tests.support.job_records import RUNNING, job_of, succeeded

_SCRIPT = "#!/bin/bash\n#SBATCH -t 5:00:00\n./run.sh --output_dir out\n"


@pytest.fixture
def ctx(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Context:
    """The jobmon of a user who has a script."""
    work = tmp_path / "work"
    (work / "out").mkdir(parents=True)
    (work / "job.sbatch").write_text(_SCRIPT)
    (work / "run.sh").write_text("#!/bin/bash\n")
    monkeypatch.chdir(work)
    monkeypatch.setenv("PATH", str(work))
    return Context(Home(tmp_path / "jobmon"), dict(os.environ))


def _items(ctx: Context, *jobs: WatchedJob) -> dict[str, Finding]:
    for job in jobs:
        ctx.store.save(job)
    found = CheckSubmission(ctx, ("jobmon",)).check("local", ["job.sbatch"])
    return {item.id: item for item in found}


def test_nothing_is_made_in_the_home_if_there_is_none(ctx: Context) -> None:
    assert _items(ctx)["past_runs"].severity is Severity.INFO
    assert not ctx.home.root.exists()


def test_the_last_run_that_ran_out_of_memory_is_named(ctx: Context) -> None:
    run = _GOOD._replace(job_id=12, started_s=5, outcome="failure", cause="cuda_oom")
    item = _past(ctx, run)["past_runs"]
    text = "the last run, 12, ran out of GPU memory"
    assert (item.severity, item.text) == (Severity.WARNING, text)


def test_checkpoints_of_an_earlier_run_are_compared_with_the_time_limit(ctx: Context) -> None:
    job = job_of(succeeded(), name="job.sbatch", concluded_s=1.0)
    saved = Artifacts(checkpoints=Checkpoints("/c", interval_s=4 * 3600.0))
    ctx.progress_file(job.id).write(JobProgress(artifacts={"": saved}))
    item = _items(ctx, job)["checkpoints"]
    assert item.severity is Severity.WARNING
    assert "every 4h and the time limit is 5h" in item.text


def test_a_running_job_that_writes_to_the_same_folder_is_named(ctx: Context) -> None:
    item = _items(ctx, job_of(RUNNING, name="job.sbatch"))["same_script"]
    assert item.severity is Severity.WARNING
    assert item.text == f"job 12 of the same script has not ended, and writes to {Path.cwd()}/out too"
    assert f"Do not edit {Path.cwd()}/run.sh while it runs" in item.advice


def test_a_python_program_without_a_file_is_not_said_to_find_its_imports(ctx: Context) -> None:
    Path("job.sbatch").write_text("#!/bin/bash\npython3 -c 'import json'\n")
    (Path.cwd() / "python3").symlink_to("/usr/bin/env")
    item = _items(ctx)["packages"]
    assert (item.severity, item.text) == (Severity.UNKNOWN, "the source cannot be read")


def _past(ctx: Context, *runs: HistoryRecord) -> dict[str, Finding]:
    append(ctx.home.history, runs, "a", 1.0)
    return _items(ctx)


_GOOD = HistoryRecord(1, 1, 1.0, name="job.sbatch", outcome="success", ended_s=5, run_s=600.0)


def test_the_history_knows_runs_that_were_forgotten(ctx: Context) -> None:
    items = _past(ctx, *(_GOOD._replace(job_id=number) for number in range(3)))
    assert items["request"].text.endswith("took at most 10m of 5h")
    assert "`--time 00:20:00`" in items["request"].advice


def test_jobs_of_the_same_name_or_the_same_text_are_alike(ctx: Context) -> None:
    failed_run = _GOOD._replace(outcome="failure", cause="import_error")
    same_text = failed_run._replace(name="other", script=digest(_SCRIPT.encode()))
    runs = [failed_run._replace(job_id=1), *(same_text._replace(job_id=number) for number in (2, 3, 4))]
    item = _past(ctx, *runs, _GOOD._replace(name="job.sbatch2", job_id=9))["past_runs"]
    assert item.text == "4 of the last 4 jobs of this name or script failed with import_error"


def test_a_history_that_cannot_be_read_does_not_end_the_check(ctx: Context) -> None:
    append(ctx.home.history, [_GOOD], "a", 1.0)
    (path,) = ctx.home.history.glob("*.jsonl")
    path.unlink()
    path.mkdir()
    (path / "x").touch()
    assert "cannot be read" in _items(ctx)["request"].text
