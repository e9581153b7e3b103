"""How long jobmon waits before it decides, and what the configuration says about messages."""

from __future__ import annotations

from typing import NamedTuple

SAVE_INTERVAL_S = 300.0  # between two saved states of a job in which nothing changes but the last answer
NO_HURRY_S = float("inf")  # the time limit of a query that may take any time
_ACCOUNTING_WAITS_S = (2.0, 5.0, 10.0, 30.0, 60.0, 120.0, 300.0)


class Policy(NamedTuple):
    """Delays in seconds, and choices of messages; the defaults suit a production cluster."""

    running_s: float = 30.0  # between queue checks of a running job
    pending_s: float = 60.0  # between queue checks of a pending job
    reported_s: float = 300.0  # between queue checks of a running job whose agents report, at most
    accounting_grace_s: float = 30.0  # how long a proved end waits for accounting's details
    deadline_s: float = 600.0  # how long a job may have no provable end before its outcome is unknown
    unreachable_deadline_s: float = 86_400.0  # the same deadline while accounting does not respond
    vanished_s: float = 120.0  # how long to search for a pending task that its array no longer lists
    warn_stale_s: float = 1800.0  # outage after which the user is notified; 0 means never
    array_messages: str = "digest"  # or "each": one message per task
    progress_messages: bool = True  # whether warnings about the progress are sent
    cards: bool = True  # whether each longer job has a card that is edited as the job goes on
    also: tuple[str, ...] = ()  # further messages: started, launched, checkpoint, progress
    progress_every_s: float = 0.0  # between two messages about how far a running job is; 0: there are none
    has_programs: bool = False  # whether programs of the user get each change of state
    doubtful_success: str = "success"  # the route of a doubtful success; or "error"
    first_s: float = (
        10.0  # between the first queue checks; then half of the job's age, up to the usual interval
    )
    floor_s: float = 0.0  # the shortest time between any two queue checks
    early_s: float = 0.0  # the shortest time before an early queue check, which a sign of an end causes
    end_messages: str = (
        "all"  # which ends of a group's members have a message of their own; see `MemberMessages`
    )

    def of_group(self, interval_s: float, end_messages: str) -> Policy:
        """Return the policy for the members of a group, which are checked at the interval of the group."""
        every_s = max(interval_s, self.floor_s)
        return self._replace(
            running_s=every_s,
            pending_s=every_s,
            reported_s=every_s,
            first_s=every_s,
            early_s=every_s,
            end_messages=end_messages,
        )

    def accounting_wait_s(self, attempts: int) -> float:
        """Return the wait after ``attempts`` accounting queries, before the next one."""
        return _ACCOUNTING_WAITS_S[min(attempts, len(_ACCOUNTING_WAITS_S) - 1)]
