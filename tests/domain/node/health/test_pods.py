"""What a pod prints, read."""

from __future__ import annotations

import pytest

from jobmon_core.domain.node.health.model import ClusterResources
from jobmon_core.domain.node.health.nccl import NcclLines
from jobmon_core.domain.node.health.pods import (
    GpuProcess,
    pod_answer,
    read_checkpoints,
    read_gpus,
    read_ports,
    read_processes,
    read_ray_status,
)
from jobmon_core.domain.node.telemetry.model import FabricKind

# as a cluster of Ray 2.60 prints it
_RAY = """\
======== Autoscaler status: 2026-11-26 00:59:00.046561 ========
Node status
---------------------------------------------------------------
Active:
 1 node_0b607ca7adb8b82ef8a679430bc7f5cfcb76a1ae32878ba2b50ac142
Pending:
 (no pending nodes)
Recent failures:
 (no failures)

Resources
---------------------------------------------------------------
{heading}
 3.0/16.0 CPU
 {gpus} GPU
 0B/15.83GiB memory
 0B/6.78GiB object_store_memory

From request_resources:
 (none)
Pending Demands:
 {demands}
"""


def test_utilisation_is_the_mean_of_several_looks() -> None:
    text = (
        "0, GPU-a, NVIDIA H100, 90, 1024, 81559\n1, GPU-b, NVIDIA H100, [N/A], [N/A], 81559\n"
        "0, GPU-a, NVIDIA H100, 10, 2048, 81559\n1, GPU-b, NVIDIA H100, [N/A], [N/A], 81559\n"
    )
    first, second = read_gpus(text, [GpuProcess(7, "python", 2**30, "GPU-a")])
    assert (first.utilization_percent, first.lowest_percent, first.highest_percent) == (50.0, 10.0, 90.0)
    assert (first.memory, first.memory_total, first.own_pids) == (2**31, 81559 * 2**20, (7,))
    assert (second.utilization_percent, second.memory, second.own_pids) == (None, None, ())


@pytest.mark.parametrize("text", ["", "sh: nvidia-smi: not found", "No devices were found", "1, 2, 3"])
def test_other_text_shows_no_gpu(text: str) -> None:
    assert read_gpus(text) == ()
    assert read_processes(text) == ()


def test_processes_are_read_also_without_their_memory_and_with_commas() -> None:
    found = read_processes("GPU-a, 7, python train.py, x, 512\nGPU-b, 8, [Not Found], [N/A]\n")
    assert found == (
        GpuProcess(7, "python train.py, x", 2**29, "GPU-a"),
        GpuProcess(8, "[Not Found]", None, "GPU-b"),
    )


@pytest.mark.parametrize("heading", ["Usage:", "Total Usage:"])
@pytest.mark.parametrize(
    ("gpus", "held"), [("0.0/2.0", 0.0), ("2.0/2.0", 2.0), ("1.0/2.0 GPU (1.0 used of 2.0 reserved)", 1.0)]
)
def test_ray_status_of_old_and_new_versions(heading: str, gpus: str, held: float) -> None:
    found = read_ray_status(_RAY.format(heading=heading, gpus=gpus, demands="(no resource demands)"))
    assert found == ClusterResources(2.0, held, 16.0, 3.0)


def test_ray_status_shows_what_cannot_be_placed() -> None:
    demands = (
        "{'CPU': 1.0, 'GPU': 8.0}: 1+ pending tasks/actors\n"
        " {'GPU': 2.0} * 1, {'CPU': 1.0} * 1 (PACK): 1+ pending placement groups"
    )
    found = read_ray_status(_RAY.format(heading="Usage:", gpus="0.0/2.0", demands=demands))
    assert found is not None
    assert found.waiting == tuple(line.strip() for line in demands.splitlines())


def test_a_cluster_without_gpus_has_none_and_other_text_is_no_status() -> None:
    assert read_ray_status("Usage:\n 0.0/4.0 CPU\n") == ClusterResources(0.0, 0.0, 4.0, 0.0)
    assert read_ray_status("sh: 1: ray: not found") is None


def test_the_names_of_devices_tell_efa() -> None:
    assert [port.kind for port in read_ports("rdmap0s31\nefa_0\nmlx5_0\n")] == [
        FabricKind.EFA,
        FabricKind.EFA,
        FabricKind.INFINIBAND,
    ]


def test_the_newest_checkpoint_is_the_one_with_the_highest_step() -> None:
    text = "1000 step_100\n3000 step_500\n2000 step_300\n3001 latest\n3002 README.md\n"
    found = read_checkpoints(text, "/ck")
    assert (found.count, found.name, found.step, found.age_s(3000.0)) == (3, "step_500", 500, 0.0)
    assert found.next_s == 4000.0


def test_what_the_link_latest_names_is_complete_although_a_higher_step_is_there() -> None:
    found = read_checkpoints("1000 step_100\n3000 step_500\n3001 latest\nlatest step_100/\n", "/ck")
    assert (found.name, found.step, found.age_s(1001.0), found.is_complete) == ("step_100", 100, 1.0, True)
    assert read_checkpoints("1000 step_100\nlatest \n", "/ck").is_complete is None


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("", "no checkpoint with a step in its name"),
        ("sh: 9: cd: can't cd to /nope\n", "can't cd to /nope"),
        ("sh: line 9: cd: /nope: No such file or directory\n", "No such file or directory"),
        ("sh: line 9: cd: /root: Permission denied\n", "Permission denied"),
    ],
)
def test_a_folder_without_checkpoints_says_why(text: str, problem: str) -> None:
    found = read_checkpoints(text, "/nope")
    assert (found.newest, found.problem) == (None, problem)


def test_what_a_pod_lacks_is_named_in_its_own_words() -> None:
    found = pod_answer("p1", {"gpus": "sh: nvidia-smi: not found\n", "ray": "", "nccl": ""}, "")
    assert found.problems == (
        "GPUs of p1: sh: nvidia-smi: not found",
        "resources of Ray: `ray status` printed nothing",
    )


def test_the_lines_of_all_pods_count_together() -> None:
    def answer(pod: str, network: str) -> str:
        return f"{pod}:1:1 [0] NCCL INFO Using network {network}\n{pod}:1:1 [0] NCCL INFO nRanks 4 nNodes 2\n"

    pods = [pod_answer(pod, {"nccl": answer(pod, "IB")}, "") for pod in ("p1", "p2")]
    pods.append(pod_answer("p3", {"nccl": answer("p3", "Socket")}, ""))
    found = NcclLines.together(each.nccl for each in pods)
    assert found.networks == {"IB": 2, "Socket": 1}
    assert found.node_counts == (2,)
    assert found.evidence["network IB"].startswith("p1:")
