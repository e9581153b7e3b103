"""A patrol as JSON for programs."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from jobmon.views.patrol.lines import summary

if TYPE_CHECKING:
    from collections.abc import Iterable

    from jobmon_core.domain.patrol.model import Patrol, PatrolledJob, Problem


def patrol_json(patrol: Patrol) -> dict[str, Any]:
    """Return the documented object; times are Unix seconds, and what is not known is null."""
    return {
        "at": patrol.at_s,
        "since": patrol.since_s,
        "exit_code": int(patrol.severity),
        "summary": summary(patrol),
        "done": patrol.is_done,
        "failed_before": patrol.failed_before,
        "problems": _problems(patrol.problems),
        "jobs": [_job(job) for job in patrol.jobs],
    }


def _job(job: PatrolledJob) -> dict[str, Any]:
    seen = job.seen
    return {
        "job_id": seen.ref,
        "name": seen.name,
        "state": seen.state,
        "outcome": seen.outcome or None,
        "reason": seen.reason or None,
        "new": job.is_new,
        "changes": list(job.changes),
        "problems": _problems(seen.problems),
        "progress": seen.progress or None,
        "items_processed": seen.current,
        "unit": seen.unit or None,
        "outputs": seen.outputs,
        "expected_outputs": seen.expected_outputs,
        "checkpoints": seen.checkpoints,
        "newest_checkpoint": seen.newest_checkpoint or None,
        "markers": seen.markers,
        "results": [
            {"name": quote.name, "text": quote.text, "new": quote in job.new_results}
            for quote in seen.results
        ],
    }


def _problems(problems: Iterable[Problem]) -> list[dict[str, str]]:
    return [
        {"severity": each.severity.name.lower(), "kind": each.kind, "text": each.text} for each in problems
    ]
