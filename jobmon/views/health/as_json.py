"""The health of a job as JSON for a program."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from jobmon.views.model import iso, json_number

if TYPE_CHECKING:
    from jobmon_core.domain.health.cluster_resources import ClusterResources
    from jobmon_core.domain.health.model import DiskHealth, GpuHealth, HealthReport
    from jobmon_core.domain.health.network.model import NetworkVerdict


def health_json(report: HealthReport) -> dict[str, Any]:
    """Return the documented object of ``jobmon health --json``; what is not known is null."""
    return {
        "at": iso(report.at_s),
        "job_id": report.ref or None,
        "name": report.name or None,
        "state": report.state or None,
        "stage": report.stage,
        "healthy": report.healthy,
        "why": report.why,
        "issues": list(report.issues),
        "advice": list(report.advice),
        "notes": list(report.notes),
        "elapsed_s": _plain(report.elapsed_s),
        "progress": _progress(report),
        "gpus": _gpus(report.gpus),
        "network": _network(report.network),
        "ray": _cluster(report.cluster) if report.cluster else None,
        "checkpoints": _checkpoints(report),
        "disks": [_disk(each) for each in report.disks],
        "errors": list(report.errors),
        "not_seen": list(report.not_seen),
    }


def _progress(report: HealthReport) -> dict[str, Any] | None:
    found, estimate = report.progress, report.estimate
    if found is None:
        return None
    fraction = found.fraction
    return {
        "progress_pct": None if fraction is None else round(100 * fraction, 2),
        "items_processed": _plain(found.current),
        "total_items": _plain(found.total),
        "unit": found.unit,
        "epoch": _plain(found.epoch),
        "loss": _plain(found.loss),
        "throughput": _plain(found.rate_per_s if estimate.rate_per_s is None else estimate.rate_per_s),
        "eta_seconds": _plain(estimate.remaining_s),
    }


def _gpus(found: GpuHealth) -> dict[str, Any]:
    return {
        "allocated": found.allocated,
        "used": found.used,
        "idle": list(found.idle),
        "utilization": list(found.utilizations),
        "avg_utilization": None if found.mean_percent is None else round(found.mean_percent, 1),
        "span_s": found.span_s,
    }


def _network(found: NetworkVerdict) -> dict[str, Any]:
    return {
        "verdict": found.state,
        "transport": found.transport or None,
        "text": found.text,
        "evidence": list(found.evidence),
        "advice": found.advice or None,
    }


def _cluster(found: ClusterResources) -> dict[str, Any]:
    return {
        "gpus": found.gpus,
        "gpus_held": found.gpus_held,
        "cpus": found.cpus,
        "cpus_held": found.cpus_held,
        "waiting": list(found.waiting),
    }


def _checkpoints(report: HealthReport) -> dict[str, Any] | None:
    found = report.checkpoints
    if found is None:
        return None
    age_s = found.age_s(report.at_s)
    return {
        "folder": found.folder,
        "count": found.count,
        "latest": found.name or None,
        "step": found.step,
        "complete": found.is_complete,
        "saved": iso(found.saved_s),
        "age_s": None if age_s is None else round(age_s, 1),
        "interval_s": found.interval_s,
        "next_due": iso(found.next_s),
        "overdue": found.is_overdue(report.at_s, report.elapsed_s),
        "problem": found.problem or None,
    }


def _disk(found: DiskHealth) -> dict[str, Any]:
    return {
        "path": found.path,
        "free_bytes": found.free_bytes,
        "total_bytes": found.total_bytes,
        "free_inodes": found.free_inodes,
        "total_inodes": found.total_inodes,
    }


def _plain(value: float | None) -> float | int | str | None:
    """Return a number for JSON; one with a fraction is rounded to six significant digits."""
    number = json_number(value)
    return float(f"{number:.6g}") if isinstance(number, float) else number
