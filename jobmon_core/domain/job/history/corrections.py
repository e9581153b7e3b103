"""Later lines about a run whose record is in the history already."""

from __future__ import annotations

from jobmon_core.domain.job.history.record import HistoryRecord

# what accounting knows of a run, and jobmon may lack if accounting was late
_OF_ACCOUNTING = (
    *("gpu", "gpus", "cpus", "eligible_s", "started_s", "ended_s", "limit_s", "nodes", "cpu_s"),
    *("memory_requested", "memory_peak", "gpu_percent"),
)


def completed(own: HistoryRecord, found: HistoryRecord, now_s: float) -> HistoryRecord:
    """Return the later line about a run of which accounting told what it held only after its end."""
    known = {name: getattr(found, name) for name in _OF_ACCOUNTING if not getattr(own, name)}
    if found.rate is not None:
        known |= {"rate": found.rate, "currency": found.currency}
    return own._replace(noted_s=round(max(now_s, own.noted_s), 3), run_s=found.run_s, **known)


def deletion_of(run: HistoryRecord, now_s: float) -> HistoryRecord:
    """Return the later line that deletes a run, of which it keeps the name alone."""
    noted_s = round(max(now_s, run.noted_s), 3)
    record = HistoryRecord(run.job_id, run.submit_s, noted_s, run.cluster, task=run.task, name=run.name)
    return record._replace(ended_s=run.ended_s, deleted=True)
