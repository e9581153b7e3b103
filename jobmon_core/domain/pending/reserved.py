"""Reservations that a pending job would run into, and the time limit with which it would not."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import NamedTuple

from jobmon_core.domain.pending.model import PendingJob, Reservation
from jobmon_core.domain.slurm.node_list import node_names

_MINUTE_S, _HOUR_S, _DAY_S = 60, 3600, 86_400
_MARGIN_S = 120  # a job that starts this long after the advice still ends before the reservation
_WORTH_IT_S = 300  # a shorter limit is no help


class Obstacle(NamedTuple):
    """A reservation that the job does not use, on nodes that it could use.

    Attributes:
        reservation: the reservation, which ends in the future.
        takes_all: whether it takes all nodes that the job could use.
        is_active: whether it is active now.
    """

    reservation: Reservation
    takes_all: bool
    is_active: bool


def obstacles(
    job: PendingJob, reservations: Iterable[Reservation], nodes: Sequence[str], now_s: float
) -> list[Obstacle]:
    """Return the reservations that the job would run into if it started now.

    Those that take all nodes come first, then the earlier ones. ``nodes`` are the names of the nodes that the
    job could use.
    """
    found = []
    for each in reservations:
        if each.name == job.reservation or each.start_s is None or (each.end_s or now_s + 1) <= now_s:
            continue
        reserved = {*node_names(each.nodes)} & {*nodes}
        runs_into_it = job.limit_s is None or now_s + job.limit_s > each.start_s
        if reserved and runs_into_it:
            found.append(Obstacle(each, len(reserved) == len({*nodes}), each.start_s <= now_s))
    return sorted(found, key=lambda obstacle: (not obstacle.takes_all, obstacle.reservation.start_s or 0))


def limit_before(obstacle: Obstacle, now_s: float) -> int | None:
    """Return the longest useful time limit of a job that ends before a reservation begins (seconds).

    None if it is active already or too near.
    """
    if obstacle.is_active or obstacle.reservation.start_s is None:
        return None
    left_s = int(obstacle.reservation.start_s - now_s) - _MARGIN_S
    unit_s = _HOUR_S if left_s > 6 * _HOUR_S else _MINUTE_S  # a round number is easier to remember
    limit_s = left_s // unit_s * unit_s
    return limit_s if limit_s >= _WORTH_IT_S else None


def time_option(limit_s: int) -> str:
    """Return a time limit as sbatch and scontrol read it: ``45:00``, ``2:30:00``, ``2-13:00:00``."""
    days, rest = divmod(limit_s, _DAY_S)
    hours, rest = divmod(rest, _HOUR_S)
    minutes, seconds = divmod(rest, _MINUTE_S)
    if days:
        return f"{days}-{hours:02}:{minutes:02}:{seconds:02}"
    return f"{hours}:{minutes:02}:{seconds:02}" if hours else f"{minutes}:{seconds:02}"
