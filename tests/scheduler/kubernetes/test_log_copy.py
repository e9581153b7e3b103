"""The logs of pods: copied once, also what was printed before a restart of the container."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from jobmon_core.scheduler.kubernetes import log_copy
from jobmon_core.scheduler.kubernetes.client import KubeScheduler
from tests.support.fake_kubectl import SERVICE, FakeKubectl, Json, job, kube_resources, pod


@pytest.fixture
def kubectl(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> FakeKubectl:
    fake = FakeKubectl(tmp_path / "kubectl")
    monkeypatch.setenv("PATH", f"{fake.bin}:{os.environ['PATH']}")
    return fake


@pytest.fixture
def scheduler(tmp_path: Path, kubectl: FakeKubectl) -> KubeScheduler:
    (tmp_path / "records").mkdir()
    kubectl.show(job(), pod())
    found = KubeScheduler(kube_resources(tmp_path / "records"), SERVICE)
    found.register("train")
    return found


def lines(*texts: str, second: int = 0, end: str = "\n") -> str:
    """Return lines with times, all within one second."""
    stamped = [f"2026-11-28T15:00:{second:02}.{n:09}Z {text}" for n, text in enumerate(texts, 1)]
    return "\n".join(stamped) + end


def copy(scheduler: KubeScheduler, name: str = "job.log") -> str:
    assert isinstance(scheduler.ask_queue("me"), str)
    path = scheduler.resources.folder() / "1" / name
    return path.read_text(encoding="utf-8") if path.exists() else ""


def test_each_line_is_copied_once_though_an_answer_repeats_the_last_second(
    scheduler: KubeScheduler, kubectl: FakeKubectl
) -> None:
    kubectl.log("train-a", lines("step 1", "step 2"))
    assert copy(scheduler) == "step 1\nstep 2\n"
    kubectl.log("train-a", lines("step 1", "step 2", "step 2", "step 3"))
    assert copy(scheduler) == "step 1\nstep 2\nstep 2\nstep 3\n"
    assert copy(scheduler) == "step 1\nstep 2\nstep 2\nstep 3\n"
    (newest,) = [call for call in kubectl.calls if "logs" in call][-1:]
    assert "--since-time=2026-11-28T15:00:00Z" in newest


def test_an_empty_answer_between_others_repeats_no_line(
    scheduler: KubeScheduler, kubectl: FakeKubectl
) -> None:
    for shown in (lines("step 1", "step 2"), "", lines("step 1")):
        kubectl.log("train-a", shown)
        assert copy(scheduler) == "step 1\nstep 2\n"
    kubectl.log("train-a", lines("step 1", "step 2", "step 3"))
    assert copy(scheduler) == "step 1\nstep 2\nstep 3\n"


def test_equal_times_are_counted(scheduler: KubeScheduler, kubectl: FakeKubectl) -> None:
    at = "2026-11-28T15:00:00.5Z"
    kubectl.log("train-a", f"{at} a\n{at} b\n")
    assert copy(scheduler) == "a\nb\n"
    kubectl.log("train-a", f"{at} a\n{at} b\n{at} c\n2026-11-28T15:00:00.51Z d\n")
    assert copy(scheduler) == "a\nb\nc\nd\n"


def test_a_bar_that_is_drawn_again_and_a_line_without_a_time_are_copied_once(
    scheduler: KubeScheduler, kubectl: FakeKubectl
) -> None:
    bar = "2026-11-28T15:00:01.5Z  10%\r 90%\n2026-11-28T15:00:02Z long\n"
    kubectl.log("train-a", bar)
    assert copy(scheduler) == " 10%\r 90%\nlong\n".replace("\r", "\n")
    kubectl.log("train-a", f"{bar}rest of it\n2026-11-28T15:00:02.1Z end\n")
    for _ in range(3):
        assert copy(scheduler) == " 10%\n 90%\nlong\nrest of it\nend\n"


def test_more_than_an_answer_holds_in_one_second_is_a_gap(
    scheduler: KubeScheduler, kubectl: FakeKubectl, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(log_copy, "_MAX_BYTES", 100)
    kubectl.log("train-a", lines(*(f"step {n}" for n in range(9))) + lines("later", second=1))
    copied = [copy(scheduler) for _ in range(4)]
    assert copied[-1] == f"step 0\nstep 1\n{log_copy.GAP}later\n"


def test_a_line_that_is_not_finished_is_copied_when_it_is_or_when_the_pod_has_ended(
    scheduler: KubeScheduler, kubectl: FakeKubectl
) -> None:
    kubectl.log("train-a", lines("step 1", "half", end=""))
    assert copy(scheduler) == "step 1\n"
    kubectl.log("train-a", lines("step 1", "half of it", end=""))
    kubectl.set(objects=[job(), pod(phase="Failed", exit_code=1)])
    assert copy(scheduler) == "step 1\nhalf of it"


def test_what_a_container_printed_before_its_restart_is_copied_first(
    scheduler: KubeScheduler, kubectl: FakeKubectl
) -> None:
    kubectl.log("train-a", lines("step 1"))
    copy(scheduler)
    kubectl.log("train-a/previous", lines("step 1", "ValueError: bad"))
    kubectl.log("train-a", lines("step 1 again", second=9))
    ended: Json = {"terminated": {"exitCode": 1, "reason": "Error"}}
    kubectl.set(objects=[job(), pod(container={"restartCount": 1, "lastState": ended})])
    restarted = "[jobmon: container main was restarted here]\n"
    assert copy(scheduler) == f"step 1\nValueError: bad\n{restarted}step 1 again\n"


def test_a_pod_that_follows_continues_the_copy_and_pods_side_by_side_have_one_each(
    scheduler: KubeScheduler, kubectl: FakeKubectl
) -> None:
    kubectl.log("train-a", lines("first"))
    copy(scheduler)
    kubectl.log("train-b", lines("second", second=20))
    kubectl.set(objects=[job(), pod(phase="Failed", exit_code=1), pod("train-b")])
    assert copy(scheduler) == "first\n[jobmon: pod train-b begins here]\nsecond\n"
    kubectl.log("train-c", lines("beside", second=21))
    kubectl.set(objects=[job(), pod("train-b"), pod("train-c")])
    assert copy(scheduler, "pod-1.log") == "beside\n"


def test_a_log_that_cannot_be_read_now_is_read_later(scheduler: KubeScheduler, kubectl: FakeKubectl) -> None:
    kubectl.log("train-a", lines("step 1"))
    kubectl.fail("Error from server: dial tcp 192.0.2.11:10250: connect: connection refused", "logs")
    assert copy(scheduler) == ""
    kubectl.heal()
    assert copy(scheduler) == "step 1\n"


def test_an_answer_is_limited_and_the_next_look_goes_on(
    scheduler: KubeScheduler, kubectl: FakeKubectl, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(log_copy, "_MAX_BYTES", 100)
    kubectl.log("train-a", "".join(lines(f"step {n}", second=n) for n in range(6)))
    seen = [copy(scheduler) for _ in range(5)]
    assert seen[0] == "step 0\nstep 1\n"
    assert seen[-1] == "".join(f"step {n}\n" for n in range(6))
