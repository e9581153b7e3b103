from __future__ import annotations

import os
import signal
from pathlib import Path

from tests.support.processes import python, said, stat_of
from tests.support.waiting import eventually

# a parent, and a child that asks to die with it and waits
FAMILY = """
import os, signal
from jobmon_core.system.process import die_with_parent
parent = os.getpid()
die_with_parent(parent)
if os.fork() == 0:
    die_with_parent(parent)
    print(os.getpid(), flush=True)
signal.pause()
"""
# a child that asks to die with a parent that has already ended
LATE = """
import os, sys
from jobmon_core.system.process import die_with_parent
child = os.fork()
if child == 0:
    die_with_parent(1)
    print("still here", flush=True)
    os._exit(0)
print(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]), flush=True)
"""


def is_gone(pid: int) -> bool:
    return not Path(f"/proc/{pid}").exists() or stat_of(pid)[0] == "Z"


def test_a_child_ends_when_its_parent_is_killed() -> None:
    with python(FAMILY) as parent:
        child = int(said(parent))
        assert not is_gone(child)
        os.kill(parent.pid, signal.SIGKILL)
        eventually(lambda: is_gone(child))


def test_a_child_whose_parent_is_gone_ends_at_once() -> None:
    with python(LATE) as parent:
        assert said(parent) == str(-signal.SIGKILL)
