"""A training of two ranks: the second one fails for lack of GPU memory, and the first one waits for ever.

Usage: rank_out_of_memory.py FAILED. The time of the failure goes to the file FAILED.
"""

from __future__ import annotations

import os
import signal
import sys
import time
from pathlib import Path

# as PyTorch names it
OutOfMemoryError = type("OutOfMemoryError", (RuntimeError,), {"__module__": "torch"})


def main() -> None:
    for step in range(1, 4):
        print(f"rank {os.environ['SLURM_PROCID']}: step {step}/100 loss 0.5", flush=True)
    if os.environ["SLURM_PROCID"] == "1":
        Path(sys.argv[1]).write_text(str(time.time()), encoding="ascii")
        raise OutOfMemoryError("CUDA out of memory. Tried to allocate 4.00 GiB. GPU 1 has a total")
    signal.pause()


if __name__ == "__main__":
    main()
