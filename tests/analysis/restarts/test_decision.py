"""The decision about a job: its facts, its checkpoint on disk and the rules together."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import pytest

from jobmon_core.analysis.restarts.decision import Submitted, decision_about, end_facts, with_partition
from jobmon_core.domain.backends import STOPPED
from jobmon_core.domain.before.pending.model import Partition
from jobmon_core.domain.job.history.record import HistoryRecord
from jobmon_core.domain.job.job_progress import FollowedTask, JobProgress
from jobmon_core.domain.job.job_settings import AttemptPlace, JobSettings, RestartMode, RestartSettings
from jobmon_core.domain.job.restart.model import (
    Attempt,
    Decision,
    Lineage,
    PickedCheckpoint,
    ProcessesLeft,
    Verdict,
    why_alive,
)
from jobmon_core.domain.job.restart.rules import EndFacts, Requested
from jobmon_core.domain.job.tracking.model import End, EndInquiry, Source, Task, WatchedJob
from jobmon_core.domain.logs.diagnosis.log_lines import LogExcerpt
from jobmon_core.domain.logs.diagnosis.model import Diagnosis
from jobmon_core.domain.logs.progress.events.event import STALL_CANCELLED
from jobmon_core.domain.logs.progress.model import Progress
from jobmon_core.domain.slurm.job_ids import JobRef
from jobmon_core.domain.slurm.log_paths import BY_USER, LogPaths
from jobmon_core.domain.slurm.rows import JobRow, Usage
from jobmon_core.domain.slurm.states import JobState, Outcome
from tests.support.checkpoint_layouts import hf_trainer, saved_at

NOW_S = 1_800_000_000
ENDED_S = NOW_S - 60
SETTINGS = RestartSettings(RestartMode.ON)
TIME_LIMIT = Diagnosis("slurm_timeout", "Time limit reached", "", "", label="slurm_timeout")
PLACE = JobSettings(attempt=AttemptPlace("4f2a"))
JOB = WatchedJob("slurm-8123-x", 8123, NOW_S, settings=PLACE)
TIMED_OUT = End(
    JobState.TIMEOUT,
    "TIMEOUT",
    Outcome.FAILURE,
    Source.ACCOUNTING,
    exit_code=0,
    started_s=NOW_S,
    ended_s=NOW_S + 3600,
    limit_s=3600,
    nodes="n3",
    usage=Usage(requested_bytes=8 * 2**30, nodes=2),
)
NOTHING_MORE = Submitted()
FAILED = replace(TIMED_OUT, state=JobState.FAILED, raw_state="FAILED", exit_code=1)


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


def diagnosis(cause: str | None, *, label: str | None = "x", is_proved: bool = True) -> Diagnosis:
    return Diagnosis(cause, "", "", "", label=label, is_proved=is_proved)


def facts(
    end: End,
    found: Diagnosis | None = None,
    job: WatchedJob = JOB,
    *,
    inquiry: EndInquiry | None = None,
    progress: Progress | None = None,
    submitted: Submitted = NOTHING_MORE,
    earlier_runs: Sequence[HistoryRecord] = (),
) -> EndFacts:
    task = Task("", end.state, end.raw_state, end=end, diagnosis=found, inquiry=inquiry)
    followed = JobProgress(tasks={"": FollowedTask(progress)})
    job = replace(job, tasks={"": task})
    return end_facts(job, task, end, followed, submitted, earlier_runs=lambda: earlier_runs)


@pytest.mark.parametrize(
    ("end", "found", "cause", "is_proved"),
    [
        (TIMED_OUT, diagnosis("slurm_timeout", is_proved=False), "slurm_timeout", True),
        (TIMED_OUT, diagnosis("python_exception_other.key_error"), "python_exception_other.key_error", True),
        (TIMED_OUT, None, "slurm_timeout", True),  # the logs could not be analysed
        (TIMED_OUT, diagnosis(None, label=None), "slurm_timeout", True),
        (FAILED, diagnosis("segfault", is_proved=False), "segfault", False),
        (FAILED, diagnosis("wrapper.launcher", label=None), "", True),  # only a consequence is known
        (FAILED, diagnosis(None, label=None, is_proved=False), "", False),
        (replace(FAILED, signal=125), diagnosis(None, is_proved=False), "host_oom_kill", True),
    ],
)
def test_the_cause_is_that_of_the_diagnosis_else_what_the_scheduler_states(
    end: End,
    found: Diagnosis | None,
    cause: str,
    is_proved: bool,  # noqa: FBT001 - a column of the table
) -> None:
    known = facts(end, found)

    assert (known.cause, known.is_proved) == (cause, is_proved)


def test_a_doubtful_success_says_why_it_is_doubtful() -> None:
    success = replace(TIMED_OUT, state=JobState.COMPLETED, outcome=Outcome.SUCCESS)

    assert facts(success, diagnosis("nan_loss.metric")).doubt == "its last loss is NaN"
    assert not facts(success, diagnosis(None)).doubt
    assert facts(success, diagnosis("incomplete", label=None)).cause == "incomplete"


@pytest.mark.parametrize(
    "end",
    [
        replace(FAILED, cancelled_by=0),
        replace(FAILED, reason=STOPPED),
        replace(FAILED, state=JobState.COMPLETED, outcome=Outcome.SUCCESS, reason="InterruptedByUser"),
    ],
)
def test_whatever_shows_that_somebody_cancelled_it_counts(end: End) -> None:
    assert facts(end).was_cancelled


def test_a_stall_that_jobmon_ended_on_the_order_of_the_user_is_noted_before() -> None:
    assert facts(FAILED, job=replace(JOB, alerted=(STALL_CANCELLED,))).stall_cancelled
    assert not facts(FAILED).stall_cancelled


RUNNING = JobRow(JobRef(8123), JobState.COMPLETING, "COMPLETING")


@pytest.mark.parametrize(
    ("end", "inquiry", "job", "proof"),
    [
        (TIMED_OUT, EndInquiry(0.0, 0.0), JOB, "sacct shows TIMEOUT"),
        (replace(TIMED_OUT, source=Source.QUEUE), None, JOB, "squeue shows TIMEOUT"),
        (replace(TIMED_OUT, source=Source.RECORD), None, JOB, "scontrol shows TIMEOUT"),
        (TIMED_OUT, EndInquiry(0.0, 0.0, record=RUNNING), JOB, ""),
        (replace(TIMED_OUT, source=Source.ARRAY), None, JOB, ""),
        (replace(TIMED_OUT, source=Source.NONE), None, JOB, ""),
        (replace(TIMED_OUT, state=JobState.UNKNOWN), None, JOB, ""),
        (
            replace(TIMED_OUT, source=Source.RECORD),
            None,
            replace(JOB, unprovable_why="only files show it"),
            "",
        ),
    ],
)
def test_on_slurm_a_final_state_proves_death_unless_the_controller_shows_it_alive(
    end: End, inquiry: EndInquiry | None, job: WatchedJob, proof: str
) -> None:
    known = facts(end, job=job, inquiry=inquiry)

    assert known.proof == proof
    assert "squeue -t all -j 8123" in known.how_to_prove


def test_the_command_that_proves_death_names_another_cluster() -> None:
    known = facts(TIMED_OUT, job=replace(JOB, cluster="west", remote=True))

    assert known.how_to_prove.count("-M west") == 2


RAY = replace(JOB, backend="ray", cluster="http://head:8265")
SSH = replace(JOB, backend="ssh", cluster="box")
LOCAL = replace(JOB, backend="local")
LOST = replace(FAILED, exit_code=None)


@pytest.mark.parametrize(
    ("end", "job", "is_proved"),
    [
        (FAILED, RAY, True),
        (replace(LOST, signal=9), RAY, True),
        (replace(LOST, state=JobState.CANCELLED, reason=STOPPED), RAY, True),
        (LOST, RAY, False),
        (FAILED, SSH, True),
        (replace(LOST, state=JobState.NODE_FAIL), SSH, True),
        (replace(LOST, state=JobState.LAUNCH_FAILED), SSH, True),
        (replace(FAILED, source=Source.NONE), SSH, False),
        (replace(LOST, state=JobState.COMPLETED, reason="marker /done"), SSH, False),
        (FAILED, LOCAL, True),
        (LOST, LOCAL, False),
    ],
)
def test_without_slurm_an_exit_code_proves_death(
    end: End,
    job: WatchedJob,
    is_proved: bool,  # noqa: FBT001 - a column of the table
) -> None:
    known = facts(end, job=job)

    assert bool(known.proof) is is_proved
    assert known.proof or known.how_to_prove


@pytest.mark.parametrize(
    ("end", "found", "text", "node"),
    [
        (replace(TIMED_OUT, state=JobState.NODE_FAIL, nodes="n3"), None, "", "n3"),
        (replace(TIMED_OUT, state=JobState.NODE_FAIL, nodes="n[3-4]"), None, "", ""),
        (
            replace(TIMED_OUT, state=JobState.NODE_FAIL, nodes="n[3-4]"),
            None,
            "srun: error: Node failure on n4\n",
            "n4",
        ),
        (replace(FAILED, nodes="n3"), diagnosis("gpu_hardware.lost"), "", "n3"),
        (replace(FAILED, nodes="n3"), diagnosis("segfault"), "srun: error: Node failure on n3\n", ""),
        (replace(FAILED, nodes="n3,n4"), diagnosis("gpu_hardware"), "", ""),
    ],
)
def test_only_evidence_blames_a_node(
    tmp_path: Path, end: End, found: Diagnosis | None, text: str, node: str
) -> None:
    log = tmp_path / "train.log"
    log.write_text(text, encoding="utf-8")

    known = facts(end, found, replace(JOB, logs=LogPaths(str(log), str(log), BY_USER)))
    assert known.failed_node == node


@pytest.mark.parametrize(
    ("end", "found", "died", "node"),
    [
        (replace(FAILED, nodes="n77"), diagnosis("network_error"), 3, "n77"),
        (replace(FAILED, nodes="n77"), diagnosis("network_error"), 0, ""),  # the first that died there
        (replace(FAILED, nodes="n77"), diagnosis("import_error"), 3, ""),  # the program's error
        (replace(FAILED, nodes="n5"), diagnosis("network_error"), 3, ""),  # another node
    ],
)
def test_the_history_blames_a_node_that_killed_other_runs(
    end: End, found: Diagnosis, died: int, node: str
) -> None:
    ok = HistoryRecord(1, 1, 1.0, outcome="success", ended_s=NOW_S - 900)
    good = [ok._replace(job_id=number, nodes=f"n{number % 20}") for number in range(60)]
    dead = ok._replace(outcome="failure", cause="network_error", nodes="n77")
    earlier = [*good, *(dead._replace(job_id=100 + number) for number in range(died))]
    assert facts(end, found, earlier_runs=earlier).failed_node == node


def test_the_log_shows_a_save_on_a_signal_and_another_owner(tmp_path: Path) -> None:
    log = tmp_path / "train.log"
    log.write_text(
        "step 420\nReceived SIGTERM, saving checkpoint\nRequeued SLURM job: 8123\n", encoding="utf-8"
    )

    known = facts(FAILED, None, replace(JOB, logs=LogPaths(str(log), str(log), BY_USER)))
    assert known.saved_on_signal
    assert known.other_owner == "Lightning"


def test_lines_from_before_the_start_say_nothing_about_this_end(tmp_path: Path) -> None:
    log = tmp_path / "train.log"
    log.write_text("Requeued SLURM job: 8122\nstep 421\n", encoding="utf-8")
    earlier = LogExcerpt(str(log), ("Requeued SLURM job: 8122",), 1).as_earlier_log()
    job = replace(JOB, logs=LogPaths(str(log), str(log), BY_USER))

    assert facts(FAILED, None, job).other_owner
    assert earlier
    assert not facts(FAILED, None, replace(job, earlier_logs={str(log): earlier})).other_owner


def test_the_work_done_is_taken_over() -> None:
    known = facts(TIMED_OUT, progress=Progress(420, 1000))

    assert (known.reached, known.total, known.counts_steps) == (420, 1000, True)


GIB = 2**30


@pytest.mark.parametrize(
    ("arguments", "script", "requested"),
    [
        ((), "python t.py", Requested("--mem", 4 * GIB, limit_s=3600)),
        (("--mem=4G", "j.sh"), "", Requested("--mem", 4 * GIB, limit_s=3600)),
        ((), "#SBATCH --mem-per-cpu=1G\n", Requested("--mem-per-cpu", GIB, limit_s=3600)),
        (("--mem-per-gpu=2G", "j.sh"), "", Requested("--mem-per-gpu", 2 * GIB, limit_s=3600)),
        ((), "#SBATCH --exclude=n[1-2]\n", Requested("--mem", 4 * GIB, limit_s=3600, excluded="n[1-2]")),
        (("-x", "n7", "j.sh"), "#SBATCH -x n1\n", Requested("--mem", 4 * GIB, limit_s=3600, excluded="n7")),
        (("--unknown", "x"), "#SBATCH -x n1\n", Requested("--mem", 4 * GIB, limit_s=3600, excluded="n1")),
    ],
)
def test_the_request_is_known_in_the_option_that_asked_for_it(
    arguments: tuple[str, ...], script: str, requested: Requested
) -> None:
    end = replace(TIMED_OUT, usage=Usage(requested_bytes=8 * GIB, nodes=2, cpus=8, gpus=4))

    assert facts(end, submitted=Submitted(arguments, script)).requested == requested


def test_the_partition_limits_what_may_be_requested() -> None:
    partition = Partition("gpu", 7200, total_nodes=40, node_memory_bytes=5 * GIB)

    known = with_partition(facts(TIMED_OUT), partition)
    requested = known.requested
    assert (known.nodes_seen, requested.max_limit_s, requested.max_memory_bytes) == (40, 7200, 5 * GIB)
    per_cpu = replace(known, requested=Requested("--mem-per-cpu", GIB))
    assert with_partition(per_cpu, partition).requested.max_memory_bytes is None
