"""The report of a job for a program."""

from __future__ import annotations

from dataclasses import asdict
from typing import TYPE_CHECKING, Any

from jobmon.views.notes import notes_json
from jobmon.views.report import facts
from jobmon_core.domain.pending.wait import wait_json
from jobmon_core.domain.progress.estimate import estimate
from jobmon_core.domain.report.timeline import loss_summary
from jobmon_core.domain.report.usage import energy_kwh

if TYPE_CHECKING:
    from jobmon_core.app.jobs.report import ReportData
    from jobmon_core.domain.report.timeline import LossSummary


def report_json(data: ReportData) -> dict[str, Any]:
    """Return the documented object of ``jobmon report --json``; what is not known is null."""
    end, found, uses = data.task.end, facts.verdict(data), data.gpu_uses
    progress, speed = data.progress.progress, estimate(data.progress.history, None, data.now_s)
    return {
        "job_id": data.live.ref,
        "name": data.job.name,
        "state": facts.outcome(data),
        "outcome": end.outcome if end else None,
        "submitted_at": data.task.submit_s,
        "started_at": data.window.start_s,
        "ended_at": data.window.end_s if end else None,
        "wait": wait_json(data.task),
        "verdict": found.headline,
        "is_bad": found.is_bad,
        "explanation": found.explanation,
        "evidence": list(found.evidence),
        "advice": found.advice,
        "progress": {
            "current": progress.current,
            "total": progress.total,
            "unit": progress.unit,
            "rate_per_s": speed.rate_per_s,
            "average_rate_per_s": speed.average_rate_per_s,
        }
        if progress
        else None,
        "loss": _loss(loss_summary(data.progress.history)),
        "metrics": dict(progress.metrics) if progress else {},
        "energy_kwh": energy_kwh(uses),
        "gpus": [asdict(use) for use in uses],
        "nodes": [asdict(use) for use in data.node_uses],
        "events": [
            {"at": event.at_s, "kind": event.kind, "subject": event.subject, "text": event.text}
            for event in data.events
        ],
        "notes": facts.notes(data),
        "user_notes": notes_json(data.user_notes),
    }


def _loss(summary: LossSummary | None) -> dict[str, Any] | None:
    if summary is None:
        return None
    return {key: value for key, value in summary._asdict().items() if key != "series"}
