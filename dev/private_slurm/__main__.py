"""Run a command with a private Slurm: ``dev/with-slurm COMMAND...``."""

import math
import os
import signal
import sys
from collections.abc import Mapping
from signal import SIGCHLD, SIGHUP, SIGINT, SIGTERM, Signals
from types import FrameType
from typing import NoReturn

from . import abandoned, command, processes
from .cluster import Cluster
from .errors import PrivateSlurmError

USAGE = """usage: with-slurm COMMAND [ARGUMENT...]

Run COMMAND with a private Slurm (slurmctld, five nodes, slurmdbd) and stop the cluster afterwards.
JOBMON_KEEP_SLURM=1 keeps the cluster's folder with its logs."""
STOP_SIGNALS = {SIGINT, SIGTERM, SIGHUP}


def main(argv: list[str]) -> int:
    """Start a cluster, run the command, stop the cluster; return the command's exit code.

    Two processes do so, because one may be killed: the first waits for the second, which does the work. Each
    becomes the parent of all processes whose own parents have ended, and if one of the two is killed, the
    other kills what is left.
    """
    if not argv or argv[0] in ("-h", "--help"):
        print(USAGE, file=sys.stdout if argv else sys.stderr)
        return 0 if argv else 2
    handled = {number for number in STOP_SIGNALS if not _is_nohup(number)}
    signal.pthread_sigmask(signal.SIG_BLOCK, {*handled, SIGCHLD})
    processes.adopt_orphans()
    parent, pid = os.getpid(), os.fork()
    if not pid:
        processes.end_with(parent, SIGTERM)
        return _run(argv, handled)
    code = command.wait(pid, handled, math.inf)
    processes.kill_descendants()
    abandoned.sweep()
    return code


def _run(argv: list[str], handled: set[Signals]) -> int:
    """Run the command with a cluster; kill what the command has left."""
    processes.adopt_orphans()
    for number in handled:
        signal.signal(number, _exit_on_signal)
    signal.pthread_sigmask(signal.SIG_UNBLOCK, {*handled, SIGCHLD})
    try:
        with Cluster() as cluster:
            if sys.stdin.isatty():
                print(_introduction(argv, cluster.env), file=sys.stderr)
            # From here on, the command receives the signals, and nothing interrupts the clean-up.
            signal.pthread_sigmask(signal.SIG_BLOCK, handled)
            return command.run(argv, cluster.env, handled)
    except PrivateSlurmError as error:
        print(f"with-slurm: {error}", file=sys.stderr)
        return 1
    finally:
        processes.kill_descendants()


def _introduction(argv: list[str], variables: Mapping[str, str]) -> str:
    """Return what a user at a terminal is to know about the cluster."""
    return (
        "with-slurm: a private Slurm runs. Try `sinfo` and `jobmon submit`.\n"
        "To use it in another terminal:\n"
        f"  export SLURM_CONF={variables['SLURM_CONF']}\n"
        f"It ends with `{argv[0]}`, and so do all programs started\n"
        "with that variable, in any terminal."
    )


def _is_nohup(number: signal.Signals) -> bool:
    """Return whether the caller ignores hang-ups, as nohup does.

    An ignored SIGINT does not count: shells start their background jobs with one.
    """
    return number == SIGHUP and signal.getsignal(number) == signal.SIG_IGN


def _exit_on_signal(number: int, _frame: FrameType | None) -> NoReturn:
    """Abort the start of the cluster, and let no further signal interrupt the clean-up."""
    signal.pthread_sigmask(signal.SIG_BLOCK, STOP_SIGNALS)
    sys.exit(128 + number)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
