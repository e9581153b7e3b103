"""A small training that prints its progress as a real one does.

Usage: training.py tqdm|hf|bare STEPS GATE. The file GATE holds the step up to which it may go.
"""

from __future__ import annotations

import sys
import time
from pathlib import Path

STYLE, STEPS, GATE = sys.argv[1], int(sys.argv[2]), Path(sys.argv[3])


def clock(seconds: float) -> str:
    return f"{int(seconds) // 60:02}:{int(seconds) % 60:02}"


def bar(step: int, elapsed_s: float) -> str:
    rate = step / elapsed_s if elapsed_s else 0.0
    remaining = clock((STEPS - step) / rate) if rate else "?"
    done = "█" * (10 * step // STEPS)
    count = f"{100 * step // STEPS:3}%|{done:10}| {step}/{STEPS}"
    return f"\r{count} [{clock(elapsed_s)}<{remaining}, {rate:.2f}it/s]"


def main() -> None:
    started_s = time.monotonic()
    for step in range(1, STEPS + 1):
        while step > int(GATE.read_text(encoding="ascii") or 0):
            time.sleep(0.05)
        elapsed_s, loss = time.monotonic() - started_s, 2.0 / step
        if STYLE in ("tqdm", "hf"):
            print(bar(step, elapsed_s), end="", file=sys.stderr, flush=True)
        if STYLE == "hf" and step % 10 == 0:
            entry = {"loss": round(loss, 4), "learning_rate": 1e-05, "epoch": round(3 * step / STEPS, 2)}
            print(entry, flush=True)
        if STYLE == "bare":
            print(f"step {step}/{STEPS} loss: {loss:.4f}", flush=True)


main()
