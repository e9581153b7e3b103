"""Why a job waits that shows no reason itself: the latest warning about it, or what Kueue says."""

from __future__ import annotations

from contextlib import suppress
from typing import TYPE_CHECKING, Any

from jobmon_core.scheduler.json_values import dicts, text
from jobmon_core.scheduler.kubernetes.kubectl import KubeFailed

if TYPE_CHECKING:
    from collections.abc import Sequence

    from jobmon_core.scheduler.kubernetes.kubectl import Kubectl

_MAX_TEXT = 300
# conditions of a Workload (v1beta1, v1beta2), the one that says most first
_OF_WORKLOAD = ("Evicted", "Admitted", "QuotaReserved")


def warning_about(kubectl: Kubectl, names: Sequence[str]) -> str:
    """The latest warning among the events of objects with these names, e.g. that a quota forbids a pod.

    Events are kept for an hour; without the right to read them, there is none.
    """
    shown = [_items(kubectl, "events", f"--field-selector=involvedObject.name={name}") for name in names]
    warnings = [event for events in shown for event in events if text(event, "type") == "Warning"]
    latest = max(
        warnings, key=lambda each: text(each, "lastTimestamp") or text(each, "eventTime"), default=None
    )
    message = " ".join(text(latest, "message").split())
    return f"{text(latest, 'reason')}: {message}"[:_MAX_TEXT] if latest else ""


def kueue_words(kubectl: Kubectl, uid: str) -> str:
    """What the Workload of Kueue for the object with this uid waits for; empty if that is not shown."""
    for each in _items(kubectl, "workloads.kueue.x-k8s.io"):
        if any(text(owner, "uid") == uid for owner in dicts(each, "metadata", "ownerReferences")):
            conditions = {text(one, "type"): one for one in dicts(each, "status", "conditions")}
            chosen = next((conditions[kind] for kind in _OF_WORKLOAD if kind in conditions), None)
            return text(chosen, "message")[:_MAX_TEXT]
    return ""


def _items(kubectl: Kubectl, *what: str) -> list[dict[str, Any]]:
    """None if they may not be read, or the cluster has no such kind."""
    with suppress(KubeFailed):
        return dicts(kubectl.json("get", *what), "items")
    return []
