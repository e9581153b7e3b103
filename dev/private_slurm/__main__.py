"""Run a command with a private Slurm: ``dev/with-slurm COMMAND...``."""

import signal
import sys
from signal import SIGHUP, SIGINT, SIGTERM
from types import FrameType
from typing import NoReturn

from . import command
from .cluster import Cluster
from .errors import PrivateSlurmError

USAGE = """usage: with-slurm COMMAND [ARGUMENT...]

Run COMMAND with a private Slurm (slurmctld, five nodes, slurmdbd) that ends with it.
JOBMON_KEEP_SLURM=1 keeps the folder with its logs."""
ENDINGS = {SIGINT, SIGTERM, SIGHUP}


def main(argv: list[str]) -> int:
    """Start a cluster, run the command, stop the cluster; the exit code is the command's."""
    if not argv or argv[0] in ("-h", "--help"):
        print(USAGE, file=sys.stdout if argv else sys.stderr)
        return 0 if argv else 2
    endings = {number for number in ENDINGS if not _is_nohup(number)}
    for number in endings:
        signal.signal(number, _interrupted)
    try:
        return _with_cluster(argv, endings)
    except PrivateSlurmError as error:
        print(f"with-slurm: {error}", file=sys.stderr)
        return 1


def _with_cluster(argv: list[str], endings: set[signal.Signals]) -> int:
    """Signals end a start, are passed on to the command, and wait while the cluster is torn down."""
    with Cluster() as cluster:
        signal.pthread_sigmask(signal.SIG_BLOCK, endings)
        return command.run(argv, cluster.env, endings)


def _is_nohup(number: signal.Signals) -> bool:
    """Whether the caller wants hang-ups ignored; shells ignore SIGINT for what they put in the background."""
    return number == SIGHUP and signal.getsignal(number) == signal.SIG_IGN


def _interrupted(number: int, _frame: FrameType | None) -> NoReturn:
    """End a start that is under way; from here on nothing disturbs the tearing down."""
    signal.pthread_sigmask(signal.SIG_BLOCK, ENDINGS)
    sys.exit(128 + number)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
