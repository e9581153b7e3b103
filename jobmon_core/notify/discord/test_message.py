"""The message to test a channel with: the largest and nastiest that jobmon can have to send.

A small one proves little: the message that fails is the one about a failure, for its texts are long.
"""

from __future__ import annotations

from jobmon_core.domain.channels import Route
from jobmon_core.domain.delivery.outbox import Field, Message, Tone

_LONG = "This text is long on purpose: it has to be cut to fit. "
_NASTY = "*bold* _line_ `code` [link](x) <@1> <t:1:R> @everyone \x1b[31mred\x1b[0m"
_FACTS = 30  # more than Discord takes
_LINES = 200


def worst_case_message(route: Route, now_s: int = 0) -> Message:
    """Return a test message whose every part is longer than Discord takes.

    Args:
        route: The channel it is for.
        now_s: When it is made, Unix seconds.
    """
    value = _NASTY + _LONG * 40
    named = tuple(Field(f"Fact {number} {_NASTY} {_LONG * 5}", value) for number in range(2, _FACTS))
    return Message(
        id=f"test-{route}",
        route=route,
        tone=Tone.SUCCESS if route is Route.SUCCESS else Tone.FAILURE,
        title=f"jobmon test of the {route} channel: the largest message it can send. {_LONG * 10}",
        summary=f"If you can read this, real messages will arrive too. {_NASTY} {_LONG * 50}",
        fields=(Field("Sent", at_s=now_s), *named),
        cause=f"No job failed: this is a test. {_LONG * 50}",
        evidence=tuple(f"10%\rline {number}: ```{_NASTY}``` {_LONG}" for number in range(1, _LINES)),
        advice=f"Nothing. {_LONG * 50}",
        log_path="/" + "a-long-folder/" * 100 + "job.log",
        created_s=now_s,
    )
