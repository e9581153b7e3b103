"""From the user's terminal to a process that no logout ends.

The command forks once; only that child becomes a daemon (python-daemon), takes the locks, names itself
their owner and turns into the slim monitor by an exec, which keeps pid and locks. The command waits on
a pipe for the word that all this worked.
"""

from __future__ import annotations

import os
import select
import sys
import traceback
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from jobmon_core.domain.errors import AlreadyWatched, JobmonError, StorageFailed
from jobmon_core.store.files import PRIVATE_FILE
from jobmon_core.store.home import Home
from jobmon_core.store.lock import own_for_life
from jobmon_core.store.owner import Owner, OwnerRecord

_READY = "ready "
_BUSY = "busy"
_START_TIMEOUT_S = 30.0
_UMASK = 0o077


@dataclass(frozen=True, slots=True)
class Launcher:
    """Starts monitors for the jobs of one home."""

    home: Home

    def start(self, job_ids: Sequence[str]) -> tuple[str, ...]:
        """Start one monitor for those of these jobs that nobody holds (their state files are written).

        Returns:
            The jobs that the new monitor holds; it leaves the others to who has them.

        Raises:
            AlreadyWatched: other monitors hold all of them.
            StorageFailed: the monitor could not start; says why.
        """
        reading, writing = os.pipe()
        sys.stdout.flush()
        sys.stderr.flush()
        pid = os.fork()
        if pid == 0:
            os.close(reading)
            self._become_monitor(job_ids, writing)
        os.close(writing)
        word = _hear(reading)
        os.waitpid(pid, 0)
        if word == _BUSY:
            raise AlreadyWatched("other monitors have taken them up")
        if not word.startswith(_READY):
            raise StorageFailed(f"the monitor did not start: {word or 'no word from it'}")
        return tuple(word.removeprefix(_READY).split())

    def _become_monitor(self, job_ids: Sequence[str], writing: int) -> None:
        """Detach, own, exec; never return into the copy of the command."""
        try:
            self._detach(job_ids[0], writing)
            held = self._own(job_ids)
            os.write(writing, (_READY + " ".join(held) if held else _BUSY).encode())
            if held:
                os.set_inheritable(writing, False)
                self._exec(held)
        except JobmonError as error:
            os.write(writing, str(error).encode())
        except BaseException:  # noqa: BLE001 - whatever it was, the command tells its user
            os.write(writing, traceback.format_exc(limit=-1).encode())
        finally:
            os._exit(1)

    def _own(self, job_ids: Sequence[str]) -> dict[str, int]:
        """Take the locks that are free, and name this process as the owner; job id -> descriptor."""
        held: dict[str, int] = {}
        for job_id in job_ids:
            try:
                held[job_id] = own_for_life(self.home.monitors / f"{job_id}.lock")
            except AlreadyWatched:
                continue  # what others hold is theirs; the caller learns it from what is missing
            OwnerRecord(self.home.monitors / f"{job_id}.owner").write(Owner.this_process())
        return held

    def _exec(self, held: dict[str, int]) -> None:
        """Become the slim monitor: same pid, same locks, none of the command's memory."""
        module = "jobmon_core.engine.monitor"
        locks = ",".join(str(descriptor) for descriptor in held.values())
        command = [sys.executable, "-P", "-m", module, str(self.home.root), locks, *held]
        os.execv(sys.executable, command)  # noqa: S606 - our own interpreter and module

    def _detach(self, job_id: str, writing: int) -> None:
        """Leave the terminal, the session and the caller's folder behind; both outputs go to the log."""
        from daemon import DaemonContext

        with open(_open_log(self.home.logs / f"{job_id}.log"), "ab") as log:
            DaemonContext(
                umask=_UMASK,
                working_directory=str(self.home.state),
                detach_process=True,
                prevent_core=False,
                files_preserve=[writing, log],
                stdout=log,
                stderr=log,
                signal_map={},
            ).open()


def _open_log(path: Path) -> int:
    return os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND, PRIVATE_FILE)


def _hear(reading: int) -> str:
    """Return what the child said before it closed the pipe."""
    said = b""
    while select.select([reading], [], [], _START_TIMEOUT_S)[0]:
        chunk = os.read(reading, 4096)
        if not chunk:
            break
        said += chunk
    os.close(reading)
    return said.decode(errors="replace")
