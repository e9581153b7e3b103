"""How well jobmon names the cause of a failure from its log alone, and how fast.

It needs labelled logs (``benchmarks/corpus.py`` says how they look) and no Slurm::

    .venv/bin/python benchmarks/diagnosis.py CORPUS.jsonl

What Slurm knows of a job is withheld: the text of the log is all there is. The same logs are given to the
plain way of doing it (``benchmarks/baseline.py``). The exit status is 1 where a floor was asked for that does
not hold, and 2 where the corpus or the rules cannot be read.

The speed is that of one core with rules that are already loaded, in CPU time, since other work on the machine
is no matter of ours. It covers all that is done to a log: to clean its lines, to match them and to judge. The
logs are read from memory.
"""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from benchmarks.baseline import guess
from benchmarks.corpus import Case, CorpusInvalid, read_corpus
from benchmarks.report import Speed, as_json, as_text
from benchmarks.scores import Verdict, score
from jobmon_core.domain.diagnosis.diagnose import diagnose
from jobmon_core.domain.diagnosis.error_episodes import LogAnalysis
from jobmon_core.domain.diagnosis.log_lines import LogExcerpt, LogLines
from jobmon_core.domain.diagnosis.log_text import clean_lines
from jobmon_core.domain.diagnosis.model import Diagnosis, SlurmEvidence
from jobmon_core.domain.diagnosis.patterns import CLEAN
from jobmon_core.domain.errors import PatternsInvalid
from jobmon_core.observe.patterns.load import load_patterns
from jobmon_core.observe.patterns.match import Matcher

MEGA = 10**6
_NOTHING_KNOWN = SlurmEvidence()


def main(argv: Sequence[str] | None = None) -> int:
    """Print the figures; return 1 if a floor was asked for that does not hold."""
    options = _options(argv)
    try:
        cases = read_corpus(options.corpus)
        bench = Bench.loaded(cases)
    except (CorpusInvalid, PatternsInvalid) as error:
        print(f"diagnosis.py: {error}", file=sys.stderr)
        return 2
    ours, theirs = bench.verdicts(), bench.guesses()
    draw = as_json if options.json else as_text
    print(draw(ours, theirs, bench.speed(options.passes)))
    broken = broken_floors(ours, options.min_accuracy, options.max_false_alarms)
    for floor in broken:
        print(f"NOT HELD: {floor}", file=sys.stderr)
    return 1 if broken else 0


def _options(argv: Sequence[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("corpus", type=Path, metavar="CORPUS.jsonl", help="labelled logs, one object a line")
    parser.add_argument("--json", action="store_true", help="one object instead of the tables")
    parser.add_argument(
        "--min-accuracy", type=float, metavar="X", help="fail where the accuracy is lower; from 0 to 1"
    )
    parser.add_argument(
        "--max-false-alarms",
        type=int,
        metavar="N",
        help="fail where a failure is named in more clean logs than that",
    )
    parser.add_argument(
        "--passes", type=int, default=5, metavar="N", help="how often everything is timed (default: 5)"
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
    """The rules, loaded, and the logs to diagnose."""

    cases: tuple[Case, ...]
    logs: tuple[bytes, ...]
    matcher: Matcher
    rules_s: float  # what loading took

    @classmethod
    def loaded(cls, cases: tuple[Case, ...]) -> Bench:
        """Load the shipped rules.

        Raises:
            PatternsInvalid: they have faults.
        """
        began = time.process_time()
        matcher = Matcher(load_patterns())
        rules_s = time.process_time() - began
        logs = tuple(case.log.encode("utf-8", "replace") for case in cases)
        return cls(cases, logs, matcher, rules_s)

    def verdicts(self) -> list[Verdict]:
        """Return what jobmon says of each log."""
        return [_verdict(case, self.diagnosis(log)) for case, log in zip(self.cases, self.logs, strict=True)]

    def guesses(self) -> list[Verdict]:
        """Return what the baseline says of each log."""
        return [_guessed(case) for case in self.cases]

    def diagnosis(self, log: bytes) -> Diagnosis:
        """Diagnose one log from nothing but its text."""
        lines = LogLines([LogExcerpt("log", clean_lines(log))])
        return diagnose(_NOTHING_KNOWN, LogAnalysis(self.matcher.find_matches(lines), lines))

    def speed(self, passes: int) -> Speed:
        """Time everything; the best of the passes counts, since only other work can make one slower."""
        whole = b"\n".join(self.logs)
        size = sum(map(len, self.logs))
        return Speed(
            passes=passes,
            corpus_bytes=size,
            rules_ms=self.rules_s * 1000,
            each_log_mb_s=size / MEGA / _best_s(self._diagnose_each, passes),
            one_text_mb_s=len(whole) / MEGA / _best_s(partial(self.diagnosis, whole), passes),
            baseline_mb_s=size / MEGA / _best_s(self.guesses, passes),
        )

    def _diagnose_each(self) -> None:
        for log in self.logs:
            self.diagnosis(log)


def _verdict(case: Case, diagnosis: Diagnosis) -> Verdict:
    return Verdict(
        id=case.id,
        source=case.source,
        wanted=case.label,
        got=diagnosis.label,
        cascade=case.multi_rank,
        confidence=diagnosis.confidence,
        evidence=diagnosis.evidence[-1].text if diagnosis.evidence else "",
    )


def _guessed(case: Case) -> Verdict:
    said = guess(case.log, case.label)
    return Verdict(case.id, case.source, case.label, said.label, case.multi_rank, evidence=said.line)


def _best_s(task: Callable[[], object], passes: int) -> float:
    times = []
    for _ in range(passes):
        began = time.process_time()
        task()
        times.append(time.process_time() - began)
    return min(times)


def broken_floors(
    verdicts: Sequence[Verdict], min_accuracy: float | None, max_false_alarms: int | None
) -> list[str]:
    """Say which of the floors that were asked for do not hold."""
    scores = score(verdicts)
    accuracy, alarms = scores.accuracy.share or 0.0, scores.false_alarms.count
    broken = []
    if min_accuracy is not None and accuracy < min_accuracy:
        broken.append(f"the accuracy is {accuracy:.4f}, below {min_accuracy:g}")
    if max_false_alarms is not None and alarms > max_false_alarms:
        broken.append(f"failures were named in {alarms} {CLEAN} logs, more than {max_false_alarms}")
    return broken


if __name__ == "__main__":
    sys.exit(main())
