"""Where the monitors of a campaign come from: a process that has loaded everything, and copies itself.

It has one thread, unlike the fake Discord's, so that its copies are sound; and a copy takes a few
milliseconds where a fresh interpreter takes a good part of a second.
"""

from __future__ import annotations

import json
import os
import select
import signal
import subprocess
import sys
from contextlib import suppress
from dataclasses import asdict, dataclass, field
from typing import Any, NoReturn

from benchmarks.fault_campaign.member import Order, live
from jobmon_core.store.home import Home
from jobmon_core.store.job_lock import acquire_jobs
from jobmon_core.system.json_codec import from_json


@dataclass(frozen=True, slots=True)
class Life:
    """One monitor: a descriptor that tells its end, and whether that is to come at a named step."""

    descriptor: int
    doomed: bool


@dataclass(slots=True)
class Nursery:
    """The nursery, as the campaign sees it."""

    alive: dict[int, Life] = field(default_factory=dict)  # by pid
    _process: subprocess.Popen[str] | None = None

    def open(self) -> None:
        """Start it."""
        argv = [sys.executable, "-m", "benchmarks.fault_campaign.forkserver"]
        self._process = subprocess.Popen(argv, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)

    def start(self, order: Order) -> tuple[str, ...]:
        """Start a monitor; return the jobs that it could take."""
        answer = self._ask(json.dumps(asdict(order)))
        if not answer["held"]:
            return ()
        with suppress(ProcessLookupError):  # it is over already
            self.alive[answer["pid"]] = Life(os.pidfd_open(answer["pid"]), bool(order.doom))
        return tuple(answer["held"])

    def kill(self, pid: int) -> None:
        """Kill a monitor, which may just have ended; nobody else can be hit."""
        with suppress(ProcessLookupError):
            signal.pidfd_send_signal(self.alive[pid].descriptor, signal.SIGKILL)

    def forget_dead(self) -> None:
        """Forget the monitors that ended."""
        for pid, life in list(self.alive.items()):
            if select.select([life.descriptor], [], [], 0)[0]:
                os.close(life.descriptor)
                del self.alive[pid]

    def killed(self) -> int:
        """Return how many monitors were killed so far."""
        return int(self._ask("null")["killed"])

    def close(self) -> None:
        """End every monitor and the nursery itself."""
        for pid in list(self.alive):
            self.kill(pid)
        if self._process:
            self._process.communicate()
        for life in self.alive.values():
            os.close(life.descriptor)
        self.alive.clear()

    def _ask(self, line: str) -> dict[str, Any]:
        if self._process is None or self._process.stdin is None or self._process.stdout is None:
            raise RuntimeError("the nursery is closed")
        self._process.stdin.write(f"{line}\n")
        self._process.stdin.flush()
        return dict(json.loads(self._process.stdout.readline()))


def main() -> None:
    """Obey orders, one a line, until there are no more."""
    _load()
    killed = 0
    for line in sys.stdin:
        wish = json.loads(line)
        killed += _reap()
        answer = {"killed": killed} if wish is None else _start(from_json(Order, wish))
        print(json.dumps(answer), flush=True)


def _load() -> None:
    """Import what monitors and their children would import one by one."""
    import requests  # noqa: F401 - loaded for the copies
    import urllib3  # noqa: F401 - likewise

    from jobmon_core.analysis import explain  # noqa: F401 - likewise
    from jobmon_core.notify.discord import channel  # noqa: F401 - likewise


def _reap() -> int:
    """Take note of the monitors that ended; return how many of them were killed."""
    killed = 0
    with suppress(ChildProcessError):
        while (ended := os.waitpid(-1, os.WNOHANG))[0]:
            killed += os.WIFSIGNALED(ended[1]) and os.WTERMSIG(ended[1]) == signal.SIGKILL
    return killed


def _start(order: Order) -> dict[str, object]:
    reading, writing = os.pipe()
    pid = os.fork()
    if pid == 0:
        os.close(reading)
        _be_member(order, writing)
    os.close(writing)
    with open(reading, encoding="utf-8") as words:
        held = words.read().split()
    return {"pid": pid, "held": held}


def _be_member(order: Order, word: int) -> NoReturn:
    """Detach from the nursery's streams, own, tell, live; never return into the copy of the nursery."""
    try:
        os.setsid()
        nowhere = os.open(os.devnull, os.O_RDWR)
        os.dup2(nowhere, 0)
        os.dup2(nowhere, 1)
        held = acquire_jobs(Home.find({"JOBMON_HOME": order.home}).monitors, order.job_ids)
        os.write(word, " ".join(held).encode())
        os.close(word)
        if held:
            live(order, held)
    finally:
        os._exit(0)


if __name__ == "__main__":
    main()
