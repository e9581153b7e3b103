"""Places to run a program in: a cgroup with a limit, a network of its own, a machine that others fill."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path

from jobmon_core.agent import cgroup
from tests.support.waiting import eventually
from tests.support.watched_program import Within

_JOIN = 'echo $$ >"$0"/cgroup.procs && exec "$@"'
# the loopback device gets another name: agents count what passes through all devices but that
_NETWORK = """\
import fcntl, signal, socket, struct
device = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
fcntl.ioctl(device, 0x8923, struct.pack("16s16s", b"lo", b"lan0"))  # SIOCSIFNAME
fcntl.ioctl(device, 0x8914, struct.pack("16sh14x", b"lan0", 0x41))  # SIOCSIFFLAGS: up, running
print("ready", flush=True)
signal.pause()
"""
_SPINNING = """\
import os, time
os.nice(19)
try:
    open("/proc/self/autogroup", "w").write("19")
except OSError:
    pass  # the kernel groups no processes
for _ in range(os.cpu_count() - 1):
    if not os.fork():
        break
until_s = time.monotonic() + 120
while time.monotonic() < until_s:
    pass
"""


class NoSuchPlace(Exception):
    """This machine, or this user, cannot make such a place."""


@contextmanager
def in_cgroup(controller: str, limits: dict[str, int | str]) -> Iterator[Within]:
    """Make a cgroup with these limits, by their names in version 1 and version 2."""
    found = cgroup.hierarchies(Path("/proc/self/mountinfo").read_text())
    hierarchy = found.get(controller) or found.get("")
    if hierarchy is None:
        raise NoSuchPlace(f"no cgroups for {controller}")
    folder = Path(hierarchy[0].folder) / f"jobmon-test-{os.getpid()}"
    try:
        folder.mkdir()
    except OSError as error:
        raise NoSuchPlace(f"{folder}: {error.strerror}") from error
    try:
        known = {name: limit for name, limit in limits.items() if (folder / name).exists()}
        if not known:
            raise NoSuchPlace(f"{hierarchy[0].folder} limits no {controller} of its children")
        for name, limit in known.items():
            (folder / name).write_text(str(limit))
        yield Within(["sh", "-c", _JOIN, str(folder)])
    finally:
        eventually(lambda: _is_removed(folder))


def _is_removed(folder: Path) -> bool:
    with suppress(OSError):  # its last process has not quite ended
        folder.rmdir()
    return not folder.exists()


@contextmanager
def in_own_network() -> Iterator[Within]:
    """Make a network that has one device, for 127.0.0.1."""
    unshare, nsenter = shutil.which("unshare"), shutil.which("nsenter")
    if not unshare or not nsenter or os.getuid() != 0:
        raise NoSuchPlace("only root, with the tools of util-linux, makes a network")
    with ExitStack() as stack:
        command = [unshare, "--net", sys.executable, "-c", _NETWORK]
        keeper = stack.enter_context(subprocess.Popen(command, stdout=subprocess.PIPE, text=True))
        stack.callback(keeper.kill)
        if not keeper.stdout or keeper.stdout.readline() != "ready\n":
            raise NoSuchPlace("this machine makes no network of its own")
        enter = [nsenter, f"--net=/proc/{keeper.pid}/ns/net"]
        yield Within(enter, enter)


@contextmanager
def full_machine() -> Iterator[Within]:
    """Fill all cores with work that gives way to any other; it ends by itself after two minutes."""
    with subprocess.Popen([sys.executable, "-c", _SPINNING], start_new_session=True) as others:
        try:
            yield Within()
        finally:
            os.killpg(others.pid, 9)
