"""How good a set of diagnoses is: pure figures of what was wanted and what was said."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from statistics import fmean
from typing import Final

from jobmon_core.domain.diagnosis.patterns import CLEAN

# Slurm itself prints what happened, so that these tell little of how good a diagnosis is
OUTRIGHT: Final = frozenset({"slurm_timeout", "slurm_cancelled", "host_oom_kill"})
_BUCKETS = 10  # of confidence, equally wide


@dataclass(frozen=True, slots=True)
class Verdict:
    """What was said of one log, beside what is right."""

    id: str
    source: str
    wanted: str
    got: str | None  # None is "don't know"
    cascade: bool = False  # a failure of several ranks, of which one caused the others
    confidence: float | None = None  # None where none was told
    evidence: str = ""  # the line that proves it

    @property
    def right(self) -> bool:
        """Whether the right label was named."""
        return self.got == self.wanted

    @property
    def wrong_guess(self) -> bool:
        """Whether a wrong label was named, where "don't know" would have been honest."""
        return self.got is not None and not self.right


@dataclass(frozen=True, slots=True)
class Part:
    """So many of so many."""

    count: int
    of: int

    @property
    def share(self) -> float | None:
        """Return the part as 0 to 1; None of nothing."""
        return self.count / self.of if self.of else None


@dataclass(frozen=True, slots=True)
class Scores:
    """The figures of some verdicts."""

    accuracy: Part
    macro_f1: float
    failures_right: Part
    cascades_right: Part
    false_alarms: Part  # clean logs in which a failure was named
    clean_unknown: Part  # clean logs of which nothing was said
    unknown: Part
    wrong_guesses: Part
    called_clean: Part  # failures that were not noticed; wrong guesses too


@dataclass(frozen=True, slots=True)
class LabelScore:
    """How well one label is told; all from 0 to 1."""

    cases: int
    precision: float
    recall: float
    f1: float


@dataclass(frozen=True, slots=True)
class SourceScores:
    """How well each source is told, so that a large one does not decide alone."""

    by_source: dict[str, Part]  # the worst first
    mean_accuracy: float  # each source counts the same


@dataclass(frozen=True, slots=True)
class Bucket:
    """The verdicts of about one confidence."""

    lowest: float
    right: Part
    mean_confidence: float


def score(verdicts: Sequence[Verdict]) -> Scores:
    """Count what was right, and in which ways the rest was wrong."""
    clean = [verdict for verdict in verdicts if verdict.wanted == CLEAN]
    failures = [verdict for verdict in verdicts if verdict.wanted != CLEAN]
    cascades = [verdict for verdict in failures if verdict.cascade]
    return Scores(
        accuracy=_part(verdict.right for verdict in verdicts),
        macro_f1=macro_f1(verdicts),
        failures_right=_part(verdict.right for verdict in failures),
        cascades_right=_part(verdict.right for verdict in cascades),
        false_alarms=_part(verdict.wrong_guess for verdict in clean),
        clean_unknown=_part(verdict.got is None for verdict in clean),
        unknown=_part(verdict.got is None for verdict in verdicts),
        wrong_guesses=_part(verdict.wrong_guess for verdict in verdicts),
        called_clean=_part(verdict.got == CLEAN for verdict in failures),
    )


def not_outright(verdicts: Iterable[Verdict]) -> list[Verdict]:
    """Return the verdicts on logs whose cause Slurm does not print outright."""
    return [verdict for verdict in verdicts if verdict.wanted not in OUTRIGHT]


def macro_f1(verdicts: Sequence[Verdict]) -> float:
    """Return the mean F1 of the labels that are wanted anywhere; rare ones count as much as frequent ones."""
    return _mean(label.f1 for label in by_label(verdicts).values())


def by_label(verdicts: Sequence[Verdict]) -> dict[str, LabelScore]:
    """Score each label that is wanted anywhere, the most frequent first."""
    wanted = [verdict.wanted for verdict in verdicts]
    labels = sorted(set(wanted), key=lambda label: (-wanted.count(label), label))
    return {label: _of_label(label, verdicts) for label in labels}


def by_source(verdicts: Iterable[Verdict]) -> SourceScores:
    """Score each source by itself; of equally bad ones the larger comes first."""
    groups: defaultdict[str, list[bool]] = defaultdict(list)
    for verdict in verdicts:
        groups[verdict.source].append(verdict.right)
    worst_first = sorted(groups, key=lambda name: (_mean(groups[name]), -len(groups[name]), name))
    return SourceScores(
        by_source={name: _part(groups[name]) for name in worst_first},
        mean_accuracy=_mean(_mean(group) for group in groups.values()),
    )


def calibration(verdicts: Iterable[Verdict]) -> list[Bucket]:
    """Compare confidence with accuracy, the most confident verdicts first; "don't know" claims nothing."""
    buckets: defaultdict[int, list[tuple[float, bool]]] = defaultdict(list)
    for verdict in verdicts:
        if verdict.got is not None and verdict.confidence is not None:
            buckets[_bucket(verdict.confidence)].append((verdict.confidence, verdict.right))
    return [
        Bucket(
            lowest=index / _BUCKETS,
            right=_part(right for _, right in members),
            mean_confidence=_mean(confidence for confidence, _ in members),
        )
        for index, members in sorted(buckets.items(), reverse=True)
    ]


def confusions(verdicts: Iterable[Verdict]) -> list[Verdict]:
    """Return the verdicts that are not right, those on the same label together."""
    return sorted(
        (verdict for verdict in verdicts if not verdict.right), key=lambda v: (v.wanted, v.got or "", v.id)
    )


def _of_label(label: str, verdicts: Sequence[Verdict]) -> LabelScore:
    wanted = sum(verdict.wanted == label for verdict in verdicts)
    got = sum(verdict.got == label for verdict in verdicts)
    right = sum(verdict.right for verdict in verdicts if verdict.wanted == label)
    return LabelScore(
        cases=wanted,
        precision=right / got if got else 0.0,
        recall=right / wanted if wanted else 0.0,
        f1=2 * right / (wanted + got) if wanted + got else 0.0,
    )


def _bucket(confidence: float) -> int:
    # rounded first: 0.7 is no binary fraction, and must not fall below itself
    return min(int(round(confidence * _BUCKETS, 6)), _BUCKETS - 1)


def _part(flags: Iterable[bool]) -> Part:
    every = list(flags)
    return Part(sum(every), len(every))


def _mean(values: Iterable[float]) -> float:
    every = list(values)
    return fmean(every) if every else 0.0
