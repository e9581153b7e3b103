"""When messages are sent: limits, quiet hours and reminders, all of which are off by default."""

from __future__ import annotations

import re
from typing import NamedTuple

from jobmon_core.domain.config_section import Section

QUIET_CRITICAL = ("send", "hold")
_HOURS = re.compile(r"([01]?\d|2[0-3]):([0-5]\d)\s*-\s*([01]?\d|2[0-3]):([0-5]\d)")
_DAY_MIN = 24 * 60
_MIN_REMINDER_S = 60.0


class QuietHours(NamedTuple):
    """A time of each day in which messages are held, in minutes after midnight by the clock of this host."""

    from_min: int
    to_min: int

    @classmethod
    def parse(cls, text: str) -> QuietHours:
        """Read e.g. ``22:00-07:00``; ValueError for another form, and if both times are the same."""
        found = _HOURS.fullmatch(text.strip())
        if not found:
            raise ValueError(f"expected two times of day like 22:00-07:00, found {text!r}")
        hours = [int(part) for part in found.groups()]
        quiet = cls(60 * hours[0] + hours[1], 60 * hours[2] + hours[3])
        if quiet.from_min == quiet.to_min:
            raise ValueError("the two times must differ")
        return quiet

    def left_min(self, minute: int) -> int | None:
        """Return the minutes until their end at a ``minute`` of the day; None outside of them."""
        length = (self.to_min - self.from_min) % _DAY_MIN
        passed = (minute - self.from_min) % _DAY_MIN
        if passed < length:
            return length - passed
        return None


class AlertSettings(NamedTuple):
    """When messages are sent; the defaults limit nothing."""

    # a digest lists what the first two hold; 0: no limit
    throttle_s: float = 0.0  # between two messages of one kind about one job
    per_hour: int = 0  # messages to one channel within an hour
    quiet: QuietHours | None = None
    hold_critical: bool = False  # in quiet hours; else critical messages are sent in them too
    reminder_s: float = 0.0  # after a critical message that nobody acknowledges; 0: no reminders

    @property
    def limits_messages(self) -> bool:
        """Whether a message may have to wait because of these settings."""
        return self.throttle_s > 0 or self.per_hour > 0 or self.quiet is not None


def parse_alerts(messages: Section) -> AlertSettings:
    """Read the section ``messages`` of the configuration."""
    default = AlertSettings()
    reminder_s = messages.number("reminder_s", default.reminder_s, 0)
    if 0 < reminder_s < _MIN_REMINDER_S:
        messages.fault("reminder_s", f"must be 0 or at least {_MIN_REMINDER_S:g}, found {reminder_s:g}")
    return AlertSettings(
        throttle_s=messages.number("throttle_s", default.throttle_s, 0),
        per_hour=messages.whole_number("per_hour", default.per_hour, 0),
        quiet=messages.parsed("quiet_hours", QuietHours.parse),
        hold_critical=messages.choice("quiet_critical", QUIET_CRITICAL, QUIET_CRITICAL[0])
        == QUIET_CRITICAL[1],
        reminder_s=reminder_s,
    )
