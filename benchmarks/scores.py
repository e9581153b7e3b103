"""Score diagnoses against the right labels. Pure."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from statistics import fmean
from typing import Final

from jobmon_core.domain.logs.diagnosis.patterns import CLEAN

# Slurm prints these causes itself, so that finding them says little about the quality of a diagnosis
PRINTED_BY_SLURM: Final = frozenset({"slurm_timeout", "slurm_cancelled", "host_oom_kill"})
_BUCKETS = 10  # of confidence, equally wide


@dataclass(frozen=True, slots=True)
class Verdict:
    """The label that one log got, beside the right one."""

    id: str
    source: str
    wanted: str
    got: str | None  # None is "don't know"
    cascade: bool = False  # several ranks wrote the log, so that one failure may cause others
    confidence: float | None = None
    evidence: str = ""  # the line that proves it

    @property
    def right(self) -> bool:
        """Whether the right label was found."""
        return self.got == self.wanted

    @property
    def wrong_guess(self) -> bool:
        """Whether a wrong label was given instead of "don't know"."""
        return self.got is not None and not self.right


@dataclass(frozen=True, slots=True)
class Part:
    """``count`` of ``of`` verdicts."""

    count: int
    of: int

    @property
    def share(self) -> float | None:
        """The share, from 0 to 1; None if there are no verdicts."""
        return self.count / self.of if self.of else None


@dataclass(frozen=True, slots=True)
class LabelScore:
    """The scores of one label, from 0 to 1."""

    cases: int
    precision: float
    recall: float
    f1: float


@dataclass(frozen=True, slots=True)
class Bucket:
    """The verdicts of about the same confidence."""

    lowest: float
    right: Part
    mean_confidence: float


_Test = Callable[[Verdict], bool]


def _any(_verdict: Verdict) -> bool:
    return True


def _failure(verdict: Verdict) -> bool:
    return verdict.wanted != CLEAN


def _clean(verdict: Verdict) -> bool:
    return verdict.wanted == CLEAN


# key: (title, the verdicts to count among, which of them to count)
COUNTS: Final[dict[str, tuple[str, _Test, _Test]]] = {
    "accuracy": ("right (accuracy)", _any, lambda verdict: verdict.right),
    "failures_right": ("right, of failures", _failure, lambda verdict: verdict.right),
    "cascades_right": (
        "right, of failures of several ranks",
        lambda verdict: _failure(verdict) and verdict.cascade,
        lambda verdict: verdict.right,
    ),
    "false_alarms": ("failure found in a clean log", _clean, lambda verdict: verdict.wrong_guess),
    "clean_unknown": ("don't know, of clean logs", _clean, lambda verdict: verdict.got is None),
    "unknown": ("don't know", _any, lambda verdict: verdict.got is None),
    "wrong_guesses": ("wrong guesses", _any, lambda verdict: verdict.wrong_guess),
    "called_clean": ("wrong guesses: failure called clean", _failure, lambda verdict: verdict.got == CLEAN),
}


def count(verdicts: Sequence[Verdict]) -> dict[str, Part]:
    """Count the verdicts as `COUNTS` says."""
    return {
        key: _part(counts(verdict) for verdict in verdicts if among(verdict))
        for key, (_, among, counts) in COUNTS.items()
    }


def not_printed_by_slurm(verdicts: Iterable[Verdict]) -> list[Verdict]:
    """Return the verdicts on logs whose cause Slurm does not print itself."""
    return [verdict for verdict in verdicts if verdict.wanted not in PRINTED_BY_SLURM]


def macro_f1(verdicts: Sequence[Verdict]) -> float:
    """Return the mean F1 of all wanted labels; rare ones count as much as frequent ones."""
    return _mean(label.f1 for label in by_label(verdicts).values())


def by_label(verdicts: Sequence[Verdict]) -> dict[str, LabelScore]:
    """Score each wanted label, the most frequent first."""
    wanted = Counter(verdict.wanted for verdict in verdicts)
    got = Counter(verdict.got for verdict in verdicts)
    right = Counter(verdict.wanted for verdict in verdicts if verdict.right)
    return {
        label: LabelScore(
            cases=cases,
            precision=right[label] / got[label] if got[label] else 0.0,
            recall=right[label] / cases,
            f1=2 * right[label] / (cases + got[label]),
        )
        for label, cases in sorted(wanted.items(), key=lambda item: (-item[1], item[0]))
    }


def by_source(verdicts: Iterable[Verdict]) -> dict[str, Part]:
    """Score each source, the worst first; of equally bad ones the larger comes first."""
    groups: defaultdict[str, list[bool]] = defaultdict(list)
    for verdict in verdicts:
        groups[verdict.source].append(verdict.right)
    worst_first = sorted(groups, key=lambda name: (_mean(groups[name]), -len(groups[name]), name))
    return {name: _part(groups[name]) for name in worst_first}


def mean_accuracy(verdicts: Iterable[Verdict]) -> float:
    """Return the mean accuracy of the sources; each counts the same, however large."""
    return _mean(part.share or 0.0 for part in by_source(verdicts).values())


def calibration(verdicts: Iterable[Verdict]) -> list[Bucket]:
    """Compare confidence with accuracy, the most confident verdicts first; "don't know" is left out."""
    buckets: defaultdict[int, list[tuple[float, bool]]] = defaultdict(list)
    for verdict in verdicts:
        if verdict.got is not None and verdict.confidence is not None:
            # rounded first: 0.7 is not a binary fraction and must not fall into the bucket below
            index = min(int(round(verdict.confidence * _BUCKETS, 6)), _BUCKETS - 1)
            buckets[index].append((verdict.confidence, verdict.right))
    return [
        Bucket(
            lowest=index / _BUCKETS,
            right=_part(right for _, right in members),
            mean_confidence=_mean(confidence for confidence, _ in members),
        )
        for index, members in sorted(buckets.items(), reverse=True)
    ]


def confusions(verdicts: Iterable[Verdict]) -> list[Verdict]:
    """Return the verdicts that are not right, sorted by label."""
    return sorted(
        (verdict for verdict in verdicts if not verdict.right), key=lambda v: (v.wanted, v.got or "", v.id)
    )


def _part(flags: Iterable[bool]) -> Part:
    values = list(flags)
    return Part(sum(values), len(values))


def _mean(numbers: Iterable[float]) -> float:
    values = list(numbers)
    return fmean(values) if values else 0.0
