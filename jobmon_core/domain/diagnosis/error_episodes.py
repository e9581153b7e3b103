"""Which failures of a log belong together, and which of them the program survived.

A log holds more failures than the one that counts: what was caught and retried, what an earlier run left
in a file that later runs append to, what other processes met when the first was gone. Failures with much
ordinary output between them are different episodes, and only the last one can have ended the job. Within
it the first end of a process counts; what is a consequence by its kind never hides such an end.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections import defaultdict
from collections.abc import Iterable
from functools import cached_property
from itertools import islice

from jobmon_core.domain.diagnosis.log_lines import LogLines
from jobmon_core.domain.diagnosis.patterns import GENERIC, UNNAMED_EXCEPTION, Match, Role, Severity
from jobmon_core.domain.diagnosis.tracebacks import (
    FATAL,
    IGNORED,
    IN_THREAD,
    NO_EXCEPTION,
    Link,
    Traceback,
    dump_below,
    ends_of_tracebacks,
    is_code,
    link,
    traceback_above,
)

QUIET_LINES = 40  # more ordinary lines than this after a failure: the program went on
# precedence from which on a root is a failure of its own; those below repeat what the scheduler did, or are
# often survived, such as a module that a script fails to load
MIN_RELIABLE = 20
MIN_ROOT = 30  # from here on it is no consequence either, as what waits for a dead rank is
AUTHORITATIVE_PRECEDENCE = (
    90  # from here on the kernel or the scheduler says it: no other failure explains it away
)
_QUIET_LINES_OF_WEAK = 10
_QUIET_LINES_OF_CAUGHT = 4  # a traceback that a program printed itself, to go on
_ENDS = ("slurm_timeout", "slurm_cancelled", "slurm_preempted", "node_fail")  # labels of the scheduler's ends
_FAILURES = (Role.ROOT, Role.SYMPTOM)
_MARGIN = "!"  # the first character that can be seen: what begins at the margin does not sort before it


class LogAnalysis:
    """What was found in a log, seen line by line."""

    def __init__(self, findings: Iterable[Match], lines: LogLines) -> None:
        """Keep for each line the first rule that matched it; code that a traceback quotes says nothing."""
        first: dict[int, Match] = {}
        for finding in findings:
            first.setdefault(finding.position, finding)
        exceptions, self.is_cut_short = ends_of_tracebacks(lines)
        for position in exceptions:
            if not lines.unprefixed[position].startswith(NO_EXCEPTION):
                first.setdefault(position, Match(UNNAMED_EXCEPTION, position))
        self.lines = lines
        self._tracebacks: dict[int, Traceback] = {}
        self.matches = tuple(
            [
                first[position]
                for position in sorted(first)
                if not lines.unprefixed[position][:1].isspace() or not is_code(lines, position)
            ]
        )
        self._successes = [f.position for f in self.matches if f.pattern.role is Role.SUCCESS]

    @property
    def ends_in_success(self) -> bool:
        """Whether the program says that it went well."""
        return bool(self._successes)

    @cached_property
    def _ordinary(self) -> dict[str, list[int]]:
        """For each rank's label the lines at the margin that no rule matched, in order.

        Only those from the first failure on, which is where anybody asks for them.
        """
        claimed = {f.position for f in self.matches}
        first = next((f.position for f in self.matches if f.pattern.role in _FAILURES), len(self.lines))
        labels, found = self.lines.labels, defaultdict[str, list[int]](list)
        for position, text in enumerate(islice(self.lines.unprefixed, first, None), first):
            if text >= _MARGIN and position not in claimed:
                found[labels[position]].append(position)
        return found

    @cached_property
    def _has_ranks(self) -> bool:
        labels = self.lines.labels
        return any(f.pattern.role is Role.SYMPTOM or labels[f.position] for f in self.matches)

    @cached_property
    def last_episode(self) -> tuple[Match, ...]:
        """What may be a cause, in the order of the log: the program did not go on after it to the last."""
        kept: list[Match] = []
        for root in reversed(self._roots()):
            if kept and self._was_left_behind(root, kept[-1]):
                break
            kept.append(root)
        return _first_ends(self, kept[::-1])

    @cached_property
    def ends_well(self) -> bool:
        """Whether no wrapper reports, as one of the last things in the log, that something failed."""
        failed = [f for f in self.matches if f.pattern.role is Role.SYMPTOM]
        return not self.is_cut_short and all(map(self.went_on_after, failed))

    def _roots(self) -> list[Match]:
        return [
            f
            for f in self.matches
            if f.pattern.role is Role.ROOT
            and f.pattern.severity is Severity.ERROR
            and not self._was_ignored(f)
        ]

    def _was_ignored(self, finding: Match) -> bool:
        """Tell whether Python itself passed over an exception, as over one in a destructor."""
        return any(map(self._above(finding).__contains__, IGNORED))

    def _above(self, finding: Match) -> str:
        """Return the line above the traceback of a finding; empty where there is none."""
        head = self.traceback(finding).head
        return self.lines.unprefixed[head - 1] if head else ""

    def is_final(self, finding: Match) -> bool:
        """Tell whether a failure certainly ended a process: nobody caught it, or it is reported as an end."""
        if finding.pattern.is_final:
            return True
        return self.traceback(finding).is_uncaught and IN_THREAD not in self._above(finding)

    def is_schedulers_end(self, finding: Match) -> bool:
        """Tell whether a line says that the scheduler ended the job."""
        return finding.pattern.is_final and finding.pattern.label in _ENDS

    def traceback(self, finding: Match) -> Traceback:
        """Return the traceback of a finding; without frames where there is none."""
        position = finding.position
        known = self._tracebacks.get(position)
        if known is None:
            find = dump_below if FATAL in self.lines.unprefixed[position] else traceback_above
            known = self._tracebacks[position] = find(self.lines, position)
        return known

    def went_on_after(self, root: Match, later: Match | None = None) -> bool:
        """Tell whether the program went on after a failure: up to a later one, or to the end of its file.

        It did where it says so, or where enough ordinary output follows.
        """
        part = self.lines.part(root.position)
        end = part.stop if later is None else later.position
        if end not in range(root.position, part.stop + 1):
            return False  # in another file, whose order in time is not known
        if self.is_final(root) and (later is None or not self.is_final(later)):
            return False
        if bisect_left(self._successes, end) > bisect_right(self._successes, root.position):
            return True
        return self._ordinary_lines(root, end) > self._quiet_lines(root, later)

    def _quiet_lines(self, root: Match, later: Match | None) -> int:
        """Return how many ordinary lines a failure may leave behind it without having been survived."""
        if root.pattern.precedence < MIN_RELIABLE:
            return _QUIET_LINES_OF_WEAK
        if not self._has_ranks and not self.is_final(root):
            if self.traceback(root).head is not None:
                return _QUIET_LINES_OF_CAUGHT
            if later is not None and self.traceback(later).program:
                return _QUIET_LINES_OF_WEAK  # it is known what ended the program
        return QUIET_LINES

    def _ordinary_lines(self, root: Match, stop: int) -> int:
        """Count what the rank of a failure printed after it that is no part of a failure, dump or table."""
        lines = self._ordinary.get(self.lines.labels[root.position], [])
        return bisect_left(lines, stop) - bisect_right(lines, root.position)

    def ended_handling(self, earlier: Match, later: Match) -> bool:
        """Tell whether an exception was raised while another was handled that may have been expected."""
        generic = earlier.pattern.label == later.pattern.label == GENERIC
        return generic and self._link(earlier, later) is Link.WHILE_HANDLING

    def are_linked(self, earlier: Match, later: Match) -> bool:
        """Tell whether one exception came from another."""
        return self._link(earlier, later) is not None

    def _link(self, earlier: Match, later: Match) -> Link | None:
        return link(self.lines, earlier.position, self.traceback(later))

    def _was_left_behind(self, earlier: Match, later: Match) -> bool:
        """Tell whether the program met a failure and went on until it met another."""
        if self.are_linked(earlier, later):
            return False
        return self.went_on_after(earlier, later) or self._was_run_again(earlier, later)

    def _was_run_again(self, earlier: Match, later: Match) -> bool:
        """Tell whether one program failed twice, so that its first run had ended before the second began.

        Processes that run side by side fail together too, but a launcher reports them or their lines bear
        labels.
        """
        if self._has_ranks or earlier.pattern.id == later.pattern.id:
            return False
        first, second = self.traceback(earlier), self.traceback(later)
        apart = second.head is not None and earlier.position < second.head
        was_cut = first.frames and first.head is None  # the log begins within it
        return apart and second.program != "" and (first.program == second.program or bool(was_cut))


def _first_ends(analysis: LogAnalysis, roots: list[Match]) -> tuple[Match, ...]:
    """Leave out what came after an end: of the job by the scheduler, of the first process by itself."""
    kept: list[Match] = []
    ended: Match | None = None
    first: Match | None = None
    for root in roots:
        stated = root.pattern.precedence >= AUTHORITATIVE_PRECEDENCE
        if ended and not stated and root.position in analysis.lines.part(ended.position):
            continue
        if analysis.is_schedulers_end(root):
            ended = ended or root
        elif analysis.is_final(root) and not stated and root.pattern.precedence >= MIN_ROOT:
            if first is not None and not analysis.are_linked(first, root):
                continue
            first = root
        kept.append(root)
    return tuple(kept)
