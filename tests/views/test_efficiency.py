"""The table of `jobmon efficiency`, and its JSON."""

from __future__ import annotations

from dataclasses import replace

from jobmon.views.console import Console
from jobmon.views.efficiency import efficiency_json, efficiency_lines
from jobmon_core.app.jobs.efficiency import RunEfficiency
from jobmon_core.domain.job.efficiency.model import Efficiency
from jobmon_core.domain.slurm.job_ids import JobRef
from jobmon_core.domain.slurm.rows import GpuSource, GpuUsage, Usage
from jobmon_core.domain.slurm.states import JobState
from tests.support.documentation import page

GIB = 2**30
GPU = GpuUsage(GpuSource.AGENTS, 83.0, 0, 30 * GIB, 7000.0)
USAGE = Usage(9 * GIB, 32 * GIB, cpu_s=40_000.0, cpus=8, run_s=7200, nodes=1, gpus=4, gpu=GPU)
FOUND = Efficiency(JobState.COMPLETED, 7200.0, 10_800.0, USAGE)
RUN = RunEfficiency(JobRef(8123), "train-llama-7b-with-a-long-name", FOUND, 1_700_000_000, 1_700_007_200)
LONG = replace(FOUND, state=JobState.TIMEOUT, wall_s=10_800.0, usage=replace(USAGE, gpu=None))
RUNS = (
    *(replace(RUN, ref=JobRef(8123, task=index)) for index in range(5)),
    RunEfficiency(JobRef(8124), "eval", LONG, 1, 2),
    RunEfficiency(JobRef(8125), "eval", None, note="not ended (RUNNING)"),
    RunEfficiency(JobRef(8126), "eval", Efficiency(JobState.CANCELLED, 0, 60, Usage()), None, 5),
)


def test_a_terminal_of_80_columns_gets_a_table_that_fits() -> None:
    lines = [*efficiency_lines(RUNS, {}, Console(80))]
    assert max(map(len, lines)) <= 80
    assert lines[0].split() == ["JOB", "NAME", "STATE", "TIME", "CPU", "MEMORY", "GPU"]
    assert (
        lines[1].split()[-12:]
        == ["67%", "of", "3h", "69%", "of", "8", "28%", "of", "32.0", "GiB", "83%", "of", "4"][-12:]
    )
    assert lines[6].endswith("n/a of 4")
    assert "never ran" in lines[8]
    assert lines[9] == "n/a: not recorded"
    assert lines[10] == "8123_0, 8123_1, 8123_2 and 2 more: `--mem 12G` would have been enough"
    assert lines[11].startswith("8124: time limit exceeded: request a longer `--time`")


def test_a_job_of_unknown_outcome_is_not_said_to_have_never_run() -> None:
    unknown = Efficiency(JobState.UNKNOWN, None, None, Usage())
    lines = [*efficiency_lines([RunEfficiency(JobRef(8127), "eval", unknown)], {}, Console())]
    assert lines[1].split()[:4] == ["8127", "eval", "UNKNOWN", "n/a"]


def test_totals_have_gpu_hours_and_say_for_how_many_the_use_is_recorded() -> None:
    text = " ".join([*efficiency_lines(RUNS, {}, Console())][-1].split())
    assert text.startswith("7 jobs in total: 104 CPU hours (")
    assert text.endswith("52.0 GPU hours (83% busy in the 40.0 recorded)")
    assert [*efficiency_lines((), {}, Console())] == [
        "no job ended in this time; `--since TIME` sets how far to look back"
    ]


def test_the_gpu_activity_of_all_runs_and_their_idle_hours_are_one_line() -> None:
    busy_s = (2000, 0, 0, 0, 0, 0, 0, 0, 1000, 1000)
    measured = replace(RUN, found=replace(FOUND, gpu_busy_s=busy_s, gpu_idle_s=1800))
    lines = [*efficiency_lines([measured, measured, RUN], {}, Console(80))]
    assert lines[-2:] == [
        "GPU activity: 50 0 0 0 0 0 0 0 25 25 (% of GPU time below 10, 20 ... 100%)",
        "GPUs idle for 1.0 GPU hours",
    ]
    found = efficiency_json([measured, RUN], {})
    assert found["totals"]["gpu_idle_hours"] == 0.5
    assert (found["jobs"][0]["gpu_busy_s"], found["jobs"][0]["gpu_idle_s"]) == ([*busy_s], 1800)
    assert not any("GPU activity" in line for line in efficiency_lines(RUNS, {}, Console(80)))


def test_json_has_null_for_what_is_not_recorded() -> None:
    found = efficiency_json(RUNS, {})
    first, timeout, running, never = (found["jobs"][number] for number in (0, 5, 6, 7))
    assert (first["job_id"], first["gpu_percent"], first["gpu_source"]) == ("8123_0", 83.0, "agents")
    assert (first["memory_share"], first["gpu_hours"]) == (9 / 32, 8.0)
    assert (timeout["exceeded_limit"], timeout["gpu_percent"]) == (True, None)
    assert running == {"job_id": "8125", "name": "eval", "note": "not ended (RUNNING)", "state": None}
    assert (never["cpu_share"], never["gpu_hours"], never["memory"]) == (None, None, None)
    assert found["totals"]["gpu_hours"] == 52.0


def test_the_documentation_shows_what_is_printed() -> None:
    evaluation = replace(LONG, wall_s=3605.0, limit_s=3600.0)
    usage = Usage(26 * GIB, 64 * GIB, cpu_s=54_000.0, cpus=16, nodes=1, gpus=1)
    runs = (
        replace(RUN, name="train"),
        RunEfficiency(JobRef(8124), "eval", replace(evaluation, usage=usage), 1, 2),
    )
    assert "\n".join(efficiency_lines(runs, {}, Console(80))) in page("gpus")
