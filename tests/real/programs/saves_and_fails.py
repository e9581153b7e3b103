"""Trains to step 9 and saves each 3 steps; after a save, it ends as one that wants to be started again.

Beside a file ``leave``, its first attempt leaves a process, which waits for a file ``go``.
"""

import os
import sys
import time
import zipfile
from pathlib import Path

start = int(os.environ.get("JOBMON_RESUME_STEP", "0"))
names = ("ATTEMPT", "RESUME_FROM", "RESUME_STEP", "RESTART_REASON")
words = [os.environ.get(f"JOBMON_{name}", "-") for name in names]
with Path("attempts").open("a", encoding="utf-8") as log:
    print(*words, sys.argv[1:], os.environ.get("SECRET"), sep="|", file=log)
Path("out").mkdir(exist_ok=True)
for step in range(start + 1, 10):
    print(f"step {step}/9 loss {1 / step:.3f}", flush=True)
    if step % 3:
        continue
    with zipfile.ZipFile("out/tmp", "w") as archive:
        archive.writestr("archive/data.pkl", b"\x80\x02}q\x00.")
    Path("out/tmp").rename(f"out/step_{step}.pt")
    if step == 9:
        break
    time.sleep(1)  # the next save has another second
    if Path("leave").exists() and step == 3:
        if not os.fork():
            os.setsid()
            Path("child").write_text(str(os.getpid()), encoding="utf-8")
            while not Path("go").exists():
                time.sleep(0.1)
            os._exit(0)
        while not Path("child").exists():
            time.sleep(0.1)
    sys.exit(75)
