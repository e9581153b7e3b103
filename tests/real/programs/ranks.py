"""Four ranks that repeatedly add up numbers like a program under torchrun; rank 2 reads a bad sample.

Each rank prints its exception with its name as a prefix, as torch does. The other ranks fail because rank 2
has ended.
"""

from __future__ import annotations

import os
import socket
import sys
import traceback
from types import TracebackType

RANK = int(os.environ["RANK"])
WORLD = int(os.environ["WORLD_SIZE"])
PORT = int(os.environ["MASTER_PORT"])
_STEPS = 5
_BAD_RANK, _BAD_STEP = 2, 3
_WATCHDOG = (
    "[rank{0}]:[E1121 10:20:30.123456789 ProcessGroupNCCL.cpp:616] [Rank {0}] Watchdog caught collective "
    "operation timeout: WorkNCCL(SeqNum={1}, OpType=ALLREDUCE, NumelIn=1, NumelOut=1, Timeout(ms)=600000) "
    "ran for 600029 milliseconds before timing out."
)


def sample(step: int) -> bytes:
    if (RANK, step) == (_BAD_RANK, _BAD_STEP):
        raise ValueError("sample 1537 of shard-00041.tar has 0 frames, expected 16")
    return bytes([step])


def received(link: socket.socket, step: int) -> bytes:
    data = link.recv(1)
    if not data:
        print(_WATCHDOG.format(RANK, step), file=sys.stderr)
        raise ConnectionResetError(f"Connection closed by peer [127.0.0.1]:{PORT}")
    return data


def lead(step: int, links: list[socket.socket]) -> None:
    total = sum(received(link, step)[0] for link in links) + sample(step)[0]
    for link in links:
        link.sendall(bytes([total]))


def follow(step: int, link: socket.socket) -> None:
    link.sendall(sample(step))
    received(link, step)


def train() -> None:
    if RANK == 0:
        with socket.socket(fileno=int(os.environ["MASTER_FD"])) as server:
            links = [server.accept()[0] for _ in range(WORLD - 1)]
    else:
        links = [socket.create_connection(("127.0.0.1", PORT))]
    for step in range(_STEPS):
        print(f"[rank{RANK}] step {step}", flush=True)
        if RANK == 0:
            lead(step, links)
        else:
            follow(step, links[0])


def print_exception(kind: type[BaseException], error: BaseException, trace: TracebackType | None) -> None:
    lines = "".join(traceback.format_exception(kind, error, trace)).splitlines()
    print("".join(f"[rank{RANK}]: {line}\n" for line in lines), end="", file=sys.stderr, flush=True)


sys.excepthook = print_exception
train()
