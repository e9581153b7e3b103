"""Cgroups and the figures of a node, read from folders that are made like those of the kernel."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import pytest

from jobmon_core.agent.cgroup import (
    Cgroup,
    CpuQuota,
    cpu_cgroup,
    cpu_quota,
    hierarchies,
    is_shared,
    memory,
    memory_cgroup,
    share_of,
)
from jobmon_core.agent.proc import Counters, node, read_counters
from jobmon_core.domain.node.telemetry.model import Memory

_V1_MEMORY = {
    "memory.usage_in_bytes": "900",
    "memory.limit_in_bytes": "1000",
    "memory.stat": "cache 1\nactive_file 7\ntotal_active_file 100\ntotal_inactive_file 50\n",
    "memory.oom_control": "oom_kill_disable 0\nunder_oom 0\noom_kill 1\n",
}
_V2_MEMORY = {
    "memory.current": "900",
    "memory.max": "1000",
    "memory.stat": "anon 700\nactive_file 100\ninactive_file 50\nactive_anon 3\n",
    "memory.events": "low 0\nhigh 0\nmax 9\noom 2\noom_kill 3\n",
}


def write(folder: Path, files: Mapping[str, str]) -> Path:
    """Write files into a folder."""
    folder.mkdir(parents=True, exist_ok=True)
    for name, text in files.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(text)
    return folder


def v1(folder: Path, root: str = "/") -> str:
    """Return the mounts of version 1 below a folder."""
    return "".join(
        f"3{i} 25 0:3{i} {root} {folder}/{name} rw,relatime shared:9 - cgroup cgroup rw,{name}\n"
        for i, name in enumerate(("memory", "cpu,cpuacct"))
    )


def v2(folder: Path, root: str = "/") -> str:
    """Return the mount of version 2 at a folder."""
    return f"25 20 0:22 {root} {folder} rw,nosuid shared:4 - cgroup2 cgroup2 rw,nsdelegate\n"


def proc(folder: Path, **cgroups: str) -> str:
    """Return a folder like /proc with the cgroups of processes; ``p7`` is process 7."""
    for pid, text in cgroups.items():
        write(folder / "proc" / pid.removeprefix("p"), {"cgroup": text})
    return str(folder / "proc")


def test_the_memory_of_a_job_in_version_1_is_that_of_its_cgroup_not_of_its_step(tmp_path: Path) -> None:
    job = "slurm/uid_1/job_12"
    write(tmp_path / "memory" / job, _V1_MEMORY)
    step = {"memory.limit_in_bytes": "9223372036854771712", "memory.oom_control": "oom_kill 2\n"}
    write(tmp_path / "memory" / job / "step_0", step)
    processes = proc(
        tmp_path,
        p7=f"9:memory:/{job}/step_0\n4:cpu,cpuacct:/\n0::/x\n",
        p8=f"9:memory:/{job}/step_1/task_0\n4:cpu,cpuacct:/\n",
    )
    group = memory_cgroup((7, 8), hierarchies(v1(tmp_path)), processes)
    assert group == Cgroup(f"{tmp_path}/memory/{job}", is_v2=False)
    assert memory(group) == Memory(900 - 150, 1000, 3, "cgroup v1")


def test_the_memory_of_a_job_in_version_2(tmp_path: Path) -> None:
    job = "system.slice/slurmstepd.scope/job_12"
    write(tmp_path / "fs" / job, _V2_MEMORY)
    write(tmp_path / "fs" / job / "step_0/user", {**_V2_MEMORY, "memory.max": "max\n"})
    processes = proc(tmp_path, p7=f"0::/{job}/step_0/user/task_0\n")
    group = memory_cgroup((7,), hierarchies(v2(tmp_path / "fs")), processes)
    assert group == Cgroup(f"{tmp_path}/fs/{job}", is_v2=True)
    assert memory(group) == Memory(900 - 150, 1000, 3, "cgroup v2")


def test_a_container_sees_its_own_part_of_the_hierarchy(tmp_path: Path) -> None:
    write(tmp_path / "fs" / "inner", _V2_MEMORY)
    mounted = hierarchies(v2(tmp_path / "fs", "/docker/abc"))
    processes = proc(tmp_path, p7="0::/docker/abc/inner\n", p8="0::/elsewhere\n")
    assert memory_cgroup((7,), mounted, processes) == Cgroup(f"{tmp_path}/fs/inner", is_v2=True)
    assert memory_cgroup((8,), mounted, processes) is None


def test_without_a_limit_only_the_cgroup_of_a_job_counts(tmp_path: Path) -> None:
    unlimited = {**_V2_MEMORY, "memory.max": "max\n"}
    write(tmp_path / "fs" / "job_12", unlimited)
    write(tmp_path / "fs" / "user.slice", unlimited)
    mounted = hierarchies(v2(tmp_path / "fs"))
    processes = proc(tmp_path, p7="0::/job_12\n", p8="0::/user.slice\n")
    group = memory_cgroup((7,), mounted, processes)
    assert group is not None
    assert memory(group) == Memory(750, None, 3, "cgroup v2")
    assert memory_cgroup((8,), mounted, processes) is None
    assert memory_cgroup((9,), mounted, processes) is None  # it has ended
    assert memory_cgroup((7,), hierarchies(""), processes) is None


def test_an_unreadable_cgroup_has_no_memory(tmp_path: Path) -> None:
    assert memory(Cgroup(f"{tmp_path}/gone", is_v2=True)) is None


def test_a_cgroup_that_others_share_is_not_all_the_task_s(tmp_path: Path) -> None:
    slice_ = Cgroup(str(write(tmp_path / "user.slice", {"a/cgroup.procs": "7\n8\n"})), is_v2=True)
    assert not is_shared(slice_, {7, 8})
    write(tmp_path / "user.slice", {"b/cgroup.procs": "9\n"})
    assert is_shared(slice_, {7, 8})
    job = Cgroup(str(write(tmp_path / "job_12", {"cgroup.procs": "1\n"})), is_v2=True)
    by_sluid = tmp_path / "system.slice/n1_slurmstepd.scope/sEKNKTV3WPV500"
    assert not is_shared(Cgroup(str(write(by_sluid / "step_0", {"cgroup.procs": "1\n"})), is_v2=True), {7})
    assert is_shared(Cgroup(str(by_sluid.parent), is_v2=True), {7})
    assert not is_shared(job, {7})  # the daemon of a step
    assert share_of(Memory(280, 300, 4, "cgroup v2"), 9) == Memory(9, 29, None, "shared cgroup")
    assert share_of(Memory(280, 300, 4, "cgroup v2"), 290).used == 280


@pytest.mark.parametrize("version", [1, 2])
def test_the_quota_of_the_cpus_and_how_often_it_held_a_job_back(tmp_path: Path, version: int) -> None:
    counters = {"cpu.stat": "nr_periods 100\nnr_throttled 40\nthrottled_time 5\n"}
    if version == 1:
        quota = {"cpu.cfs_quota_us": "250000\n", "cpu.cfs_period_us": "100000\n", **counters}
        write(tmp_path / "cpu,cpuacct/job_12", quota)
        write(tmp_path / "cpu,cpuacct/job_12/step_0", {**quota, "cpu.cfs_quota_us": "-1\n"})
        mounted = hierarchies(v1(tmp_path))
    else:
        write(tmp_path / "fs/job_12", {"cpu.max": "250000 100000\n", **counters})
        write(tmp_path / "fs/job_12/step_0", {"cpu.max": "max 100000\n", **counters})
        mounted = hierarchies(v2(tmp_path / "fs"))
    processes = proc(tmp_path, p7="4:cpu,cpuacct:/job_12/step_0\n0::/job_12/step_0\n")
    group = cpu_cgroup((7,), mounted, processes)
    assert group is not None
    assert group.folder.endswith("/job_12")
    assert cpu_quota(group) == CpuQuota(2.5, 100, 40)


_NET = """\
Inter-|   Receive                                                |  Transmit
 face |bytes    packets errs drop fifo frame compressed multicast|bytes    packets errs drop fifo colls
    lo: {lo} 1 0 0 0 0 0 0 {lo} 1 0 0 0 0 0 0
  eth0: {eth} 1 0 0 0 0 0 0 {sent} 1 0 0 0 0 0 0
  bond0:{eth} 1 0 0 0 0 0 0 {sent} 1 0 0 0 0 0 0
"""


def test_a_node_waits_for_disks_and_receives_by_its_counters(tmp_path: Path) -> None:
    write(tmp_path / "sys" / "class/net/eth0", {"device": ""})  # the bond passes on what the card receives

    def counters(stat: str, eth: int, sent: int) -> Counters:
        network = _NET.format(lo=99 * eth, eth=eth, sent=sent)
        files = {"stat": f"cpu  {stat}\ncpu0 1 1 1 1\n", "net/dev": network}
        return read_counters(str(write(tmp_path / "p", files)), str(tmp_path / "sys"))

    before = counters("100 0 50 800 50 0 0 0 7 0", 1000, 500)
    now = counters("300 0 100 1300 300 0 0 0 9 0", 6000, 1500)
    found = node("n1", before, now, 10.0)
    assert found.cpu_percent == 25.0
    assert found.io_wait_percent == 25.0
    assert (found.received_per_s, found.sent_per_s) == (500.0, 100.0)


def test_unreadable_counters_are_not_0(tmp_path: Path) -> None:
    nothing = read_counters(str(tmp_path), str(tmp_path))
    found = node("n1", nothing, nothing, 5.0)
    assert (found.cpu_percent, found.io_wait_percent, found.received_per_s) == (None, None, None)
