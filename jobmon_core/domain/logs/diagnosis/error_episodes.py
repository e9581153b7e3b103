"""Which failures of a log may be the root cause, and which ones the program recovered from.

Failures with much ordinary output between them are separate episodes: only the last can have ended the job.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Iterable
from dataclasses import replace
from functools import cached_property

from jobmon_core.domain.logs.diagnosis.after_failure import OrdinaryLines, counts_up, started_again
from jobmon_core.domain.logs.diagnosis.log_lines import LogLines, is_warning
from jobmon_core.domain.logs.diagnosis.patterns import (
    AUTHORITATIVE_PRECEDENCE,
    COMMAND_NOT_RUN,
    GENERIC,
    LOOKUP,
    MIN_RELIABLE_PRECEDENCE,
    MIN_ROOT_PRECEDENCE,
    SCHEDULER_LABELS,
    SCRIPT_END,
    SMALL_COMMAND,
    UNNAMED_EXCEPTION,
    UNSET_VARIABLE,
    Match,
    Role,
    is_job_pattern,
)
from jobmon_core.domain.logs.diagnosis.ray_log import without_repeated
from jobmon_core.domain.logs.diagnosis.telling_lines import says_result
from jobmon_core.domain.logs.diagnosis.tracebacks import (
    DIRECT_CAUSE,
    FATAL,
    HYDRA_ERROR,
    IGNORED,
    IN_THREAD,
    WHILE_HANDLING,
    Traceback,
    ends_of_tracebacks,
    faulthandler_dump_below,
    is_chained,
    is_exception,
    is_of_connection,
    is_of_pth_file,
    is_quoted_code,
    traceback_above,
)

# with more ordinary lines below it, the program recovered from a failure
MAX_ORDINARY_LINES = 40
_MAX_ORDINARY_LINES_OF_UNRELIABLE = 5
_MAX_ORDINARY_LINES_OF_PREPARATION = 2  # programs that ran all the same print more
_MAX_ORDINARY_LINES_OF_PRINTED_TRACEBACK = 4  # the program caught the exception

# a completed job's log ends in a failure if at most this many ordinary lines follow it ...
_MAX_LINES_AFTER_LAST_FAILURE = 5
_MAX_LINES_AFTER_REPORT = 2  # ... or this many, if the line does not show that the program itself ended

_FAILED_TASK = ": Exited with exit code "  # of srun
# what a program fails with if the job is not prepared
_LABELS_OF_LACK = ("file_not_found", "import_error", "module_env")
# what the connection to a process that is gone fails with; `GENERIC`: with an exception of no other label
_LABELS_OF_CONNECTION = (GENERIC, "file_not_found", "network_error")
_FAILURE_ROLES = (Role.ROOT, Role.SYMPTOM)
_RECOVERY_ROLES = (Role.SUCCESS, Role.RETRY)


class LogAnalysis:
    """The pattern matches of a log, and which of them may be its root cause."""

    def __init__(self, matches: Iterable[Match], lines: LogLines) -> None:
        """Keep the first match of each line but quoted code; add exceptions that no pattern matches."""
        first: dict[int, Match] = {}
        for match in matches:
            first.setdefault(match.position, match)
        exceptions, self.is_cut_off_in_traceback = ends_of_tracebacks(lines)
        for position in exceptions:
            if is_exception(lines.unprefixed[position]):
                first.setdefault(position, Match(UNNAMED_EXCEPTION, position))
        self.lines = lines
        self._tracebacks: dict[int, Traceback] = {}
        texts = lines.unprefixed
        # ranks without labels may print other lines between code and the frame by which it is recognised
        code = {texts[position] for position in first if is_quoted_code(lines, position)}
        found = [self._specific(first[position]) for position in sorted(first) if texts[position] not in code]
        self.matches = without_repeated(found, lines.texts)
        # where the program printed that it succeeded
        self.successes = [match.position for match in self.matches if match.pattern.role is Role.SUCCESS]
        self._recoveries = [match.position for match in self.matches if match.pattern.role in _RECOVERY_ROLES]

    def _specific(self, match: Match) -> Match:
        """A failed connection to another process is usually a consequence of that one's end."""
        pattern = match.pattern
        if pattern.id == LOOKUP and self.traceback(match).is_missing_variable:
            return match._replace(pattern=UNSET_VARIABLE)
        if pattern.label in _LABELS_OF_CONNECTION and is_of_connection(self.lines, match.position):
            return match._replace(pattern=replace(pattern, precedence=MIN_RELIABLE_PRECEDENCE))
        return match

    @cached_property
    def ends_cleanly(self) -> bool:
        """Whether the log ends neither in a traceback nor soon after the report of a failed process."""
        reports = [match for match in self.matches if match.pattern.role is Role.SYMPTOM]
        return not self.is_cut_off_in_traceback and all(map(self.recovered_from, reports))

    @cached_property
    def root_candidates(self) -> tuple[Match, ...]:
        """The failures of the last episode that may be the root cause."""
        episode: list[Match] = []
        for root in reversed(self._roots()):
            if episode and self._starts_new_episode(root, episode[-1]):
                break
            episode.append(root)
        if episode and self._is_of_earlier_run(episode[0]):
            return ()
        return _without_consequences(self, episode[::-1])

    def _is_of_earlier_run(self, root: Match) -> bool:
        """Whether another run follows the last failure in a log."""
        stop = self.lines.excerpt_range(root.position).stop
        reports = [
            match
            for match in self.matches
            if match.pattern.role is Role.SYMPTOM and root.position < match.position < stop
        ]
        if not reports and (self._may_be_parallel or not self._ended_program(root)):
            return False
        last = reports[-1] if reports else root
        ordinary = self._count_ordinary_lines(last, stop)
        return ordinary > MAX_ORDINARY_LINES or (ordinary > 0 and self._started_again(last, stop))

    def went_on_after(self, root: Match) -> bool:
        """Whether a program, maybe another worker, works after a failure that ended one."""
        stop = self.lines.excerpt_range(root.position).stop
        return self._ended_program(root) and counts_up(self.lines.unprefixed[root.position + 1 : stop])

    @property
    def latest_failure(self) -> Match | None:
        """The last failure in the logs, also if the program recovered from it."""
        return next(reversed(self._roots()), None)

    def _ended_program(self, root: Match) -> bool:
        """Whether it ended the main program, not only a thread or a child process."""
        is_of_program = self.traceback(root).program or HYDRA_ERROR in self._line_above_traceback(root)
        return self.ended_process(root) and (root.pattern.is_final or bool(is_of_program))

    def _started_again(self, failure: Match, stop: int) -> bool:
        whole = self.lines.excerpt_range(failure.position)
        if stop not in range(failure.position + 1, whole.stop + 1):
            return False
        texts = self.lines.unprefixed
        is_beginning = self.lines[whole.start].number == 1
        return started_again(
            texts[whole.start : failure.position],
            texts[failure.position + 1 : stop],
            is_beginning=is_beginning,
        )

    @cached_property
    def failure_at_end(self) -> Match | None:
        """The failure with which the log of a completed job ends."""
        roots = self._roots() if self.root_candidates else []
        reports = [match for match in self.matches if _reports_failed_process(match, self.lines)]
        for match in sorted([*roots, *reports], key=lambda each: each.position, reverse=True):
            later = self.lines.excerpt_range(match.position).stop
            if match.pattern.label in SCHEDULER_LABELS or self._reports_recovery(match, later):
                continue
            if self._ended_program(match):
                is_last = self._count_ordinary_lines(match, later) <= _MAX_LINES_AFTER_LAST_FAILURE
                return match if is_last else None
            if self._is_last_word(match, later):
                return match
        return None

    def _is_last_word(self, failure: Match, stop: int) -> bool:
        """Whether no result follows a failure that does not itself show the program's end; ``done`` may."""
        pattern = failure.pattern
        is_report = pattern.role is Role.SYMPTOM or pattern.id in COMMAND_NOT_RUN
        if pattern.is_of_preparation or is_job_pattern(pattern.id):
            return False
        if not (is_report or pattern.precedence >= MIN_ROOT_PRECEDENCE):
            return False
        most = _MAX_LINES_AFTER_REPORT if is_report else 0
        own = self.lines.excerpt_range(failure.position)
        elsewhere = [*self.lines.texts[: own.start], *self.lines.texts[own.stop :]]
        later = [text for text in elsewhere if text.strip()]
        if len(later) + self._count_ordinary_lines(failure, stop) > most:
            return False
        matched = {match.position for match in self.matches}
        rest = (each for each in range(failure.position + 1, stop) if each not in matched)
        return not any(map(says_result, [*later, *(self.lines.unprefixed[each] for each in rest)]))

    def _reports_recovery(self, root: Match, stop: int) -> bool:
        reports = self._recoveries
        if root.pattern.id == SMALL_COMMAND:  # the end of the script says nothing about its programs
            ends = [match.position for match in self.matches if match.pattern.id == SCRIPT_END]
            reports = sorted([*reports, *ends])
        return bisect_left(reports, stop) > bisect_right(reports, root.position)

    def _roots(self) -> list[Match]:
        return [
            match
            for match in self.matches
            if match.pattern.role is Role.ROOT
            and not match.pattern.is_warning
            and not any(map(self._line_above_traceback(match).__contains__, IGNORED))
            and not is_of_pth_file(self.lines, match.position)
        ]

    def _line_above_traceback(self, match: Match) -> str:
        head = self.traceback(match).head
        return self.lines.unprefixed[head - 1] if head else ""

    def traceback(self, match: Match) -> Traceback:
        """Return the traceback of a match, without frames if the log shows none."""
        position = match.position
        if position not in self._tracebacks:
            find = faulthandler_dump_below if FATAL in self.lines.unprefixed[position] else traceback_above
            self._tracebacks[position] = find(self.lines, position)
        return self._tracebacks[position]

    def ended_process(self, match: Match) -> bool:
        """Whether it is uncaught, or its line reports the end of a process."""
        if match.pattern.is_final or match.pattern.is_of_preparation:
            return match.pattern.is_final
        above = self._line_above_traceback(match)
        return HYDRA_ERROR in above or (self.traceback(match).is_uncaught and IN_THREAD not in above)

    def recovered_from(self, root: Match, later: Match | None = None) -> bool:
        """Whether the program continued after a failure, until ``later`` or the end of the excerpt.

        It did if it reports success or a new attempt, or prints enough ordinary lines. After a failure that
        ended a process, neither counts unless ``later`` ended one too: then the program was started again.
        """
        excerpt = self.lines.excerpt_range(root.position)
        if later is not None and later.position not in excerpt:
            return False  # what lies between two excerpts is not known
        end = excerpt.stop if later is None else later.position
        if self.ended_process(root) and (later is None or not self.ended_process(later)):
            return False
        if self._reports_recovery(root, end):
            return True
        return self._count_ordinary_lines(root, end) > self._max_ordinary_lines(root, later)

    def _max_ordinary_lines(self, root: Match, later: Match | None) -> int:
        is_of_preparation = root.pattern.is_of_preparation
        if is_of_preparation and later is None:
            return _MAX_ORDINARY_LINES_OF_PREPARATION
        is_unrelated = later is not None and later.pattern.label not in _LABELS_OF_LACK
        if root.pattern.precedence < MIN_RELIABLE_PRECEDENCE or (is_of_preparation and is_unrelated):
            return _MAX_ORDINARY_LINES_OF_UNRELIABLE
        if not self._may_be_parallel and not self.ended_process(root):
            if self.traceback(root).head is not None:
                return _MAX_ORDINARY_LINES_OF_PRINTED_TRACEBACK
            if later is not None and self.traceback(later).program:
                return _MAX_ORDINARY_LINES_OF_UNRELIABLE  # the later traceback shows what ended the program
        return MAX_ORDINARY_LINES

    def _count_ordinary_lines(self, root: Match, stop: int) -> int:
        return self._ordinary_lines.count(root.position, stop)

    @cached_property
    def _ordinary_lines(self) -> OrdinaryLines:
        failures = (match.position for match in self.matches if match.pattern.role in _FAILURE_ROLES)
        matched = {match.position for match in self.matches}
        return OrdinaryLines(self.lines, matched, next(failures, len(self.lines)))

    @cached_property
    def _may_be_parallel(self) -> bool:
        """Whether several processes may have written the log."""
        labels = self.lines.labels
        return any(
            match.pattern.role is Role.SYMPTOM or labels[match.position] or match.pattern.is_of_communication
            for match in self.matches
        )

    def was_raised_in_handler(self, earlier: Match, later: Match) -> bool:
        """Whether both are generic, and the second was raised while the first was handled."""
        are_generic = earlier.pattern.label == later.pattern.label == GENERIC
        later_traceback = self.traceback(later)
        return are_generic and is_chained(self.lines, earlier.position, later_traceback, (WHILE_HANDLING,))

    def are_chained(self, earlier: Match, later: Match) -> bool:
        """Whether the later exception was raised from the earlier one or in its handler."""
        connectives = (WHILE_HANDLING, DIRECT_CAUSE)
        return is_chained(self.lines, earlier.position, self.traceback(later), connectives)

    def _starts_new_episode(self, earlier: Match, later: Match) -> bool:
        if self.are_chained(earlier, later):
            return False
        if self.recovered_from(earlier, later) or self._is_of_later_run(earlier, later):
            return True
        # after a requeue, the job's next run continues the log
        return earlier.pattern.label in SCHEDULER_LABELS and self._started_again(earlier, later.position)

    def _is_of_later_run(self, earlier: Match, later: Match) -> bool:
        """Whether the later failure is of another run of the same program.

        Of processes that run at the same time, torchrun or srun reports the ends, or their lines have labels,
        or the later failure is a usual consequence of the end of another one.
        """
        if self._may_be_parallel or earlier.pattern.id == later.pattern.id:
            return False
        if later.pattern.precedence < MIN_ROOT_PRECEDENCE:
            return self._started_again(earlier, later.position)
        first, second = self.traceback(earlier), self.traceback(later)
        are_separate = second.head is not None and earlier.position < second.head
        is_first_cut = bool(first.frames) and first.head is None  # the log starts within it
        return are_separate and second.program != "" and (first.program == second.program or is_first_cut)


def _without_consequences(analysis: LogAnalysis, roots: list[Match]) -> tuple[Match, ...]:
    """Drop failures after Slurm ended the job, and those that ended a process after another had ended one.

    Exceptions chained to that one and authoritative failures stay. Dropped are also failed commands if the
    script went on until Slurm or a syntax error ended it, and warnings before the exception that ended a
    process.
    """
    candidates: list[Match] = []
    scheduler_end: Match | None = None
    first_end: Match | None = None
    for root in roots:
        # in a log that ended with the job, it may be a consequence of that
        is_cut_off = scheduler_end and root.position in analysis.lines.excerpt_range(scheduler_end.position)
        if is_cut_off and root.pattern.precedence < AUTHORITATIVE_PRECEDENCE:
            continue
        candidates = _not_excluded_by(root, candidates, analysis)
        if _is_end_of_job(root):
            scheduler_end = scheduler_end or root
        elif not _is_end_of_script(root, analysis) and _is_end_of_process(root, analysis):
            if first_end is not None and not analysis.are_chained(first_end, root):
                continue
            first_end = root  # of a chain of exceptions, the latest
        candidates.append(root)
    return tuple(candidates)


def _not_excluded_by(root: Match, earlier: list[Match], analysis: LogAnalysis) -> list[Match]:
    if _is_end_of_job(root):
        return [each for each in earlier if not each.pattern.is_of_job_script]
    if _is_end_of_script(root, analysis):
        return [each for each in earlier if each.pattern.is_shell_syntax or not each.pattern.is_of_job_script]
    if _is_end_of_process(root, analysis):
        return [each for each in earlier if not _is_warning(each, analysis.lines)]
    return earlier


def _is_end_of_job(root: Match) -> bool:
    return root.pattern.is_final and root.pattern.label in SCHEDULER_LABELS


def _is_end_of_script(root: Match, analysis: LogAnalysis) -> bool:
    return root.pattern.is_shell_syntax and not analysis.recovered_from(root)


def _is_end_of_process(root: Match, analysis: LogAnalysis) -> bool:
    is_usual_cause = MIN_ROOT_PRECEDENCE <= root.pattern.precedence < AUTHORITATIVE_PRECEDENCE
    return is_usual_cause and analysis.ended_process(root)


def _reports_failed_process(match: Match, lines: LogLines) -> bool:
    """Whether a launcher reports that a process failed, not that one was ended on request."""
    text, is_of_srun = lines.texts[match.position], match.pattern.label == "srun_error"
    is_failure = _FAILED_TASK in text if is_of_srun else "SIGTERM" not in text
    return match.pattern.role is Role.SYMPTOM and is_failure


def _is_warning(root: Match, lines: LogLines) -> bool:
    is_certain = root.pattern.precedence >= AUTHORITATIVE_PRECEDENCE or is_job_pattern(root.pattern.id)
    return not is_certain and is_warning(lines.unprefixed[root.position])
