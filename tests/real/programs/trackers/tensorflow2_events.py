"""Log to TensorBoard as TensorFlow 2 does, in tensors: FOLDER RUN."""

import sys

from orders import loss_at, obey
from tensorboard.summary import Writer

folder, run = sys.argv[1:]
writer = Writer(f"{folder}/{run}")
code = obey(lambda step: writer.add_scalar("train/loss", loss_at(step), step), writer.flush)
writer.close()
sys.exit(code)
