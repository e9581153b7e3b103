"""The events of a group's log, each some lines of text; other programs may read them, so they never change.

The first line is ``[YYYY-MM-DD HH:MM:SS] EVENT: subject``, in the local time of the host.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import NamedTuple

from jobmon_core.domain.humanize import count
from jobmon_core.domain.job.efficiency.advice import savings
from jobmon_core.domain.many.groups.member_view import MemberView
from jobmon_core.domain.slurm.states import JobState
from jobmon_core.domain.visible_text import one_line

_UTILIZATION = re.compile(r"(?i)util")
_MEMORY = re.compile(r"(?i)mem")
_USED, _TOTAL = re.compile(r"(?i)used|usage"), re.compile(r"(?i)total|max|limit")
_NUMBER = re.compile(r"\s*([0-9]+(?:\.[0-9]*)?)")
# how the name of a column says its unit; without one, large numbers are MiB, as nvidia-smi prints them
_TO_GIB = (
    (re.compile(r"(?i)gi?b"), 1.0),
    (re.compile(r"(?i)mi?b"), 2**-10),
    (re.compile(r"(?i)bytes"), 2**-30),
)
_LARGEST_GIB = 1024.0

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
        views = list(views)
        states = Counter(state for view in views for state in view.states)
        found = f"{count(states.total(), 'job')} found - {_counts_text(states, _USUAL)}"
        return self._event("STATUS_CHECK: Polling SLURM", f"Result: {self._silence(views)}{found}")

    def _silence(self, views: Iterable[MemberView]) -> str:
        silent = [view for view in views if view.unanswered_since_s is not None]
        if not silent:
            return ""
        longest = min(silent, key=lambda view: view.unanswered_since_s or 0.0)
        since = self.local_time(longest.unanswered_since_s or 0.0)
        why = f" ({longest.unanswered_why})" if longest.unanswered_why else ""
        return f"no answer since {since}{why}; as of then, "

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
        """Return the event with what an ended member used."""
        return self._event(
            f"COMPUTE_METRICS: {name}",
            f"Job ID: {view.job_id}",
            f"{'Wall Time' if view.gpu_hours is None else 'GPU Time'}: {_wall_text(view)}",
            f"Memory: {_memory_text(view)}",
            f"CPU Efficiency: {_cpu_text(view)}",
            *_advice(view),
        )

    def all_complete(self, views: Mapping[str, MemberView], since_s: float) -> str:
        """Return the event of a complete group: how the members ended, and how long all of it took."""
        states = Counter(
            state
            for view in views.values()
            for state in (("NEVER_STARTS",) if view.never_starts else view.states)
        )
        counts = _counts_text(states, (JobState.COMPLETED, JobState.FAILED))
        return self._event(
            "ALL_COMPLETE: Monitoring finished",
            f"Summary: {count(states.total(), 'job')} ended - {counts}",
            f"Total time: {_total_text(self.now_s - since_s)}",
        )

    def _event(self, title: str, *lines: str) -> str:
        return (
            "\n".join((f"[{self.local_time(self.now_s)}] {_one_line(title)}", *map(_one_line, lines)))
            + "\n\n"
        )


def _counts_text(states: Counter[str], usual: tuple[str, ...]) -> str:
    """Return how many are in each state: the usual ones even if there are none, then the others by name."""
    others = sorted(states.keys() - set(usual))
    return ", ".join(f"{states[state]} {state}" for state in (*usual, *others))


def elapsed_text(seconds: float) -> str:
    """Return a duration with its seconds, e.g. ``4m 52s`` or ``1h 02m 05s``."""
    minutes, second = divmod(round(seconds), 60)
    hours, minute = divmod(minutes, 60)
    if hours:
        return f"{hours}h {minute:02}m {second:02}s"
    if minutes:
        return f"{minutes}m {second:02}s"
    return f"{second}s"


def _total_text(seconds: float) -> str:
    """Return e.g. ``15 minutes``."""
    minutes = round(seconds / 60)
    if seconds < _MINUTES_FROM_S:
        return count(round(seconds), "second")
    if minutes < _HOURS_FROM_MINUTES:
        return count(minutes, "minute")
    hours, minutes = divmod(minutes, 60)
    if minutes:
        return f"{count(hours, 'hour')} {count(minutes, 'minute')}"
    return count(hours, "hour")


def _wall_text(view: MemberView) -> str:
    found = view.efficiency
    if found.wall_s is None:
        return "not recorded"
    if not found.limit_s:
        return f"{elapsed_text(found.wall_s)} / limit not recorded"
    share = f"{found.limit_share:.0%}" if not found.exceeded_limit else "**EXCEEDED**"
    return f"{elapsed_text(found.wall_s)} / {elapsed_text(found.limit_s)} ({share})"


def _memory_text(view: MemberView) -> str:
    used, requested = view.usage.max_rss_bytes, view.usage.requested_bytes
    used_text = f"{used / _GIB:.2f} GB" if used is not None else "not recorded"
    return f"{used_text} / {'not recorded' if requested is None else f'{requested / _GIB:.2f} GB'}"


def _cpu_text(view: MemberView) -> str:
    share = view.efficiency.cpu_share
    if share is None:
        return "not recorded"
    return f"{share:.1%}"


def _advice(view: MemberView) -> Iterator[str]:
    if view.state == JobState.TIMEOUT:
        yield _LIMIT_ADVICE
    if view.state == JobState.OUT_OF_MEMORY:
        yield _MEMORY_ADVICE
    if text := savings(view.efficiency):
        yield f"Advice: {text}"


def _one_line(text: str) -> str:
    return " ".join(one_line(text).split())


def figures_of_rows(rows: Sequence[Mapping[str, str]]) -> GpuFigures | None:
    """Return the figures in the last row of a table."""
    if not rows:
        return None
    row = rows[-1]
    memory = {name: text for name, text in row.items() if _MEMORY.search(name)}
    used = [name for name in row if _UTILIZATION.search(name) and name not in memory]
    percent = _number(row[used[0]]) if used else None
    if percent is None:
        return None
    return GpuFigures(percent, _gib(memory, _USED), _gib(memory, _TOTAL))


def _gib(columns: Mapping[str, str], kind: re.Pattern[str]) -> float | None:
    for name, text in columns.items():
        if kind.search(name) and (value := _number(text)) is not None:
            factor = next((factor for unit, factor in _TO_GIB if unit.search(name)), None)
            if factor is None:
                factor = 2**-10 if value > _LARGEST_GIB else 1.0
            return value * factor
    return None


def _number(text: str | None) -> float | None:
    found = _NUMBER.match(text or "")
    if found:
        return float(found[1])
    return None
