"""A program that does not go on, or does not show that it does."""

from __future__ import annotations

from dataclasses import replace

import pytest

from jobmon_core.domain.artifacts.model import Artifacts, Checkpoints, Growth, ListedFile, Outputs
from jobmon_core.domain.logs.progress.model import Progress
from jobmon_core.domain.node.telemetry.model import Sample, WorkerStatus
from jobmon_core.domain.node.triage.judge import HEALTHY, NOT_KNOWN, judge, unseen, verdict_without_problems
from jobmon_core.domain.node.triage.situation import NodeView
from tests.support.situations import START_S, gpu, names, sample, situation, worker

RANKS = range(4)


def ranks(*cpu: float, gpus: tuple[float, ...] = (), **of_gpus: object) -> Sample:
    """Return a sample of ranks with this CPU use and GPU utilisation."""
    of_ranks = [worker(rank, each, gpus=(rank,) if gpus else ()) for rank, each in enumerate(cpu)]
    return sample(of_ranks, [gpu(index, each, **of_gpus) for index, each in enumerate(gpus)])


WORKING = ranks(100, 100, 100, 100, gpus=(90, 90, 90, 90))


def written(at_s: float) -> Artifacts:
    """Return outputs that were written at a time."""
    return Artifacts(at_s, Outputs("/out", 1, Growth(5, at_s, at_s)))


def test_a_program_at_work_is_healthy_and_its_figures_are_shown() -> None:
    healthy = situation(ranks(100, 100, 100, 100, gpus=(90, 88, 91, 90)))
    assert judge(healthy) == ()
    verdict = verdict_without_problems(healthy)
    assert (verdict.name, verdict.title) == (HEALTHY, "Healthy")
    assert any("90%, 88%, 91%, 90% busy" in line for line in verdict.evidence)
    assert unseen(healthy) == ()


def test_without_an_agent_it_is_said_what_could_not_be_seen() -> None:
    blind = situation(None, steps=False)
    assert judge(blind) == ()
    verdict = verdict_without_problems(blind)
    assert (verdict.name, verdict.title) == (NOT_KNOWN, "Health not known")
    assert unseen(blind) == ("processes, GPUs, memory and node: no agent reports about this job",)


def test_a_silent_log_beside_growing_outputs_is_a_buffer() -> None:
    silent = situation(sample(), log_idle_s=1800.0, has_output=False, steps=False)
    growing = replace(silent, artifacts=written(silent.now_s - 20))
    (verdict,) = judge(growing)
    assert (verdict.name, verdict.is_quiet) == ("block-buffered-output", False)
    assert "PYTHONUNBUFFERED=1" in verdict.advice
    assert "python -u" in verdict.advice
    unbuffered = sample([worker(name="python -u train.py")])
    assert names(replace(growing, nodes=(NodeView("n1", (replace(unbuffered, at_s=growing.now_s),)),))) == []


def test_a_program_that_may_just_print_nothing_gets_no_message() -> None:
    (verdict,) = judge(situation(sample(), log_idle_s=1800.0, has_output=False, steps=False))
    assert (verdict.name, verdict.is_quiet) == ("block-buffered-output", True)
    compiled = sample([worker(name="./lattice")])
    assert names(situation(compiled, log_idle_s=1800.0, has_output=False, steps=False)) == []


def test_ranks_that_all_idle_are_deadlocked() -> None:
    (verdict,) = judge(situation(ranks(0.5, 0.5, gpus=(0, 0)), stuck_minutes=15))
    assert (verdict.name, verdict.is_critical) == ("deadlock", True)
    assert verdict.text == "no progress for 15m, and everything is idle"
    assert verdict.since_s == START_S + 45 * 60


def test_idle_ranks_that_still_read_or_write_are_not_deadlocked() -> None:
    saving = sample([worker(0, 0.5, written_per_s=50e6), worker(1, 0.5)])
    assert names(situation(saving, stuck_minutes=15)) == []


def test_busy_gpus_that_draw_little_power_hang() -> None:
    spinning = ranks(100, 100, gpus=(100, 100), power_w=150.0)
    (verdict,) = judge(situation(spinning, stuck_minutes=15))
    assert (verdict.name, verdict.is_critical) == ("gpu-hang", True)
    assert "30% of its power limit" in verdict.text
    assert "all ranks wait in a collective operation" in verdict.advice
    (alone,) = judge(situation(ranks(100, gpus=(100,), power_w=150.0), stuck_minutes=15))
    assert "a GPU kernel that does not end" in alone.advice


@pytest.mark.parametrize(
    "figures", [{"power_w": 450.0}, {"power_w": None}, {"power_w": 150.0, "sm_percent": 85.0}]
)
def test_gpus_that_compute_or_whose_work_is_not_known_do_not_hang(figures: dict[str, float]) -> None:
    long_evaluation = ranks(100, 100, gpus=(100, 100), **figures)
    assert names(situation(long_evaluation, stuck_minutes=15)) == []


def test_few_busy_sms_show_a_hang_whatever_the_power() -> None:
    spinning = ranks(100, 100, gpus=(100, 100), power_w=400.0, sm_percent=4.0)
    assert names(situation(spinning, stuck_minutes=15)) == ["gpu-hang"]


@pytest.mark.parametrize(("odd", "usual", "doing"), [(0.0, 100.0, "is idle"), (100.0, 0.0, "is busy alone")])
def test_the_rank_that_holds_up_the_others_is_named(odd: float, usual: float, doing: str) -> None:
    busy = tuple(odd if rank == 2 else usual for rank in RANKS)
    verdict = judge(situation(ranks(*busy, gpus=busy), stuck_minutes=15))[0]
    assert (verdict.name, verdict.is_critical) == ("collective-stuck", True)
    assert f"rank 2 (GPU 2) {doing}" in verdict.text
    assert "--stacks" in verdict.advice


def test_a_rank_is_also_named_without_gpus() -> None:
    assert judge(situation(ranks(100, 100, 1, 100), stuck_minutes=15))[0].text.startswith(
        "no progress for 15m: rank 2 is idle"
    )


def test_the_rank_that_saves_a_checkpoint_holds_up_nobody() -> None:
    saving = [worker(0, 20, written_per_s=200e6), *(worker(rank) for rank in RANKS[1:])]
    gpus = [gpu(0, 0), *(gpu(rank, 100) for rank in RANKS[1:])]
    saves = sample(saving, gpus)
    assert names(situation(lambda minute: saves if minute > 45 else WORKING, stuck_minutes=15)) == []


@pytest.mark.parametrize("minutes", [0.5, 5, 9])
def test_a_pause_as_of_an_evaluation_is_no_hang(minutes: float) -> None:
    for still in (ranks(0.5, 0.5), ranks(100, 100, gpus=(100, 100), power_w=150.0), ranks(100, 100, 1, 100)):
        assert set(names(situation(still, stuck_minutes=minutes))) <= {"odd-rank"}


def test_a_program_that_is_done_does_not_hang() -> None:
    idle = situation(ranks(0.5, 0.5), stuck_minutes=15)
    assert names(replace(idle, progress=Progress(5, 5))) == []
    assert names(replace(idle, progress=Progress(5, 9, end_marker="Training completed"))) == []


def test_long_pauses_are_measured_against_earlier_ones() -> None:
    idle = situation(ranks(0.5, 0.5), stuck_minutes=15)
    assert names(replace(idle, history=replace(idle.history, longest_pause_s=600.0))) == []


def test_busy_gpus_whose_checkpoints_have_stopped_are_reported() -> None:
    busy = situation(ranks(100, gpus=(95,)), minutes=120)

    def saved(minutes_ago: float) -> Artifacts:
        at_s = busy.now_s - 60 * minutes_ago
        return Artifacts(busy.now_s, None, Checkpoints("/out", 5, ListedFile("c", 9, at_s), interval_s=600.0))

    assert names(replace(busy, artifacts=saved(12))) == []
    assert names(replace(busy, artifacts=saved(40))) == ["outputs-stopped"]


def test_busy_gpus_whose_outputs_have_stopped_are_shown() -> None:
    busy = situation(ranks(100, gpus=(95,)), 300)

    def grown(until_minute: float, rate: float | None = 5.0) -> Artifacts:
        at_s = busy.started_s + 60 * until_minute
        return Artifacts(busy.now_s, Outputs("/out", 1, Growth(9, at_s, at_s, rate)))

    (verdict,) = judge(replace(busy, artifacts=grown(100)))
    assert (verdict.name, verdict.is_quiet) == ("outputs-stopped", True)
    assert verdict.evidence[0] == "outputs: the latest 3h 20m ago, they grew for 1h 40m before"
    for regular in (grown(150), grown(299), grown(5), grown(100, None)):
        assert names(replace(busy, artifacts=regular)) == []


def test_a_report_that_is_too_old_proves_nothing() -> None:
    still = ranks(0.5, 0.5, gpus=(0, 0))
    idle = situation(lambda minute: still if minute > 45 else WORKING, stuck_minutes=15)
    assert names(idle) == ["deadlock"]
    assert names(replace(idle, now_s=idle.now_s + 400, log_idle_s=1300.0)) == []


def test_ranks_that_hang_before_their_first_step_are_deadlocked_after_a_long_silence() -> None:
    idle = ranks(0.5, 0.5, gpus=(0, 0))
    hung = situation(idle, minutes=40, stuck_minutes=39, steps=False)
    (verdict,) = judge(hung)
    assert (verdict.name, verdict.text) == ("deadlock", "no progress for 39m, and everything is idle")
    assert names(situation(idle, minutes=20, stuck_minutes=19, steps=False)) == []
    saves = replace(hung, artifacts=written(hung.now_s - 20))
    assert "deadlock" not in names(saves)


def test_an_idle_server_without_ranks_is_not_deadlocked() -> None:
    idle = sample([replace(worker(cpu=0.5), rank=None, name="jupyter-lab")])
    assert names(situation(idle, stuck_minutes=50, steps=False)) == []


def test_gpus_that_spin_before_the_first_step_hang() -> None:
    spinning = ranks(100, 100, gpus=(100, 100), power_w=90.0)
    assert names(situation(spinning, stuck_minutes=50, steps=False))[0] == "gpu-hang"
    assert names(situation(ranks(100, 100, gpus=(100, 100)), stuck_minutes=50, steps=False)) == []


def test_dead_processes_wait_for_nothing() -> None:
    dead = sample([worker(0, 0.0, status=WorkerStatus.ZOMBIE), worker(1, 0.0, status=WorkerStatus.DEAD)])
    assert "deadlock" not in names(situation(dead, stuck_minutes=15))


def test_a_log_that_was_not_read_yet_is_not_said_to_show_no_progress() -> None:
    silent = situation(sample(), steps=False)
    assert unseen(silent) == ("progress: its log shows none",)
    assert unseen(silent, log_was_read=False) == ("progress: its log has not been read yet",)
    starting = replace(silent, started_s=silent.now_s - 5)
    assert unseen(starting) == ("progress: none has been seen in its log yet",)
    assert "started too recently to know" in verdict_without_problems(starting).text
