"""What the history says about a run that has just ended."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from jobmon_core.analysis.ending.files import EndFiles
from jobmon_core.analysis.ending.history import with_history
from jobmon_core.domain.job.history.prices import Prices
from jobmon_core.domain.job.history.record import HistoryRecord
from jobmon_core.domain.job.job_progress import FollowedTask, JobProgress
from jobmon_core.domain.job.tracking.model import End, Source, Task, WatchedJob
from jobmon_core.domain.logs.diagnosis.model import Cost, Diagnosis
from jobmon_core.domain.logs.progress.model import History, Progress
from jobmon_core.domain.logs.progress.model import Sample as ProgressSample
from jobmon_core.domain.slurm.rows import Usage
from jobmon_core.domain.slurm.states import JobState, Outcome
from jobmon_core.store.history.lines import append
from jobmon_core.store.telemetry import TaskTelemetry

NOW_S = 1_795_900_000.0
END = End(
    JobState.COMPLETED,
    "COMPLETED",
    Outcome.SUCCESS,
    Source.QUEUE,
    started_s=int(NOW_S) - 600,
    ended_s=int(NOW_S),
    nodes="n77",
    usage=Usage(max_rss_bytes=8 << 30),
)
JOB = WatchedJob(
    "t-12", 12, NOW_S - 700, name="train", tasks={"": Task("", submit_s=int(NOW_S) - 650, end=END)}
)
NO_PROGRESS = JobProgress()
EARLIER = [
    HistoryRecord(
        number,
        1,
        NOW_S,
        state_id=f"t-{number}",
        name="train",
        outcome="success",
        nodes=f"n{number}",
        ended_s=int(NOW_S) - 1000 + number,
        memory_peak=4 << 30,
    )
    for number in range(50)
]


def compared(
    folder: Path, job: WatchedJob = JOB, cause: str | None = None, progress: JobProgress = NO_PROGRESS
) -> str:
    return diagnosed(folder, job, cause, progress).compared


def diagnosed(
    folder: Path,
    job: WatchedJob = JOB,
    cause: str | None = None,
    progress: JobProgress = NO_PROGRESS,
    prices: Prices | None = None,
) -> Diagnosis:
    def read() -> JobProgress:
        return progress

    telemetry = TaskTelemetry(folder / "none")
    files = EndFiles(
        read, read, folder, lambda _: {}, lambda *_: folder, lambda *_: telemetry, folder, lambda: NOW_S
    )._replace(prices=lambda: prices)
    return with_history(job, {"": Diagnosis(cause, "", "", "")}, files)[""]


def test_a_run_that_takes_more_memory_than_the_last_five_of_its_name_says_so(tmp_path: Path) -> None:
    append(tmp_path, EARLIER, "a", NOW_S)
    assert compared(tmp_path).startswith(
        "This run takes more memory than usual: 8.0 GiB; the last 5 took 4.0 GiB,"
    )
    assert compared(tmp_path, replace(JOB, name="eval")) == ""


def test_without_a_history_there_is_nothing_to_say(tmp_path: Path) -> None:
    assert compared(tmp_path / "none") == ""


@pytest.mark.parametrize(("died_before", "is_named"), [(3, True), (0, False)])
def test_the_node_that_killed_this_run_and_others_is_named(
    tmp_path: Path, died_before: int, *, is_named: bool
) -> None:
    dead = EARLIER[0]._replace(outcome="failure", cause="node_fail", nodes="n77", memory_peak=None)
    append(
        tmp_path, [*EARLIER, *(dead._replace(job_id=90 + each) for each in range(died_before))], "a", NOW_S
    )
    end = replace(END, state=JobState.NODE_FAIL, outcome=Outcome.FAILURE, usage=Usage())
    failed = replace(JOB, tasks={"": replace(JOB.tasks[""], end=end)})
    assert ("--exclude=n77" in compared(tmp_path, failed, "node_fail")) is is_named
    assert compared(tmp_path, failed, "cuda_oom") == "" or is_named


def test_damaged_lines_are_left_out(tmp_path: Path) -> None:
    append(tmp_path, EARLIER, "a", NOW_S)
    (path,) = tmp_path.glob("*.jsonl")
    with path.open("ab") as file:
        file.write(b'{"name":"train"\n\xff"train"\n{"job_id":1,"name":"train"}\n')
    assert "more memory than usual" in compared(tmp_path)


def test_a_run_on_a_slow_node_says_so(tmp_path: Path) -> None:
    paced = [
        EARLIER[0]._replace(
            job_id=100 * day + number,
            nodes=f"n{number}" if number else "n77",
            ended_s=int(NOW_S) - day * 86_400 - number,
            step_s=1.0 if number else 1.6,
            unit="step",
            memory_peak=None,
        )
        for day in range(1, 6)
        for number in range(12)
    ]
    append(tmp_path, paced, "a", NOW_S)
    progress = FollowedTask(
        Progress(500.0, 1_000.0, "step"),
        History(samples=(ProgressSample(0.0, 0.0), ProgressSample(160.0, 100.0))),
    )
    text = compared(tmp_path, progress=JobProgress(tasks={"": progress}))
    assert text.startswith("6 of 6 runs were slow on n77 (1.6 times the usual time per unit), 0 of ")
    assert "avoid it with `--exclude=n77`" in text


def test_with_prices_the_diagnosis_says_what_the_run_cost(tmp_path: Path) -> None:
    prices = Prices("EUR", {"a100": 6.0})
    end = replace(END, usage=replace(END.usage, gpus=2, gpu_types="a100"))
    job = replace(JOB, tasks={"": replace(JOB.tasks[""], end=end)})
    assert diagnosed(tmp_path, job, prices=prices).cost == Cost(2.0, "EUR")  # ten minutes
    assert diagnosed(tmp_path, job).cost is None
    assert diagnosed(tmp_path, JOB, prices=prices).cost is None  # of CPUs there is no price
