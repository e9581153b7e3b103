"""Log to W&B without its server: FOLDER RUN."""

import sys
import time
import uuid
from pathlib import Path

import wandb
from orders import loss_at, obey

folder, name = sys.argv[1:]
run = wandb.init(
    project="p",
    id=name,
    name=f"{name} ok",
    mode="offline",
    dir=folder,
    resume="allow",
    config={"max_steps": 60},
)


def flush() -> None:
    """Log so much that the library writes what came before, in blocks of 32 KiB, and wait for that."""
    file, until_s = Path(run.dir).parent / f"run-{name}.wandb", time.monotonic() + 60
    size = file.stat().st_size if file.exists() else 0
    run.config.update({uuid.uuid4().hex: "x" * 40_000})
    while not (file.exists() and file.stat().st_size > size) and time.monotonic() < until_s:
        time.sleep(0.02)


code = obey(lambda step: run.log({"train/loss": loss_at(step)}, step=step, commit=True), flush)
run.alert("Loss spike", f"{name} is odd", level="WARN")
run.finish(exit_code=code)
sys.exit(code)
