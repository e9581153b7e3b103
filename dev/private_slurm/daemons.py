"""One daemon of the cluster, which any process can find by its PID file."""

import os
import signal
import socket
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path

import psutil

from . import processes
from .errors import PrivateSlurmError
from .layout import Layout
from .waiting import until


@dataclass(frozen=True)
class Daemon:
    """A program that runs in the foreground mode and in its own session until the cluster is stopped."""

    name: str
    argv: tuple[str, ...]
    layout: Layout
    variables: Mapping[str, str] = field(default_factory=dict)
    port: int | None = None  # at which it listens once it has started

    @property
    def output(self) -> Path:
        """Standard output and error: the messages before the log is open."""
        return self.layout.logs / f"{self.name}.out"

    @property
    def _pid_file(self) -> Path:
        return self.layout.run / self.name

    def process(self) -> psutil.Process | None:
        """Return the running daemon, whichever process started it; None if it is not running."""
        return processes.recorded(self._pid_file)

    def start(self) -> None:
        """Start the daemon unless it is running, and wait until it listens at its port.

        Raises:
            PrivateSlurmError: it ended, or does not listen in time; the text has the end of its output.
        """
        if not self.process():
            processes.record(self._pid_file, self._spawn())
        if self.port:
            until(lambda: self._listens() or not self.process(), 60)
            if not self._listens():
                output = self.output.read_text(errors="replace")[-1500:].strip()
                raise PrivateSlurmError(f"{self.name} did not start: {output or '(no output)'}")

    def _listens(self) -> bool:
        """Return whether something accepts connections at the port of this machine."""
        with socket.socket() as probe:
            return probe.connect_ex(("127.0.0.1", self.port)) == 0

    def _spawn(self) -> int:
        """Start the program without our terminal, signal mask and ignored signals; return its PID."""
        # Slurm's programs read SLURM_CONF, and it marks every daemon and its children as this cluster's.
        variables = {"SLURM_CONF": str(self.layout.slurm_conf), **self.variables}
        return os.posix_spawn(
            "/usr/bin/env",
            ["env", "-C", str(self.layout.folder), *self.argv],
            {"PATH": os.environ.get("PATH", os.defpath), "HOME": "/", **variables},
            file_actions=[
                (os.POSIX_SPAWN_OPEN, 0, os.devnull, os.O_RDONLY, 0),
                (os.POSIX_SPAWN_OPEN, 1, str(self.output), os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o644),
                (os.POSIX_SPAWN_DUP2, 1, 2),
            ],
            setsid=True,
            setsigmask=[],
            setsigdef=[signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGPIPE],
        )

    def stop(self, seconds: float = 15) -> None:
        """Terminate the daemon, and kill it if that takes longer than ``seconds``."""
        process = self.process()
        if process:
            process.terminate()
            if not until(lambda: not processes.is_alive(process), seconds):
                process.kill()
        self.forget()

    def forget(self) -> None:
        """Wait for the end of a terminated daemon, reap it if it is our child, and remove its PID file."""
        until(lambda: not self.process(), 10)
        with suppress(FileNotFoundError, ChildProcessError):  # not started; the child of another process
            os.waitpid(int(self._pid_file.read_text().split()[0]), os.WNOHANG)
        self._pid_file.unlink(missing_ok=True)

    def signal(self, number: signal.Signals) -> None:
        """Send a signal if the daemon is running."""
        process = self.process()
        if process:
            process.send_signal(number)
