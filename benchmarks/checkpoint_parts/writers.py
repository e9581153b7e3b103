"""Programs that save and load checkpoints with the functions of a framework, in the layout its users have.

A program is called with ``save`` or ``load``, a folder, and how many 32-bit numbers a checkpoint contains.
It saves steps 100 and 200, prints ``ready``, waits for a line, saves step 300 and prints ``saved``; or it
loads step 300 and ends with an error unless this gives the numbers that were saved.
"""

from __future__ import annotations

from typing import NamedTuple


class Writer(NamedTuple):
    """How one framework saves checkpoints."""

    layout: str
    package: str  # the name by which pip installs it
    module: str  # which the program imports
    code: str

    @property
    def program(self) -> str:
        """The program for ``python -c``."""
        return _BEGIN + self.code + _END


# `values`, `check`, `pause_before`: for all programs
_BEGIN = """\
import sys
from pathlib import Path
import numpy
mode, folder, count = sys.argv[1], Path(sys.argv[2]), int(sys.argv[3])
def values(step):
    return numpy.random.default_rng(step).standard_normal(count, dtype=numpy.float32)
def check(found):
    if not numpy.array_equal(numpy.asarray(found).reshape(-1), values(300)):
        sys.exit("the numbers differ")
def pause_before(step):
    if step == 300:
        print("ready", flush=True)
        sys.stdin.readline()
def save_all():
    for step in (100, 200, 300):
        numbers = values(step)
        pause_before(step)
        save(step, numbers)
"""
_END = """
if mode == "load":
    load()
else:
    save_all()
    print("saved", flush=True)
"""

_TORCH = """
import torch
def save(step, numbers):
    torch.save({"step": step, "model": {"w": torch.from_numpy(numbers)}}, folder / f"step_{step}.pt")
def load():
    check(torch.load(folder / "step_300.pt")["model"]["w"])
"""

_SAFETENSORS = """
import torch
from safetensors.torch import load_file, save_file
def save(step, numbers):
    save_file({"w": torch.from_numpy(numbers)}, folder / f"step_{step}.safetensors")
def load():
    check(load_file(folder / "step_300.safetensors")["w"])
"""

_TORCH_DISTRIBUTED = """
import torch
import torch.distributed.checkpoint as dcp
def save(step, numbers):
    parts = {f"w{number}": part.clone() for number, part in enumerate(torch.from_numpy(numbers).chunk(8))}
    dcp.save({"model": parts}, checkpoint_id=folder / f"step-{step}", no_dist=True)
def load():
    empty = {f"w{number}": part.clone() for number, part in enumerate(torch.zeros(count).chunk(8))}
    dcp.load({"model": empty}, checkpoint_id=folder / "step-300", no_dist=True)
    check(torch.cat(list(empty.values())))
"""

_MODEL = """
import torch
class Model(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.layer = torch.nn.Linear(1, 1)
        self.register_buffer("numbers", torch.zeros(count))
    def forward(self, x, labels=None):
        found = self.layer(x)
        return {"loss": ((found - labels) ** 2).mean(), "logits": found}
    def set_numbers(self, step):
        self.numbers.copy_(torch.from_numpy(values(step)))
"""

_TRANSFORMERS = (
    _MODEL
    + """
from transformers import Trainer, TrainerCallback, TrainingArguments
class Pause(TrainerCallback):
    def on_step_begin(self, args, state, control, model=None, **others):
        if (step := state.global_step + 1) % 100 == 0:
            model.set_numbers(step)
            pause_before(step)
def trainer(model, save_strategy):
    arguments = TrainingArguments(
        output_dir=str(folder), max_steps=300, save_steps=100, save_strategy=save_strategy, use_cpu=True,
        report_to="none", disable_tqdm=True, per_device_train_batch_size=1, logging_strategy="no",
    )
    rows = [{"x": torch.ones(1), "labels": torch.ones(1)}] * 400
    return Trainer(model=model, args=arguments, train_dataset=rows, callbacks=[Pause()])
def save_all():
    trainer(Model(), "steps").train()
def load():
    model = Model()
    trainer(model, "no").train(resume_from_checkpoint=str(folder / "checkpoint-300"))
    check(model.numbers)
"""
)

_ACCELERATE = (
    _MODEL
    + """
from accelerate import Accelerator
accelerator = Accelerator(cpu=True)
model = Model()
optimizer = torch.optim.AdamW(model.parameters())
scheduler = torch.optim.lr_scheduler.ConstantLR(optimizer)
model, optimizer, scheduler = accelerator.prepare(model, optimizer, scheduler)
def save(step, numbers):
    accelerator.unwrap_model(model).numbers.copy_(torch.from_numpy(numbers))
    accelerator.save_state(str(folder / f"step_{step}"))
def load():
    accelerator.load_state(str(folder / "step_300"))
    check(accelerator.unwrap_model(model).numbers)
"""
)

_LIGHTNING = (
    _MODEL
    + """
import lightning
from lightning.pytorch.callbacks import ModelCheckpoint
class Training(lightning.LightningModule):
    def __init__(self):
        super().__init__()
        self.model = Model()
    def on_train_batch_start(self, batch, batch_idx):
        if (step := self.global_step + 1) % 100 == 0:
            self.model.set_numbers(step)
            pause_before(step)
    def training_step(self, batch, batch_idx):
        return self.model(batch, torch.ones_like(batch))["loss"]
    def configure_optimizers(self):
        return torch.optim.AdamW(self.parameters())
def fit(training, callbacks, path):
    lightning.Trainer(
        max_steps=300, callbacks=callbacks, accelerator="cpu", logger=False, enable_progress_bar=False,
        enable_model_summary=False, enable_checkpointing=bool(callbacks),
    ).fit(training, torch.utils.data.DataLoader(torch.ones(400, 1)), ckpt_path=path)
def save_all():
    fit(Training(), [ModelCheckpoint(dirpath=folder, save_top_k=-1, every_n_train_steps=100)], None)
def load():
    training = Training()
    fit(training, [], str(folder / "epoch=0-step=300.ckpt"))
    check(training.model.numbers)
"""
)

_ORBAX = """
import orbax.checkpoint as ocp
def save_all():
    with ocp.CheckpointManager(folder) as manager:
        for step in (100, 200, 300):
            numbers = values(step)
            pause_before(step)
            manager.save(step, args=ocp.args.StandardSave({"w": numbers, "step": step}))
            manager.wait_until_finished()
def load():
    with ocp.CheckpointManager(folder) as manager:
        if manager.latest_step() != 300:
            sys.exit(f"the latest step is {manager.latest_step()}")
        check(manager.restore(300, args=ocp.args.StandardRestore())["w"])
"""

_FLAX = """
from flax.training import checkpoints
def save(step, numbers):
    checkpoints.save_checkpoint(folder, {"w": numbers, "step": step}, step, keep=10)
def load():
    check(checkpoints.restore_checkpoint(folder, None, step=300)["w"])
"""

_FLAX_BYTES = """
from flax import serialization
def save(step, numbers):
    (folder / f"step_{step}.msgpack").write_bytes(serialization.to_bytes({"w": numbers, "step": step}))
def load():
    check(serialization.msgpack_restore((folder / "step_300.msgpack").read_bytes())["w"])
"""

_KERAS = """
import os
os.environ.setdefault("KERAS_BACKEND", "torch")
import keras
def model():
    return keras.Sequential([keras.Input((8,)), keras.layers.Dense(count // 8, use_bias=False)])
saved = model()
def save(step, numbers):
    saved.set_weights([numbers.reshape(8, -1)])
    saved.save(folder / f"model_epoch_{step:03}.keras")
def load():
    check(keras.models.load_model(folder / "model_epoch_300.keras").get_weights()[0])
"""

_IGNITE = (
    _MODEL
    + """
from ignite.engine import Engine, Events
from ignite.handlers import Checkpoint, DiskSaver, global_step_from_engine
def save_all():
    model = Model()
    engine = Engine(lambda engine, batch: None)
    saver = DiskSaver(str(folder), create_dir=True, require_empty=False)
    handler = Checkpoint({"model": model, "trainer": engine}, saver, n_saved=None)
    @engine.on(Events.ITERATION_COMPLETED(every=100))
    def save_one(engine):
        model.set_numbers(engine.state.iteration)
        pause_before(engine.state.iteration)
        handler(engine)
    engine.run([0] * 300, max_epochs=1)
def load():
    model = Model()
    found = torch.load(folder / "checkpoint_300.pt")
    Checkpoint.load_objects({"model": model, "trainer": Engine(lambda engine, batch: None)}, found)
    check(model.numbers)
"""
)

_NUMPY = """
def save(step, numbers):
    numpy.savez(folder / f"step_{step}.npz", w=numbers, step=step)
def load():
    with numpy.load(folder / "step_300.npz") as found:
        check(found["w"])
"""

WRITERS = (
    Writer("torch.save", "torch", "torch", _TORCH),
    Writer("torch.distributed.checkpoint", "torch", "torch.distributed.checkpoint", _TORCH_DISTRIBUTED),
    Writer("safetensors", "safetensors", "safetensors.torch", _SAFETENSORS),
    Writer("transformers Trainer", "transformers", "transformers", _TRANSFORMERS),
    Writer("accelerate", "accelerate", "accelerate", _ACCELERATE),
    Writer("Lightning", "lightning", "lightning", _LIGHTNING),
    Writer("Ignite", "pytorch-ignite", "ignite", _IGNITE),
    Writer("Keras", "keras", "keras", _KERAS),
    Writer("orbax", "orbax-checkpoint", "orbax.checkpoint", _ORBAX),
    Writer("flax checkpoints", "flax", "flax.training.checkpoints", _FLAX),
    Writer("flax msgpack", "flax", "flax.serialization", _FLAX_BYTES),
    Writer("numpy.savez", "numpy", "numpy", _NUMPY),
)
