"""Which failures of a log may be the root cause, and which ones the program recovered from.

Failures with much ordinary output between them are separate episodes, and only the last episode can have
ended the job. Within it, the first failure that ended a process counts.
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
    DIRECT_CAUSE,
    FATAL,
    IGNORED,
    IN_THREAD,
    NO_EXCEPTION,
    WHILE_HANDLING,
    Traceback,
    dump_below,
    ends_of_tracebacks,
    is_chained,
    is_quoted_code,
    traceback_above,
)

# Below this precedence a pattern only repeats what the scheduler did, or programs often survive the failure.
MIN_RELIABLE = 20
MIN_ROOT = 30  # below, the failure is usually a consequence, such as waiting for a rank that died
AUTHORITATIVE_PRECEDENCE = 90  # from here on, no other failure explains it, e.g. the kernel's OOM kill

# The program recovered from a failure if more ordinary lines than this follow it.
QUIET_LINES = 40
_QUIET_LINES_OF_UNRELIABLE = 10
_QUIET_LINES_OF_PRINTED_TRACEBACK = 4  # the program caught the exception and printed its traceback

_SCHEDULER_LABELS = ("slurm_timeout", "slurm_cancelled", "slurm_preempted", "node_fail")
_FAILURE_ROLES = (Role.ROOT, Role.SYMPTOM)
_FIRST_PRINTABLE = "!"  # an indented line sorts before it


class LogAnalysis:
    """The pattern matches of a log, and which of them may be its root cause."""

    def __init__(self, matches: Iterable[Match], lines: LogLines) -> None:
        """Keep the first match of each line, and none on the code that a traceback quotes."""
        first: dict[int, Match] = {}
        for match in matches:
            first.setdefault(match.position, match)
        exceptions, self.ends_in_traceback = ends_of_tracebacks(lines)
        for position in exceptions:
            if not lines.unprefixed[position].startswith(NO_EXCEPTION):
                first.setdefault(position, Match(UNNAMED_EXCEPTION, position))
        self.lines = lines
        self._tracebacks: dict[int, Traceback] = {}
        self.matches = tuple(
            [first[position] for position in sorted(first) if not is_quoted_code(lines, position)]
        )
        # where the program printed that it succeeded
        self.successes = [match.position for match in self.matches if match.pattern.role is Role.SUCCESS]

    @cached_property
    def ends_cleanly(self) -> bool:
        """Whether the log ends neither within a traceback nor soon after the report of a failed process."""
        reports = [match for match in self.matches if match.pattern.role is Role.SYMPTOM]
        return not self.ends_in_traceback and all(map(self.recovered_from, reports))

    @cached_property
    def root_candidates(self) -> tuple[Match, ...]:
        """The failures of the last episode that may be the root cause, in the order of the log."""
        episode: list[Match] = []
        for root in reversed(self._roots()):
            if episode and self._starts_new_episode(root, episode[-1]):
                break
            episode.append(root)
        return _without_consequences(self, episode[::-1])

    def _roots(self) -> list[Match]:
        return [
            match
            for match in self.matches
            if match.pattern.role is Role.ROOT
            and match.pattern.severity is Severity.ERROR
            and not any(map(self._line_above_traceback(match).__contains__, IGNORED))
        ]

    def _line_above_traceback(self, match: Match) -> str:
        """Return the line above the traceback of a match; empty if either is missing."""
        head = self.traceback(match).head
        return self.lines.unprefixed[head - 1] if head else ""

    def traceback(self, match: Match) -> Traceback:
        """Return the traceback of a match; it has no frames if the log shows none."""
        position = match.position
        if position not in self._tracebacks:
            find = dump_below if FATAL in self.lines.unprefixed[position] else traceback_above
            self._tracebacks[position] = find(self.lines, position)
        return self._tracebacks[position]

    def ended_process(self, match: Match) -> bool:
        """Return whether a failure ended a process: it is uncaught, or its line reports the end."""
        if match.pattern.is_final:
            return True
        return self.traceback(match).is_uncaught and IN_THREAD not in self._line_above_traceback(match)

    def recovered_from(self, root: Match, later: Match | None = None) -> bool:
        """Return whether the program continued after a failure, until ``later`` or the end of that log.

        It did if it reports success before then or prints enough ordinary lines, but not if, of the two, only
        the earlier failure ended a process.
        """
        excerpt = self.lines.excerpt_range(root.position)
        end = excerpt.stop if later is None else later.position
        if end not in range(root.position, excerpt.stop + 1):
            return False  # the later failure is in another file: their order in time is unknown
        if self.ended_process(root) and (later is None or not self.ended_process(later)):
            return False
        if bisect_left(self.successes, end) > bisect_right(self.successes, root.position):
            return True
        return self._count_ordinary_lines(root, end) > self._quiet_lines(root, later)

    def _quiet_lines(self, root: Match, later: Match | None) -> int:
        """Return how many ordinary lines may follow a failure that the program did not recover from."""
        if root.pattern.precedence < MIN_RELIABLE:
            return _QUIET_LINES_OF_UNRELIABLE
        if not self._has_ranks and not self.ended_process(root):
            if self.traceback(root).head is not None:
                return _QUIET_LINES_OF_PRINTED_TRACEBACK
            if later is not None and self.traceback(later).program:
                return _QUIET_LINES_OF_UNRELIABLE  # the later traceback shows what ended the program
        return QUIET_LINES

    def _count_ordinary_lines(self, root: Match, stop: int) -> int:
        """Count the lines after a failure, from the same rank, that belong to no failure, dump or table."""
        positions = self._ordinary_positions.get(self.lines.labels[root.position], [])
        return bisect_left(positions, stop) - bisect_right(positions, root.position)

    @cached_property
    def _ordinary_positions(self) -> dict[str, list[int]]:
        """For each rank label the unindented lines without a match, from the first failure on."""
        matched = {match.position for match in self.matches}
        failures = (match.position for match in self.matches if match.pattern.role in _FAILURE_ROLES)
        first = next(failures, len(self.lines))
        labels, positions = self.lines.labels, defaultdict[str, list[int]](list)
        for position, text in enumerate(islice(self.lines.unprefixed, first, None), first):
            if text >= _FIRST_PRINTABLE and position not in matched:
                positions[labels[position]].append(position)
        return positions

    @cached_property
    def _has_ranks(self) -> bool:
        labels = self.lines.labels
        return any(match.pattern.role is Role.SYMPTOM or labels[match.position] for match in self.matches)

    def was_raised_in_handler(self, earlier: Match, later: Match) -> bool:
        """Return whether the second of two generic exceptions was raised while the first was handled."""
        are_generic = earlier.pattern.label == later.pattern.label == GENERIC
        later_traceback = self.traceback(later)
        return are_generic and is_chained(self.lines, earlier.position, later_traceback, (WHILE_HANDLING,))

    def are_chained(self, earlier: Match, later: Match) -> bool:
        """Return whether the later exception was raised from the earlier one or in its handler."""
        connectives = (WHILE_HANDLING, DIRECT_CAUSE)
        return is_chained(self.lines, earlier.position, self.traceback(later), connectives)

    def _starts_new_episode(self, earlier: Match, later: Match) -> bool:
        """Return whether the program recovered from the earlier failure before the later one."""
        if self.are_chained(earlier, later):
            return False
        return self.recovered_from(earlier, later) or self._is_of_later_run(earlier, later)

    def _is_of_later_run(self, earlier: Match, later: Match) -> bool:
        """Return whether one program failed twice, so that its first run had ended before the second started.

        Processes that run at the same time fail together too, but then torchrun or srun reports them, or
        their lines have rank labels.
        """
        if self._has_ranks or earlier.pattern.id == later.pattern.id:
            return False
        first, second = self.traceback(earlier), self.traceback(later)
        are_separate = second.head is not None and earlier.position < second.head
        is_first_cut = bool(first.frames) and first.head is None  # the log starts within it
        return are_separate and second.program != "" and (first.program == second.program or is_first_cut)


def _without_consequences(analysis: LogAnalysis, roots: list[Match]) -> tuple[Match, ...]:
    """Drop failures after Slurm ended the job, and those that ended a process after another had failed."""
    candidates: list[Match] = []
    scheduler_end: Match | None = None
    first_end: Match | None = None
    for root in roots:
        is_authoritative = root.pattern.precedence >= AUTHORITATIVE_PRECEDENCE
        after_end = analysis.lines.excerpt_range(scheduler_end.position) if scheduler_end else ()
        if root.position in after_end and not is_authoritative:
            continue
        if root.pattern.is_final and root.pattern.label in _SCHEDULER_LABELS:
            scheduler_end = scheduler_end or root
        elif analysis.ended_process(root) and not is_authoritative and root.pattern.precedence >= MIN_ROOT:
            if first_end is not None and not analysis.are_chained(first_end, root):
                continue
            first_end = root
        candidates.append(root)
    return tuple(candidates)
