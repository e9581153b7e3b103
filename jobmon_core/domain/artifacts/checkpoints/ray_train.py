"""Checkpoints of Ray Train: folders named after their time, and the file that says which of them count.

Source: ``ray/train/v2/_internal/execution/checkpoint`` and ``storage.py`` of Ray 2.60.
"""

from __future__ import annotations

import json
import re

from jobmon_core.domain.artifacts.checkpoints.model import Candidate, Evidence

FRAMEWORK = "ray_train"
SNAPSHOT = "checkpoint_manager_snapshot.json"
FOLDER = r"checkpoint_\d{4}-\d\d-\d\d_\d\d-\d\d-\d\d\.\d{1,6}"
_FOLDER = re.compile(FOLDER)
_STEP_METRICS = ("global_step", "step", "training_iteration", "epoch")


def is_folder_name(name: str) -> bool:
    """Return whether a folder has the name of such a checkpoint: a time, whose numbers are no step."""
    return _FOLDER.fullmatch(name) is not None


def snapshot_path(candidate: Candidate) -> str:
    """Return the path of the file that names the checkpoints of a run."""
    return f"{candidate.parent}/{SNAPSHOT}" if candidate.parent else SNAPSHOT


def missing_from_snapshot(candidate: Candidate, others: list[Candidate], evidence: Evidence) -> str:  # noqa: ARG001 - all rules have this form
    """Return why a checkpoint does not count; Ray names it in the file once all workers have reported it."""
    text = evidence.texts.get(snapshot_path(candidate))
    if text is None:
        return f"is not named in {SNAPSHOT}, which is missing or unreadable"
    return "" if candidate.name in _metrics(text) else f"is not named in {SNAPSHOT}"


def reported_step(candidate: Candidate, evidence: Evidence) -> int | None:
    """Return the step that the program reported with a checkpoint; None if it reported none."""
    metrics = _metrics(evidence.texts.get(snapshot_path(candidate), "")).get(candidate.name, {})
    steps = (metrics.get(name) for name in _STEP_METRICS)
    return next((step for step in steps if isinstance(step, int) and not isinstance(step, bool)), None)


def _metrics(text: str) -> dict[str, dict[str, object]]:
    """Return the metrics of the checkpoints that the file names, by the names of their folders."""
    try:
        results = json.loads(text)["checkpoint_results"]
        return {each["checkpoint_dir_name"]: dict(each.get("metrics") or {}) for each in results}
    except (ValueError, RecursionError, TypeError, KeyError, AttributeError):
        return {}
