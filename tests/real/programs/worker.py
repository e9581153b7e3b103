"""A worker: prints its progress, and ends when a file in its folder says so.

Arguments: its number, and what it prints at its end: ``total``, ``line`` or ``none``. In the working
directory, a file ``die`` lets worker 2 be killed, ``finish`` lets it end well, ``finish_all`` all of them.
"""

from __future__ import annotations

import os
import signal
import sys
import time
from pathlib import Path

number, how = int(sys.argv[1]), sys.argv[2]
item = 0
while True:
    item += 1
    print("working" if how == "line" else f"Processed {item}/100000 items", flush=True)
    if number == 2 and Path("die").exists():
        os.kill(os.getpid(), signal.SIGKILL)
    if (number == 2 and Path("finish").exists()) or Path("finish_all").exists():
        break
    time.sleep(0.2)
if how == "total":
    print("Processed 100000/100000 items", flush=True)
elif how == "line":
    print(f"worker {number}: all done", flush=True)
