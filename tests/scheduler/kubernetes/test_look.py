"""One look at a namespace that is shared with many."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from jobmon_core.scheduler.kubernetes.client import KubeScheduler
from tests.support.fake_kubectl import SERVICE, FakeKubectl, job, kube_resources, pod


def test_two_thousand_pods_of_others_hide_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    kubectl = FakeKubectl(tmp_path / "kubectl")
    monkeypatch.setenv("PATH", f"{kubectl.bin}:{os.environ['PATH']}")
    (tmp_path / "records").mkdir()
    kubectl.show(job(), pod())
    scheduler = KubeScheduler(kube_resources(tmp_path / "records"), SERVICE)
    scheduler.register("train")
    size = {"annotations": {"x": "y" * 10_000}}
    kubectl.show(job(), pod(), *(pod(f"other-{n}", f"o{n}", metadata=size) for n in range(2000)))
    answer = scheduler.ask_queue("me")
    assert isinstance(answer, str), answer
    (row,) = scheduler.read_queue(answer, [1])
    assert (row.state, row.nodes) == ("RUNNING", "gpu-node-1")
