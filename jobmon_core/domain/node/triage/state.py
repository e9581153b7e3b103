"""What triage remembers about a task between two looks, and what it compares with."""

from __future__ import annotations

from dataclasses import dataclass, field

NODE_ENDS = "node-ends"  # the verdict that a cloud has announced the end of a node


@dataclass(frozen=True, slots=True)
class Thresholds:
    """What the rules compare with; a job configuration may set each."""

    gpu_low_percent: float = 20.0  # a less busy GPU waits for something
    gpu_busy_percent: float = 60.0  # a busier GPU is healthy
    low_power_percent: float = 50.0  # a busy GPU below this share of its power limit computes little
    memory_percent: float = 90.0
    disk_free_percent: float = 10.0
    disk_free_gb: float = 100.0  # 2^30 bytes; a disk with more free is not full, whatever the share
    memory_full_within_s: float = 604_800.0  # slower growth is no leak
    network_mb_per_s: float = 20.0  # 10^6 bytes; a program that receives less does not wait for the network
    saving_percent: float = 20.0  # of the time
    node_full_percent: float = 90.0  # a node that uses less of its cores and memory is not full
    throttled_percent: float = 25.0  # of the time: then the CPU quota holds back too many threads
    threads_per_core: float = 2.0  # by OMP_NUM_THREADS
    idle_cpu_percent: float = 10.0  # workers that use less of a core may wait for a lock
    must_last_s: float = 300.0  # most conditions
    idle_s: float = 1800.0  # a GPU or an allocation that idles for longer is wasted
    startup_s: float = 300.0  # until then, speed is not judged


@dataclass(frozen=True, slots=True)
class Held:
    """A reported verdict."""

    since_s: float
    seen_s: float  # when it held last
    is_permanent: bool = False
    is_quiet: bool = False  # it was never worth a message


@dataclass(frozen=True, slots=True)
class TriageState:
    """What was judged and reported about a run."""

    judged_s: float = 0.0  # the last look
    started_s: float = 0.0  # of the run
    held: dict[str, Held] = field(default_factory=dict)  # by name; not yet withdrawn
    stacks_wanted: bool = False  # at the stall that still lasts
    reported: tuple[str, ...] = ()  # all that were worth a message
