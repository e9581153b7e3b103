"""What is collected about the end of an attempt: its cause, the proof of its death, its log, its request."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from jobmon_core.analysis.restarts.facts import Submitted, end_facts, with_partition
from jobmon_core.domain.before.pending.model import Partition
from jobmon_core.domain.job.job_progress import JobProgress
from jobmon_core.domain.job.job_settings import JobSettings
from jobmon_core.domain.job.restart.end_facts import EndFacts, Requested
from jobmon_core.domain.job.restart.settings import AttemptPlace
from jobmon_core.domain.job.tracking.model import End, EndInquiry, Source, Task, WatchedJob
from jobmon_core.domain.logs.diagnosis.log_lines import LogExcerpt
from jobmon_core.domain.logs.diagnosis.model import Diagnosis
from jobmon_core.domain.logs.diagnosis.ray_reasons import STOPPED
from jobmon_core.domain.logs.progress.events.event import STALL_CANCELLED
from jobmon_core.domain.logs.progress.model import Progress, TaskProgress
from jobmon_core.domain.slurm.job_ids import JobRef
from jobmon_core.domain.slurm.log_paths import BY_USER, LogPaths
from jobmon_core.domain.slurm.rows import Record, Usage
from jobmon_core.domain.slurm.states import JobState, Outcome

NOW_S = 1_700_000_000
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
) -> EndFacts:
    task = Task("", end.state, end.raw_state, end=end, diagnosis=found, inquiry=inquiry)
    followed = JobProgress(tasks={"": TaskProgress(progress)})
    return end_facts(replace(job, tasks={"": task}), task, end, followed, submitted)


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


RUNNING = Record(JobRef(8123), JobState.COMPLETING, "COMPLETING")


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
