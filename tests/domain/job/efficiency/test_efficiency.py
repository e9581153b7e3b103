"""What a run used of its request, and what would have been enough, as a table of cases."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from jobmon_core.domain.job.efficiency.advice import (
    advice,
    cpu_text,
    efficiency_line,
    gpu_text,
    memory_text,
    time_text,
    totals,
)
from jobmon_core.domain.job.efficiency.model import Efficiency, efficiency_of_end
from jobmon_core.domain.job.report.usage import NodeHistory, measured_use
from jobmon_core.domain.job.tracking.model import End, Source
from jobmon_core.domain.node.telemetry.model import Gpu, Memory, Sample
from jobmon_core.domain.slurm.rows import GpuSource, GpuUsage, Usage
from jobmon_core.domain.slurm.states import JobState, Outcome

GIB = 2**30
HOUR_S = 3600
# a job of 2 h that used all that it requested
USAGE = Usage(28 * GIB, 32 * GIB, cpu_s=7.5 * 2 * HOUR_S, cpus=8, run_s=2 * HOUR_S, nodes=1, gpus=4)
FULL = Efficiency(JobState.COMPLETED, 2.0 * HOUR_S, 3.0 * HOUR_S, USAGE)
BUSY = GpuUsage(GpuSource.AGENTS, 90.0, 0, measured_s=2.0 * HOUR_S)


def sample(at_s: float, percent: float | None, memory: int = GIB) -> Sample:
    gpu = Gpu(0, utilization_percent=percent, memory=5 * GIB)
    return Sample(at_s, 3600.0, gpus=(gpu,), memory=Memory(memory))


def using(**changes: Any) -> Efficiency:  # noqa: ANN401 - the fields of a usage
    return replace(FULL, usage=replace(USAGE, **changes))


class TestFigures:
    def test_shares_are_those_of_seff(self) -> None:
        assert FULL.cpu_share == pytest.approx(7.5 / 8)
        assert FULL.memory_share == pytest.approx(28 / 32)
        assert FULL.limit_share == pytest.approx(2 / 3)
        assert FULL.gpu_hours == 8

    @pytest.mark.parametrize("absent", [{"cpu_s": None}, {"cpu_s": 0.0}, {"cpus": None}])
    def test_what_is_not_recorded_is_none_and_not_zero(self, absent: dict[str, object]) -> None:
        assert using(**absent).cpu_share is None

    def test_a_job_that_did_not_run_has_no_figures(self) -> None:
        none = Efficiency(JobState.CANCELLED, None, 60, Usage())
        shares = (none.cpu_share, none.memory_share, none.limit_share, none.gpu_hours, none.used_per_node)
        assert shares == (None,) * 5
        assert Efficiency(JobState.CANCELLED, 0, 60, Usage(cpu_s=0.1, cpus=1)).cpu_share is None
        assert advice(none) == ""

    def test_memory_of_one_of_several_nodes_is_known_only_from_agents(self) -> None:
        several = using(nodes=2)
        assert (several.requested_per_node, several.used_per_node) == (16 * GIB, None)
        assert replace(several, node_peak_bytes=15 * GIB).used_per_node == 15 * GIB

    def test_the_time_in_which_a_job_was_suspended_does_not_count(self) -> None:
        end = End(JobState.COMPLETED, "COMPLETED", Outcome.SUCCESS, Source.ACCOUNTING)
        end = replace(end, started_s=0, ended_s=3 * HOUR_S, usage=USAGE)
        assert efficiency_of_end(end).wall_s == 2 * HOUR_S
        assert efficiency_of_end(replace(end, usage=Usage())).wall_s == 3 * HOUR_S

    def test_what_agents_measured_is_added_unless_another_source_knows_more(self) -> None:
        full = NodeHistory("n1", (sample(0, 90.0), sample(3600, 90.0, memory=20 * GIB)))
        second = NodeHistory("n2", (sample(0, 1.0), sample(3600, 3.0)))
        use = measured_use([full, second])
        found = using(gpus=None).with_measured(use)
        assert (found.usage.gpus, found.node_peak_bytes) == (2, 20 * GIB)
        assert found.gpu == GpuUsage(GpuSource.AGENTS, 46.0, 1, 5 * GIB, 7200.0)
        jobstats = GpuUsage(GpuSource.JOBSTATS, 50.0, 0)
        assert using(gpu=jobstats).with_measured(use).gpu is use.gpu, "the whole run was measured"
        brief = replace(FULL, wall_s=24.0 * HOUR_S, usage=replace(USAGE, gpu=jobstats))
        assert brief.with_measured(use).gpu is jobstats
        assert FULL.with_measured(measured_use([])) == FULL

    def test_a_gpu_without_utilisation_is_not_at_zero(self) -> None:
        use = measured_use([NodeHistory("n1", (sample(0, None),))])
        assert use.gpu is not None
        assert (use.gpu.percent, use.gpu.idle) == (None, None)
        assert measured_use([NodeHistory("n1")]).gpu is None

    def test_totals_weigh_each_run_by_its_hours_and_count_only_what_is_recorded(self) -> None:
        short = replace(using(cpu_s=0.0, gpu=GpuUsage(GpuSource.AGENTS, 30.0), gpus=1), wall_s=1.0 * HOUR_S)
        peak = using(gpu=GpuUsage(GpuSource.ACCOUNTING, 100.0))
        found = totals([using(gpu=BUSY), short, peak, Efficiency(JobState.CANCELLED, None, 60, Usage())])
        assert (found.runs, found.gpu_hours, found.gpu_hours_recorded) == (4, 17.0, 9.0)
        assert found.gpu_percent == pytest.approx((8 * 90 + 1 * 30) / 9)
        assert found.cpu_hours == 16 + 8 + 16
        assert found.cpu_share == pytest.approx(7.5 / 8)
        assert found.memory_gib_hours == 32 * 5
        assert totals([]) == (0, None, None, None, None, None, None, 0, None)


class TestTexts:
    def test_each_resource_is_a_share_of_the_request(self) -> None:
        found = using(max_rss_bytes=int(3.2 * GIB), gpu=BUSY)
        texts = (time_text(found), cpu_text(found), memory_text(found), gpu_text(found))
        assert texts == ("67% of 3h", "94% of 8", "10% of 32.0 GiB", "90% of 4")
        assert gpu_text(using(gpu=GpuUsage(GpuSource.ACCOUNTING, 83.0))) == "max 83% of 4"
        assert memory_text(replace(found, state=JobState.OUT_OF_MEMORY)) == "over 32.0 GiB"

    def test_what_is_not_recorded_is_not_zero(self) -> None:
        none = Efficiency(JobState.FAILED, None, None, Usage(gpus=2, cpus=1, requested_bytes=GIB))
        texts = (time_text(none), cpu_text(none), memory_text(none), gpu_text(none))
        assert texts == ("n/a", "n/a of 1", "n/a of 1.0 GiB", "n/a of 2")
        assert gpu_text(Efficiency(JobState.FAILED, None, None, Usage())) == ""
        assert cpu_text(using(cpu_s=100.0)) == "<1% of 8"

    def test_the_line_of_a_message_is_empty_for_a_short_run(self) -> None:
        assert efficiency_line(replace(FULL, wall_s=60.0)) == ""
        assert efficiency_line(using(gpu=BUSY)) == "CPU 94% of 8, GPU 90% of 4, 8.0 GPU hours"
        frugal = using(max_rss_bytes=9 * GIB, gpus=None)
        assert efficiency_line(frugal) == "CPU 94% of 8; `--mem 12G` would have been enough"


class TestAdvice:
    def test_a_job_that_used_its_request_gets_none(self) -> None:
        assert advice(FULL) == ""
        assert advice(using(gpu=BUSY)) == ""

    @pytest.mark.parametrize(
        ("found", "expected"),
        [
            (using(max_rss_bytes=9 * GIB), "`--mem 12G` would have been enough"),
            (using(max_rss_bytes=int(0.1 * GIB)), "`--mem 1G` would have been enough"),
            (using(max_rss_bytes=16 * GIB), ""),  # with the margin, little would be saved
            (using(max_rss_bytes=None), ""),
            (using(max_rss_bytes=2**26, requested_bytes=2**30), ""),
            (using(max_rss_bytes=GIB, nodes=2), ""),
            (using(cpu_s=1.0 * 2 * HOUR_S), "2 CPUs of 8 would have been enough"),
            (using(cpu_s=60.0), "1 CPU of 8 would have been enough"),
            (using(cpu_s=0.0), ""),
            (using(cpu_s=60.0, nodes=2), ""),
            (replace(FULL, limit_s=24.0 * HOUR_S), "`--time 03:00:00` would have been enough"),
            (replace(FULL, limit_s=4.0 * HOUR_S), ""),
            (replace(FULL, limit_s=None), ""),
            (
                replace(using(max_rss_bytes=9 * GIB, cpu_s=60.0), limit_s=24.0 * HOUR_S),
                "`--mem 12G`, `--time 03:00:00` and 1 CPU of 8 would have been enough",
            ),
        ],
    )
    def test_less_is_recommended_with_a_margin_and_only_if_it_saves_much(
        self, found: Efficiency, expected: str
    ) -> None:
        assert advice(found) == expected

    def test_long_jobs_get_days(self) -> None:
        found = replace(FULL, wall_s=30.0 * HOUR_S, limit_s=7 * 24.0 * HOUR_S)
        assert "`--time 2-00:00:00`" in advice(found)

    @pytest.mark.parametrize("state", [JobState.FAILED, JobState.CANCELLED, JobState.NODE_FAIL])
    def test_a_job_that_did_not_complete_may_have_needed_more(self, state: JobState) -> None:
        assert advice(replace(using(max_rss_bytes=GIB, cpu_s=60.0), state=state)) == ""

    def test_a_short_run_is_no_evidence(self) -> None:
        short = replace(using(max_rss_bytes=GIB), wall_s=300.0)
        assert advice(short) == ""

    def test_too_little_is_said_at_once(self) -> None:
        timeout = replace(FULL, state=JobState.TIMEOUT, wall_s=60.0)
        assert timeout.exceeded_limit
        assert advice(timeout).startswith("time limit exceeded: request a longer `--time`")
        killed = replace(FULL, state=JobState.OUT_OF_MEMORY, wall_s=60.0)
        assert advice(killed) == "out of memory: request more than `--mem 32G`"
        assert "`--mem`" in advice(replace(killed, usage=Usage()))

    @pytest.mark.parametrize(
        ("gpu", "expected"),
        [
            (GpuUsage(GpuSource.AGENTS, 0.4, 4, measured_s=7000.0), "all 4 GPUs were idle (0% busy): does"),
            (GpuUsage(GpuSource.JOBSTATS, 70.0, 1), "1 of 4 GPUs was idle"),
            (GpuUsage(GpuSource.ACCOUNTING, 3.0), "all 4 GPUs were idle (at most 3% busy): does"),
            (GpuUsage(GpuSource.AGENTS, 0.4, 4, measured_s=600.0), ""),  # of two hours
            (GpuUsage(GpuSource.AGENTS, None, None, measured_s=7000.0), ""),  # e.g. MIG
            (GpuUsage(GpuSource.ACCOUNTING, 60.0), ""),
        ],
    )
    def test_idle_gpus_are_reported_whatever_the_end(self, gpu: GpuUsage, expected: str) -> None:
        for state in (JobState.COMPLETED, JobState.FAILED):
            text = advice(replace(using(gpu=gpu), state=state))
            assert text.startswith(expected)
            assert bool(text) == bool(expected)
