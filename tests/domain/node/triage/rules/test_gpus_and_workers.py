"""GPUs that fail or idle, and workers that have ended or differ."""

from __future__ import annotations

from dataclasses import replace

import pytest

from jobmon_core.domain.logs.progress.model import History
from jobmon_core.domain.node.telemetry.model import RankGroup, Sample, WorkerStatus
from jobmon_core.domain.node.triage.judge import judge
from jobmon_core.domain.node.triage.situation import NodeView
from jobmon_core.domain.node.triage.state import Thresholds
from tests.support.situations import START_S, gpu, names, sample, situation, worker


def test_an_xid_says_what_it_means_and_what_to_do() -> None:
    (verdict,) = judge(situation(sample(gpus=[gpu(0), gpu(1, xids=(79,))])))
    assert (verdict.name, verdict.is_critical, verdict.is_permanent) == ("gpu-error", True, True)
    assert verdict.text == "GPU 1 reports Xid 79: the GPU has fallen off the bus"
    assert verdict.advice == "Exclude the node."
    (unknown,) = judge(situation(sample(gpus=[gpu(0, xids=(999,))])))
    assert "Xid 999" in unknown.text


def test_a_lost_gpu_is_the_worst() -> None:
    lost = sample(gpus=[gpu(0), gpu(1, is_lost=True, utilization_percent=None, xids=(79,))])
    assert names(situation(lost)) == ["gpu-lost", "gpu-error"]


@pytest.mark.parametrize(
    ("field", "name"),
    [("ecc_errors", "gpu-memory-error"), ("remapped_rows", "gpu-worn"), ("nvlink_errors", "gpu-worn")],
)
def test_counters_count_from_the_start_of_the_job(field: str, name: str) -> None:
    assert names(situation(sample(gpus=[gpu(0, **{field: 7})]))) == []
    rising = situation(lambda minute: sample(gpus=[gpu(0, **{field: 7 + int(minute > 30)})]))
    assert names(rising) == [name]


def test_heat_slows_a_gpu_down_a_power_cap_is_normal() -> None:
    assert names(situation(sample(gpus=[gpu(0, throttle_reasons=("thermal",))]))) == ["gpu-throttled"]
    assert names(situation(sample(gpus=[gpu(0, throttle_reasons=("power cap",))]))) == []


def test_the_odd_gpu_is_named() -> None:
    (verdict,) = judge(situation(sample(gpus=[gpu(i, 40.0 if i == 2 else 95.0) for i in range(4)])))
    assert (verdict.name, verdict.is_quiet) == ("odd-gpu", True)
    assert verdict.text == "GPU 2 is 40% busy, the others 95%"
    by_sm = [gpu(i, 95.0, sm_percent=20.0 if i == 1 else 90.0) for i in range(4)]
    assert "GPU 1 is 20% busy" in judge(situation(sample(gpus=by_sm)))[0].text
    assert names(situation(sample(gpus=[gpu(0, 30.0), gpu(1, 95.0)]))) == []


def test_a_gpu_that_others_use_too_is_only_shown() -> None:
    (verdict,) = judge(situation(sample(gpus=[gpu(0, other_processes=1)])))
    assert (verdict.name, verdict.is_quiet) == ("gpu-shared", True)
    assert names(situation(sample(gpus=[gpu(0, other_processes=None)]))) == []


def test_a_job_that_does_nothing_wastes_gpu_hours() -> None:
    idle = sample([worker(0, 0.2)], [gpu(index, 0.0) for index in range(8)])
    (verdict,) = judge(situation(idle, 45, steps=False, log_idle_s=None))
    assert (verdict.name, verdict.is_critical) == ("idle-allocation", True)
    assert verdict.text == "all 8 GPUs are idle for 30m: 4.0 GPU hours wasted so far"
    later = situation(idle, 120, steps=False, log_idle_s=None)
    (known,) = judge(replace(later, since={"idle-allocation": later.now_s - 6600}))
    assert "14.7 GPU hours" in known.text


def test_a_job_whose_few_steps_advance_does_something() -> None:
    """A step every 20 minutes is too few for a pace, and the job is not wasted."""
    idle = sample([worker(0, 0.2)], [gpu(0, 0.0)])
    job = situation(idle, 60, log_idle_s=None)
    steps = tuple(job.history.samples[0]._replace(at_s=job.now_s - minutes * 60) for minutes in (40, 20))
    slow = replace(job, history=replace(job.history, samples=steps))
    assert not slow.is_advancing
    assert "idle-allocation" not in names(slow)
    ended = tuple(step._replace(at_s=step.at_s - 15 * 60) for step in steps)
    assert names(replace(slow, history=replace(slow.history, samples=ended))) == ["idle-allocation"]


def test_a_job_whose_steps_are_further_apart_than_the_limit_is_not_idle() -> None:
    idle = sample([worker(0, 0.2)], [gpu(0, 0.0)])
    job = situation(idle, 240, log_idle_s=None)
    minutes = range(35, 240, 40)
    steps = tuple(job.history.samples[0]._replace(at_s=job.now_s - 60 * each) for each in reversed(minutes))
    history = replace(job.history, samples=steps, longest_pause_s=2400.0, median_pause_s=2400.0)
    slow = replace(job, history=history)
    assert slow.is_advancing
    assert "idle-allocation" not in names(slow)


def test_few_gpu_hours_are_not_counted_as_none() -> None:
    idle = sample([worker(0, 0.2)], [gpu(0, 0.0)])
    quick = Thresholds(idle_s=120)
    (verdict,) = judge(situation(idle, 5, steps=False, log_idle_s=None, thresholds=quick))
    assert verdict.text == "its GPU is idle for 2m"


def test_half_an_hour_of_preparation_on_the_cpu_is_no_idle_allocation() -> None:
    busy = sample([worker(0, 400)], [gpu(0, 0.0)])
    assert names(situation(busy, 45, steps=False, log_idle_s=None)) == []
    idle = sample([worker(0, 0.2)], [gpu(0, 0.0)])
    assert names(situation(idle, 25, steps=False, log_idle_s=None)) == []


def test_a_server_between_two_requests_is_not_idle() -> None:
    def at(minute: float) -> Sample:
        return sample([worker(0, 0.2)], [gpu(0, 0.1, highest_percent=40.0 if minute % 10 == 0 else 0.0)])

    assert names(situation(at, 60, steps=False, log_idle_s=None)) == []


def test_gpus_that_the_program_never_opened_are_named() -> None:
    gpus = [gpu(0, 95.0), gpu(1, 0.0, own_pids=()), gpu(2, 0.0, own_pids=()), gpu(3, 94.0)]
    (verdict,) = judge(situation(sample(gpus=gpus)))
    assert verdict.name == "idle-gpu"
    assert verdict.text == "2 of 4 GPUs idle for 30m: 1.0 GPU hours wasted so far"
    on_cpu = sample(gpus=[gpu(0, 0.0, own_pids=())])
    assert names(situation(on_cpu)) == ["idle-gpu"]


def test_a_zombie_among_workers_that_go_on() -> None:
    zombie = sample([worker(0), worker(1, 0, status=WorkerStatus.ZOMBIE)])
    (verdict,) = judge(situation(zombie))
    assert (verdict.name, verdict.is_quiet) == ("zombie-workers", False)
    assert verdict.text.endswith("rank 1")
    (children,) = judge(situation(sample([worker(0, zombies=3)])))
    assert (children.name, children.is_quiet) == ("zombie-workers", True)


def test_a_rank_that_ended_while_the_others_wait_for_it() -> None:
    dead = sample([worker(0), worker(1), worker(2, 0, status=WorkerStatus.DEAD)])
    verdict = judge(situation(dead, stuck_minutes=9))[0]
    assert (verdict.name, verdict.is_critical) == ("dead-worker", True)
    assert verdict.text == ("rank 2 ended, and nothing shows that its work was done; 2 of 3 workers go on")
    advancing = judge(situation(dead))[0]
    assert (advancing.is_critical, advancing.is_quiet) == (True, False)


def _after_the_end_of_one(**figures: object) -> Sample:
    ended = worker(2, 0, status=WorkerStatus.DEAD, log="/logs/2.log", **figures)
    return sample([worker(0), worker(1), ended])


def test_a_worker_that_died_while_its_peers_go_on_is_critical_and_says_how() -> None:
    (killed,) = judge(situation(_after_the_end_of_one(signal=9)))
    assert (killed.name, killed.is_critical, killed.is_quiet) == ("dead-worker", True, False)
    assert killed.text.startswith("rank 2 died: killed by signal 9 (SIGKILL")
    assert killed.text.endswith("2 of 3 workers go on")
    (failed,) = judge(situation(_after_the_end_of_one(exit_code=1)))
    assert failed.text == "rank 2 died: exit code 1; 2 of 3 workers go on"
    zombie = sample([worker(0), worker(1, 0, status=WorkerStatus.ZOMBIE, exit_code=3)])
    assert names(situation(zombie)) == ["dead-worker"]
    all_dead = sample([worker(rank, 0, status=WorkerStatus.ZOMBIE, signal=9) for rank in range(4)])
    (verdict,) = judge(situation(all_dead))
    assert (verdict.name, verdict.is_critical) == ("dead-worker", True)
    assert verdict.text.endswith("0 of 4 workers go on")


def test_a_worker_that_had_evidently_done_its_share_is_no_death() -> None:
    exited = situation(_after_the_end_of_one(exit_code=0))
    assert names(exited) == []
    by_log = situation(_after_the_end_of_one(), own_logs={"/logs/2.log": True})
    assert names(by_log) == []
    assert names(replace(by_log, own_logs={"/logs/2.log": False})) == ["dead-worker"]
    assert names(replace(exited, history=History(), progress=None, num_workers=3)) == []
    parent_waits_for_another = sample([worker(0), worker(1, 0, status=WorkerStatus.ZOMBIE, exit_code=0)])
    (shown,) = judge(situation(parent_waits_for_another))
    assert (shown.name, shown.is_quiet) == ("zombie-workers", True)
    all_done = sample([worker(rank, 0, status=WorkerStatus.ZOMBIE, exit_code=0) for rank in range(2)])
    (shown,) = judge(situation(all_done))
    assert shown.is_quiet
    (hung,) = judge(situation(all_done, stuck_minutes=6, steps=False))
    assert (hung.name, hung.is_quiet) == ("zombie-workers", False)


def test_the_end_of_a_task_of_srun_is_a_death_only_if_srun_says_so() -> None:
    after = _after_the_end_of_one()
    known = situation(after)
    group = RankGroup("srun", "0", 3, (0, 1), (2,))
    of_srun = replace(known, nodes=tuple(replace(node, ranks=(group,)) for node in known.nodes))
    (quiet,) = judge(of_srun)
    assert (quiet.is_critical, quiet.is_quiet) == (False, True)
    on_another_node = replace(group, running=(0,), ended=())
    elsewhere = NodeView("n2", known.nodes[0].samples[:1], ranks=(on_another_node,))
    (also_quiet,) = judge(replace(known, nodes=(*known.nodes, elsewhere)))
    assert also_quiet.is_quiet
    said = "srun: error: n1: task 2: Killed"
    (told,) = judge(replace(of_srun, step_errors={2: said}))
    assert (told.is_critical, told.text) == (True, "rank 2 died; 2 of 3 workers go on")
    assert said in told.evidence[0]


def test_the_ranks_of_an_earlier_step_are_not_missed_by_those_of_the_next() -> None:
    ended = [worker(rank, 0, status=WorkerStatus.DEAD, last_activity_s=START_S + 60) for rank in (2, 3)]
    next_step = [worker(rank, pid=200 + rank, started_s=START_S + 62) for rank in (0, 1)]
    assert names(situation(sample([*next_step, *ended]))) == []


def test_the_last_programs_of_a_pool_are_no_deaths() -> None:
    ended = replace(worker(3, 0, status=WorkerStatus.DEAD, is_pooled=True), rank=None)
    pool = sample([*(replace(worker(number), rank=None) for number in range(2)), ended])
    (shown,) = judge(situation(pool))
    assert shown.is_quiet
    (failed,) = judge(situation(sample([*pool.workers[:2], replace(ended, exit_code=2)])))
    assert failed.is_quiet
    (killed,) = judge(situation(sample([*pool.workers[:2], replace(ended, signal=9)])))
    assert killed.is_critical


def test_a_worker_without_a_rank_is_missed_by_those_that_run_the_same_program_and_started_with_it() -> None:
    peers = [replace(worker(number), rank=None) for number in range(3)]
    dead = replace(worker(3, 0, status=WorkerStatus.DEAD), rank=None)
    (verdict,) = judge(situation(sample([*peers, dead]), steps=False, log_idle_s=None))
    assert (verdict.name, verdict.is_critical) == ("dead-worker", True)
    assert verdict.text.startswith("process 103 ended, and nothing shows")
    other = replace(dead, name="python prepare.py")
    assert names(situation(sample([*peers, other]))) == []
    earlier = replace(dead, started_s=dead.started_s - 3600)
    assert names(situation(sample([*peers, earlier]))) == []


def test_a_rank_that_was_started_again_is_not_missed() -> None:
    again = sample([worker(0), worker(1, 0, status=WorkerStatus.DEAD), worker(1, pid=777)])
    assert names(situation(again)) == []


def test_the_rank_that_computes_far_more_is_only_shown() -> None:
    uneven = sample([worker(rank, 700.0 if rank == 3 else 100.0) for rank in range(6)])
    (verdict,) = judge(situation(replace(uneven, cpu=None)))
    assert (verdict.name, verdict.is_quiet) == ("odd-rank", True)
    assert verdict.text == "rank 3 uses 700% of a core, the others 100%"


def test_times_can_be_set_for_short_jobs() -> None:
    idle = sample([worker(0, 0.2)], [gpu(0, 0.0)])
    short = situation(idle, 12, steps=False, log_idle_s=None)
    assert names(replace(short, thresholds=Thresholds(idle_s=600))) == ["idle-allocation"]


def test_fewer_workers_than_the_configuration_names_are_missed_once_all_of_them_ran() -> None:
    three, four = (
        sample([worker(number) for number in range(3)]),
        sample([worker(number) for number in range(4)]),
    )
    lost = situation(lambda minute: three if minute > 50 else four, num_workers=4, stuck_minutes=9)
    verdict = judge(lost)[0]
    assert (verdict.name, verdict.text, verdict.is_critical) == (
        "missing-workers",
        "3 of its 4 workers run",
        True,
    )
    (advancing,) = judge(situation(lambda minute: three if minute > 50 else four, num_workers=4))
    assert (advancing.name, advancing.is_quiet) == ("missing-workers", True)
    assert names(situation(three, num_workers=4)) == []  # the check of the launch reports that
    assert names(situation(four, num_workers=4)) == []
    restarted = situation(lambda minute: three if minute == 55 else four, num_workers=4)
    assert names(restarted) == []
    dead = sample([*three.workers, worker(3, 0, status=WorkerStatus.DEAD)])
    (verdict,) = judge(situation(lambda minute: dead if minute > 50 else four, num_workers=4))
    assert verdict.name == "dead-worker"  # it says which one
