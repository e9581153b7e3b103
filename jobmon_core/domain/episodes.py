"""Which failures of a log belong together, and which of them the program survived.

A log holds more failures than the last one: what was caught and retried, what an earlier run left in a
file that later runs append to. Failures with much ordinary output between them are different episodes,
and only the last one can have ended the job.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterable
from itertools import accumulate

from jobmon_core.domain.labels import GENERIC
from jobmon_core.domain.loglines import LogLines
from jobmon_core.domain.rules import Finding, Role, Severity
from jobmon_core.domain.tracebacks import (
    FATAL,
    IGNORED,
    Link,
    Traceback,
    dump_below,
    is_code,
    link,
    traceback_above,
)

QUIET_LINES = 40  # more ordinary lines than this after a failure: the program went on
# precedence from which on a root is a failure of its own; those below repeat what the scheduler did, or are
# often survived, such as a module that a script fails to load
SURE = 20
ORIGIN = 30  # from here on it is no consequence either, as what waits for a dead rank is
_QUIET_LINES_OF_WEAK = 10
_QUIET_LINES_OF_CAUGHT = 4  # a traceback that a program printed itself, to go on


_WRAPPER = "wrapper"  # label of the rules for launchers, which start several processes


class Scene:
    """What was found in a log, seen line by line."""

    def __init__(self, findings: Iterable[Finding], lines: LogLines) -> None:
        """Keep for each line the first rule that matched it; code that a traceback quotes says nothing."""
        first: dict[int, Finding] = {}
        for finding in findings:
            first.setdefault(finding.position, finding)
        self.lines = lines
        self._tracebacks: dict[int, Traceback] = {}
        self.claimed = tuple(first[position] for position in sorted(first) if not is_code(lines, position))
        # ordinary lines begin at the margin and match nothing: counted once, as they are asked for often
        flush = [text[:1] > " " for text in lines.bare]
        self._flush_before = (0, *accumulate(flush))
        self._matched = [
            f.position for f in self.claimed if f.rule.severity is Severity.ERROR and flush[f.position]
        ]
        self._successes = tuple(f.position for f in self.claimed if f.rule.role is Role.SUCCESS)
        self._has_ranks = any(f.rule.role is Role.SYMPTOM or lines.labels[f.position] for f in self.claimed)

    def roots(self) -> tuple[Finding, ...]:
        """Return what may be a cause, in the order of the log."""
        return tuple(
            f
            for f in self.claimed
            if f.rule.role is Role.ROOT and f.rule.severity is Severity.ERROR and not self._was_ignored(f)
        )

    def _was_ignored(self, finding: Finding) -> bool:
        """Tell whether Python itself passed over an exception, as over one in a destructor."""
        head = self.traceback(finding).head
        return bool(head) and IGNORED in self.lines.bare[(head or 0) - 1]

    def traceback(self, finding: Finding) -> Traceback:
        """Return the traceback of a finding; without frames where there is none."""
        position = finding.position
        known = self._tracebacks.get(position)
        if known is None:
            find = dump_below if FATAL in self.lines.bare[position] else traceback_above
            known = self._tracebacks[position] = find(self.lines, position)
        return known

    def went_on_after(self, root: Finding, later: Finding | None = None) -> bool:
        """Tell whether the program went on after a failure: up to a later one, or to the end of its file.

        It did where it says so, or where enough ordinary output follows.
        """
        part = self.lines.part(root.position)
        end = part.stop if later is None else later.position
        if end not in range(root.position, part.stop + 1):
            return False  # in another file, whose order in time is not known
        if any(root.position < position < end for position in self._successes):
            return True
        return self._ordinary_lines(root.position + 1, end) > self._quiet_lines(root, later)

    def _quiet_lines(self, root: Finding, later: Finding | None) -> int:
        """Return how many ordinary lines a failure may leave behind it without having been survived."""
        if root.rule.precedence < SURE:
            return _QUIET_LINES_OF_WEAK
        if not self._has_ranks and self.was_caught(root):
            if self.traceback(root).head is not None:
                return _QUIET_LINES_OF_CAUGHT
            if later is not None and self.traceback(later).program:
                return _QUIET_LINES_OF_WEAK  # it is known what ended the program
        return QUIET_LINES

    def _ordinary_lines(self, start: int, stop: int) -> int:
        """Count the lines that are no part of a failure, nor of a traceback or a table."""
        flush = self._flush_before[stop] - self._flush_before[start]
        return flush - bisect_left(self._matched, stop) + bisect_left(self._matched, start)

    def was_survived(self, root: Finding) -> bool:
        """Tell whether a failure ended nothing, as far as the log shows."""
        return self.went_on_after(root) and self.was_caught(root)

    def was_caught(self, finding: Finding) -> bool:
        """Tell whether a failure does not show that it ended a program, thread or process."""
        return not self.traceback(finding).is_uncaught

    def ended_handling(self, earlier: Finding, later: Finding) -> bool:
        """Tell whether an exception was raised while another was handled that may have been expected."""
        generic = earlier.rule.label == later.rule.label == GENERIC
        return generic and self._link(earlier, later) is Link.WHILE_HANDLING

    def _link(self, earlier: Finding, later: Finding) -> Link | None:
        return link(self.lines, earlier.position, self.traceback(later))

    def was_left_behind(self, earlier: Finding, later: Finding) -> bool:
        """Tell whether the program met a failure and went on until it met another."""
        if self._link(earlier, later):
            return False
        return self.went_on_after(earlier, later) or self._was_run_again(earlier, later)

    def _was_run_again(self, earlier: Finding, later: Finding) -> bool:
        """Tell whether one program failed twice, so that its first run had ended before the second began.

        Processes that run side by side fail together too, but a launcher reports them or their lines bear
        labels.
        """
        if self._has_ranks or earlier.rule.id == later.rule.id:
            return False
        first, second = self.traceback(earlier), self.traceback(later)
        apart = second.head is not None and earlier.position < second.head
        was_cut = first.frames and first.head is None  # the log begins within it
        return apart and second.program != "" and (first.program == second.program or bool(was_cut))


def last_episode(scene: Scene) -> tuple[Finding, ...]:
    """Return those roots, in the order of the log, after which the program did not go on to the last."""
    kept: list[Finding] = []
    for root in reversed(scene.roots()):
        if kept and (scene.was_left_behind(root, kept[-1])):
            break
        kept.append(root)
    return tuple(reversed(kept))
