"""The decision about a job: its facts, its checkpoint on disk and the rules together."""

from __future__ import annotations

import os
from dataclasses import replace
from pathlib import Path

import pytest

from jobmon_core.analysis.restarts.decision import decision_about
from jobmon_core.analysis.restarts.facts import Submitted
from jobmon_core.domain.job.job_progress import JobProgress
from jobmon_core.domain.job.job_settings import JobSettings
from jobmon_core.domain.job.restart.model import Attempt, Decision, Lineage, PickedCheckpoint, Verdict
from jobmon_core.domain.job.restart.processes_left import ProcessesLeft, why_alive
from jobmon_core.domain.job.restart.settings import AttemptPlace, RestartMode, RestartSettings
from jobmon_core.domain.job.tracking.model import End, Source, Task, WatchedJob
from jobmon_core.domain.logs.diagnosis.model import Diagnosis
from jobmon_core.domain.slurm.states import JobState, Outcome
from tests.support.checkpoint_layouts import hf_trainer, saved_at

NOW_S = 1_800_000_000
ENDED_S = NOW_S - 60
SETTINGS = RestartSettings(RestartMode.ON)
TIME_LIMIT = Diagnosis("slurm_timeout", "Time limit reached", "", "", label="slurm_timeout")


@pytest.fixture
def job(tmp_path: Path) -> WatchedJob:
    """Return an attempt that reached its time limit; it saves its checkpoints in a folder."""
    end = End(
        JobState.TIMEOUT,
        "TIMEOUT",
        Outcome.FAILURE,
        Source.ACCOUNTING,
        started_s=ENDED_S - 3600,
        ended_s=ENDED_S,
        nodes="n1",
    )
    task = Task("", end.state, end.raw_state, nodes="n1", end=end, diagnosis=TIME_LIMIT)
    settings = JobSettings(checkpoint_dir=str(tmp_path / "out"), attempt=AttemptPlace("4f2a"))
    return WatchedJob("slurm-8-x", 8, ENDED_S - 4000.0, tasks={"": task}, settings=settings)


def lineage(*attempts: Attempt) -> Lineage:
    return Lineage("4f2a", settings=SETTINGS, attempts=attempts or (Attempt(0, "slurm-8-x", "8", "slurm"),))


def decide(job: WatchedJob, of: Lineage | None = None) -> Decision:
    return decision_about(job, of or lineage(), (), JobProgress(), Submitted(), now_s=NOW_S)


def test_a_time_limit_with_a_checkpoint_is_followed_by_an_attempt_from_it(
    job: WatchedJob, tmp_path: Path
) -> None:
    saved_at(hf_trainer(tmp_path / "out", 100), ENDED_S - 1800)
    saved_at(hf_trainer(tmp_path / "out", 200), ENDED_S - 600)

    decision = decide(job)

    assert decision.verdict is Verdict.RESTART
    assert decision.checkpoint
    assert (decision.checkpoint.path, decision.checkpoint.step) == (
        str(tmp_path / "out" / "checkpoint-200"),
        200,
    )
    assert NOW_S + 48 <= decision.not_before_s <= NOW_S + 72


def test_a_process_that_outlived_the_attempt_is_named_and_the_restart_waits(
    job: WatchedJob, tmp_path: Path
) -> None:
    saved_at(hf_trainer(tmp_path / "out", 200), ENDED_S - 600)
    alive = why_alive(ProcessesLeft((4242,), "kill"))

    decision = decision_about(job, lineage(), (), JobProgress(), Submitted(), now_s=NOW_S, alive=alive)

    assert decision.verdict is Verdict.RESTART  # once it is gone, no second decision is made
    end = "`kill 4242` ends it. The restart waits until nothing of it is left."
    assert decision.why.endswith(f". But process 4242 still runs, started by this job; {end}")


def test_a_time_limit_without_a_checkpoint_stops(job: WatchedJob) -> None:
    assert decide(job).rule == "time_unsaved"


def test_what_the_attempt_resumed_from_still_counts_if_it_saved_nothing(
    job: WatchedJob, tmp_path: Path
) -> None:
    old = hf_trainer(tmp_path / "out", 100)
    saved_at(old, ENDED_S - 90_000)  # by the attempt before
    assert job.settings
    job = replace(job, settings=replace(job.settings, attempt=AttemptPlace("4f2a", 1)))
    first = Attempt(0, "slurm-7-x", "7", "slurm")
    status = old.stat()
    resume = PickedCheckpoint(str(old), 100, ENDED_S - 90_000, status.st_dev, status.st_ino)
    second = Attempt(1, "slurm-8-x", "8", "slurm", resume=resume)

    decision = decide(job, lineage(first, second))
    assert (decision.rule, decision.checkpoint) == ("time_unsaved", second.resume)

    os.rename(old, tmp_path / "elsewhere")  # noqa: PTH104 - a folder
    assert decide(job, lineage(first, second)).checkpoint is None


def test_the_script_of_the_job_may_name_another_owner_of_restarts(job: WatchedJob, tmp_path: Path) -> None:
    saved_at(hf_trainer(tmp_path / "out", 200), ENDED_S - 600)
    script = tmp_path / "job.sh"
    script.write_text("#!/bin/sh\n#SBATCH --requeue\npython t.py\n", encoding="utf-8")

    decision = decide(replace(job, command=str(script)))

    assert decision.is_observed
    assert "--requeue" in decision.why


def test_a_job_of_ray_does_not_begin_anew_because_its_checkpoints_are_out_of_sight(
    job: WatchedJob, tmp_path: Path
) -> None:
    end = job.tasks[""].end
    assert end
    assert job.settings
    end = replace(end, state=JobState.FAILED, raw_state="FAILED", source=Source.QUEUE, exit_code=75)
    task = Task("", end.state, end.raw_state, end=end)
    of_ray = replace(job, backend="ray", cluster="127.0.0.1:8265", remote=True, tasks={"": task})
    assert decide(of_ray).verdict is Verdict.RESTART  # its folder is not there yet: it has saved nothing
    elsewhere = str(tmp_path / "only" / "in" / "the" / "cluster")
    decision = decide(replace(of_ray, settings=replace(job.settings, checkpoint_dir=elsewhere)))
    assert (decision.verdict, decision.rule) == (Verdict.ASK, "checkpoints_unseen")
    assert decision.why.endswith(
        f"But this host cannot see the checkpoints in {elsewhere}, so it would begin anew."
    )


def test_a_job_outside_a_lineage_is_refused(job: WatchedJob) -> None:
    with pytest.raises(ValueError, match="no attempt"):
        decide(replace(job, settings=None))
