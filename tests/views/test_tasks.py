from __future__ import annotations

from dataclasses import replace

from jobmon.views.tasks import problem_rows, telemetry_rows
from jobmon_core.app.live.tasks import LiveTask, TaskAgents, live_tasks
from jobmon_core.domain.job.job_progress import JobProgress
from jobmon_core.domain.logs.diagnosis.model import StepUsage
from jobmon_core.domain.logs.progress.events.event import Event, EventKind
from jobmon_core.domain.logs.progress.model import Progress, WorkerProgress
from jobmon_core.domain.node.telemetry.model import AgentReport
from tests.support.agent_reports import report, sample, worker
from tests.support.job_records import NOW_S, job_of, status_of
from tests.support.live_jobs import running_task

OOM = Event(
    NOW_S - 60,
    EventKind.ERROR,
    "CUDA out of memory",
    subject="oom.cuda",
    is_critical=True,
    advice="Lower the batch size.",
    evidence=("torch.OutOfMemoryError: CUDA out of memory",),
)


def live(*reports: AgentReport, events: tuple[Event, ...] = (), problem: str = "") -> LiveTask:
    progress = JobProgress(NOW_S, events=events)
    (task,) = live_tasks(
        status_of(job_of(running_task())), progress, NOW_S, agents={"": TaskAgents(reports, problem)}
    )
    return task


def test_everything_that_is_measured_has_a_row() -> None:
    assert [*telemetry_rows(live(report()), NOW_S)] == [
        ("GPUs", "4x 69% (lowest 1%: GPU 2), up to 63.0 of 80.0 GiB, 2.0 kW"),
        ("memory", "52.0 of 64.0 GiB (81%)"),
        ("workers", "4 running"),
        ("GPUs", "idle: GPU 2"),
        ("workers", "rank 0: running, GPU 0: 92%, 60.0 GiB"),
        ("workers", "rank 1: running, GPU 1: 92%, 61.0 GiB"),
        ("workers", "rank 2: running, GPU 2: 1%, 62.0 GiB"),
        ("workers", "rank 3: running, GPU 3: 92%, 63.0 GiB"),
        ("CPU", "15.2 of 16 cores, load 12.3 on 16 cores, I/O wait 2%, in 1.2 MiB/s, out 3.0 MiB/s"),
    ]


def test_an_agent_that_is_silent_or_measures_less_says_so() -> None:
    no_gpus = replace(report(sample()), unavailable=("GPUs: no NVIDIA driver",))
    old = report(sample(node="n18"), age_s=720.0)
    rows = [text for name, text in telemetry_rows(live(no_gpus, old), NOW_S) if name == "agent"]
    assert rows[0] == "n17: does not measure GPUs: no NVIDIA driver"
    assert rows[1].startswith("n18: no report since ")
    assert rows[1].endswith(" (12m ago)")


def test_without_an_agent_there_is_at_most_the_reason() -> None:
    assert [*telemetry_rows(live(), NOW_S)] == []
    denied = "srun: error: Access/permission denied"
    assert [*telemetry_rows(live(problem=denied), NOW_S)] == [("agent", f"none: {denied}")]
    ((*_, (name, text)),) = [[*telemetry_rows(live(report(age_s=720.0), problem=denied), NOW_S)]]
    assert name == "agent"
    assert text.endswith(f" (12m ago): {denied}")


def test_a_problem_has_its_proof_and_advice() -> None:
    (first, *rest) = [text for _, text in problem_rows(live(events=(OOM,)), NOW_S)]
    assert first.startswith("since ")
    assert first.endswith(": CUDA out of memory")
    assert rest == ["| torch.OutOfMemoryError: CUDA out of memory", "Lower the batch size."]


def test_a_problem_that_is_over_has_no_row() -> None:
    over = Event(NOW_S, EventKind.RECOVERED, "", ended=EventKind.ERROR, subject="oom.cuda")
    assert [*problem_rows(live(events=(OOM, over)), NOW_S)] == []


def test_without_an_agent_the_samples_of_slurm_are_shown_as_such() -> None:
    task = live(problem="srun: error: Access/permission denied")
    assert task.task is not None
    assert task.task.start_s is not None
    elapsed_s = NOW_S - task.task.start_s
    seen = replace(task, agents=task.agents._replace(usage=StepUsage(800 * 2**20, 1.5 * elapsed_s)))
    assert [*telemetry_rows(seen, NOW_S)] == [
        ("agent", "none: srun: error: Access/permission denied"),
        ("memory", "800.0 MiB, as Slurm samples it (sstat)"),
        ("CPU", "1.5 cores on average (sstat)"),
    ]
    unknown = replace(task, agents=task.agents._replace(usage=StepUsage()))
    assert [*telemetry_rows(unknown, NOW_S)] == [("agent", "none: srun: error: Access/permission denied")]


def test_each_of_the_first_workers_has_a_row_with_the_speed_in_its_log() -> None:
    logs = {
        f"worker_{rank}.log": WorkerProgress(Progress(5, 9, "item", rate_per_s=2.5), NOW_S)
        for rank in range(9)
    }
    nine = live(report(sample((), tuple(worker(rank) for rank in range(9)))))
    nine = replace(nine, progress=replace(nine.progress, workers=logs))
    rows = [text for name, text in telemetry_rows(nine, NOW_S) if name == "workers"]
    assert rows[0] == "9 running"
    assert rows[8] == "rank 7: running, GPU 7: ?, 2.5 items/s"
    assert rows[9] == "and 1 more; `jobmon top` shows all"


def test_the_row_of_a_worker_without_a_gpu_has_its_cpu() -> None:
    two = live(report(sample((), tuple(replace(worker(rank), gpus=()) for rank in range(2)))))
    assert ("workers", "rank 1: running, 103% CPU") in telemetry_rows(two, NOW_S)
