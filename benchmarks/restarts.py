"""Check that restarts duplicate and lose nothing while all that carries them on is killed.

It needs a private Slurm of its own, whose daemons it also stops::

    .venv/bin/python benchmarks/restarts.py --kills 200 --lineages 60 --seed 1

Each lineage is a small training of a user with a home of their own. Its first attempts end by exit codes
and signals after which the rules restart; the last one reaches the last step. Meanwhile, what carries it on
is killed at random moments: monitors, their helpers, sentinels, the program of the attempt, sbatch in the
middle of a submission, what called sbatch (before it and after it), also of the first submission. slurmctld
and slurmdbd are stopped for some seconds, and home directories fill up (which needs the right to mount).
`recover` replaces dead monitors some seconds later; every fourth lineage has a sentinel for that.

Bounds, all 0: duplicates alive at once (two trainers of a lineage, by a lock that each takes, or two jobs of
a lineage in squeue), further jobs that a lineage does not know, lineages lost (neither finished nor stopped
for a reason in time), wrong resume steps. A first submission that was killed before jobmon knew its job is no
lineage; it is counted apart. The exit status is 1 if a bound does not hold.
"""

from __future__ import annotations

import argparse
import os
import statistics
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Sequence
from pathlib import Path

from benchmarks.figures import Figure, report
from benchmarks.options import options_parser
from benchmarks.restart_campaign.campaign import Campaign
from benchmarks.restart_campaign.plan import EVERY, Plan, lineage_plans
from benchmarks.restart_campaign.training import Training
from tests.support.fake_discord import FakeDiscord

sys.path.append(str(Path(__file__).parents[1] / "dev"))  # no package, as for the tests

from private_slurm import Cluster


def main(arguments: Sequence[str] | None = None) -> int:
    """Print the figures; return 0 if all bounds hold."""
    options = _options(arguments)
    plan = Plan(options.kills, options.lineages, options.at_once, options.seed, options.limit)
    with (
        tempfile.TemporaryDirectory(prefix="jobmon-restarts-", ignore_cleanup_errors=True) as folder,
        Cluster(min_job_age=300) as cluster,  # as by default
        FakeDiscord() as discord,
    ):
        Path(folder).chmod(0o711)  # the private Slurm's own users enter it
        trainings = [
            Training(each, Path(folder), discord, {**os.environ, **cluster.env})
            for each in lineage_plans(plan)
        ]
        try:
            figures = run_campaign(plan, trainings, cluster)
        finally:
            for training in trainings:
                training.close()
    return report(figures, as_json=options.json)


def _options(arguments: Sequence[str] | None) -> argparse.Namespace:
    parser = options_parser(
        __doc__,
        kills=(200, "kills and outages"),
        lineages=(60, "trainings"),
        seed=(1, "seed of the random numbers"),
        limit=(1800.0, "time limit in seconds"),
    )
    parser.add_argument("--at-once", type=int, default=8, help="trainings at the same time (default: 8)")
    return parser.parse_args(arguments)


def run_campaign(plan: Plan, trainings: Sequence[Training], cluster: Cluster) -> list[Figure]:
    """Run one campaign; return its figures. What breaks a bound is printed to stderr."""
    started_s = time.monotonic()
    campaign = Campaign(plan, trainings, cluster)
    campaign.run()
    took_s = time.monotonic() - started_s
    kills = campaign.all_kills()
    lost = campaign.unfinished
    twice = [f"{each.plan.name}: {line}" for each in trainings for line in each.lines("twice")]
    further = [text for each in trainings if (text := _further_jobs(each))]
    wrong = [text for each in trainings for text in _wrong_resumes(each)]
    lost_texts = [f"{each.plan.name}: {each.lineage()}\n{each.story()}" for each in lost]
    for what in (*twice, *sorted(campaign.overlaps), *further, *wrong, *lost_texts):
        print(f"NOT HELD: {what}", file=sys.stderr)
    starts = sum(len(each.starts) for each in trainings)
    ends = Counter(campaign.over.values())
    return [
        Figure("lineages", len(trainings)),
        Figure("starts of a trainer", starts),
        *(Figure(f"  which ended as: {how}", number) for how, number in sorted(ends.items())),
        Figure("kills and outages", kills.total(), at_least=plan.kills),
        *(Figure(f"  of which: {kind}", number) for kind, number in sorted(kills.items())),
        Figure("trainers that started while another one was alive", len(twice), 0),
        Figure("lineages with two running jobs in squeue", len(campaign.overlaps), 0),
        Figure("lineages with jobs that they do not know", len(further), 0),
        Figure("lineages lost", len(lost), 0),
        Figure("wrong resume steps", len(wrong), 0),
        *_latency(trainings),
        Figure("seconds", took_s),
    ]


def _further_jobs(training: Training) -> str:
    """Return the jobs of a training that its lineage does not know; empty if there are none."""
    lineage = training.lineage()
    columns = ("-X", "-n", "-o", "JobID", f"--name={training.plan.name}", "-S", "now-1day")
    known = {attempt.job for attempt in lineage.attempts}
    jobs = set(training.user.slurm("sacct", *columns).split())
    if not lineage.id or jobs <= known:
        return ""
    return f"{training.plan.name}: jobs {sorted(jobs)}, known are {sorted(known)}"


def _wrong_resumes(training: Training) -> list[str]:
    """Return the starts that did not resume at the newest complete checkpoint."""
    wrong = []
    for start in training.starts:
        last, best = start["first"] - 1, start["best"]
        given = start["environment"].get("JOBMON_RESUME_STEP", "0")
        # a trainer that was killed between its save and its note has saved one more
        if last not in (best, best + EVERY) or str(last) != given:
            wrong.append(f"{training.plan.name}: {start}")
    return wrong


def _latency(trainings: Sequence[Training]) -> list[Figure]:
    """Return how long after its end, as Slurm tells it in whole seconds, a decision was saved."""
    waits = [
        attempt.decision.decided_s - attempt.ended_s
        for training in trainings
        for attempt in training.lineage().attempts
        if attempt.decision and attempt.ended_s
    ]
    if not waits:
        return []
    return [Figure("seconds from an end to its decision, median", statistics.median(waits))]


if __name__ == "__main__":
    sys.exit(main())
