"""The figures of ``benchmarks/diagnosis.py``, drawn for people and for machines."""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass, fields, is_dataclass
from typing import Final

from tabulate import tabulate

from benchmarks.scores import (
    OUTRIGHT,
    Part,
    Scores,
    Verdict,
    by_label,
    by_source,
    calibration,
    confusions,
    not_outright,
    score,
)

_EVIDENCE_SHOWN = 100  # characters
_SOURCES_SHOWN = 10
_UNKNOWN = "(don't know)"
_WORDS: Final = {
    "accuracy": "right (accuracy)",
    "macro_f1": "macro-F1",
    "failures_right": "right, of failures",
    "cascades_right": "right, of failures of several ranks",
    "false_alarms": "clean logs said to show a failure",
    "clean_unknown": "clean logs of which nothing is known",
    "unknown": "don't know",
    "wrong_guesses": "wrong guesses",
    "called_clean": "failures called clean, wrong guesses too",
}


@dataclass(frozen=True, slots=True)
class Speed:
    """How fast logs are diagnosed, on one core and with the rules loaded."""

    passes: int
    corpus_bytes: int
    rules_ms: float  # to load the rules, once, with the library that matches them
    each_log_mb_s: float  # every log by itself
    one_text_mb_s: float  # all logs as one
    baseline_mb_s: float  # the baseline, every log by itself


def as_json(ours: Sequence[Verdict], theirs: Sequence[Verdict], speed: Speed) -> str:
    """Return every figure as one JSON object."""
    document = {
        "corpus": {
            "cases": len(ours),
            "sources": len(by_source(ours).by_source),
            "bytes": speed.corpus_bytes,
        },
        "jobmon": _figures(ours) | {"calibration": [_plain(bucket) for bucket in calibration(ours)]},
        "baseline": _figures(theirs),
        "speed": asdict(speed),
    }
    return json.dumps(document, indent=2)


def _figures(verdicts: Sequence[Verdict]) -> dict[str, object]:
    sources = by_source(verdicts)
    return {
        "all": _plain(score(verdicts)),
        "without_outright": _plain(score(not_outright(verdicts))),
        "labels": {label: asdict(scored) for label, scored in by_label(verdicts).items()},
        "sources": {
            "mean_accuracy": sources.mean_accuracy,
            "by_source": {name: _plain(part) for name, part in sources.by_source.items()},
        },
        "confusions": [_confusion(verdict) for verdict in confusions(verdicts)],
    }


def _plain(value: object) -> object:
    """Return a record of figures as plain data; a part tells its share, too."""
    if isinstance(value, Part):
        return asdict(value) | {"share": value.share}
    if is_dataclass(value):
        return {field.name: _plain(getattr(value, field.name)) for field in fields(value)}
    return value


def _confusion(verdict: Verdict) -> dict[str, object]:
    return {
        "id": verdict.id,
        "wanted": verdict.wanted,
        "got": verdict.got,
        "confidence": verdict.confidence,
        "evidence": verdict.evidence[:_EVIDENCE_SHOWN],
    }


def as_text(ours: Sequence[Verdict], theirs: Sequence[Verdict], speed: Speed) -> str:
    """Draw the figures as tables for a person."""
    sources = len(by_source(ours).by_source)
    sections = [
        f"{len(ours)} logs of {sources} sources, {speed.corpus_bytes / 10**6:.2f} MB",
        _comparison(ours, theirs),
        f"Without: those whose cause Slurm prints outright ({', '.join(sorted(OUTRIGHT))}).",
        _speeds(speed),
        _labels(ours, theirs),
        _sources(ours),
        _confidence(ours),
        _confusion_list(ours),
    ]
    return "\n\n".join(sections)


def _comparison(ours: Sequence[Verdict], theirs: Sequence[Verdict]) -> str:
    columns = [ours, theirs, not_outright(ours), not_outright(theirs)]
    scored = [score(column) for column in columns]
    rows = [(words, *(_cell(each, name) for each in scored)) for name, words in _WORDS.items()]
    means = [f"{by_source(column).mean_accuracy:.1%}" for column in columns]
    heads = ("", "jobmon", "baseline", "jobmon, without", "baseline, without")
    return _table([*rows, ("mean of the sources' accuracies", *means)], heads)


def _cell(scores: Scores, name: str) -> str:
    value = getattr(scores, name)
    return _share(value) if isinstance(value, Part) else f"{value:.3f}"


def _share(part: Part) -> str:
    if part.share is None:
        return "none there"
    return f"{part.share:.1%}  {part.count} of {part.of}"


def _speeds(speed: Speed) -> str:
    rows = [
        ("jobmon, each log", f"{speed.each_log_mb_s:.1f} MB/s"),
        ("jobmon, all logs as one text", f"{speed.one_text_mb_s:.1f} MB/s"),
        ("baseline, each log", f"{speed.baseline_mb_s:.1f} MB/s"),
        ("loading the rules, once", f"{speed.rules_ms:.0f} ms"),
    ]
    return _table(rows, (f"speed on one core, rules loaded, best of {speed.passes}", ""))


def _labels(ours: Sequence[Verdict], theirs: Sequence[Verdict]) -> str:
    plain = by_label(theirs)
    rows = [
        (
            label,
            str(scored.cases),
            f"{scored.precision:.2f}",
            f"{scored.recall:.2f}",
            f"{scored.f1:.2f}",
            f"{plain[label].f1:.2f}",
        )
        for label, scored in by_label(ours).items()
    ]
    return _table(rows, ("label", "logs", "precision", "recall", "F1", "F1 of the baseline"))


def _sources(verdicts: Sequence[Verdict]) -> str:
    parts = by_source(verdicts).by_source
    rows = [(name, _share(part)) for name, part in parts.items() if part.count < part.of]
    return _table(rows[:_SOURCES_SHOWN], (f"worst sources, of {len(rows)} with a fault", "right"))


def _confidence(verdicts: Sequence[Verdict]) -> str:
    rows = [
        (f"{bucket.lowest:.1f} and more", f"{bucket.mean_confidence:.2f}", _share(bucket.right))
        for bucket in calibration(verdicts)
    ]
    return _table(rows, ("confidence", "mean", "right"))


def _confusion_list(verdicts: Sequence[Verdict]) -> str:
    rows = [
        (
            verdict.id,
            verdict.wanted,
            verdict.got or _UNKNOWN,
            "" if verdict.confidence is None else f"{verdict.confidence:.2f}",
            verdict.evidence[:_EVIDENCE_SHOWN],
        )
        for verdict in confusions(verdicts)
    ]
    return _table(rows, ("not right", "wanted", "got", "confidence", "evidence"))


def _table(rows: Iterable[Sequence[str]], heads: Sequence[str]) -> str:
    return tabulate(list(rows), heads, disable_numparse=True)
