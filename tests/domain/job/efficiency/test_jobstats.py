"""The summary of jobstats in AdminComment."""

from __future__ import annotations

import base64
import gzip
import json

import pytest

from jobmon_core.domain.job.efficiency.jobstats import gpu_usage_of_comment
from jobmon_core.domain.slurm.rows import GpuSource

NODE = {
    "cpus": 12,
    "gpu_total_memory": {"1": 85899345920},
    "gpu_used_memory": {"1": 83314868224},
    "gpu_utilization": {"1": 98.6},
    "total_memory": 137438953472,
    "total_time": 57620.8,
    "used_memory": 84683702272,
}


def comment(summary: object) -> str:
    return "JS1:" + base64.b64encode(gzip.compress(json.dumps(summary).encode())).decode()


def test_utilisation_is_the_mean_of_all_gpus_of_all_nodes() -> None:
    second = {**NODE, "gpu_utilization": {"0": 0.0, "1": 50.4}, "gpu_used_memory": {"0": 0, "1": 7}}
    usage = gpu_usage_of_comment(
        comment({"gpus": 3, "nodes": {"n1": NODE, "n2": second}, "total_time": 50944})
    )
    assert usage is not None
    assert usage.source is GpuSource.JOBSTATS
    assert usage.percent == pytest.approx((98.6 + 50.4) / 3)
    assert (usage.idle, usage.memory_bytes) == (1, 83314868224)


@pytest.mark.parametrize(
    "text",
    [
        "",
        "checked by the admin",
        "JS1:None",
        "JS1:Short",
        "JS1:!",
        "JS1:AAAA",
        comment({"gpus": 0, "nodes": {"n1": {"cpus": 1}}})[:-9],
        comment({"gpus": 0, "nodes": {"n1": {"cpus": 1}}}),  # a job without GPUs
        comment({"nodes": {"n1": {"gpu_utilization": {"0": "x", "1": None, "2": float("nan"), "3": -1}}}}),
        comment({"nodes": {"n1": {"gpu_utilization": [1]}, "n2": 3}}),
        comment([1]),
        comment("x" * 5_000_000),
    ],
    ids=range(12),
)
def test_other_and_damaged_comments_say_nothing(text: str) -> None:
    assert gpu_usage_of_comment(text) is None
