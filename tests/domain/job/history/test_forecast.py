"""What the next job will probably fail by, and what it needs."""

from __future__ import annotations

import random

import pytest

from jobmon_core.domain.job.history.forecast import forecast, needs
from jobmon_core.domain.job.history.record import HistoryRecord

GIB = 2**30
OK = HistoryRecord(
    1,
    1,
    1.0,
    name="train",
    outcome="success",
    state="COMPLETED",
    nodes="n1",
    run_s=3_600.0,
    cpu_s=7_200.0,
    memory_peak=4 * GIB,
)


def jobs(*causes: str, **changes: object) -> list[HistoryRecord]:
    """Return jobs that failed by these causes, the latest first; "" succeeded."""
    return [
        OK._replace(job_id=90 - number, cause=cause, outcome="failure" if cause else "success", **changes)  # type: ignore[arg-type]
        for number, cause in enumerate(causes)
    ]


OOM, BIG = "host_oom_kill", 32 * GIB


@pytest.mark.parametrize(
    ("causes", "sentence"),
    [
        ((OOM, OOM, "", OOM, OOM), "4 of the last 5 jobs of this name or script ran out of memory"),
        ((OOM, OOM, OOM, OOM, ""), "4 of the last 5 jobs of this name or script ran out of memory"),
        ((OOM,) * 4, "4 of the last 4 jobs of this name or script ran out of memory"),
        (
            ("host_oom_kill.ray", OOM, OOM, OOM, OOM),
            "5 of the last 5 jobs of this name or script ran out of memory",
        ),
        (("import_error",) * 5, "5 of the last 5 jobs of this name or script failed with import_error"),
        (("slurm_timeout",) * 5, "5 of the last 5 jobs of this name or script reached their time limit"),
        (
            ("slurm_timeout.hang",) * 5,
            "5 of the last 5 jobs of this name or script failed with slurm_timeout.hang",
        ),
    ],
)
def test_a_cause_that_ended_four_of_the_last_five_is_forecast(causes: tuple[str, ...], sentence: str) -> None:
    found = forecast(jobs(*causes, memory_requested=BIG))
    assert found is not None
    assert (found.sentence, found.memory) == (sentence, BIG)


@pytest.mark.parametrize(
    "causes",
    [
        (),
        (OOM, OOM, OOM),  # too few
        ("", OOM, OOM, OOM, OOM),  # it succeeded since
        (OOM, OOM, "", "", OOM),
        (OOM, OOM, "import_error", "cuda_oom", OOM),
        ("node_fail",) * 5,  # another node will not fail
    ],
)
def test_otherwise_nothing_is_forecast(causes: tuple[str, ...]) -> None:
    assert forecast(jobs(*causes)) is None


def test_runs_that_the_cluster_or_the_user_ended_do_not_count() -> None:
    ended_by_others = [
        OK._replace(job_id=95, outcome="cancelled"),
        OK._replace(job_id=96, outcome="failure", state="PREEMPTED", cause="slurm_preempted"),
    ]
    assert forecast([*ended_by_others, *jobs(*[OOM] * 4)]) is not None


def test_accounting_alone_shows_memory_and_time() -> None:
    runs = jobs(*["x"] * 4)
    for state, cause in (("OUT_OF_MEMORY", OOM), ("TIMEOUT", "slurm_timeout"), ("FAILED", None)):
        found = forecast([run._replace(cause="", state=state) for run in runs])
        assert (found.cause if found else None) == cause


def test_an_array_counts_as_one_job() -> None:
    tasks = [OK._replace(task=str(number), outcome="failure", cause=OOM) for number in range(50)]
    assert forecast([*tasks, *jobs("", "")]) is None
    arrays = [task._replace(job_id=job_id) for job_id in (5, 4, 3, 2) for task in tasks]
    assert forecast(arrays) is not None
    mostly_good = [run._replace(outcome="success") if int(run.task) > 20 else run for run in arrays]
    assert forecast(mostly_good) is None


@pytest.mark.parametrize("rate", [0.1, 0.2, 0.3])
def test_users_whose_failures_are_independent_get_few_forecasts(rate: float) -> None:
    draw = random.Random(1)  # noqa: S311 - a simulation
    made = sum(
        forecast(jobs(*draw.choices((OOM, ""), (rate, 1 - rate), k=5))) is not None for _ in range(4_000)
    )
    assert made / 4_000 <= 0.03


def test_the_next_run_needs_what_the_highest_of_the_last_took() -> None:
    runs = [OK._replace(run_s=seconds, cpu_s=2 * seconds) for seconds in (3_600.0, 3_000.0, 3_300.0)]
    assert needs([*runs, OK._replace(outcome="failure", cause="import_error", run_s=9.0)]) == (
        3,
        3_600.0,
        4 * GIB,
        2.0,
    )


@pytest.mark.parametrize(
    ("runs", "time_s", "memory"),
    [
        ([OK] * 2, None, None),  # too few
        ([OK, OK, OK._replace(run_s=7_200.0, doubtful=True)], None, None),
        ([OK, OK, OK._replace(run_s=7_200.0, memory_peak=9 * GIB)], None, None),  # they differ too much
        ([OK, OK, OK, OK._replace(outcome="failure", cause=OOM)], 3_600.0, None),
        ([OK, OK, OK, OK._replace(outcome="failure", state="TIMEOUT")], None, 4 * GIB),
        ([OK._replace(nodes="n[1-2]")] * 3, 3_600.0, None),  # of each node, nothing is known
        ([*[OK] * 10, OK._replace(outcome="failure", cause=OOM)], 3_600.0, 4 * GIB),  # the 11th
    ],
)
def test_nothing_is_said_of_what_is_not_known(
    runs: list[HistoryRecord], time_s: float | None, memory: int | None
) -> None:
    found = needs(runs)
    assert (found.time_s, found.memory) == (time_s, memory)
