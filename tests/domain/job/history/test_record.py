"""The record of one ended run, from what the files of its job say."""

from __future__ import annotations

from dataclasses import replace

import pytest

from jobmon_core.domain.job.history.prices import Prices
from jobmon_core.domain.job.history.record import (
    HistoryRecord,
    Surroundings,
    first_progress_s,
    record_of,
    record_of_row,
    step_s,
)
from jobmon_core.domain.job.job_settings import AttemptPlace, JobSettings
from jobmon_core.domain.job.report.usage import NodeHistory
from jobmon_core.domain.job.tracking.model import End, Source, Task, WatchedJob
from jobmon_core.domain.logs.diagnosis.model import Diagnosis, MeasuredUse, Quote
from jobmon_core.domain.logs.progress.model import History, Progress, TaskProgress
from jobmon_core.domain.logs.progress.model import Sample as ProgressSample
from jobmon_core.domain.node.telemetry.model import Gpu, Sample
from jobmon_core.domain.slurm.job_ids import parse_listed
from jobmon_core.domain.slurm.rows import JobRow, Usage
from jobmon_core.domain.slurm.states import JobState, Outcome
from jobmon_core.system.json_codec import from_json, to_json

END = End(
    JobState.FAILED,
    "FAILED",
    Outcome.FAILURE,
    Source.ACCOUNTING,
    exit_code=1,
    started_s=1_600,
    ended_s=5_200,
    eligible_s=1_100,
    nodes="n[1-2]",
    usage=Usage(max_rss_bytes=7, requested_bytes=9, cpu_s=50.0, cpus=8, run_s=3_000, gpus=4),
)
TASK = Task("", submit_s=1_000, end=END, diagnosis=Diagnosis("cuda_oom", "", "", "", fingerprint="ab"))
NOTHING = Surroundings()
JOB = WatchedJob("t-12", 12, 999.0, cluster="leo", name="train", user="ada", tasks={"": TASK})


def of(job: WatchedJob = JOB, task: Task = TASK, around: Surroundings = NOTHING) -> HistoryRecord:
    assert task.end
    return record_of(job, task, task.end, around, 6_000.0)


def test_it_says_what_the_run_was_how_it_ended_and_what_it_held() -> None:
    record = of()
    assert record.key == ("leo", 12, "", 1_000)
    assert (record.outcome, record.cause, record.fingerprint, record.exit_code) == (
        "failure",
        "cuda_oom",
        "ab",
        1,
    )
    assert record.wait_s == 500  # since it could have started
    assert (record.gpu_hours, record.cpu_hours) == (4 * 3_000 / 3600, 8 * 3_000 / 3600)  # not while suspended
    assert (record.memory_peak, record.memory_requested, record.nodes) == (7, 9, "n[1-2]")


def test_a_line_that_was_written_is_read_as_it_was() -> None:
    record = of()._replace(gpu_busy_s=(0, 3), results={"loss": 0.25}, rate=2.5, currency="EUR")
    assert from_json(HistoryRecord, to_json(record)) == record


def test_a_job_that_never_started_waited_for_nothing_and_held_nothing() -> None:
    end = replace(END, state=JobState.CANCELLED, started_s=None, usage=Usage(cpus=8))
    record = of(task=replace(TASK, end=end))
    assert (record.wait_s, record.cpu_hours) == (None, 0.0)


def test_the_place_in_a_lineage_and_in_a_group_is_kept() -> None:
    settings = JobSettings(run="sweep/lr1", attempt=AttemptPlace("l1", 2))
    record = of(replace(JOB, settings=settings), around=Surroundings(group="sweep", script="5c", commit="fe"))
    assert (record.lineage, record.attempt, record.run, record.group) == ("l1", 2, "sweep/lr1", "sweep")
    assert (record.script, record.commit) == ("5c", "fe")


def test_gpus_are_counted_by_how_busy_they_were_and_idle_ones_apart() -> None:
    samples = tuple(
        Sample(at_s=float(at_s), span_s=10.0, gpus=(Gpu(0, name="H100", utilization_percent=percent), Gpu(1)))
        for at_s, percent in ((10, 0.0), (20, 7.0), (30, 100.0), (40, 99.0))
    )
    record = of(around=Surroundings(nodes=(NodeHistory("n1", samples),)))
    assert record.gpu == "H100"
    assert record.gpu_busy_s == (20, 0, 0, 0, 0, 0, 0, 0, 0, 20)
    assert record.gpu_idle_s == 10


def test_results_are_those_that_the_user_names_then_those_of_the_log() -> None:
    found = replace(
        TASK, diagnosis=Diagnosis("", "", "", "", results=(Quote("f1", "0.9"), Quote("note", "good")))
    )
    progress = Progress(500.0, 1_000.0, "step", loss=float("nan"), metrics={"acc": 0.5})
    samples = tuple(
        ProgressSample(float(at_s), current) for at_s, current in ((0, 0.0), (60, 100.0), (110, 200.0))
    )
    record = of(task=found, around=Surroundings(progress=TaskProgress(progress, History(samples=samples))))
    assert record.results == {"f1": 0.9, "acc": 0.5}
    assert (record.done, record.total, record.unit, record.step_s) == (500.0, 1_000.0, "step", 0.55)


def test_the_pace_ignores_a_pause_and_a_count_that_goes_back() -> None:
    steps = ((0, 0.0), (1, 10.0), (2, 20.0), (500, 30.0), (501, 0.0), (502, 10.0))
    assert step_s([ProgressSample(float(at_s), current) for at_s, current in steps]) == 0.1
    assert step_s([ProgressSample(0.0, 1.0)]) is None


def test_the_first_progress_is_that_of_this_program_and_known_only_if_more_follows() -> None:
    samples = (ProgressSample(1_640.0, 1.0), ProgressSample(1_700.0, 2.0))
    assert first_progress_s(History(1_600.0, samples), 1_600) == 40.0
    assert first_progress_s(History(1_600.0, samples[:1]), 1_600) is None
    assert first_progress_s(History(1_650.0, samples), 1_600) is None, "it began again"
    around = Surroundings(progress=TaskProgress(Progress(2.0), History(1_600.0, samples)))
    assert of(around=around).first_progress_s == 40.0


def test_the_memory_of_a_node_is_what_agents_measured() -> None:
    found = Diagnosis("", "", "", "", measured=MeasuredUse(node_peak_bytes=5))
    record = of(task=replace(TASK, diagnosis=found))
    assert (record.memory_peak, record.node_peak) == (7, 5)


def test_accounting_alone_gives_a_record_of_an_ended_run_only() -> None:
    ref, _ = parse_listed("12_3")
    row = JobRow(
        ref,
        JobState.TIMEOUT,
        "TIMEOUT",
        submit_s=5,
        start_s=10,
        end_s=70,
        cluster="leo",
        usage=Usage(cpus=2, run_s=60),
    )
    record = record_of_row(row, 100.0)
    assert record is not None
    assert (record.key, record.outcome, record.state_id) == (("leo", 12, "3", 5), "failure", "")
    assert record.cpu_hours == 120 / 3600
    assert record_of_row(replace(row, end_s=None), 100.0) is None


def test_the_price_of_an_hour_is_kept_with_the_run() -> None:
    prices = Prices("EUR", {"h100": 2.0}, cpu=0.5)
    usage = Usage(cpus=8, gpus=4, gpu_types="h100", run_s=1800)
    record = of(task=replace(TASK, end=replace(END, usage=usage)), around=Surroundings(prices=prices))
    assert (record.rate, record.currency, record.cost, record.gpu) == (12.0, "EUR", 6.0, "h100")
    unpriced = of(task=replace(TASK, end=replace(END, usage=replace(usage, gpu_types="v100"))))
    assert (unpriced.rate, unpriced.currency, unpriced.cost) == (None, "", None)
    never = replace(END, state=JobState.CANCELLED, started_s=None, usage=Usage())
    assert of(task=replace(TASK, end=never), around=Surroundings(prices=prices)).cost == 0.0


@pytest.mark.parametrize(
    ("first", "resume_step", "began"),
    [((10, 10.0), None, 0.0), ((10, 20.0), None, None), ((10, 900.0), 890, 890.0), ((10, 10.0), 890, 10.0)],
)
def test_what_was_done_before_a_run_is_not_its_own(
    first: tuple[int, float], resume_step: int | None, began: float | None
) -> None:
    start_s = 1_600
    samples = [ProgressSample(float(start_s + at_s), first[1] + at_s - 10) for at_s in (first[0], 20, 30)]
    progress = TaskProgress(Progress(2_000.0), History(samples=tuple(samples)))
    job = replace(JOB, settings=JobSettings(attempt=AttemptPlace("l1", 1, "/x", resume_step)))
    record = of(job, around=Surroundings(progress=progress))
    assert record.began == began
    assert of(around=Surroundings(progress=TaskProgress(Progress(5.0)))).began is None


def test_what_accounting_told_late_completes_the_record_and_changes_nothing_that_is_known() -> None:
    started = replace(END, usage=Usage(), eligible_s=None, ended_s=4_600)
    own = of(task=replace(TASK, end=started))
    assert (own.run_s, own.lacks_hours) == (3_000.0, True)
    assert not of().lacks_hours
    row = JobRow(
        parse_listed("12")[0],
        JobState.COMPLETED,  # as Slurm counts it
        "COMPLETED",
        nodes="another",
        submit_s=1_000,
        eligible_s=1_100,
        start_s=1_601,
        end_s=4_601,
        usage=Usage(cpu_s=50.0, cpus=8, run_s=2_900, gpus=4, requested_bytes=9),
    )
    found = record_of_row(row, 9_000.0, Prices("EUR", {"default": 1.0}, cpu=0.5))
    assert found
    later = own.completed(found, 9_000.0)
    assert (later.cpus, later.gpus, later.run_s, later.cpu_s, later.rate) == (8, 4, 2_900.0, 50.0, 8.0)
    assert (later.started_s, later.ended_s, later.nodes, later.cause) == (1_600, 4_600, "n[1-2]", "cuda_oom")
    assert (later.precedence > own.precedence, later.eligible_s, later.lacks_hours) == (True, 1_100, False)
    assert own.completed(found, 5.0).noted_s == own.noted_s  # by a clock that was set back


def test_only_runs_of_slurm_can_lack_their_hours() -> None:
    elsewhere = replace(JOB, backend="process")
    assert not of(elsewhere, replace(TASK, end=replace(END, usage=Usage()))).lacks_hours
