"""From log lines and Slurm's evidence to a cause: the judge.

The rules of judging, in this order:

1. A job that completed has no cause; only warnings are listed.
2. One line belongs to one rule: the first in the rules' order that matches it. So wrappers and advice,
   which come first, can never be taken for a cause. Code that a traceback quotes belongs to none.
3. Only the last episode counts: a failure after which the program went on was survived. What certainly ended
   a process was not; of such ends the first counts, and what follows the scheduler's end is its consequence.
4. Slurm's plain verdict (out of memory, time limit, node failure, ...) is the cause, but for a time limit,
   a deadline or a cancellation that an earlier failure in the log explains: the job hung after it.
5. Else the root with the highest precedence, then the earliest, is the cause. Consequences, such as a
   collective operation that timed out, have a low precedence: any real failure beats them.
6. Else, or where that root is often survived or seems to be, what the exit status implies. Else nothing is
   claimed, and the last lines are shown.
"""

from __future__ import annotations

from jobmon_core.domain.diagnosis.error_episodes import MIN_RELIABLE, MIN_ROOT, LogAnalysis
from jobmon_core.domain.diagnosis.exit_causes import Cause, implied_cause, stated_cause
from jobmon_core.domain.diagnosis.fingerprint import fingerprint
from jobmon_core.domain.diagnosis.log_lines import Line
from jobmon_core.domain.diagnosis.model import Diagnosis, SlurmEvidence
from jobmon_core.domain.diagnosis.patterns import CLEAN, Match, Pattern, Role, Severity, label_of
from jobmon_core.domain.diagnosis.tracebacks import Frame
from jobmon_core.domain.slurm.exit_codes import describe_exit
from jobmon_core.domain.slurm.states import JobState

_LAST_LINES = 8  # shown where nothing is certain
# ends that the scheduler brings about when a job does not end by itself, as after a failure that made it hang
_MAY_BE_EXPLAINED = (JobState.TIMEOUT, JobState.CANCELLED, JobState.DEADLINE)

# How far a cause can be trusted, as measured on labelled logs: about so many of ten are right.
_STATED = 0.98  # Slurm says so
_PROVED = 0.9  # a failure of its own, in the log
_SUSPECTED = 0.7  # only what is often a consequence of something that the log does not show
_IMPLIED = 0.5  # an exit status alone
_DOUBT = 0.2  # taken off where the program seems to have gone on


def diagnose(evidence: SlurmEvidence, analysis: LogAnalysis, *, note: str = "") -> Diagnosis:
    """Judge why a job ended as it did.

    Args:
        evidence: what Slurm knows; its state is UNKNOWN where only the log can tell.
        analysis: the lines that were read, and what was found in them.
        note: what hindered the analysis, passed on.
    """
    return _Judge(evidence, analysis, note).verdict()


def names_root_cause(analysis: LogAnalysis) -> bool:
    """Tell whether the log names a failure that is more than a consequence or the scheduler's last words."""
    root = _worst(analysis.last_episode, analysis)
    return root is not None and root.pattern.precedence >= MIN_ROOT


def _worst(roots: tuple[Match, ...], analysis: LogAnalysis) -> Match | None:
    """Return the best candidate for the cause: of the highest precedence, then the earliest.

    Of two exceptions that no rule knows better, the one raised while the other was handled ended the program.
    """
    worst: Match | None = None
    for root in roots:
        if worst is None or _outranks(root, worst, analysis):
            worst = root
    return worst


def _outranks(later: Match, earlier: Match, analysis: LogAnalysis) -> bool:
    if later.pattern.precedence != earlier.pattern.precedence:
        return later.pattern.precedence > earlier.pattern.precedence
    return analysis.ended_handling(earlier, later)


class _Judge:
    """One case: what Slurm says, what the log shows."""

    def __init__(self, evidence: SlurmEvidence, analysis: LogAnalysis, note: str) -> None:
        self._evidence = evidence
        self._analysis = analysis
        self._note = note

    def verdict(self) -> Diagnosis:
        if self._evidence.state is JobState.COMPLETED:
            return self._healthy("Completed", "The job completed.", _STATED)
        root = self._root()
        stated = stated_cause(self._evidence)
        if stated is not None and not self._explains(root):
            return self._from_cause(stated, _STATED)
        implied = implied_cause(self._evidence)
        if root is not None and not (implied and self._is_doubtful(root)):
            return self._from_root(root)
        if implied is not None:
            return self._from_cause(implied, _IMPLIED)
        if self._evidence.state is JobState.UNKNOWN and self._analysis.lines and self._analysis.ends_well:
            trust = _PROVED if self._analysis.ends_in_success else _SUSPECTED
            return self._healthy("No failure found", "Nothing in the log shows a failure.", trust)
        return self._unexplained()

    def _root(self) -> Match | None:
        analysis = self._analysis
        roots = analysis.last_episode
        # where nothing but the log says whether the job failed, what it survived is no failure
        if self._evidence.state is JobState.UNKNOWN and analysis.ends_well:
            roots = () if all(map(analysis.went_on_after, roots)) else roots
        return _worst(roots, analysis)

    def _is_doubtful(self, root: Match) -> bool:
        """Whether the exit status is better evidence: the failure is often survived, or seems to be."""
        return root.pattern.precedence < MIN_RELIABLE or self._analysis.went_on_after(root)

    def _explains(self, root: Match | None) -> bool:
        """Whether the job met a failure and only then, without going on, its end by the scheduler."""
        if (
            root is None
            or self._evidence.state not in _MAY_BE_EXPLAINED
            or root.pattern.precedence < MIN_RELIABLE
        ):
            return False
        return not self._analysis.went_on_after(root)

    def _healthy(self, title: str, explanation: str, confidence: float) -> Diagnosis:
        warnings = (f.pattern for f in self._analysis.matches if f.pattern.severity is Severity.WARNING)
        found = tuple(dict.fromkeys(rule.id for rule in warnings))
        return Diagnosis(
            None, title, explanation, "", symptoms=found, note=self._note, label=CLEAN, confidence=confidence
        )

    def _from_root(self, root: Match) -> Diagnosis:
        rule, line = root.pattern, self._analysis.lines[root.position]
        frame = self._analysis.traceback(root).users_frame()
        doubt = _DOUBT if self._analysis.went_on_after(root) else 0.0
        trust = _PROVED if rule.precedence >= MIN_ROOT else _SUSPECTED
        return Diagnosis(
            cause=rule.id,
            title=rule.title,
            explanation=f"{rule.cause} {_ending(self._evidence)}".rstrip(),
            advice=rule.advice,
            evidence=(*self._shown(frame), line),
            symptoms=self._others(rule),
            log_path=line.file,
            note=self._note,
            label=rule.label,
            confidence=round(trust - doubt, 2),
            # the line of an end names the process and the node, and tells no more than the rule
            fingerprint=fingerprint(rule.id, "" if rule.is_final else line.text, frame.text if frame else ""),
            is_proved=True,
        )

    def _shown(self, frame: Frame | None) -> tuple[Line, ...]:
        positions = () if frame is None else (frame.position, frame.source)
        return tuple(self._analysis.lines[position] for position in positions if position is not None)

    def _from_cause(self, cause: Cause, confidence: float) -> Diagnosis:
        """Report a cause that rests on Slurm, with the log's own line of it where there is one."""
        label = label_of(cause.id)
        alike = [f for f in self._analysis.matches if f.pattern.label == label]
        alike.sort(key=lambda f: -f.pattern.precedence)  # the kernel's own words before a shell's "Killed"
        proof = tuple(self._analysis.lines[f.position] for f in alike[:1])
        shown = proof or self._last_lines()
        return Diagnosis(
            cause=cause.id,
            title=cause.title,
            explanation=cause.explanation,
            advice=cause.advice,
            evidence=shown,
            symptoms=self._others(cause),
            log_path=shown[-1].file if shown else "",
            note=self._note,
            label=label,
            confidence=confidence,
            fingerprint=fingerprint(cause.id, ""),
            is_proved=bool(proof),
        )

    def _unexplained(self) -> Diagnosis:
        shown = self._last_lines()
        # where there is a note, it says what is with the log
        where = ", and there is no log to explain it" if not self._note else ""
        if shown:
            where = ", and nothing in the log explains it: its last lines follow"
        return Diagnosis(
            cause=None,
            title="Cause unknown",
            explanation=f"{_status(self._evidence)}{where}.",
            advice="Read the log from its end upwards." if shown else "",
            evidence=shown,
            symptoms=self._others(None),
            log_path=shown[-1].file if shown else "",
            note=self._note,
        )

    def _last_lines(self) -> tuple[Line, ...]:
        texts = self._analysis.lines.texts
        filled = (i for i in range(len(texts) - 1, -1, -1) if texts[i].strip())
        last = sorted(position for position, _ in zip(filled, range(_LAST_LINES), strict=False))
        return tuple(self._analysis.lines[position] for position in last)

    def _others(self, chosen: Pattern | Cause | None) -> tuple[str, ...]:
        """Name what else was found, once each, in the order of the log; mere context does not count."""
        label = label_of(chosen.id) if chosen else None
        rules = [f.pattern for f in self._analysis.matches if f.pattern.role is not Role.CONTEXT]
        found = dict.fromkeys([rule.id for rule in rules])
        return tuple([name for name in found if label_of(name) != label])


def _status(evidence: SlurmEvidence) -> str:
    """Put what is known of the end into the beginning of a sentence."""
    state = (
        "How the job ended is not known"
        if evidence.state is JobState.UNKNOWN
        else f"Slurm says {evidence.state}"
    )
    if evidence.exit_code is None and not evidence.signal:
        return state
    words = describe_exit(evidence.exit_code, evidence.signal)
    exit_words = words if evidence.signal else f"exit code {words}"
    step = f", and a step of it exit code {evidence.derived_exit_code}" if evidence.derived_exit_code else ""
    return f"{state}, {exit_words}{step}"


def _ending(evidence: SlurmEvidence) -> str:
    """Say how the job went on after its failure until Slurm ended it."""
    return {
        JobState.TIMEOUT: "The job then hung until its time limit.",
        JobState.CANCELLED: "The job was cancelled after it.",
        JobState.DEADLINE: "The job then hung until its deadline.",
    }.get(evidence.state, "")
