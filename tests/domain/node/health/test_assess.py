"""When a job is healthy, when it is not, and when nobody can say."""

from __future__ import annotations

from dataclasses import fields, replace

import pytest

from jobmon_core.domain.artifacts.disk import Disk
from jobmon_core.domain.artifacts.model import Artifacts, Checkpoints, ListedFile, Outputs
from jobmon_core.domain.finding import Finding, Severity
from jobmon_core.domain.logs.progress.model import History
from jobmon_core.domain.logs.progress.model import Sample as Step
from jobmon_core.domain.node.health.assess import HealthFacts, assess
from jobmon_core.domain.node.health.model import (
    ClusterResources,
    HealthReport,
    NetworkState,
    Stage,
    network_finding,
)
from jobmon_core.domain.node.launch.model import LaunchState
from jobmon_core.domain.node.telemetry.model import AgentReport, Gpu, Node, Sample
from jobmon_core.domain.node.triage.judge import judge, verdict_without_problems
from jobmon_core.domain.node.triage.situation import Situation
from tests.support.situations import gpu, sample, situation, trouble, worker

NOW_S = 1_700_003_600.0


def _facts(report: HealthReport, **known: object) -> HealthFacts:
    """Return facts; what is known may be fields of the report as well."""
    names = {each.name for each in fields(HealthReport)}
    of_report = {name: each for name, each in known.items() if name in names}
    others = {name: each for name, each in known.items() if name not in names}
    return HealthFacts(replace(report, **of_report), **others)  # type: ignore[arg-type]  # any field


def _running(of: Situation, **known: object) -> HealthFacts:
    """Return what is known of a running job."""
    reports = tuple(AgentReport(node.latest) for node in of.nodes)
    verdicts = judge(of) or (verdict_without_problems(of),)
    return _facts(
        HealthReport(of.now_s, "12", "train", "RUNNING"),
        situation=of,
        verdicts=verdicts,
        reports=reports,
        **known,
    )


def _computing() -> Situation:
    return situation(sample((worker(0), worker(1)), (gpu(0), gpu(1))))


def _idle(minutes: float = 20.0) -> Situation:
    """Return a job whose CPU works, while its GPUs do not."""
    gpus = [gpu(index, 0.0, own_pids=(), memory=2**20) for index in range(2)]
    return situation(sample((worker(0, cpu=800.0),), gpus), minutes)


def test_a_job_that_makes_steps_is_healthy() -> None:
    found = assess(_running(_computing()))
    assert (found.healthy, found.issues) == (True, ())
    assert (found.gpus.allocated, found.gpus.used, found.gpus.idle) == (2, 2, ())
    assert found.gpus.mean_percent == pytest.approx(90.0)


def test_a_job_of_which_nothing_is_seen_is_neither_healthy_nor_ill() -> None:
    found = assess(_running(situation(None, steps=False), not_seen=("GPUs: no agent reports",)))
    assert (found.healthy, found.issues) == (None, ())
    assert found.gpus.allocated is None
    assert found.not_seen == ("GPUs: no agent reports",)
    assert "nothing shows that it makes progress" in found.why
    young = situation(None, steps=False)
    young = replace(young, started_s=young.now_s - 5)
    assert "it started too recently to know" in assess(_running(young)).why


@pytest.mark.parametrize(
    ("steps", "age_s", "healthy"),
    [
        ((10.0, 20.0), 60.0, True),
        ((10.0, 20.0), 900.0, None),
        ((20.0, 20.0), 60.0, None),
        ((10.0,), 60.0, None),
    ],
)
def test_two_looks_at_the_log_are_enough_to_see_that_steps_advance(
    steps: tuple[float, ...],
    age_s: float,
    healthy: bool | None,  # noqa: FBT001 - a value of the table
) -> None:
    samples = tuple(Step(NOW_S - age_s - 30 * (len(steps) - i - 1), each) for i, each in enumerate(steps))
    of = replace(situation(None, steps=False), now_s=NOW_S, history=History(samples=samples))
    assert assess(_running(of)).healthy is healthy


def test_an_unknown_network_says_nothing_about_the_health() -> None:
    unknown = network_finding(NetworkState.UNKNOWN, text="no line of NCCL", advice="Set NCCL_DEBUG=INFO.")
    assert assess(_running(_computing(), network=unknown)).healthy is True
    assert assess(_running(situation(None, steps=False), network=unknown)).healthy is None


def test_what_a_dead_monitor_knew_proves_no_health() -> None:
    found = assess(_running(_computing(), outdated="its monitor is dead"))
    assert found.healthy is None
    assert "its monitor is dead" in found.why
    assert found.not_seen == ("its monitor is dead",)


def test_gpus_that_are_held_and_not_used_are_an_issue_although_steps_advance() -> None:
    found = assess(_running(_idle()))
    assert found.healthy is False
    assert found.issues == ("GPUs available but not being used: 2 GPUs allocated, 0% busy over the last 5m",)
    assert (found.gpus.used, found.gpus.idle) == (0, ("GPU 0", "GPU 1"))


def test_gpus_may_idle_while_the_job_starts() -> None:
    assert assess(_running(_idle(minutes=4))).issues == ()


def test_idle_gpus_are_reported_once() -> None:
    found = assess(_running(_idle(minutes=120)))
    assert [issue.split(":")[0] for issue in found.issues] == ["GPUs held, but idle"]


@pytest.mark.parametrize("state", [NetworkState.DEGRADED, NetworkState.FALLBACK])
def test_a_slow_network_is_an_issue_with_its_advice(state: NetworkState) -> None:
    slow = network_finding(state, "TCP sockets", "NCCL uses TCP sockets", advice="Unset NCCL_IB_DISABLE.")
    found = assess(_running(_computing(), network=slow))
    assert found.issues == (f"network {state}: NCCL uses TCP sockets",)
    assert found.advice == ("Unset NCCL_IB_DISABLE.",)
    assert found.healthy is False


def _of_cluster(**figures: object) -> HealthReport:
    return assess(_running(_computing(), cluster=ClusterResources(**figures)))  # type: ignore[arg-type]  # any field


def test_gpus_of_ray_that_nobody_holds_are_an_issue() -> None:
    found = _of_cluster(gpus=8.0, gpus_held=0.0, cpus=64.0, cpus_held=1.0)
    assert found.issues == ("GPUs available but not being used: no task or actor holds any of Ray's 8 GPUs",)
    assert _of_cluster(gpus=8.0, gpus_held=8.0, waiting=("{'GPU': 4.0}: 1+ pending",)).issues == ()
    assert _of_cluster(gpus=0.0, gpus_held=0.0).issues == ()
    assert _of_cluster(gpus=8.0, gpus_held=None).issues == ()


def test_an_overdue_checkpoint_a_failed_launch_and_a_verdict_are_issues_the_verdict_first() -> None:
    saved = Checkpoints("/ck", 3, ListedFile("step_300", modified_s=NOW_S - 7200), 1800, step=300)
    launch = LaunchState(items=(Finding(Severity.CRITICAL, "only 7 of 8 workers are running", id="workers"),))
    verdict = trouble(
        "disk-full", "1 GiB free", NOW_S, title="A disk is nearly full", advice="Ask for JOBID more."
    )
    quiet = trouble("odd-rank", "rank 3 is slower", NOW_S, title="A slow rank", is_quiet=True)
    facts = _running(_computing(), at_s=NOW_S, elapsed_s=9000.0, checkpoints=saved, launch=launch)
    facts = replace(facts, verdicts=(verdict, quiet))
    found = assess(facts)
    assert found.issues == (
        "A disk is nearly full: 1 GiB free",
        "launch: only 7 of 8 workers are running",
        "no checkpoint for 2h; usually one is saved every 30m",
    )
    assert found.advice[0] == "Ask for 12 more."
    assert found.notes == ("A slow rank: rank 3 is slower",)
    just_started = assess(
        replace(facts, known=replace(facts.known, elapsed_s=600.0))
    )  # the checkpoint is of an earlier run
    assert [each for each in just_started.issues if "checkpoint" in each] == []


@pytest.mark.parametrize(
    ("stage", "known", "healthy", "text"),
    [
        (Stage.WAITING, {"reason": "Priority"}, None, "it has not started (Priority)"),
        (Stage.WAITING, {"problem": "it will never start"}, False, "it will never start"),
        (Stage.SUCCEEDED, {}, True, "it succeeded"),
        (Stage.SUCCEEDED, {"problem": "doubtful success: KeyError"}, False, "doubtful success: KeyError"),
        (Stage.FAILED, {"reason": "CUDA out of memory"}, False, "it failed: CUDA out of memory"),
        (Stage.CANCELLED, {}, None, "it was cancelled"),
        (Stage.UNKNOWN, {"reason": "no source"}, None, "its outcome is unknown: no source"),
        (Stage.ENDING, {}, None, "how it ended is not known yet"),
        (Stage.UNWATCHED, {}, None, "no longer watched"),
    ],
)
def test_a_job_that_does_not_run(
    stage: Stage,
    known: dict[str, str],
    healthy: bool | None,  # noqa: FBT001 - a value of the table
    text: str,
) -> None:
    slow = network_finding(
        NetworkState.FALLBACK, text="TCP"
    )  # of a job that is over, it is no issue any more
    found = assess(_facts(HealthReport(NOW_S, "12"), stage=stage, network=slow, **known))
    assert found.healthy is healthy
    assert text in (found.issues[0] if healthy is False else found.why)


def test_a_look_into_pods_takes_gpus_that_hold_memory_for_waiting() -> None:
    def looked(*gpus: Gpu) -> HealthReport:
        report = AgentReport(Sample(NOW_S, node=Node("pod"), gpus=gpus))
        return assess(_facts(HealthReport(NOW_S), reports=(report,), is_snapshot=True))

    computing, waiting = Gpu(0, utilization_percent=80.0), Gpu(0, utilization_percent=0.0, memory=2**34)
    unused, silent = Gpu(0, utilization_percent=0.0, memory=2**20), Gpu(0)
    assert [looked(each).healthy for each in (computing, waiting, unused, silent)] == [
        True,
        None,
        False,
        None,
    ]
    assert looked(unused).issues[0].startswith("GPUs available but not being used: 1 GPU allocated")


def test_the_disk_of_the_outputs_is_shown_beside_those_that_agents_see() -> None:
    artifacts = Artifacts(outputs=Outputs("/out"), disk=Disk(5, 10, 1, 0))
    found = assess(_running(_computing(), artifacts=artifacts))
    assert [(path, disk.total_inodes) for path, disk in found.disks.items()] == [
        ("/scratch", 1_000_000),
        ("/out", 0),
    ]


def test_secrets_in_quoted_lines_are_hidden() -> None:
    line = "request failed: Authorization: Bearer abcdefghijkl0123456789"
    network = network_finding(NetworkState.OK, evidence=(line,))
    found = assess(_running(_computing(), errors=(line,), network=network))
    assert "abcdefghijkl" not in f"{found.errors} {found.network.evidence}"
