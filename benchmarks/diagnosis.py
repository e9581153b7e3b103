"""Measure how well jobmon finds the cause of a failure from the job's log alone, and how fast.

It needs labelled logs (``benchmarks/corpus.py`` documents the format) and no Slurm::

    .venv/bin/python benchmarks/diagnosis.py CORPUS.jsonl --logs DIR

jobmon gets only the text of the log, nothing that Slurm knows of the job. The same logs are given to a
baseline (``benchmarks/baseline.py``). The exit status is 1 if a bound given as an option does not hold, and
2 if the corpus or the patterns cannot be read.

The speed is that of one core with loaded patterns, in CPU time, so that other load does not count. It
includes everything that is done with a log in memory: cleaning its lines, matching them and concluding. The
labelled logs are excerpts dense with failures; ``--logs`` names a folder of ordinary logs (``*.log``), most
of which show none, to measure these too and to list the failures that jobmon finds in them.
"""

from __future__ import annotations

import argparse
import gc
import sys
import time
import timeit
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from benchmarks.baseline import guess
from benchmarks.corpus import Case, CorpusInvalid, read_corpus
from benchmarks.options import options_parser
from benchmarks.report import PlainLogs, Speed, as_json, as_text
from benchmarks.scores import Verdict, count
from jobmon_core.domain.errors import Invalid
from jobmon_core.domain.logs.diagnosis.diagnose import diagnose
from jobmon_core.domain.logs.diagnosis.error_episodes import LogAnalysis
from jobmon_core.domain.logs.diagnosis.log_lines import LogExcerpt, LogLines, clean_lines
from jobmon_core.domain.logs.diagnosis.model import Diagnosis, SlurmEvidence
from jobmon_core.domain.logs.diagnosis.patterns import CLEAN
from jobmon_core.observe.patterns.load import load_patterns
from jobmon_core.observe.patterns.match import Matcher

MEGA = 10**6
_NO_EVIDENCE = SlurmEvidence()


def main(argv: Sequence[str] | None = None) -> int:
    """Print the figures; return 1 if a bound given as an option does not hold."""
    options = _options(argv)
    try:
        cases = read_corpus(options.corpus)
        bench = Bench.loaded(cases)
    except (CorpusInvalid, Invalid) as error:
        print(f"diagnosis.py: {error}", file=sys.stderr)
        return 2
    jobmon, baseline = bench.diagnose_all(), bench.guess_all()
    render = as_json if options.json else as_text
    plain = bench.plain_logs(options.logs, options.passes) if options.logs else None
    print(render(jobmon, baseline, bench.speed(options.passes), plain))
    broken = broken_bounds(jobmon, options.min_accuracy, options.max_false_alarms)
    for bound in broken:
        print(f"NOT HELD: {bound}", file=sys.stderr)
    return 1 if broken else 0


def _options(argv: Sequence[str] | None) -> argparse.Namespace:
    parser = options_parser(__doc__ or "", passes=(5, "how often to measure each speed"))
    parser.add_argument(
        "corpus", type=Path, metavar="CORPUS.jsonl", help="labelled logs, one JSON object per line"
    )
    parser.add_argument("--logs", type=Path, metavar="DIR", help="ordinary logs (*.log), without labels")
    parser.add_argument(
        "--min-accuracy", type=float, metavar="X", help="fail if the accuracy is lower than X, from 0 to 1"
    )
    parser.add_argument(
        "--max-false-alarms", type=int, metavar="N", help="fail if more than N clean logs give a failure"
    )
    options = parser.parse_args(argv)
    if options.min_accuracy is not None and not 0 <= options.min_accuracy <= 1:
        parser.error("--min-accuracy must be from 0 to 1")
    if options.max_false_alarms is not None and options.max_false_alarms < 0:
        parser.error("--max-false-alarms must not be negative")
    if options.passes < 1:
        parser.error("--passes must be at least 1")
    return options


@dataclass(frozen=True, slots=True)
class Bench:
    """The loaded patterns, and the logs to diagnose."""

    cases: tuple[Case, ...]
    logs: tuple[bytes, ...]
    matcher: Matcher
    patterns_s: float  # CPU time of loading them

    @classmethod
    def loaded(cls, cases: tuple[Case, ...]) -> Bench:
        """Load the shipped patterns.

        Raises:
            Invalid: they have errors.
        """
        started_s = time.process_time()
        matcher = Matcher(load_patterns())
        patterns_s = time.process_time() - started_s
        logs = tuple(case.log.encode("utf-8", "replace") for case in cases)
        return cls(cases, logs, matcher, patterns_s)

    def diagnose_all(self) -> list[Verdict]:
        """Return the verdict of jobmon on each log."""
        return [_verdict(case, self.diagnosis(log)) for case, log in zip(self.cases, self.logs, strict=True)]

    def guess_all(self) -> list[Verdict]:
        """Return the verdict of the baseline on each log."""
        return [_guess(case) for case in self.cases]

    def diagnosis(self, log: bytes) -> Diagnosis:
        """Diagnose one log by its text alone."""
        lines = LogLines([LogExcerpt("log", clean_lines(log))])
        return diagnose(_NO_EVIDENCE, LogAnalysis(self.matcher.find_matches(lines), lines))

    def plain_logs(self, folder: Path, passes: int) -> PlainLogs:
        """Diagnose the ``*.log`` files of a folder, and measure the speed."""
        logs = {path.name: path.read_bytes() for path in sorted(folder.glob("*.log"))}
        found = {name: self.diagnosis(log) for name, log in logs.items()}
        best_s = _best_s(lambda: [self.diagnosis(log) for log in logs.values()], passes)
        return PlainLogs(
            logs=len(logs),
            mb_s=sum(map(len, logs.values())) / MEGA / best_s,
            failures={
                name: each.evidence[-1].text
                for name, each in found.items()
                if each.label != CLEAN and each.evidence
            },
        )

    def speed(self, passes: int) -> Speed:
        """Measure the speed; the best pass counts, since other load can only make one slower."""
        joined = b"\n".join(self.logs)
        size = sum(map(len, self.logs))
        return Speed(
            passes=passes,
            corpus_bytes=size,
            rules_ms=self.patterns_s * 1000,
            each_log_mb_s=size / MEGA / _best_s(self.diagnose_all, passes),
            one_text_mb_s=len(joined) / MEGA / _best_s(partial(self.diagnosis, joined), passes),
            baseline_mb_s=size / MEGA / _best_s(self.guess_all, passes),
        )


def _verdict(case: Case, diagnosis: Diagnosis) -> Verdict:
    return Verdict(
        id=case.id,
        source=case.group,
        wanted=case.label,
        got=diagnosis.label,
        cascade=case.multi_rank,
        confidence=diagnosis.confidence,
        evidence=diagnosis.evidence[-1].text if diagnosis.evidence else "",
    )


def _guess(case: Case) -> Verdict:
    label, line = guess(case.log, case.label)
    return Verdict(case.id, case.group, case.label, label, case.multi_rank, evidence=line)


def _best_s(task: Callable[[], object], passes: int) -> float:
    # without gc.enable, timeit would disable garbage collection
    return min(timeit.repeat(task, gc.enable, time.process_time, repeat=passes, number=1))


def broken_bounds(
    verdicts: Sequence[Verdict], min_accuracy: float | None, max_false_alarms: int | None
) -> list[str]:
    """Describe each of the given bounds that does not hold."""
    counts = count(verdicts)
    accuracy, alarms = counts["accuracy"].share or 0.0, counts["false_alarms"].count
    broken = []
    if min_accuracy is not None and accuracy < min_accuracy:
        broken.append(f"the accuracy is {accuracy:.4f}, below {min_accuracy:g}")
    if max_false_alarms is not None and alarms > max_false_alarms:
        broken.append(f"failures were found in {alarms} {CLEAN} logs, more than {max_false_alarms}")
    return broken


if __name__ == "__main__":
    sys.exit(main())
