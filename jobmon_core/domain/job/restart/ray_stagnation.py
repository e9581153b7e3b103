"""Whether a job has stopped making progress, from looks that may be far apart."""

from __future__ import annotations

from dataclasses import dataclass, field, replace

_PAUSES = 3.0  # times the longest pause so far: a run that saves for ten minutes is not stalled after eleven
_NEW_RUN = 0.9  # of the step before: a lower step means a new run


@dataclass(frozen=True, slots=True)
class Memory:
    """What the looks so far have seen of a job. Times are Unix seconds."""

    step: float | None = None
    step_s: float = 0.0  # when the step was last seen to advance
    longest_pause_s: float = 0.0  # between two advances
    log: str = ""  # a fingerprint of the end of its log
    log_s: float = 0.0  # when the log was last seen to change
    seen_s: float = 0.0


@dataclass(frozen=True, slots=True)
class Memories:
    """The memories of all jobs, by their cluster and id."""

    jobs: dict[str, Memory] = field(default_factory=dict)


def look(
    before: Memory | None, step: float | None, log: str, now_s: float, threshold_s: float
) -> tuple[Memory, bool]:
    """Return the memory after a look at a running job, and whether the job is stalled.

    It is stalled if neither its step nor its log has changed for ``threshold_s`` seconds, and for three times
    its longest pause so far: long steps are no stall, and neither is a log that still grows. The first look
    at a run never finds a stall.
    """
    if before is None or (step is not None and before.step is not None and step < _NEW_RUN * before.step):
        return Memory(step, now_s, 0.0, log, now_s, now_s), False
    memory = replace(before, seen_s=now_s)
    if step is not None and (before.step is None or step > before.step):
        pause_s = 0.0 if before.step is None else now_s - before.step_s
        memory = replace(
            memory, step=step, step_s=now_s, longest_pause_s=max(before.longest_pause_s, pause_s)
        )
    if log != before.log:
        memory = replace(memory, log=log, log_s=now_s)
    quiet_s = now_s - max(memory.step_s, memory.log_s)
    return memory, quiet_s >= max(threshold_s, _PAUSES * memory.longest_pause_s)
