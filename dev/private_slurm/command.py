"""The command that runs with the cluster: started, sent our signals, waited for."""

import math
import os
import signal
import sys
import time
from collections.abc import Mapping
from signal import SIGCHLD, SIGKILL, SIGPIPE, Signals

PATIENCE = 15  # seconds that the command has to end after a signal
CANNOT_RUN, NOT_FOUND = 126, 127  # as shells have it
FROM_KERNEL = 0x80  # si_code of a signal that no process sent, such as Ctrl-C's
# What must not reach the command: it would talk to, or believe itself in, another cluster.
FOREIGN = ("SLURM_", "SLURMD_", "SBATCH_", "SALLOC_", "SRUN_", "SQUEUE_", "SACCT_", "SCANCEL_", "SINFO_")


def run(argv: list[str], variables: Mapping[str, str], endings: set[Signals]) -> int:
    """Run a command with the variables added, and return its exit code (128 + number when a signal ended it).

    The ending signals must be blocked: they are taken one by one here, so none is lost or comes in between.
    """
    kept = {name: value for name, value in os.environ.items() if not name.startswith(FOREIGN)}
    signal.pthread_sigmask(signal.SIG_BLOCK, {SIGCHLD})
    try:
        # Python ignores SIGPIPE; a command expects to be ended by it.
        pid = os.posix_spawnp(argv[0], argv, {**kept, **variables}, setsigmask=[], setsigdef=[SIGPIPE])
    except OSError as error:
        print(f"with-slurm: {argv[0]}: {error.strerror}", file=sys.stderr)
        return NOT_FOUND if isinstance(error, FileNotFoundError) else CANNOT_RUN
    return _await(pid, endings)


def _await(pid: int, endings: set[Signals]) -> int:
    """Pass signals on until the command ends; one that does not end after a signal is killed."""
    deadline = math.inf
    while (code := _exit_code(pid)) is None:
        wait = min(max(deadline - time.monotonic(), 0.1), 60)
        received = signal.sigtimedwait({*endings, SIGCHLD}, wait)
        if received and received.si_signo in endings:
            deadline = min(deadline, time.monotonic() + PATIENCE)
            if received.si_code != FROM_KERNEL:  # else the terminal has told the command as well
                os.kill(pid, received.si_signo)
        elif time.monotonic() > deadline:
            os.kill(pid, SIGKILL)
    return code


def _exit_code(pid: int) -> int | None:
    """The command's exit code, or None while it runs."""
    ended, status = os.waitpid(pid, os.WNOHANG)
    if not ended:
        return None
    code = os.waitstatus_to_exitcode(status)
    return code if code >= 0 else 128 - code
