"""Signals to jobmon while it runs a program for the user."""

from __future__ import annotations

import signal
from contextlib import contextmanager
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from types import FrameType

# the terminal itself sends Ctrl-C and Ctrl-\ to the program: jobmon only has to survive them
_SENT_BY_TERMINAL = (signal.SIGINT, signal.SIGQUIT)
_FORWARDED = (signal.SIGTERM, signal.SIGHUP)


@contextmanager
def forward_signals() -> Iterator[Callable[[Callable[[int], None]], None]]:
    """Forward signals to a program and survive them; yield what to call with the sender of its signals.

    Signals that are ignored (nohup, a background job of a script) stay ignored, for the program too.
    """
    senders: list[Callable[[int], None]] = []
    early: list[int] = []

    def handle(number: int, _frame: FrameType | None) -> None:
        if not senders:
            early.append(number)
        elif number in _FORWARDED:
            senders[0](number)

    def forward_to(send: Callable[[int], None]) -> None:
        senders.append(send)
        for number in early:
            send(number)

    previous = {
        number: signal.signal(number, handle)
        for number in (*_SENT_BY_TERMINAL, *_FORWARDED)
        if signal.getsignal(number) != signal.SIG_IGN
    }
    try:
        yield forward_to
    finally:
        for number, handler in previous.items():
            signal.signal(number, handler)
