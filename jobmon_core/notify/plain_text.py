"""A message as plain text within a limit, the most important parts first."""

from __future__ import annotations

import re
import time
from dataclasses import replace
from datetime import UTC, datetime
from enum import StrEnum
from typing import TYPE_CHECKING, NamedTuple

from jobmon_core.domain.channels import Tone
from jobmon_core.domain.humanize import duration
from jobmon_core.notify.clean_text import clean, cut_middle, is_visible, one_line

if TYPE_CHECKING:
    from collections.abc import Callable

    from jobmon_core.domain.delivery.outbox import Field, Message, OutboxEntry

    Measure = Callable[[str], int]

SYMBOLS = {
    Tone.SUCCESS: "✅",
    Tone.FAILURE: "❌",
    Tone.CANCELLED: "⏹️",
    Tone.ATTENTION: "⚠️",
    Tone.RESOLVED: "🔵",
}
_DELAYED_S = 3600  # an older message states its age, because readers assume that a message is current
_EVIDENCE_SHARE = 0.4  # of the room
_MAX_FIELDS = 50
_MIN_ROOM = 40  # a part that would be cut shorter is left out, with all after it
YEAR_10000_S = 253_402_300_800  # from then on, a year has more than four digits
_JOB = re.compile(r"([0-9][^/]*)/")  # in the id of a message about a job
_CUT_SHORT = re.compile(r": |, but | with exit code ")
_SHORT_ENDS = {
    Tone.FAILURE: " has failures",
    Tone.ATTENTION: " needs attention",
    Tone.RESOLVED: " is back to normal",
}


class Details(StrEnum):
    """How much of a message a channel gets."""

    FULL = "full"
    SHORT = "short"  # which job, and how it ended: no cause, no log lines, no paths


class Kind(StrEnum):
    """What a part of the text is, for channels that show some parts in their own way."""

    TEXT = "text"
    LOG_LINES = "log lines"
    FIELDS = "fields"
    RESULT = "result"


class Part(NamedTuple):
    """One part of the text below the title."""

    text: str
    kind: Kind = Kind.TEXT


class PlainText(NamedTuple):
    """A message whose texts are cleaned, on which each channel builds its form."""

    tone: Tone
    title: str
    parts: tuple[Part, ...]  # the most important first
    fields: tuple[Field, ...]  # each on one line; a time is in the time zone of this machine

    @classmethod
    def of(cls, entry: OutboxEntry, details: Details = Details.FULL) -> PlainText:
        """Clean a message as it is at this attempt, which takes milliseconds for each long text."""
        message = entry.message
        fields = tuple(_field(field) for field in message.fields[:_MAX_FIELDS])
        is_full = details is Details.FULL
        title = one_line(message.title if is_full else short_title(message)) or "jobmon"
        parts = _full_parts(entry, fields) if is_full else _short_parts(entry)
        notes = (
            Part(_labelled("Delayed: ", delay(entry))),
            Part("(possible repeat)" if entry.maybe_delivered else ""),
        )
        visible = tuple(part for part in (*notes, *parts) if is_visible(part.text))
        return cls(message.tone, title, visible, fields if is_full else ())

    def fitted_title(self, limit: int, measure: Measure = len) -> str:
        """Return the title, in at most ``limit`` units of ``measure``."""
        return fit(self.title, limit, measure)

    def lead(self, limit: int, measure: Measure = len) -> str:
        """Return the title as `fitted_title` does, after the symbol of its tone."""
        symbol = SYMBOLS[self.tone]
        return f"{symbol} {self.fitted_title(limit - measure(symbol) - 1, measure)}"

    def body(self, limit: int, measure: Measure = len) -> str:
        """Return all but the title, likewise; what does not fit is cut."""
        shown: list[str] = []
        room = limit
        for part in self.parts:
            room -= len("\n\n") if shown else 0
            most = room
            if part.kind is Kind.LOG_LINES:
                most = min(room, int(limit * _EVIDENCE_SHARE))
            text = part.text
            if measure(text) > most:
                if most < _MIN_ROOM:
                    break
                text = fit(text, most, measure)
            shown.append(text)
            room -= measure(text)
        return "\n\n".join(shown)

    @property
    def explanation(self) -> str:
        """All parts but log lines and fields."""
        return "\n\n".join(part.text for part in self.parts if part.kind in (Kind.TEXT, Kind.RESULT))

    @property
    def log_lines(self) -> str:
        """The log lines that prove the cause."""
        return next((part.text for part in self.parts if part.kind is Kind.LOG_LINES), "")


def short_title(message: Message) -> str:
    """Return the title without the cause: which job, and how it ended."""
    if message.tone not in _SHORT_ENDS:
        return message.title
    first = _CUT_SHORT.split(message.title, maxsplit=1)[0]
    if first.endswith(")"):
        return first + _SHORT_ENDS[message.tone]
    return first


def _short_parts(entry: OutboxEntry) -> tuple[Part, ...]:
    job = _JOB.match(entry.message.id)
    if job:
        return (Part(f"`jobmon show {job[1]}` on the cluster has the details."),)
    return ()


def _full_parts(entry: OutboxEntry, fields: tuple[Field, ...]) -> tuple[Part, ...]:
    message = entry.message
    return (
        Part(clean(message.summary).strip()),
        Part(_labelled("Cause: ", clean(message.cause).strip())),
        Part(clean("\n".join(message.evidence)).strip("\n"), Kind.LOG_LINES),
        Part(_labelled("What to do: ", clean(message.advice).strip())),
        Part("\n".join(f"{field.name}: {field.value}" for field in fields), Kind.FIELDS),
        Part(_labelled("Log: ", one_line(message.log_path))),
        Part(_labelled("Also seen: ", clean(message.also_seen).strip())),
        *(
            Part(f"Result {one_line(quote.name)}:\n{clean(quote.text).rstrip()}", Kind.RESULT)
            for quote in message.results
        ),
    )


def _field(field: Field) -> Field:
    name = one_line(field.name) or "-"
    if field.at_s is not None and not field.value:
        return replace(field, name=name, value=local_time(field.at_s))
    return replace(field, name=name, value=one_line(field.value) or "-", at_s=None)


def utf8_size(text: str) -> int:
    """Return the bytes that a text takes in UTF-8."""
    return len(text.encode("utf-8", "replace"))


def utf16_size(text: str) -> int:
    """Return the UTF-16 code units of a text."""
    return len(text.encode("utf-16-le", "replace")) // 2


def delay(entry: OutboxEntry) -> str:
    """Return how old the message is; empty if it is recent."""
    created_s, sent_s = entry.message.created_s, entry.attempt_since_s
    if sent_s is None or created_s <= 0 or sent_s - created_s < _DELAYED_S:
        return ""
    return f"this message is {duration(sent_s - created_s)} old."


def local_time(at_s: int) -> str:
    """Return a time (Unix seconds) in the time zone of this machine, e.g. ``2026-11-25 20:30 CET``."""
    if not 0 <= at_s < YEAR_10000_S:
        return str(at_s)
    return time.strftime("%Y-%m-%d %H:%M %Z", time.localtime(at_s))


def timestamp(at_s: int) -> dict[str, str]:
    """Return the time (Unix seconds) under the key that Discord and PagerDuty expect; nothing if unknown."""
    if not 0 < at_s < YEAR_10000_S:
        return {}
    return {"timestamp": datetime.fromtimestamp(at_s, tz=UTC).isoformat()}


def fit(text: str, limit: int, measure: Measure = len) -> str:
    """Return as much of ``text`` as fits into ``limit`` units of ``measure``, without its middle."""
    if measure(text) <= limit:
        return text
    low, high = 0, min(len(text), max(limit, 0))
    while low < high:
        middle = (low + high + 1) // 2
        if measure(cut_middle(text, middle)) <= limit:
            low = middle
        else:
            high = middle - 1
    return cut_middle(text, low)


def _labelled(label: str, text: str) -> str:
    if text:
        return f"{label}{text}"
    return ""
