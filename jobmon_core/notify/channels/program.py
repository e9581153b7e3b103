"""Runs a program of the user: one start is one attempt to deliver."""

from __future__ import annotations

import json
import shlex
import zlib
from typing import TYPE_CHECKING, Any, NamedTuple

from jobmon_core.domain.channels import ACCEPTED, DeliveryOutcome, Receipt
from jobmon_core.domain.redaction import redacted, redacted_lines
from jobmon_core.system.runner import Runner, TimedOut, succeeded

if TYPE_CHECKING:
    from jobmon_core.domain.config_section import Section
    from jobmon_core.domain.delivery.outbox import OutboxEntry

VERSION = 1

TIMEOUT_S = 30.0
_MAX_STARTS = 2  # a start that was interrupted is repeated once, and the JSON says so


class Program(NamedTuple):
    """A program of the user, and its arguments. It gets each message as JSON on its standard input."""

    argv: tuple[str, ...]
    timeout_s: float = TIMEOUT_S

    @classmethod
    def parse(cls, text: str) -> Program:
        """Split a command line as a shell would.

        ValueError if it names no program, or not by an absolute path, or a quote is not closed.
        """
        try:
            argv = tuple(shlex.split(text))
        except ValueError as error:
            raise ValueError(f"not a command line: {error}") from error
        if not argv or not argv[0].startswith("/"):
            raise ValueError("expected the absolute path of a program, then its arguments")
        return cls(argv)

    @property
    def name(self) -> str:
        """The path of the program, without its arguments."""
        return f"program {self.argv[0]}"

    @property
    def fingerprint(self) -> str:
        """The program and a checksum of the command line: an argument may be a secret."""
        return f"{self.name} ({zlib.crc32(repr(self.argv).encode()):08x})"

    def deliver(self, entry: OutboxEntry) -> Receipt:
        """Run the program once. If it fails, it is not run again: jobmon does not know what it did."""
        if entry.attempts > _MAX_STARTS:
            return _given_up(f"{self.name} was interrupted twice")
        result = Runner().feed(self.argv, event_json(entry), self.timeout_s)
        if succeeded(result):
            return ACCEPTED
        if isinstance(result, TimedOut):
            return _given_up(f"{self.name} did not end within {self.timeout_s:g} s and was killed")
        return _given_up(redacted(result.error_text))


def parse(section: Section) -> Program | None:
    """Read one channel; report faults to ``section``."""
    command = section.verbatim("command", required=True)
    if not command:
        return None
    try:
        return Program.parse(command)
    except ValueError as error:
        section.fault("command", str(error))
        return None


def _given_up(why: str) -> Receipt:
    advice = "Run the program by hand to see what it needs."
    return Receipt(DeliveryOutcome.GIVE_UP, why, advice=advice)


def event_json(entry: OutboxEntry) -> str:
    """Return one line of JSON about a message or a change of state; it shows no secret."""
    message = entry.message
    event: dict[str, Any] = {
        "version": VERSION,
        "event": "state" if message.changes else "message",
        "id": message.id,
        "job_id": message.ref,
        "level": message.level,
        "outcome": message.outcome,
        "title": redacted(message.title),
        "at": message.created_s,
        "repeat": entry.maybe_delivered,
    }
    if message.changes:
        event["changes"] = [
            {"job_id": each.ref, "from": each.before or None, "to": each.after} for each in message.changes
        ]
        return json.dumps(event)
    return json.dumps(
        event
        | {
            "headline": redacted(message.headline),
            "summary": redacted(message.summary),
            "cause": redacted(message.cause),
            "advice": redacted(message.advice),
            "evidence": redacted_lines(message.evidence),
            "fields": {
                field.name: redacted(field.value) if field.at_s is None else field.at_s
                for field in message.fields
            },
            "log": message.log_path,
        }
    )
