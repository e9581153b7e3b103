"""The figures of ``benchmarks/diagnosis.py`` as tables and as JSON."""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass

from tabulate import tabulate

from benchmarks.scores import (
    COUNTS,
    PRINTED_BY_SLURM,
    Part,
    Verdict,
    by_label,
    by_source,
    calibration,
    confusions,
    count,
    macro_f1,
    mean_accuracy,
    not_printed_by_slurm,
)

_EVIDENCE_SHOWN = 100  # characters
_SOURCES_SHOWN = 10


@dataclass(frozen=True, slots=True)
class Speed:
    """The speed of diagnosing on one core with loaded patterns."""

    passes: int
    corpus_bytes: int
    rules_ms: float  # to load the patterns once, including the regex library
    each_log_mb_s: float
    one_text_mb_s: float  # all logs joined
    baseline_mb_s: float  # of each log


@dataclass(frozen=True, slots=True)
class PlainLogs:
    """Ordinary logs without labels."""

    logs: int
    mb_s: float
    failures: dict[str, str]  # file name -> the line that proves the failure found in it


def as_json(
    jobmon: Sequence[Verdict], baseline: Sequence[Verdict], speed: Speed, plain: PlainLogs | None
) -> str:
    """Return all figures as one JSON object."""
    sources = len(by_source(jobmon))
    buckets = [asdict(bucket) | {"right": _json_part(bucket.right)} for bucket in calibration(jobmon)]
    document = {
        "corpus": {"cases": len(jobmon), "sources": sources, "bytes": speed.corpus_bytes},
        "jobmon": _json_figures(jobmon) | {"calibration": buckets},
        "baseline": _json_figures(baseline),
        "speed": asdict(speed),
        "plain_logs": asdict(plain) if plain else None,
    }
    return json.dumps(document, indent=2)


def _json_figures(verdicts: Sequence[Verdict]) -> dict[str, object]:
    sources = {name: _json_part(part) for name, part in by_source(verdicts).items()}
    keys = ("id", "wanted", "got", "confidence")
    return {
        "all": _json_counts(verdicts),
        "without_outright": _json_counts(not_printed_by_slurm(verdicts)),
        "labels": {label: asdict(scored) for label, scored in by_label(verdicts).items()},
        "sources": {"mean_accuracy": mean_accuracy(verdicts), "by_source": sources},
        "confusions": [
            {key: getattr(verdict, key) for key in keys} | {"evidence": verdict.evidence[:_EVIDENCE_SHOWN]}
            for verdict in confusions(verdicts)
        ],
    }


def _json_counts(verdicts: Sequence[Verdict]) -> dict[str, object]:
    parts = {key: _json_part(part) for key, part in count(verdicts).items()}
    return {**parts, "macro_f1": macro_f1(verdicts)}


def _json_part(part: Part) -> dict[str, object]:
    return asdict(part) | {"share": part.share}


def as_text(
    jobmon: Sequence[Verdict], baseline: Sequence[Verdict], speed: Speed, plain: PlainLogs | None
) -> str:
    """Return the figures as tables."""
    sections = [
        f"{len(jobmon)} logs of {len(by_source(jobmon))} sources, {speed.corpus_bytes / 10**6:.2f} MB",
        _comparison(jobmon, baseline),
        f'"hard": without causes that Slurm prints itself ({", ".join(sorted(PRINTED_BY_SLURM))}).',
        _speeds(speed),
        *([_plain(plain)] if plain else []),
        _labels(jobmon, baseline),
        _sources(jobmon),
        _confidence(jobmon),
        _confusions(jobmon),
    ]
    return "\n\n".join(sections)


def _comparison(jobmon: Sequence[Verdict], baseline: Sequence[Verdict]) -> str:
    columns = [jobmon, baseline, not_printed_by_slurm(jobmon), not_printed_by_slurm(baseline)]
    counts = [count(column) for column in columns]
    rows = [(title, *(_share(parts[key]) for parts in counts)) for key, (title, *_) in COUNTS.items()]
    f1 = ("macro-F1", *(f"{macro_f1(column):.3f}" for column in columns))
    means = ("mean accuracy of sources", *(f"{mean_accuracy(column):.1%}" for column in columns))
    return _table([*rows, f1, means], ("", "jobmon", "baseline", "jobmon, hard", "baseline, hard"))


def _share(part: Part) -> str:
    return "-" if part.share is None else f"{part.share:.1%}  {part.count} of {part.of}"


def _speeds(speed: Speed) -> str:
    rows = [
        ("jobmon, each log", f"{speed.each_log_mb_s:.1f} MB/s"),
        ("jobmon, all logs joined", f"{speed.one_text_mb_s:.1f} MB/s"),
        ("baseline, each log", f"{speed.baseline_mb_s:.1f} MB/s"),
        ("loading the patterns, once", f"{speed.rules_ms:.0f} ms"),
    ]
    return _table(rows, (f"speed on one core, patterns loaded, best of {speed.passes}", ""))


def _plain(plain: PlainLogs) -> str:
    rows = [(name, text[:_EVIDENCE_SHOWN]) for name, text in plain.failures.items()]
    shown = f"{plain.logs} ordinary logs, {plain.mb_s:.1f} MB/s; a failure found in {len(rows)}"
    return _table(rows, (shown, "evidence"))


def _labels(jobmon: Sequence[Verdict], baseline: Sequence[Verdict]) -> str:
    baseline_scores = by_label(baseline)
    rows = []
    for label, scored in by_label(jobmon).items():
        shares = (scored.precision, scored.recall, scored.f1, baseline_scores[label].f1)
        rows.append((label, str(scored.cases), *(f"{share:.2f}" for share in shares)))
    return _table(rows, ("label", "logs", "precision", "recall", "F1", "F1 of the baseline"))


def _sources(verdicts: Sequence[Verdict]) -> str:
    rows = [(name, _share(part)) for name, part in by_source(verdicts).items() if part.count < part.of]
    return _table(rows[:_SOURCES_SHOWN], (f"worst of {len(rows)} sources with errors", "right"))


def _confidence(verdicts: Sequence[Verdict]) -> str:
    rows = [
        (f">= {bucket.lowest:.1f}", f"{bucket.mean_confidence:.2f}", _share(bucket.right))
        for bucket in calibration(verdicts)
    ]
    return _table(rows, ("confidence", "mean", "right"))


def _confusions(verdicts: Sequence[Verdict]) -> str:
    rows = [
        (
            verdict.id,
            verdict.wanted,
            verdict.got or "(don't know)",
            "" if verdict.confidence is None else f"{verdict.confidence:.2f}",
            verdict.evidence[:_EVIDENCE_SHOWN],
        )
        for verdict in confusions(verdicts)
    ]
    return _table(rows, ("not right", "wanted", "got", "confidence", "evidence"))


def _table(rows: Iterable[Sequence[str]], headers: Sequence[str]) -> str:
    return tabulate(list(rows), headers, disable_numparse=True)
