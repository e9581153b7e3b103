"""One daemon of the cluster: started in the foreground mode, known by pid and start time."""

import os
import signal
import socket
from collections.abc import Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path

from .errors import PrivateSlurmError
from .layout import Layout
from .processes import Process
from .waiting import until

STDERR = 2


@dataclass(frozen=True)
class Daemon:
    """A program that runs for as long as the cluster, in a session of its own."""

    name: str
    argv: tuple[str, ...]
    layout: Layout
    variables: Mapping[str, str] = field(default_factory=dict)

    @property
    def output(self) -> Path:
        """What it says before it has a log, or when it can't have one."""
        return self.layout.logs / f"{self.name}.out"

    @property
    def _identity(self) -> Path:
        return self.layout.run / self.name

    def process(self) -> Process | None:
        """The running process, whoever started it."""
        noted = self._noted()
        return noted if noted and noted.alive() else None

    def _noted(self) -> Process | None:
        try:
            return Process.parse(self._identity.read_text())
        except FileNotFoundError:
            return None

    def start(self) -> None:
        """Start it, unless it runs."""
        if self.process():
            return
        pid = self._spawn()
        started = Process.find(pid)
        if started is None:
            raise PrivateSlurmError(f"{self.name} ended at once: {self.last_words()}")
        self._identity.write_text(str(started))

    def _spawn(self) -> int:
        """Start the program with nothing of ours: no terminal, no open files, no blocked signals."""
        # SLURM_CONF is for Slurm's own, and marks every daemon and its children as this cluster's.
        marks = {"SLURM_CONF": str(self.layout.slurm_conf), **self.variables}
        environment = {"PATH": os.environ.get("PATH", os.defpath), "HOME": "/", **marks}
        return os.posix_spawn(
            "/usr/bin/env",
            ["env", "-C", str(self.layout.folder), *self.argv],
            environment,
            file_actions=[
                (os.POSIX_SPAWN_OPEN, 0, os.devnull, os.O_RDONLY, 0),
                (os.POSIX_SPAWN_OPEN, 1, str(self.output), os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o644),
                (os.POSIX_SPAWN_DUP2, 1, STDERR),
                *((os.POSIX_SPAWN_CLOSE, number) for number in _inheritable()),
            ],
            setsid=True,
            setsigmask=[],
            setsigdef=[signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGPIPE],
        )

    def stop(self, seconds: float = 15) -> None:
        """End it, gently at first."""
        process = self.process()
        if process:
            process.send(signal.SIGTERM)
            if not until(lambda: not process.alive(), seconds):
                process.send(signal.SIGKILL)
        self.forget()

    def forget(self) -> None:
        """Note that it has ended, and take its exit status if it was our child, so that no zombie stays."""
        process = self._noted()
        if process:
            until(lambda: not process.alive(), 10)
            _reap(process.pid)
        self._identity.unlink(missing_ok=True)

    def signal(self, number: signal.Signals) -> None:
        """Send it a signal, if it runs."""
        process = self.process()
        if process:
            process.send(number)

    def await_port(self, port: int, seconds: float = 30) -> None:
        """Wait until it listens."""
        until(lambda: _listens(port) or not self.process(), seconds)
        if not _listens(port):
            raise PrivateSlurmError(f"{self.name} did not start: {self.last_words()}")

    def last_words(self) -> str:
        """The end of its output, for an error message."""
        try:
            return self.output.read_text(errors="replace")[-1500:].strip() or "(no output)"
        except FileNotFoundError:
            return "(no output)"


def _listens(port: int) -> bool:
    """Whether something accepts connections at the port of this machine."""
    with socket.socket() as probe:
        return probe.connect_ex(("127.0.0.1", port)) == 0


def _reap(pid: int) -> None:
    """Take an ended child's exit status."""
    with suppress(ChildProcessError):  # another process may have started it, and will wait for it
        os.waitpid(pid, os.WNOHANG)


def _inheritable() -> Iterator[int]:
    """Open files besides the standard ones that a child would get, such as a caller's lock or pipe."""
    for entry in Path("/proc/self/fd").iterdir():
        number = int(entry.name)
        with suppress(OSError):  # the listing's own is closed by now
            if number > STDERR and os.get_inheritable(number):
                yield number
