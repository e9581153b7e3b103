"""Run a command and pass signals on to it."""

import math
import os
import signal
import sys
import time
from collections.abc import Mapping
from signal import SIGCHLD, SIGKILL, SIGPIPE, Signals

PATIENCE = 15  # seconds from a signal until the command is killed
CANNOT_RUN, NOT_FOUND = 126, 127  # exit codes, as in shells
FROM_KERNEL = 0x80  # si_code of a signal that the kernel sent, e.g. for Ctrl-C
# With these variables the command would use another cluster, or consider itself part of a job of one.
FOREIGN = ("SLURM_", "SLURMD_", "SBATCH_", "SALLOC_", "SRUN_", "SQUEUE_", "SACCT_", "SCANCEL_", "SINFO_")


def run(argv: list[str], variables: Mapping[str, str], signals: set[Signals]) -> int:
    """Run a command with the variables added, and return its exit code (128 + number if a signal ended it).

    The signals must be blocked: they are received one by one here, so that none is lost.
    """
    environment = {name: value for name, value in os.environ.items() if not name.startswith(FOREIGN)}
    signal.pthread_sigmask(signal.SIG_BLOCK, {SIGCHLD})
    try:
        # Python ignores SIGPIPE; the command must not inherit that.
        pid = os.posix_spawnp(argv[0], argv, {**environment, **variables}, setsigmask=[], setsigdef=[SIGPIPE])
    except OSError as error:
        print(f"with-slurm: {argv[0]}: {error.strerror}", file=sys.stderr)
        return NOT_FOUND if isinstance(error, FileNotFoundError) else CANNOT_RUN
    return wait(pid, signals, PATIENCE)


def wait(pid: int, signals: set[Signals], patience: float) -> int:
    """Pass signals on until a child ends; kill it if it does not end so many seconds after one."""
    deadline = math.inf
    while (code := _exit_code(pid)) is None:
        pause = min(max(deadline - time.monotonic(), 0.1), 60)
        received = signal.sigtimedwait({*signals, SIGCHLD}, pause)
        if received and received.si_signo in signals:
            deadline = min(deadline, time.monotonic() + patience)
            if received.si_code != FROM_KERNEL:  # otherwise the terminal signals the command, too
                os.kill(pid, received.si_signo)
        elif time.monotonic() > deadline:
            os.kill(pid, SIGKILL)
    return code


def _exit_code(pid: int) -> int | None:
    """Return the child's exit code, or None while it runs; reap the orphans that have ended."""
    while True:
        ended, status = os.waitpid(-1, os.WNOHANG)
        if ended == pid:
            code = os.waitstatus_to_exitcode(status)
            return code if code >= 0 else 128 - code
        if not ended:
            return None
