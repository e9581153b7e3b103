"""Act like torchrun: start four ranks, wait for them, and report the failed ones."""

from __future__ import annotations

import os
import socket
import subprocess
import sys
from pathlib import Path

_WORLD = 4
_LOGGED = (
    "E1121 10:20:31.654000 {0} torch/distributed/elastic/multiprocessing/api.py:869] failed (exitcode: {1}) "
    "local_rank: 0 (pid: {0}) of binary: {2}"
)
_FAILURE = """\
  rank      : {0} (local_rank: {0})
  exitcode  : {1} (pid: {2})
  error_file: <N/A>
  traceback : To enable traceback see: https://pytorch.org/docs/stable/elastic/errors.html"""


class ChildFailedError(Exception):
    """The exception of torchrun."""

    __module__ = "torch.distributed.elastic.multiprocessing.errors"


def launch(program: str) -> list[subprocess.Popen[bytes]]:
    with socket.create_server(("127.0.0.1", 0)) as server:
        shared = {
            "WORLD_SIZE": str(_WORLD),
            "MASTER_PORT": str(server.getsockname()[1]),
            "MASTER_FD": str(server.fileno()),
        }
        return [
            subprocess.Popen(
                [sys.executable, program],
                env={**os.environ, **shared, "RANK": str(rank)},
                pass_fds=[server.fileno()] if rank == 0 else [],
            )
            for rank in range(_WORLD)
        ]


def report(program: str, ranks: list[subprocess.Popen[bytes]]) -> None:
    """Raise torchrun's exception, which calls the first rank in its list the root cause."""
    failed = [
        f"[{rank}]:\n{_FAILURE.format(rank, process.returncode, process.pid)}"
        for rank, process in enumerate(ranks)
        if process.returncode
    ]
    if failed:
        print(_LOGGED.format(ranks[0].pid, ranks[0].returncode, sys.executable), file=sys.stderr)
        rule, line = "=" * 60, "-" * 60
        others = "\n".join(failed[1:])
        raise ChildFailedError(
            f"\n{rule}\n{program} FAILED\n{line}\nFailures:\n{others}\n{line}\n"
            f"Root Cause (first observed failure):\n{failed[0]}\n{rule}"
        )


def main(program: str) -> None:
    ranks = launch(program)
    for process in ranks:
        process.wait()
    report(program, ranks)


main(str(Path(__file__).with_name("ranks.py")))
