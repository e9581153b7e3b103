"""Determine the root cause of a job's end from its log lines and from what Slurm reports.

The rules, in this order:

1. A completed job has no cause, unless its log ends in the failure of a program that the job script ignored,
   or with a loss that is nan, or shows failed trials of Ray Tune.
2. The first pattern that matches a line counts. Those of launchers and of advice come first, so that their
   lines never become a cause. Quoted code matches none.
3. Only the last episode of failures counts (see `error_episodes`): the others did not end the job.
4. A definite state from Slurm (out of memory, time limit, node failure, ...) is the cause, unless a failure
   before a time limit, a deadline or a cancellation made the job hang.
5. Otherwise it is the failure with the highest precedence, the earliest among equals. Usual consequences,
   such as a collective operation that timed out, have a low precedence.
6. If there is none, or this program probably survived it, the cause that the exit status implies counts
   instead, else that failure after all.
7. Of a log alone, "no failure" is said only if its end does not speak of one in words of no pattern.
"""

from __future__ import annotations

from dataclasses import replace
from functools import cached_property
from itertools import islice

from jobmon_core.domain.logs.diagnosis.error_episodes import LogAnalysis
from jobmon_core.domain.logs.diagnosis.exit_causes import (
    Cause,
    advice_without_log,
    advice_without_slurm,
    implied_cause,
)
from jobmon_core.domain.logs.diagnosis.log_lines import fingerprint
from jobmon_core.domain.logs.diagnosis.model import ERRORED_TRIALS, NAN_LOSS, Diagnosis, Line, SlurmEvidence
from jobmon_core.domain.logs.diagnosis.patterns import (
    CLEAN,
    MIN_RELIABLE_PRECEDENCE,
    MIN_ROOT_PRECEDENCE,
    SCHEDULER_LABELS,
    Match,
    Role,
    is_job_pattern,
    label_of,
)
from jobmon_core.domain.logs.diagnosis.pod_causes import named_cause
from jobmon_core.domain.logs.diagnosis.telling_lines import failures_near_end, nan_at_end, reason_below
from jobmon_core.domain.redaction import redacted_lines
from jobmon_core.domain.slurm.states import JobState, exit_phrase

_MAX_QUOTED = 120  # characters
_SURVIVED = "The log does not end in a failure."
_LAST_LINES = 8  # shown if the cause is unknown
_MAX_FAILURES = 4  # of them that lie above the end, but speak of a failure
_END_LINES = 50  # above, a report of success may be about a part, e.g. an epoch
# states of a job that hung after a failure, and what follows its description
_AFTER_HANG = {
    JobState.TIMEOUT: "The job then hung until its time limit.",
    JobState.CANCELLED: "The job was cancelled afterwards.",
    JobState.DEADLINE: "The job then hung until its deadline.",
}

_STOP_AT_FAILURE = (
    "Check the results: the exit code is only that of the script's last command, and of a pipe "
    "(`python ... | tee log`) that of its last part. To stop at the first failure, put "
    "`set -euo pipefail` into the script, after `module load` and `conda activate`: they can fail under `-u`."
)

# calibrated on labelled logs: the share of such diagnoses that are right
_STATED = 0.98  # Slurm reports it
_PROVED = 0.9  # the log shows a failure that is not a consequence
_SUSPECTED = 0.7  # the log shows only what often is one
_IMPLIED = 0.5  # only the exit status suggests it
_RECOVERY_PENALTY = 0.2  # if the program seems to have recovered


def diagnose(
    evidence: SlurmEvidence, analysis: LogAnalysis, *, note: str = "", is_of_file: bool = False
) -> Diagnosis:
    """Return why a job ended as it did. The state in ``evidence`` is UNKNOWN if there is only a log.

    ``note`` says what made the analysis incomplete. ``is_of_file``: the log may hold earlier runs, too.
    """
    return _Diagnoser(evidence, analysis, note, is_of_file=is_of_file).diagnosis()


def names_root_cause(analysis: LogAnalysis) -> bool:
    """Whether the log shows a failure that is probably no consequence."""
    root = _best_candidate(analysis.root_candidates, analysis)
    return root is not None and root.pattern.precedence >= MIN_ROOT_PRECEDENCE


def failure_so_far(analysis: LogAnalysis) -> tuple[Match, Diagnosis] | None:
    """Return the failure from which a program that still runs has not recovered.

    One that ended no process counts only if it is no usual consequence of others: programs survive those.
    """
    roots = (root for root in analysis.root_candidates if root.pattern.is_reported_early)
    reported = [
        root
        for root in roots
        if (root.pattern.precedence >= MIN_ROOT_PRECEDENCE or analysis.ended_process(root))
        and not analysis.recovered_from(root)
    ]
    root = _best_candidate(tuple(reported), analysis)
    return root and (root, _Diagnoser(SlurmEvidence(), analysis, "").from_root(root))


def _best_candidate(roots: tuple[Match, ...], analysis: LogAnalysis) -> Match | None:
    """Return the match with the highest precedence, and the earliest among equals.

    If a generic exception was raised while another one was handled, the later one ended the program.
    """
    if not roots:
        return None
    best = max(roots, key=lambda root: root.pattern.precedence)
    for root in roots:
        if root.pattern.precedence == best.pattern.precedence and analysis.was_raised_in_handler(best, root):
            best = root
    return best


class _Diagnoser:
    def __init__(
        self, evidence: SlurmEvidence, analysis: LogAnalysis, note: str, *, is_of_file: bool = False
    ) -> None:
        self._is_of_file = is_of_file
        self._evidence = evidence
        self._analysis = analysis
        self._note = note

    def diagnosis(self) -> Diagnosis:
        if self._evidence.state is JobState.COMPLETED and not self._evidence.exit_code:
            return self._of_completed_job()
        root = self._root()
        stated = named_cause(self._evidence)
        if stated is not None and not self._made_job_hang(root):
            return self._from_cause(stated, _STATED if stated.is_certain else _SUSPECTED)
        implied = implied_cause(self._evidence)
        if root is not None and not (implied and self._is_doubtful(root)):
            return self.from_root(root)
        if implied is not None:
            return self._from_cause(implied, _PROVED if self._shows(implied, root) else _IMPLIED)
        is_unknown = self._evidence.state is JobState.UNKNOWN and self._analysis.lines
        if is_unknown and self._analysis.ends_cleanly and not self._unexplained:
            return self._of_log_without_failure()
        return self._unknown_cause()

    def _shows(self, cause: Cause, root: Match | None) -> bool:
        return root is not None and root.pattern.id == cause.id and not self._recovered_from(root)

    def _of_log_without_failure(self) -> Diagnosis:
        confidence = _PROVED if self._analysis.successes else _SUSPECTED
        found = self._no_failure("No failure found", self._success_in_log(), confidence)
        earlier = self._earlier_failure() if self._is_of_file else ""
        if earlier:
            return replace(found, explanation=_SURVIVED).with_note(earlier)
        return found

    @cached_property
    def _unexplained(self) -> tuple[int, ...]:
        """Lines near the end, after any report of success, that speak of a failure and match no pattern."""
        analysis = self._analysis
        return failures_near_end(analysis.lines, analysis.matches, max(analysis.successes, default=-1) + 1)

    def _success_in_log(self) -> str:
        if any(position >= len(self._analysis.lines) - _END_LINES for position in self._analysis.successes):
            return "The log shows no failure, and its last lines report success."
        return "The log shows no failure."

    def _earlier_failure(self) -> str:
        """Return the failure of an earlier run, or one that was survived, as a note."""
        last, lines = self._analysis.latest_failure, self._analysis.lines
        if last is None or not self._analysis.ended_process(last):
            return ""
        line = lines[last.position]
        where = "" if line.number is None else f" in line {line.number}"
        (text,) = redacted_lines((line.text.strip(),))
        return f"the log goes on after a failure{where}: {text[:_MAX_QUOTED]}"

    def _of_completed_job(self) -> Diagnosis:
        """Report the failure that the script ignored, if any."""
        failure, nan = self._analysis.failure_at_end, self._nan_at_end
        trials = next((match for match in self._analysis.matches if match.pattern.id == ERRORED_TRIALS), None)
        if trials is not None:
            found = self.from_root(trials)
        elif failure is not None:
            found = self.from_root(self._root_of(failure))
            found = replace(found, advice=f"{_STOP_AT_FAILURE} {found.advice}")
        elif nan is not None:
            found = self.from_root(nan)
        else:
            return self._no_failure("Completed", "The job completed.", _STATED)
        is_local = self._evidence.is_local
        success = "Its exit code was 0 all the same." if is_local else "Slurm reports success all the same."
        return replace(
            found,
            explanation=f"{found.explanation} {success}".lstrip(),
            confidence=_SUSPECTED,
        )

    def _root_of(self, failure: Match) -> Match:
        root = self._root()
        if root is None or root.pattern.label in SCHEDULER_LABELS or self._is_doubtful(root):
            return failure  # Slurm ended a step, not the job; or the program survived the other failure
        return root

    def _root(self) -> Match | None:
        analysis = self._analysis
        roots = analysis.root_candidates
        # without a state from Slurm, failures that the program recovered from do not mean that the job failed
        if (
            self._evidence.state is JobState.UNKNOWN
            and analysis.ends_cleanly
            and all(map(self._recovered_from, roots))
        ):
            return None
        return _best_candidate(roots, analysis)

    def _is_doubtful(self, root: Match) -> bool:
        """Whether programs often recover from this, or this program seems to have done so."""
        pattern = root.pattern
        is_unreliable = pattern.precedence < MIN_RELIABLE_PRECEDENCE or pattern.is_of_preparation
        return is_unreliable or self._recovered_from(root)

    def _recovered_from(self, root: Match) -> bool:
        """Whether the program recovered from a failure; from a nan loss, if a later one is finite."""
        if root.pattern.id == NAN_LOSS:
            return self._nan_at_end is None
        if self._is_of_file and self._analysis.went_on_after(root):
            return True
        return self._analysis.recovered_from(root)

    @cached_property
    def _nan_at_end(self) -> Match | None:
        losses = {each.position: each for each in self._analysis.matches if _is_nan_loss(each)}
        first = nan_at_end(self._analysis.lines, tuple(losses)) if losses else None
        return None if first is None else losses[first]

    def _made_job_hang(self, root: Match | None) -> bool:
        return root is not None and self._evidence.state in _AFTER_HANG and not self._is_doubtful(root)

    def _no_failure(self, title: str, explanation: str, confidence: float) -> Diagnosis:
        patterns = [match.pattern for match in self._analysis.matches]
        shown = [each.id for each in patterns if each.is_warning or is_job_pattern(each.id)]
        return Diagnosis(
            cause=None,
            title=title,
            explanation=explanation,
            advice="",
            symptoms=tuple(dict.fromkeys(shown)),
            note=self._note,
            label=CLEAN,
            confidence=confidence,
        )

    def from_root(self, root: Match) -> Diagnosis:
        pattern, lines = root.pattern, self._analysis.lines
        reason = reason_below(root, self._analysis.matches, lines)
        line = lines[root.position if reason is None else reason]
        frame = self._analysis.traceback(root).user_frame()
        quoted = (frame.position, frame.source) if frame else ()
        if reason is not None:
            quoted = (root.position, *quoted)
        penalty = _RECOVERY_PENALTY if self._recovered_from(root) else 0.0
        confidence = _PROVED if pattern.precedence >= MIN_ROOT_PRECEDENCE else _SUSPECTED
        return Diagnosis(
            cause=pattern.id,
            title=pattern.title,
            explanation=f"{pattern.cause} {_AFTER_HANG.get(self._evidence.state, '')}".rstrip(),
            advice=advice_without_slurm(pattern.advice) if self._evidence.is_local else pattern.advice,
            evidence=(*(lines[position] for position in quoted if position is not None), line),
            symptoms=self._other_patterns(pattern.id),
            log_path=line.file,
            note=self._note,
            label=None if pattern.role is Role.SYMPTOM else pattern.label,
            confidence=round(confidence - penalty, 2),
            # a line that reports an end names the process and the node, which differ between jobs
            fingerprint=fingerprint(
                pattern.id,
                "" if pattern.is_final and reason is None else line.text,
                frame.text if frame else "",
            ),
            is_proved=True,
        )

    def _from_cause(self, cause: Cause, confidence: float) -> Diagnosis:
        label = label_of(cause.id)
        matches = [match for match in self._analysis.matches if match.pattern.label == label]
        # prefer the kernel's line to the shell's "Killed"
        proof = max(matches, key=lambda match: match.pattern.precedence, default=None)
        shown = self._last_lines() if proof is None else (self._analysis.lines[proof.position],)
        return Diagnosis(
            cause=cause.id,
            title=cause.title,
            explanation=cause.explanation,
            advice=cause.advice,
            evidence=shown,
            symptoms=self._other_patterns(cause.id),
            log_path=shown[-1].file if shown else "",
            note=self._note,
            label=label,
            confidence=confidence,
            fingerprint=fingerprint(cause.id, ""),
            is_proved=proof is not None,
        )

    def _unknown_cause(self) -> Diagnosis:
        shown = self._last_lines()
        reason = "" if self._note else ", and there is no log to explain it"  # the note explains why
        advice = ""
        if shown:
            reason = ", and nothing in the log explains it. The last lines of the log follow"
            if self._unexplained:
                reason = ", and no known failure explains what the log says near its end"
            advice = "Read the log from its end upwards."
        elif self._evidence.exit_code:
            advice = advice_without_log(self._evidence)
        return Diagnosis(
            cause=None,
            title="Cause unknown",
            explanation=f"{_describe_end(self._evidence)}{reason}.",
            advice=advice,
            evidence=shown,
            symptoms=self._other_patterns(None),
            log_path=shown[-1].file if shown else "",
            note=self._note,
        )

    def _last_lines(self) -> tuple[Line, ...]:
        """The first of them give way to lines that speak of a failure."""
        texts = self._analysis.lines.texts
        non_blank = (position for position in range(len(texts) - 1, -1, -1) if texts[position].strip())
        last = sorted(islice(non_blank, _LAST_LINES))
        failures = [each for each in self._unexplained if each not in last][:_MAX_FAILURES]
        return tuple(self._analysis.lines[position] for position in failures + last[len(failures) :])

    def _other_patterns(self, cause_id: str | None) -> tuple[str, ...]:
        label = None if cause_id is None else label_of(cause_id)
        patterns = [
            match.pattern for match in self._analysis.matches if match.pattern.role is not Role.CONTEXT
        ]
        ids = dict.fromkeys([pattern.id for pattern in patterns])
        return tuple([identifier for identifier in ids if label_of(identifier) != label])


def _is_nan_loss(match: Match) -> bool:
    """A pattern of the user may redefine what that means."""
    pattern = match.pattern
    return pattern.id == NAN_LOSS and pattern.role is Role.ROOT and not pattern.is_warning


def _describe_end(evidence: SlurmEvidence) -> str:
    is_known = evidence.state is not JobState.UNKNOWN
    report = "The job ended in the state" if evidence.is_local else "Slurm reports"
    state = f"{report} {evidence.state}" if is_known else "It is unknown how the job ended"
    if evidence.exit_code is None and not evidence.signal:
        return state
    end = exit_phrase(evidence.exit_code, evidence.signal, is_exact=evidence.exit_code_exact)
    step = (
        f", and one of its steps exit code {evidence.derived_exit_code}" if evidence.derived_exit_code else ""
    )
    return f"{state}, {end}{step}"
