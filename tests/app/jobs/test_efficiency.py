"""Where the figures of each job come from: accounting, asked once, and jobmon's own files."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import pytest

from jobmon_core.app.jobs.efficiency import RunEfficiency, collect, costs_of
from jobmon_core.context import Context
from jobmon_core.domain.errors import UnknownJob
from jobmon_core.domain.job.history.record import HistoryRecord
from jobmon_core.domain.job.tracking.model import WatchedJob
from jobmon_core.domain.many.groups.model import Group, Member
from jobmon_core.domain.slurm.job_ids import JobRef
from jobmon_core.domain.slurm.rows import GpuSource, Usage
from jobmon_core.domain.slurm.states import JobState
from jobmon_core.scheduler.base import Scheduler
from jobmon_core.scheduler.slurm.client import SlurmScheduler
from jobmon_core.scheduler.slurm.commands import ACCOUNTING_FIELDS, SEP
from jobmon_core.store.history.lines import append
from jobmon_core.store.home import Home
from tests.support.clock import FakeClock
from tests.support.fake_runner import Answer, FakeRunner, said
from tests.support.job_records import NOW_S, RUNNING, failed, job_of, succeeded
from tests.support.telemetry import START_S, eventful_job, two_nodes, write_telemetry

SUBMIT_S = int(NOW_S)
RUN = {"Partition": "main", "Submit": str(SUBMIT_S), "Start": str(SUBMIT_S), "State": "COMPLETED"}
RUN |= {"ElapsedRaw": "100", "TimelimitRaw": "10", "AllocCPUS": "2", "AllocTRES": "cpu=2,mem=1G,node=1"}
RUN |= {"End": str(SUBMIT_S + 100), "TotalCPU": "01:40", "JobName": "train"}


def row(job_id: str, raw_id: str = "", **fields: str) -> str:
    filled = {**RUN, "JobID": job_id, "JobIDRaw": raw_id or job_id, **fields}
    return SEP.join(filled.get(name, "") for name in ACCOUNTING_FIELDS)


def table(*rows: str) -> Answer:
    return said("\n".join((SEP.join(ACCOUNTING_FIELDS), *rows, "")))


class Jobs(Context):
    """A home in a folder, and a sacct with scripted answers."""

    def __init__(self, folder: Path, *answers: Answer) -> None:
        super().__init__(Home(folder / "home"), {}, clock=FakeClock(NOW_S + 110))
        self.runner = FakeRunner().on("sacct", "--version", answers=[said("slurm 22.05.8")])
        self.runner.on("sacct", "--local", answers=answers)

    def scheduler(self, backend: str, cluster: str = "") -> Scheduler:
        assert backend == "slurm"
        return SlurmScheduler(self.runner, cluster)

    def save(self, *jobs: WatchedJob) -> None:
        for job in jobs:
            self.store.save(job)

    def collect(self, *arguments: str, since_s: float = 0.0) -> tuple[list[RunEfficiency], list[str]]:
        return collect(self, arguments, since_s)

    @property
    def queries(self) -> list[Sequence[str]]:
        return [argv for argv in self.runner.asked if "-j" in argv]


def shown(runs: list[RunEfficiency]) -> dict[str, tuple[JobState | None, float | None]]:
    figures = {str(run.ref): run.found for run in runs}
    return {ref: (used.state, used.cpu_share) if used else (None, None) for ref, used in figures.items()}


def test_one_query_is_about_all_jobs_watched_or_not(tmp_path: Path) -> None:
    jobs = Jobs(tmp_path, table(row("12"), row("15_1", "16"), row("15_2", "15", State="FAILED")))
    jobs.save(job_of(succeeded(), concluded_s=NOW_S))
    runs, problems = jobs.collect("train", "15")
    done = (JobState.COMPLETED, 0.5)
    assert shown(runs) == {"12": done, "15_1": done, "15_2": (JobState.FAILED, 0.5)}
    assert [argv[argv.index("-j") + 1] for argv in jobs.queries] == ["12,15"]
    assert not problems
    assert shown(jobs.collect("15_2", "15_2")[0]) == {"15_2": (JobState.FAILED, 0.5)}


def test_only_the_last_run_counts_and_not_that_of_an_older_job_with_the_same_id(tmp_path: Path) -> None:
    again = row("12", Submit=str(SUBMIT_S + 5), State="FAILED")
    jobs = Jobs(tmp_path, table(row("12", State="REQUEUED"), again, row("13", Submit="1700")))
    jobs.save(replace(job_of(succeeded(), job_id=13), not_before_s=NOW_S - 60))
    assert shown(jobs.collect("12")[0])["12"][0] is JobState.FAILED
    (run,), _ = jobs.collect("13")
    assert run.found is not None
    assert run.found.usage == Usage(), "what jobmon noted, without the figures of another job"


def test_a_group_stands_for_its_jobs(tmp_path: Path) -> None:
    jobs = Jobs(tmp_path, table(row("12"), row("13", State="FAILED")))
    jobs.save(job_of(succeeded()), job_of(failed(), job_id=13))
    members = {
        "a": Member("slurm-12-x"),
        "b": Member("slurm-13-x"),
        "c": Member(),
        "gone": Member("slurm-1-x"),
    }
    jobs.groups.create(Group("sweep1", NOW_S, members=members))
    assert [*shown(jobs.collect("sweep1")[0])] == ["12", "13"]
    assert len(jobs.queries) == 1


def test_since_leaves_out_jobs_that_ended_earlier(tmp_path: Path) -> None:
    jobs = Jobs(tmp_path, table(row("12"), row("13", End=str(SUBMIT_S - 900))))
    assert [*shown(jobs.collect("12", "13", since_s=NOW_S)[0])] == ["12"]
    old = replace(job_of(succeeded(), job_id=14), concluded_s=NOW_S - 900)
    jobs.save(job_of(succeeded(), concluded_s=NOW_S), old, job_of(RUNNING, job_id=15))
    assert [*shown(jobs.collect(since_s=NOW_S - 60)[0])] == ["12"], "the watched jobs that ended since"


def test_an_end_that_accounting_does_not_have_yet_is_waited_for(tmp_path: Path) -> None:
    running = table(row("12", State="RUNNING", End="Unknown"))
    jobs = Jobs(tmp_path, running, running, table(row("12")))
    jobs.save(job_of(succeeded()))
    assert shown(jobs.collect("12")[0]) == {"12": (JobState.COMPLETED, 0.5)}
    assert len(jobs.queries) == 3


def test_an_end_that_accounting_does_not_have_in_time_is_said_to_be_missing(tmp_path: Path) -> None:
    jobs = Jobs(tmp_path, table(row("12", State="RUNNING", End="Unknown")))
    jobs.save(job_of(succeeded()))
    (run,), _ = jobs.collect("12")
    assert run.found is not None
    assert (run.note, run.found.cpu_share, run.found.wall_s) == ("not recorded yet", None, 60)
    assert len(jobs.queries) == 7


def test_jobs_that_run_wait_or_do_not_exist_have_no_figures(tmp_path: Path) -> None:
    jobs = Jobs(tmp_path, table(row("12", State="RUNNING"), row("14_[1-3]", "14", State="PENDING")))
    jobs.save(job_of(RUNNING, job_id=13))
    runs, problems = jobs.collect("12", "13", "99")
    assert {str(run.ref): run.note for run in runs} == {"12": "not ended (RUNNING)", "13": "not ended"}
    assert problems == ["accounting has no job 99; an array task is named 12_3, not by its $SLURM_JOB_ID"]
    assert [each.partition(";")[0] for each in jobs.collect("98", "99")[1]] == [
        "accounting has no job 98",
        "accounting has no job 99",
    ]
    with pytest.raises(UnknownJob):
        jobs.collect("nosuch")


def test_without_accounting_there_is_what_jobmon_noted(tmp_path: Path) -> None:
    jobs = Jobs(tmp_path, said("", "Slurm accounting storage is disabled", 1))
    job, _ = eventful_job()
    jobs.save(job)
    write_telemetry(jobs.home.telemetry_folder(job.id, ""), two_nodes())
    (run,), problems = jobs.collect("8123")
    assert run.found is not None
    assert run.found.gpu is not None
    assert (run.started_s, run.found.gpu.source, run.found.usage.gpus) == (START_S, GpuSource.AGENTS, 8)
    assert run.found.gpu.percent == pytest.approx(66, abs=1)
    assert run.found.gpu_hours == pytest.approx(24)
    assert "this cluster has no accounting" in problems[0]


def test_a_silent_accounting_is_a_problem_and_costs_one_query(tmp_path: Path) -> None:
    jobs = Jobs(tmp_path, said("", "sacct: error: Connection refused", 1))
    jobs.save(job_of(succeeded()))
    runs, problems = jobs.collect("12", "77")
    assert [*shown(runs)] == ["12"]
    assert "Connection refused" in problems[0]
    assert len(problems) == len(jobs.queries) == 1


def test_a_local_job_needs_no_slurm(tmp_path: Path) -> None:
    jobs = Jobs(tmp_path, said("", "never asked", 1))
    jobs.save(replace(job_of(succeeded(), job_id=7), id="local-7-x", backend="local"))
    runs, problems = jobs.collect("7")
    assert [*shown(runs)] == ["7"]
    assert not jobs.queries
    assert not problems


def test_costs_are_those_of_the_history_by_currency_and_none_without_prices(tmp_path: Path) -> None:
    ctx = Context(Home(tmp_path), {})
    run = HistoryRecord(12, 1, 1.0, started_s=5, run_s=7200.0, rate=2.0, currency="EUR")
    others = [
        run._replace(job_id=13, currency="USD"),
        run._replace(job_id=14, rate=None, currency=""),
        run._replace(submit_s=2, started_s=9),  # another run of the first job
    ]
    append(tmp_path / "state" / "history", [run, *others], "a", 1.0)
    shown = [RunEfficiency(JobRef(job_id), "train", None, 5) for job_id in (12, 13, 14, 15)]
    assert costs_of(ctx, shown) == {}
    (tmp_path / "config.json").write_text('{"prices": {"cpu": 1, "currency": "EUR"}}')
    (tmp_path / "config.json").chmod(0o600)
    assert costs_of(ctx, shown) == {"EUR": 4.0, "USD": 4.0}
