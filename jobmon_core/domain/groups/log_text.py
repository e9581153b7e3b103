"""The events of a group's log, each some lines of text; other programs may read them, so they never change.

The first line is ``[YYYY-MM-DD HH:MM:SS] EVENT: subject``, in the local time of the host.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import NamedTuple

from jobmon_core.domain.efficiency.advice import savings
from jobmon_core.domain.groups.member_view import MemberView
from jobmon_core.domain.humanize import count
from jobmon_core.domain.slurm.states import JobState

_USUAL = (JobState.PENDING, JobState.RUNNING, JobState.COMPLETED)  # counted even if there are none
_LIMIT_ADVICE = "⚠️ Time limit exceeded — consider increasing the time limit (`--time`)"
_MEMORY_ADVICE = "⚠️ Out of memory — consider requesting more (`--mem`)"
_GIB = 2**30
_MINUTES_FROM_S, _HOURS_FROM_MINUTES = 90, 120


class GpuFigures(NamedTuple):
    """The latest figures of the GPUs of a member, averaged; memory summed up, in GiB."""

    utilization_percent: float
    memory_used_gib: float | None = None
    memory_total_gib: float | None = None


class EventText(NamedTuple):
    """Formats events at one moment; ``local_time`` formats Unix seconds as ``YYYY-MM-DD HH:MM:SS``."""

    now_s: float
    local_time: Callable[[float], str]

    def status_check(self, views: Iterable[MemberView]) -> str:
        """Return the event of a poll, written even if nothing changed."""
        states = Counter(view.state for view in views)
        counts = [f"{states[state]} {state}" for state in _USUAL]
        counts += [f"{number} {state}" for state, number in sorted(states.items()) if state not in _USUAL]
        return self._event(
            "STATUS_CHECK: Polling SLURM",
            f"Result: {count(states.total(), 'job')} found - {', '.join(counts)}",
        )

    def state_change(self, name: str, before: str, view: MemberView) -> str:
        """Return the event of a member whose state changed; ``before`` is empty for a new member."""
        return self._event(f"STATE_CHANGE: {name}", *self._changed_lines(before, view))

    def _changed_lines(self, before: str, view: MemberView) -> Iterator[str]:
        yield f"Previous: {before or 'none'}"
        yield f"Current: {view.state}"
        if view.outcome is None:
            yield f"Job ID: {view.job_id}"
        if view.ended_s is not None:
            yield f"Completed: {self.local_time(view.ended_s)}"
        if view.elapsed_s is not None:
            yield f"Elapsed: {elapsed_text(view.elapsed_s)}"
        yield "Action: Updated run state"
        if view.outcome is not None and view.log_folder:
            yield f"Result log: {view.log_folder}"

    def stuck(self, name: str, view: MemberView) -> str:
        """Return the event of a member that can never start."""
        cluster = f"-M {view.other_cluster} " if view.other_cluster else ""
        return self._event(
            f"NEVER_STARTS: {name}",
            f"Job ID: {view.job_id}",
            f"Reason: {view.never_starts}",
            f"Action: Not waited for; `scancel {cluster}{view.job_id}` removes it",
        )

    def broken(self, why: str, action: str) -> str:
        """Return the event of a sweep that looks broken."""
        return self._event("STOP_RULE: Members fail in the same way", f"Reason: {why}", f"Action: {action}")

    def resource_status(self, name: str, gpus: GpuFigures) -> str:
        """Return the event with the latest figures of a running member's GPUs."""
        memory = ""
        if gpus.memory_used_gib is not None and gpus.memory_total_gib is not None:
            memory = f" | GPU Memory: {gpus.memory_used_gib:.1f}/{gpus.memory_total_gib:.1f} GB"
        return self._event(
            f"RESOURCE_STATUS: {name}", f"GPU Utilization: {gpus.utilization_percent:.0f}%{memory}"
        )

    def compute_metrics(self, name: str, view: MemberView) -> str:
        """Return the event with what an ended member used; what accounting lacks is ``not recorded``."""
        return self._event(
            f"COMPUTE_METRICS: {name}",
            f"Job ID: {view.job_id}",
            f"GPU Time: {_wall_text(view)}",
            f"Memory: {_memory_text(view)}",
            f"CPU Efficiency: {_cpu_text(view)}",
            *_advice(view),
        )

    def all_complete(self, views: Mapping[str, MemberView], since_s: float) -> str:
        """Return the event of a complete group: how the members ended, and how long all of it took."""
        states = Counter("NEVER_STARTS" if view.never_starts else view.state for view in views.values())
        usual = (JobState.COMPLETED, JobState.FAILED)
        counts = [f"{states[state]} {state}" for state in usual]
        counts += [f"{number} {state}" for state, number in sorted(states.items()) if state not in usual]
        return self._event(
            "ALL_COMPLETE: Monitoring finished",
            f"Summary: {count(states.total(), 'job')} ended - {', '.join(counts)}",
            f"Total time: {_total_text(self.now_s - since_s)}",
        )

    def _event(self, title: str, *lines: str) -> str:
        return (
            "\n".join((f"[{self.local_time(self.now_s)}] {_one_line(title)}", *map(_one_line, lines)))
            + "\n\n"
        )


def elapsed_text(seconds: float) -> str:
    """Return a duration with its seconds, e.g. ``4m 52s`` or ``1h 02m 05s``."""
    minutes, second = divmod(round(seconds), 60)
    hours, minute = divmod(minutes, 60)
    if hours:
        return f"{hours}h {minute:02}m {second:02}s"
    return f"{minutes}m {second:02}s" if minutes else f"{second}s"


def _total_text(seconds: float) -> str:
    """Return a long duration in words, e.g. ``15 minutes``."""
    minutes = round(seconds / 60)
    if seconds < _MINUTES_FROM_S:
        return count(round(seconds), "second")
    if minutes < _HOURS_FROM_MINUTES:
        return count(minutes, "minute")
    hours, minutes = divmod(minutes, 60)
    return f"{count(hours, 'hour')} {count(minutes, 'minute')}" if minutes else count(hours, "hour")


def _wall_text(view: MemberView) -> str:
    found = view.efficiency
    if found.wall_s is None:
        return "not recorded"
    if not found.limit_s:
        return f"{elapsed_text(found.wall_s)} / limit not recorded"
    share = "**EXCEEDED**" if found.exceeded_limit else f"{found.limit_share:.0%}"
    return f"{elapsed_text(found.wall_s)} / {elapsed_text(found.limit_s)} ({share})"


def _memory_text(view: MemberView) -> str:
    used, requested = view.usage.max_rss_bytes, view.usage.requested_bytes
    used_text = "not recorded" if used is None else f"{used / _GIB:.2f} GB"
    return f"{used_text} / {'not recorded' if requested is None else f'{requested / _GIB:.2f} GB'}"


def _cpu_text(view: MemberView) -> str:
    """Return the processor time that was used as a share of that of all allocated CPUs, as seff does."""
    share = view.efficiency.cpu_share
    return "not recorded" if share is None else f"{share:.1%}"


def _advice(view: MemberView) -> Iterator[str]:
    if view.state == JobState.TIMEOUT:
        yield _LIMIT_ADVICE
    if view.state == JobState.OUT_OF_MEMORY:
        yield _MEMORY_ADVICE
    if text := savings(view.efficiency):
        yield f"Advice: {text}"


def _one_line(text: str) -> str:
    return " ".join(text.split())
