"""Until when the user muted a job, and when they acknowledged it, as rows and as JSON."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from jobmon.views.model import clock

if TYPE_CHECKING:
    from collections.abc import Iterator

    from jobmon_core.app.alerts.about import JobAlerts


def alert_rows(alerts: JobAlerts, now_s: float) -> Iterator[tuple[str, str]]:
    """Yield names and values for ``jobmon show``."""
    if alerts.muted_until_s is not None:
        yield "muted", f"until {clock(alerts.muted_until_s, now_s)}; `jobmon mute` lists what you muted"
    if alerts.acknowledged_s is not None:
        yield "ack", f"you acknowledged it at {clock(alerts.acknowledged_s, now_s)}"


def alerts_json(alerts: JobAlerts) -> dict[str, Any]:
    """Return the keys that ``jobmon status --json`` and ``jobmon show --json`` add."""
    return {"muted_until": alerts.muted_until_s, "acknowledged_at": alerts.acknowledged_s}
