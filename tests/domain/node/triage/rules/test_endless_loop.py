"""A program that computes and makes no progress."""

from __future__ import annotations

from jobmon_core.domain.node.telemetry.model import Sample
from jobmon_core.domain.node.triage.judge import judge
from tests.support.situations import gpu, names, sample, situation, worker

LOOP = sample([worker(0, 99.0), worker(1, 99.0)])


def test_workers_that_compute_without_progress_are_shown_as_a_loop() -> None:
    (verdict,) = judge(situation(LOOP, stuck_minutes=15))
    assert (verdict.name, verdict.is_critical, verdict.is_quiet) == ("endless-loop", False, True)
    assert verdict.text == "no progress for 15m, although its processes compute"
    assert "CPU: 2.0 cores busy over the last 5m" in verdict.evidence


def test_a_gpu_that_waits_for_the_loop_changes_nothing() -> None:
    waiting = sample([worker(0, 99.0)], [gpu(0, 0.0)])
    assert "endless-loop" in names(situation(waiting, stuck_minutes=15))


def test_progress_disks_gpus_and_idle_workers_speak_against_a_loop() -> None:
    def found(each: Sample, stuck_minutes: float | None = 15) -> bool:
        return "endless-loop" in names(situation(each, stuck_minutes=stuck_minutes))

    assert not found(LOOP, None)
    assert not found(sample([worker(0, 99.0, written_per_s=50e6)]))
    assert not found(sample([worker(0, 99.0)], [gpu(0, 80.0)]))
    assert not found(sample([worker(0, 99.0)], [gpu(0, 0.0, is_mig=True)]))
    assert not found(sample([worker(0, 99.0)], [gpu(0, 0.0), gpu(1, utilization_percent=None)]))
    assert not found(sample([worker(0, 99.0), worker(1, 20.0)]))


def test_a_program_that_never_showed_progress_may_just_compute() -> None:
    assert "endless-loop" not in names(situation(LOOP, stuck_minutes=50, steps=False))
