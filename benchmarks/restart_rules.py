"""Replay the rules of restarts over labelled logs: none whose cause is the user's may be restarted.

    .venv/bin/python benchmarks/restart_rules.py CORPUS.jsonl [--json]

CORPUS holds labelled logs (``benchmarks/corpus.py`` documents the format). Each is diagnosed as after the end
of a job, then decided as if everything else spoke for a restart: the user allows all restarts and a larger
request, the attempt saved a new checkpoint, it is proved dead, and nothing has been charged to a budget. The
state is the one that Slurm gives such an end. So a wrong diagnosis counts, too.

A segmentation fault, a bus error and a collective operation that timed out are errors of the program more
often than not; they get one try and count as restarted, not as the user's. The exit status is 1 if a cause
that is the user's was restarted, and 2 if the corpus or the rules cannot be read.
"""

from __future__ import annotations

import argparse
import sys
from collections import Counter, defaultdict
from collections.abc import Sequence
from pathlib import Path
from typing import Final

from tabulate import tabulate

from benchmarks.corpus import Case, CorpusInvalid, read_corpus
from benchmarks.figures import Figure, report
from benchmarks.options import options_parser
from jobmon_core.domain.errors import Invalid
from jobmon_core.domain.job.job_settings import RestartMode, RestartSettings
from jobmon_core.domain.job.restart.decide import decide_restart
from jobmon_core.domain.job.restart.model import Attempt, Decision, Lineage, PickedCheckpoint, Verdict
from jobmon_core.domain.job.restart.rules import EndFacts, Requested
from jobmon_core.domain.logs.diagnosis.diagnose import diagnose
from jobmon_core.domain.logs.diagnosis.error_episodes import LogAnalysis
from jobmon_core.domain.logs.diagnosis.log_lines import LogExcerpt, LogLines, clean_lines
from jobmon_core.domain.logs.diagnosis.model import SlurmEvidence
from jobmon_core.domain.logs.diagnosis.patterns import CLEAN, LABELS
from jobmon_core.domain.slurm.states import JobState, Outcome
from jobmon_core.observe.patterns.load import load_patterns
from jobmon_core.observe.patterns.match import Matcher
from jobmon_core.observe.patterns.restart_rules import restart_rules

# what machines, schedulers, networks or other processes may be to blame for
NOT_THE_USERS: Final = frozenset({
    "slurm_timeout", "slurm_preempted", "node_fail", "gpu_hardware", "nccl_timeout", "nccl_error", "segfault",
    "bus_error_shm", "host_oom_kill", "python_memory_error", "rendezvous_error", "dataloader_worker_killed",
    "port_in_use", "network_error", "mpi_error", "cuda_illegal_access", "cuda_driver_mismatch",
    "checkpoint_corrupt",
})  # fmt: skip
THE_USERS: Final = LABELS - NOT_THE_USERS  # a cancellation and a success included
_STATES = {
    CLEAN: JobState.COMPLETED,
    "slurm_timeout": JobState.TIMEOUT,
    "slurm_cancelled": JobState.CANCELLED,
    "slurm_preempted": JobState.PREEMPTED,
    "node_fail": JobState.NODE_FAIL,
}
_OUTCOMES = {JobState.COMPLETED: Outcome.SUCCESS, JobState.CANCELLED: Outcome.CANCELLED}
_WILLING = Lineage(
    settings=RestartSettings(RestartMode.ON, grow_memory=1.5, grow_time=1.5),
    attempts=(Attempt(0, "", "", "slurm"),),
)
_SAVED = PickedCheckpoint("/checkpoint-100", 100)
_REQUESTED = Requested(memory_bytes=2**30, limit_s=3600)
_VERDICTS = (Verdict.RESTART, Verdict.STOP, Verdict.ASK, Verdict.FINISHED)


def main(argv: Sequence[str] | None = None) -> int:
    """Print the share of each verdict by label; return 1 if a cause that is the user's was restarted."""
    options = _options(argv)
    try:
        cases = read_corpus(options.corpus)
        matcher = Matcher(load_patterns())
        decisions = [(case, decision_about(case, matcher)) for case in cases]
    except (CorpusInvalid, Invalid) as error:
        print(f"restart_rules.py: {error}", file=sys.stderr)
        return 2
    wrong = [(case, each) for case, each in decisions if is_wrong(case, each)]
    if not options.json:
        print(_table(decisions))
        for case, each in wrong:
            print(f"RESTARTED: {case.id} ({case.label}): {each.rule}, because of {each.cause}")
    shares = Counter(each.verdict for _, each in decisions)
    failures = len([case for case, _ in decisions if case.label != CLEAN])
    figures = [
        Figure("ends", len(decisions)),
        Figure("restarts of causes that are the user's", len(wrong), at_most=0),
        *(Figure(f"share {verdict}", shares[verdict] / len(decisions)) for verdict in _VERDICTS),
        Figure("share of failures restarted", shares[Verdict.RESTART] / max(1, failures)),
    ]
    return report(figures, as_json=options.json)


def _options(argv: Sequence[str] | None) -> argparse.Namespace:
    parser = options_parser(__doc__ or "")
    parser.add_argument(
        "corpus", type=Path, metavar="CORPUS.jsonl", help="labelled logs, one JSON object per line"
    )
    return parser.parse_args(argv)


def decision_about(case: Case, matcher: Matcher) -> Decision:
    """Decide about an end with this log, as if all else spoke for a restart."""
    state = _STATES.get(case.label, JobState.FAILED)
    lines = LogLines([LogExcerpt("log", clean_lines(case.log.encode("utf-8", "replace")))])
    evidence = SlurmEvidence(state, exit_code=1 if state is JobState.FAILED else None)
    found = diagnose(evidence, LogAnalysis(matcher.find_matches(lines), lines))
    end = EndFacts(
        state,
        _OUTCOMES.get(state, Outcome.FAILURE),
        evidence.exit_code,
        cause=(found.cause or "") if found.label or state is JobState.COMPLETED else "",
        is_proved=found.is_proved or state not in (JobState.FAILED, JobState.COMPLETED),
        doubt=found.doubt if found.cause and state is JobState.COMPLETED else "",
        proof="sacct shows it",
        requested=_REQUESTED,
    )
    return decide_restart(_WILLING, 0, end, _SAVED, (), rules=restart_rules(), now_s=0.0, jitter=0.5)


def is_wrong(case: Case, decision: Decision) -> bool:
    """Whether a restart follows although the user has to mend the cause, or nothing failed."""
    return decision.verdict is Verdict.RESTART and case.label in THE_USERS


def _table(decisions: Sequence[tuple[Case, Decision]]) -> str:
    by_label: dict[str, Counter[Verdict]] = defaultdict(Counter)
    for case, decision in decisions:
        by_label[case.label][decision.verdict] += 1
    rows = [
        [label, sum(verdicts.values()), *(verdicts[each] or "" for each in _VERDICTS)]
        for label, verdicts in sorted(by_label.items())
    ]
    return tabulate(rows, headers=["cause", "ends", *(each.value for each in _VERDICTS)])


if __name__ == "__main__":
    sys.exit(main())
