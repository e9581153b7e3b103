"""Diagnose a job: read its logs step by step, and match patterns against their lines. Never raises."""

from __future__ import annotations

import os
from dataclasses import replace
from functools import lru_cache, partial
from math import inf
from types import MappingProxyType
from typing import TYPE_CHECKING

from jobmon_core.analysis.job_logs import modified_s
from jobmon_core.domain.errors import Invalid
from jobmon_core.domain.logs.diagnosis.diagnose import diagnose, names_root_cause
from jobmon_core.domain.logs.diagnosis.error_episodes import LogAnalysis
from jobmon_core.domain.logs.diagnosis.headline import advice_with_module, what_failed_in_log
from jobmon_core.domain.logs.diagnosis.log_lines import ONLY_EARLIER, LogExcerpt, LogLines
from jobmon_core.domain.logs.diagnosis.patterns import (
    GENERIC,
    JOB_PATTERN,
    OF_JOB,
    Match,
    Pattern,
    Role,
)
from jobmon_core.domain.logs.diagnosis.telling_lines import result_line
from jobmon_core.domain.redaction import redacted_lines
from jobmon_core.domain.slurm.states import JobState
from jobmon_core.observe.logs.open_file import IN_THE_WAY
from jobmon_core.observe.logs.rank_logs import rank_logs, read_rank_log
from jobmon_core.observe.logs.read import read_head, read_tail
from jobmon_core.observe.patterns.load import PatternFile, load_patterns, read_patterns
from jobmon_core.observe.patterns.match import Matcher

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence
    from pathlib import Path

    from jobmon_core.domain.job.job_settings import JobSettings
    from jobmon_core.domain.job.own_files import OwnFiles
    from jobmon_core.domain.logs.diagnosis.model import Diagnosis, EarlierLog, SlurmEvidence

NOTHING_TO_READ = "nothing to read"  # the beginning of the note of a diagnosis without any log
_JOB_PRECEDENCE = 50  # as most patterns of known failures
_MAX_TITLE = 60  # characters of a regex


def explain(
    evidence: SlurmEvidence,
    stdout_path: str,
    stderr_path: str,
    user_patterns: Path | None = None,
    *,
    job_id: int | None = None,
    earlier: Mapping[str, EarlierLog] = MappingProxyType({}),
    named_logs: Sequence[str] = (),
    job_patterns: Sequence[Pattern] = (),
    own: OwnFiles | None = None,
) -> Diagnosis:
    """Return why a job ended as it did.

    stderr is read first: programs print failures there. While the logs show no root cause, stdout is read,
    then the logs of single ranks (only files of ``own``), then the beginnings of long logs. Of a successful
    job, only the ends of stderr and stdout are read, which hold its result.

    An empty path is unknown, an empty ``stderr_path`` the same as stdout. ``earlier`` is what the logs held
    before the start.
    """
    evidence = replace(evidence, silent_s=_silent_s(evidence, stdout_path, stderr_path))
    analyser = _Analyser(evidence, user_patterns, earlier, job_patterns, own)
    main_logs = tuple(dict.fromkeys((stderr_path or stdout_path, stdout_path or stderr_path)))
    steps: list[Callable[[], None]] = [partial(analyser.read_end, path) for path in main_logs]
    if not evidence.is_success:
        steps += [partial(analyser.read_rank_logs, main_logs, job_id, named_logs), analyser.read_beginnings]
    return analyser.with_result(analyser.diagnosis(*steps))


def explain_files(
    evidence: SlurmEvidence, paths: Sequence[str], user_patterns: Path | None = None
) -> Diagnosis:
    """Return a diagnosis from the ends of the logs; without a root cause, from their beginnings, too."""
    analyser = _Analyser(evidence, user_patterns)

    def read_ends() -> None:
        for path in reversed(paths):
            analyser.read_end(path)

    return analyser.diagnosis(read_ends, analyser.read_beginnings, is_of_file=True)


class _Analyser:
    def __init__(
        self,
        evidence: SlurmEvidence,
        user_patterns: Path | None,
        earlier: Mapping[str, EarlierLog] = MappingProxyType({}),
        job_patterns: Sequence[Pattern] = (),
        own: OwnFiles | None = None,
    ) -> None:
        self._matcher = JobMatcher(user_patterns, job_patterns)
        self._evidence = evidence
        self._earlier = earlier
        self._own = own
        self._parts: list[LogExcerpt] = []  # the part read last comes first
        self._analysis = LogAnalysis((), LogLines(()))

    def diagnosis(self, *steps: Callable[[], None], is_of_file: bool = False) -> Diagnosis:
        """Run the steps until a failed job's log shows a root cause."""
        for step in steps:
            step()
            lines = LogLines(self._parts)
            if lines.excerpts == self._analysis.lines.excerpts:
                continue  # the step found nothing to read
            self._analysis = LogAnalysis(self._matcher.matches(lines), lines)
            if names_root_cause(self._analysis) and not self._evidence.is_success:
                break
        evidence = replace(self._evidence, log_obstacle=next(self._obstacles(), ""))
        found = diagnose(evidence, self._analysis, note=self._note(), is_of_file=is_of_file)
        diagnosis = with_what_failed(found)
        return replace(diagnosis, also_seen=self._titles(diagnosis.symptoms))

    def _obstacles(self) -> Iterator[str]:
        for part in self._parts:
            if part.problem.endswith(IN_THE_WAY):
                yield f"{part.path} {part.problem}"
            elif os.path.exists(part.path) and not os.access(part.path, os.W_OK):  # noqa: PTH110 - never raises
                yield f"{part.path} exists, and you may not write to it"

    def with_result(self, diagnosis: Diagnosis) -> Diagnosis:
        """If nothing failed, add the log line that has the job's result."""
        if diagnosis.cause is not None or diagnosis.evidence:
            return diagnosis
        line = result_line(self._analysis.lines)
        readable = [part.path for part in self._parts if not part.problem]
        log_path = line.file if line else next(iter(readable), "")
        return _redacted(replace(diagnosis, evidence=(line,) if line else (), log_path=log_path))

    def read_end(self, path: str) -> None:
        # before the parts read so far: stderr, read first, stays last, because it ends with Slurm's messages
        part = read_tail(path).appended_to(self._earlier.get(path))
        if self._own and not self._own.may_be_log(modified_s(part.path) or inf):
            part = LogExcerpt(path, problem=ONLY_EARLIER)
        self._parts.insert(0, part)

    def read_rank_logs(self, main_logs: Sequence[str], job_id: int | None, named: Sequence[str]) -> None:
        found = rank_logs(main_logs, job_id, self._analysis.lines.texts, self._own)
        paths = dict.fromkeys((*named, *found))
        self._parts[:0] = [read_rank_log(path).appended_to(self._earlier.get(path)) for path in paths]

    def read_beginnings(self) -> None:
        incomplete = [part for part in self._parts if part.texts and not part.complete]
        self._parts[:0] = [_head_before(part) for part in incomplete]

    def _titles(self, pattern_ids: Sequence[str]) -> tuple[str, ...]:
        patterns = (match.pattern for match in self._analysis.matches)
        titles = {pattern.id: pattern.title for pattern in patterns if pattern.role is not Role.SYMPTOM}
        return tuple(dict.fromkeys(titles[each] for each in pattern_ids if each in titles))

    def _note(self) -> str:
        notes = [f"{part.path} {part.note}" for part in self._parts if part.note]
        if not any(part.texts for part in self._parts):
            unknown = "the path of the log is not known"
            excerpts = [(part.path, part.problem) for part in reversed(self._parts)]
            problems = (f"{path} {problem}" if path else unknown for path, problem in excerpts)
            notes.insert(0, f"{NOTHING_TO_READ}: {'; '.join(problems)}")
        return "; ".join([*notes, *filter(None, [self._matcher.faults])])


def _silent_s(evidence: SlurmEvidence, stdout_path: str, stderr_path: str) -> float | None:
    """Return how long before its end the program stopped printing.

    The last write to stdout shows it, if stderr is another file that holds only Slurm's messages.
    """
    if evidence.state is not JobState.TIMEOUT or evidence.ended_s is None:
        return None  # only for a time limit does it tell a hang from work
    if stderr_path in ("", stdout_path):
        return None
    last_s = modified_s(stdout_path)
    errors = read_tail(stderr_path).texts
    if not last_s or not all("slurmstepd: error: " in text or "srun: " in text for text in errors):
        return None
    return max(0.0, evidence.ended_s - last_s)


def with_what_failed(diagnosis: Diagnosis) -> Diagnosis:
    """Return the diagnosis with the failure in the log's words, and without secrets."""
    diagnosis = _redacted(diagnosis)
    diagnosis = replace(diagnosis, what_failed=what_failed_in_log(diagnosis))
    return replace(diagnosis, advice=advice_with_module(diagnosis))


def _redacted(diagnosis: Diagnosis) -> Diagnosis:
    texts = redacted_lines(tuple(line.text for line in diagnosis.evidence))
    evidence = (replace(line, text=text) for line, text in zip(diagnosis.evidence, texts, strict=True))
    return replace(diagnosis, evidence=tuple(evidence))


def _head_before(tail: LogExcerpt) -> LogExcerpt:
    """Read the beginning of a log, up to the line where ``tail`` begins."""
    head = read_head(tail.path)
    lines_before = None if tail.first_number is None else tail.first_number - 1
    return replace(head, texts=head.texts[:lines_before])


class JobMatcher:
    """Matches the shipped patterns, those of the user and those of one job."""

    def __init__(self, user_patterns: Path | None, job_patterns: Sequence[Pattern] = ()) -> None:
        """Load the patterns; those of the user that have faults are skipped."""
        # `faults` says why patterns are missing; empty if none are
        self._matcher, self.faults = _load_matcher(user_patterns)
        self._job_matcher = Matcher(job_patterns) if job_patterns else None

    def matches(self, lines: LogLines) -> Sequence[Match]:
        """Return the matches; of those of one line, the first counts."""
        matches = self._matcher.find_matches(lines)
        if self._job_matcher is None:
            return matches
        # a pattern of the job says less than one of a known failure, and more than any other
        known = [m for m in matches if m.pattern.role is Role.ROOT and m.pattern.label != GENERIC]
        return *known, *self._job_matcher.find_matches(lines), *matches


@lru_cache(maxsize=1)
def _load_matcher(user_patterns: Path | None) -> tuple[Matcher, str]:
    own = read_patterns(user_patterns) if user_patterns else PatternFile("")
    try:
        return Matcher(load_patterns(own.patterns)), own.note
    except Invalid as error:
        return Matcher(()), f"no patterns could be used: {error}"


def job_patterns(settings: JobSettings | None) -> tuple[Pattern, ...]:
    """Return the error patterns that the user lists for one job."""
    return tuple(
        Pattern(
            id=f"{OF_JOB}{number}",
            title=f"{JOB_PATTERN}{error.regex[:_MAX_TITLE]}",
            role=Role.ROOT,
            regex=(error.regex,),
            cause="The log matches an error pattern of the job configuration.",
            advice="Read the matching line and those before it.",
            precedence=_JOB_PRECEDENCE,
            is_warning=error.is_warning,
        )
        for number, error in enumerate(settings.error_patterns if settings else (), 1)
    )
