"""Log to TensorBoard by the parts of which PyTorch's SummaryWriter consists: FOLDER RUN."""

import sys
import time

from orders import loss_at, obey
from tensorboard.compat.proto.event_pb2 import Event
from tensorboard.compat.proto.summary_pb2 import Summary
from tensorboard.summary.writer.event_file_writer import EventFileWriter

folder, run = sys.argv[1:]
writer = EventFileWriter(f"{folder}/{run}")


def log(step: int) -> None:
    """Log one step."""
    summary = Summary(value=[Summary.Value(tag="train/loss", simple_value=loss_at(step))])
    writer.add_event(Event(wall_time=time.time(), step=step, summary=summary))


code = obey(log, writer.flush)
writer.close()
sys.exit(code)
