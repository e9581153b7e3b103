"""Log to TensorBoard as tensorboardX does: FOLDER RUN."""

import sys
import time
from pathlib import Path

from orders import loss_at, obey
from tensorboard.backend.event_processing.event_file_loader import EventFileLoader
from tensorboardX import SummaryWriter

folder, run = sys.argv[1:]
before = set(Path(folder, run).glob("*"))
if before:
    # its files are named by the second, and it writes over one of the same name
    time.sleep(1)
writer = SummaryWriter(f"{folder}/{run}")
logged: list[int] = []


def log(step: int) -> None:
    """Log one step."""
    writer.add_scalar("train/loss", loss_at(step), step)
    logged.append(step)


def flush() -> None:
    """Wait until the library's thread has written the last step."""
    (file,) = set(Path(folder, run).glob("*")) - before
    while logged[-1] not in [event.step for event in EventFileLoader(str(file)).Load()]:
        time.sleep(0.05)
        writer.flush()


code = obey(log, flush)
writer.close()
sys.exit(code)
