from __future__ import annotations

import os
import signal
import subprocess
import sys
from dataclasses import replace

from jobmon_core.system.process import ProcessId, ProcessStatus, descendants, own_peak_kib, start_ticks
from tests.support.processes import is_running, python, said
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


def test_the_own_peak_is_not_that_of_the_process_that_started_this_one() -> None:
    needed = bytearray(100_000_000)
    code = "from jobmon_core.system.process import own_peak_kib; print(own_peak_kib())"
    child_kib = int(subprocess.run([sys.executable, "-c", code], capture_output=True, check=True).stdout)
    assert 1000 < child_kib < len(needed) // 1024 < (own_peak_kib() or 0)


def test_a_child_ends_when_its_parent_is_killed() -> None:
    with python(FAMILY) as parent:
        child = int(said(parent))
        assert is_running(child)
        os.kill(parent.pid, signal.SIGKILL)
        eventually(lambda: not is_running(child))


def test_a_child_whose_parent_is_gone_ends_at_once() -> None:
    with python(LATE) as parent:
        assert said(parent) == str(-signal.SIGKILL)


def test_a_process_is_told_from_others_by_host_boot_namespace_and_start() -> None:
    current = ProcessId.current()
    assert current.status(current) is ProcessStatus.RUNNING
    for change, status in (
        ({"start_ticks": current.start_ticks - 1}, ProcessStatus.EXITED),
        ({"boot_id": "another"}, ProcessStatus.REBOOTED),
        ({"boot_id": "another", "host": "far"}, ProcessStatus.REMOTE),
        ({"pid_namespace": "a container's"}, ProcessStatus.REMOTE),
    ):
        assert replace(current, **change).status(current) is status


def test_a_zombie_does_not_run() -> None:
    pid = os.fork()
    if pid == 0:
        os._exit(0)
    eventually(lambda: not is_running(pid))
    assert start_ticks(pid) is None
    assert pid not in descendants(os.getpid(), -1)
    os.waitpid(pid, 0)


def test_descendants_are_listed_parents_first() -> None:
    with python(FAMILY) as parent:
        child = int(said(parent))
        family = descendants(os.getpid(), -1)
        assert family.index(parent.pid) < family.index(child)
        os.kill(parent.pid, signal.SIGKILL)
