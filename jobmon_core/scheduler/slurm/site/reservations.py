"""Parse ``scontrol -o show reservation``. Never raises."""

from __future__ import annotations

from jobmon_core.domain.pending.model import Reservation
from jobmon_core.scheduler.slurm import values
from jobmon_core.scheduler.slurm.site import key_values


def read_reservations(text: str) -> tuple[Reservation, ...]:
    """Parse all reservations; "No reservations in the system" has none."""
    return tuple(map(_reservation, key_values.records(text, "ReservationName")))


def _reservation(record: str) -> Reservation:
    return Reservation(
        name=key_values.value(record, "ReservationName"),
        start_s=values.unix_time(key_values.value(record, "StartTime")),
        end_s=values.unix_time(key_values.value(record, "EndTime")),
        nodes=key_values.value(record, "Nodes"),
        is_maintenance="MAINT" in key_values.values(record, "Flags"),
        users=key_values.values(record, "Users"),
        accounts=key_values.values(record, "Accounts"),
    )
