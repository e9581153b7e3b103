from __future__ import annotations

import signal
import threading
from collections.abc import Iterator

import pytest

from jobmon_core.system.clock import Clock, Wake


@pytest.fixture(autouse=True)
def _blocked() -> Iterator[None]:
    """Block the waking signals, as a monitor does."""
    before = signal.pthread_sigmask(signal.SIG_BLOCK, Clock.WAKING)
    yield
    signal.pthread_sigmask(signal.SIG_SETMASK, before)


@pytest.mark.parametrize("seconds", [0.001, 0.0, -5.0])
def test_a_wait_ends_when_its_time_is_over(seconds: float) -> None:
    assert Clock().wait(seconds) is Wake.DUE


@pytest.mark.parametrize(
    ("number", "wake"), [(signal.SIGUSR1, Wake.NOTIFIED), (signal.SIGTERM, Wake.TERMINATE)]
)
def test_a_signal_that_came_before_the_wait_ends_it(number: signal.Signals, wake: Wake) -> None:
    signal.pthread_kill(threading.get_ident(), number)
    assert Clock().wait(600.0) is wake
    assert Clock().wait(0.0) is Wake.DUE
