"""A training for restarts: ray_trainer.py FOLDER [--fail-at STEP --exit CODE] [--starve --connect --wait].

It counts 30 steps and saves a checkpoint every 10 below FOLDER, from JOBMON_RESUME_FROM on. The last save
before it fails is cut in half. With ``--starve``, it fails because Ray kills a worker of it for lack of
memory. With ``--connect``, it is a driver of Ray; with ``--wait``, it goes on when FOLDER/go exists.
FOLDER/starts gets a line for each start: the first step.
"""

import argparse
import json
import os
import sys
import time
from pathlib import Path

parser = argparse.ArgumentParser()
parser.add_argument("folder", type=Path)
parser.add_argument("--fail-at", type=int, default=0)
parser.add_argument("--exit", type=int, default=75)
parser.add_argument("--starve", action="store_true")
parser.add_argument("--connect", action="store_true")
parser.add_argument("--wait", action="store_true")
parser.add_argument("--resume", nargs="?")
args = parser.parse_args()
resume = os.environ.get("JOBMON_RESUME_FROM", "")
first = 1 + (json.loads((Path(resume) / "state.json").read_text())["step"] if resume else 0)
args.folder.mkdir(parents=True, exist_ok=True)
with (args.folder / "starts").open("a") as starts:
    print(first, file=starts)
if args.connect:
    import ray  # type: ignore[import-not-found]  # only the interpreter that runs it has Ray

    ray.init()
while args.wait and not (args.folder / "go").exists():
    (args.folder / "alive").touch()
    time.sleep(0.1)
for step in range(first, 31):
    print(f"step {step}/30 loss={1 / step:.3f}", flush=True)
    fails = step == args.fail_at and not resume
    if step % 10 == 0:
        saved = args.folder / f"step_{step}"
        saved.mkdir(exist_ok=True)
        text = json.dumps({"step": step, "weights": [0.5] * 1000})
        (saved / "state.json").write_text(text[:50] if fails else text)
    if fails and args.starve:
        import ray

        ray.get(
            ray.remote(max_retries=0, num_cpus=0, resources={"full": 1})(lambda: time.sleep(600)).remote()
        )
    if fails and args.exit == 1:
        raise KeyError("lr")
    if fails:
        sys.exit(args.exit)
