"""When an installed patrol runs."""

from __future__ import annotations

from jobmon_core.domain.errors import JobmonError
from jobmon_core.domain.humanize import duration
from jobmon_core.domain.many.autostart.command import RegularCommand

DEFAULT_MINUTES = 30
_HOUR, _DAY = 60, 24 * 60
_MINUTE = 3  # past the hour: at its beginning, everybody's entries run
_MORNING = 8  # the hour of a daily patrol
_MINUTES = tuple(minutes for minutes in range(5, _HOUR) if _HOUR % minutes == 0)
_HOURS = tuple(hours for hours in range(1, 24) if 24 % hours == 0)


class NoSchedule(JobmonError):
    """A patrol cannot be run at this interval."""

    exit_code = 2


def patrol_command(every_minutes: float, channel: str) -> RegularCommand:
    """Return the command that an installed patrol runs; with a channel, it also sends its lines there.

    Raises:
        NoSchedule: cron cannot repeat the interval evenly, or it is under five minutes or over a day.
    """
    cron, calendar = _times(every_minutes)
    to = ("--to", channel) if channel else ()
    return RegularCommand(
        "jobmon patrol",
        ("patrol", "--unattended", *to),
        cron,
        calendar,
        "look at the jobs that jobmon watches",
        marker_suffix="-patrol",
    )


def _times(minutes: float) -> tuple[str, str]:
    """Return the times as crontab(5) and systemd.time(7) write them."""
    if minutes in _MINUTES:
        each = ",".join(str(minute) for minute in range(_MINUTE, _HOUR, int(minutes)))
        return f"{each} * * * *", f"*:{each}"
    hours, rest = int(minutes // _HOUR), minutes % _HOUR
    if minutes == _DAY:
        return f"{_MINUTE} {_MORNING} * * *", f"{_MORNING}:{_MINUTE}"
    if rest == 0 and hours in _HOURS:
        hour = "*" if hours == 1 else f"*/{hours}"
        return f"{_MINUTE} {hour} * * *", f"{'*' if hours == 1 else f'0/{hours}'}:{_MINUTE}"
    known = ", ".join([*(f"{each}m" for each in _MINUTES), *(f"{each}h" for each in _HOURS), "1d"])
    raise NoSchedule(f"a patrol can run every {known}, but not every {duration(60 * minutes)}")
