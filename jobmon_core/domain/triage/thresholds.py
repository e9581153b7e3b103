"""When a figure of a running job is too high or too low, and for how long it must be so."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Thresholds:
    """The numbers that the rules compare with; a job configuration may set each of them."""

    gpu_low_percent: float = 20.0  # a GPU that computes less of the time is waiting for something
    gpu_busy_percent: float = 60.0  # one that computes more of the time is healthy
    low_power_percent: float = 50.0  # of its power limit: a GPU that draws less computes little
    memory_percent: float = 90.0  # of the limit
    disk_free_percent: float = 10.0
    disk_free_gb: float = 100.0  # 2^30 bytes; a disk with more free is not full, whatever the share
    memory_full_within_s: float = 604_800.0  # of a leak: what fills the memory later is none
    network_mb_per_s: float = 20.0  # 10^6 bytes; what loads less data is not bound by the network
    saving_percent: float = 20.0  # of the time: checkpoints that take less are no overhead
    node_full_percent: float = 90.0  # of the cores of a node: one that computes less is not full
    throttled_percent: float = (
        25.0  # of the time: the quota of the cores holds back threads that are too many
    )
    threads_per_core: float = 2.0  # that OMP_NUM_THREADS may ask for
    idle_cpu_percent: float = 10.0  # of one core, for each worker: a task that uses less may wait for a lock
    must_last_s: float = 300.0  # most conditions must last as long
    idle_s: float = 1800.0  # a GPU or an allocation that idles for longer is wasted
    startup_s: float = 300.0  # after the start; a program that loads is not judged by its speed
