"""Why a job waits that shows no reason itself: the latest warning about it, or what Kueue says."""

from __future__ import annotations

from typing import TYPE_CHECKING

from jobmon_core.scheduler.json_values import dicts, text
from jobmon_core.scheduler.kubernetes.kubectl import KubeFailed

if TYPE_CHECKING:
    from collections.abc import Sequence

    from jobmon_core.scheduler.kubernetes.kubectl import Kubectl

_MAX_TEXT = 300
_WORKLOADS = "workloads.kueue.x-k8s.io"
# conditions of a Workload (v1beta1, v1beta2), the one that says most first
_OF_WORKLOAD = ("Evicted", "Admitted", "QuotaReserved")


def warning_about(kubectl: Kubectl, names: Sequence[str]) -> str:
    """The latest warning among the events of objects with these names, e.g. that a quota forbids a pod.

    Events are kept for an hour; without the right to read them, there is none.
    """
    found: list[tuple[str, str]] = []
    for name in names:
        try:
            shown = kubectl.json("get", "events", f"--field-selector=involvedObject.name={name}")
        except KubeFailed:
            continue
        found += [
            (text(each, "lastTimestamp") or text(each, "eventTime"), _words(each))
            for each in dicts(shown, "items")
            if text(each, "type") == "Warning"
        ]
    return max(found, default=("", ""))[1]


def kueue_words(kubectl: Kubectl, uid: str) -> str:
    """What the Workload of Kueue for the object with this uid waits for; empty if that is not shown."""
    try:
        shown = kubectl.json("get", _WORKLOADS)
    except KubeFailed:
        return ""
    for each in dicts(shown, "items"):
        owners = dicts(each, "metadata", "ownerReferences")
        if any(text(owner, "uid") == uid for owner in owners):
            conditions = {text(one, "type"): one for one in dicts(each, "status", "conditions")}
            chosen = next((conditions[kind] for kind in _OF_WORKLOAD if kind in conditions), None)
            return text(chosen, "message")[:_MAX_TEXT]
    return ""


def _words(event: object) -> str:
    message = " ".join(text(event, "message").split())
    return f"{text(event, 'reason')}: {message}"[:_MAX_TEXT]
