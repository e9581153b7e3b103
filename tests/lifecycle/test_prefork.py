from __future__ import annotations

import os
import signal
from pathlib import Path

import pytest

from tests.support.processes import python, said
from tests.support.waiting import eventually

# a command that passes signals on to its program, as `jobmon submit` does while sbatch is running
FORWARDING = """
import os, signal, sys
from jobmon_core.lifecycle.prefork import PreforkedMonitor
forwarded = (signal.SIGINT, signal.SIGQUIT, signal.SIGTERM, signal.SIGHUP)
for number in forwarded:
    signal.signal(number, lambda *_: print("forwarded", flush=True))
copy = PreforkedMonitor()
print(copy._pid, flush=True)
print(os.waitstatus_to_exitcode(os.waitpid(copy._pid, 0)[1]), flush=True)
"""


def caught_signals(pid: int) -> int:
    """Return the mask of the signals for which a process has a handler: SigCgt in proc(5)."""
    lines = Path(f"/proc/{pid}/status").read_text(encoding="ascii").splitlines()
    return int(next(line for line in lines if line.startswith("SigCgt:")).split()[1], 16)


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGQUIT, signal.SIGTERM, signal.SIGHUP])
def test_a_signal_ends_the_copy_and_is_not_passed_on(number: signal.Signals) -> None:
    with python(FORWARDING) as command:
        copy = int(said(command))
        eventually(lambda: not caught_signals(copy) >> (number - 1) & 1)
        os.kill(copy, number)
        assert said(command) == str(-number)
