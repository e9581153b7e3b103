"""The message that tests a channel: its texts are longer than Discord accepts, and many contain markup."""

from __future__ import annotations

from jobmon_core.domain.channels import Route
from jobmon_core.domain.delivery.outbox import Field, Message, Tone

_LONG = "This text is long on purpose, so that it must be shortened. "
_MARKUP = "*bold* _line_ `code` [link](x) <@1> <t:1:R> @everyone \x1b[31mred\x1b[0m"
_FIELDS = 30  # more than Discord accepts
_LINES = 200


def worst_case_message(channel: str, route: Route, now_s: int) -> Message:
    """Return a message that tests the channel of this name, created at ``now_s`` (Unix seconds)."""
    value = _MARKUP + _LONG * 40
    fields = tuple(Field(f"Field {number} {_MARKUP} {_LONG * 5}", value) for number in range(2, _FIELDS + 1))
    return Message(
        id=f"test-{channel}",
        route=route,
        tone=Tone.SUCCESS if route is Route.SUCCESS else Tone.FAILURE,
        title=f"jobmon test of the {channel} channel: the largest message possible. {_LONG * 10}",
        summary=f"If you can read this, jobmon's messages will arrive here. {_MARKUP} {_LONG * 50}",
        fields=(Field("Sent", at_s=now_s), *fields),
        cause=f"No job failed: this is a test. {_LONG * 50}",
        evidence=tuple(f"10%\rline {number}: ```{_MARKUP}``` {_LONG}" for number in range(1, _LINES + 1)),
        advice=f"Nothing to do. {_LONG * 50}",
        log_path="/" + "a-long-folder/" * 100 + "job.log",
        created_s=now_s,
    )
