"""A small training that saves checkpoints, resumes from them, and meets a chosen fate in each attempt.

Usage: restart_trainer.py FOLDER LAYOUT TOTAL EVERY [--pace S] [--fates FATE@STEP,...] [--resume PATH]

LAYOUT is ``rename`` (written under a temporary name), ``marker`` (a folder whose marker is written last),
``torn`` (a further save before a fate is cut in half) or ``highest`` (before a fate, a folder of a higher
step is made). The fate of attempt n is the n-th: ``exit:N``, ``eat`` (memory), ``wait`` (until FOLDER/go
exists), ``save`` (as ``wait``; on SIGTERM it saves and exits with 0), ``key`` (an error of the user),
``segv``. FOLDER gets ``starts`` (a line for each start), ``saved`` (the complete steps), ``twice`` (a line
for each start while another trainer was alive) and ``finished``.
"""

from __future__ import annotations

import argparse
import fcntl
import json
import os
import re
import signal
import sys
import time
import zipfile
from pathlib import Path

parser = argparse.ArgumentParser()
parser.add_argument("folder", type=Path)
parser.add_argument("layout", choices=("rename", "marker", "torn", "highest"))
parser.add_argument("total", type=int)
parser.add_argument("every", type=int)
parser.add_argument("--pace", type=float, default=0.05)
parser.add_argument("--fates", default="")
parser.add_argument("--resume", default=os.environ.get("JOBMON_RESUME_FROM", ""))
args = parser.parse_args()
folder, checkpoints = args.folder, args.folder / "checkpoints"
attempt = int(os.environ.get("JOBMON_ATTEMPT", "0"))
fate, _, fatal_step = ([*args.fates.split(","), *[""] * attempt][attempt] if args.fates else "").partition(
    "@"
)


def note(name: str, text: str) -> None:
    with (folder / name).open("a", encoding="utf-8") as file:
        file.write(f"{text}\n")


def archive(path: Path, step: int) -> None:
    with zipfile.ZipFile(path, "w") as file:  # as torch.save writes it
        file.writestr("archive/data.pkl", str(step))
        file.writestr("archive/data/0", os.urandom(20_000))


def save(step: int, *, is_whole: bool = True) -> None:
    checkpoints.mkdir(exist_ok=True)
    if args.layout in ("rename", "torn"):
        path = checkpoints / f"step_{step}.pt"
        temporary = path.with_suffix(".pt.tmp")
        archive(temporary, step)
        if not is_whole:
            os.truncate(temporary, temporary.stat().st_size // 2)
        temporary.rename(path)
    else:
        path = checkpoints / f"step-{step}"
        path.mkdir(exist_ok=True)
        (path / "__0_0.distcp").write_bytes(os.urandom(20_000))
        if is_whole:
            (path / ".metadata").write_bytes(b"metadata" * 100)
    if is_whole:
        note("saved", str(step))
        print(f"saved checkpoint {path}", flush=True)


def meet(step: int) -> None:
    if args.layout == "torn":
        save(step, is_whole=False)
    if args.layout == "highest":
        save(step + args.every, is_whole=False)
    kind, _, code = fate.partition(":")
    if kind == "exit":
        sys.exit(int(code))
    if kind == "eat":
        hoard = [bytearray(os.urandom(2**20)) * 16 for _ in range(10_000)]
        sys.exit(f"{len(hoard)} pieces fit")
    if kind == "key":
        {"lr": 0.1}["learning_rate"]
    if kind == "segv":
        signal.signal(signal.SIGSEGV, signal.SIG_DFL)
        os.kill(os.getpid(), signal.SIGSEGV)
    while kind in ("wait", "save") and not (folder / "go").exists():
        time.sleep(0.05)


def on_term(_number: int, _frame: object) -> None:
    print("received SIGTERM: saving a checkpoint before the exit", flush=True)
    save(current)
    sys.exit(0)


folder.mkdir(exist_ok=True)
first = int(re.findall(r"\d+", Path(args.resume).name)[-1]) + 1 if args.resume else 1
alive = (folder / "alive").open("w")
try:
    fcntl.flock(alive, fcntl.LOCK_EX | fcntl.LOCK_NB)
except BlockingIOError:
    note("twice", f"attempt {attempt} of job {os.environ.get('SLURM_JOB_ID')} while another one is alive")
saved = [int(line) for line in (folder / "saved").read_text().split()] if (folder / "saved").exists() else []
start = {
    "attempt": attempt,
    "first": first,
    "best": max(saved, default=0),
    "at_s": time.time(),
    "pid": os.getpid(),
}
shown = {name: value for name, value in os.environ.items() if name.startswith(("JOBMON_", "SLURM_JOB_ID"))}
note("starts", json.dumps({**start, "environment": shown, "argv": sys.argv[1:]}))
current = first - 1
if fate.startswith("save"):
    signal.signal(signal.SIGTERM, on_term)
for current in range(first, args.total + 1):
    time.sleep(args.pace)
    print(f"step {current}/{args.total} loss={2.0 / current:.4f}", flush=True)
    if current % args.every == 0:
        save(current)
    if fate and current == int(fatal_step):
        meet(current)
note("finished", str(attempt))
