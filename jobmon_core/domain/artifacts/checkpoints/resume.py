"""How a program resumes from a checkpoint, by framework."""

from __future__ import annotations

from jobmon_core.domain.artifacts.checkpoints.model import Candidate

_HINTS = {
    "hf_trainer": "trainer.train(resume_from_checkpoint={path!r})",
    "ray_train": "trainer.fit() with the same RunConfig(storage_path={storage!r}, name={run!r})",
    "accelerate": "accelerator.load_state({path!r})",
    "lightning": "trainer.fit(model, ckpt_path={path!r})",
    "deepspeed": "engine.load_checkpoint({parent!r}, tag={name!r})",
    "megatron": "--load {parent} --ckpt-step {step}",
    "verl": "trainer.resume_mode=resume_path trainer.resume_from_path={path}",
    "torch_dcp": "torch.distributed.checkpoint.load(state, checkpoint_id={path!r})",
    "orbax": "CheckpointManager({parent!r}).restore({step})",
    "tensorflow": "tf.train.Checkpoint(...).read({path!r})",
    "keras": "keras.models.load_model({path!r})",
    "torch": "torch.load({path!r}, map_location='cpu')",
    "flax": "flax.serialization.from_bytes(target, Path({path!r}).read_bytes())",
    "gromacs": "gmx mdrun -cpi {path} -append",
}
_ORBAX_ALONE = "orbax.checkpoint.StandardCheckpointer().restore({path!r})"
_KERAS_WEIGHTS = ".weights.h5"


def resume_hint(candidate: Candidate, folder: str) -> str:
    """Return what to call, or the option to give, for a checkpoint in ``folder`` (an absolute path).

    Empty if that is not known, as for the framework ``weights``.
    """
    path = f"{folder}/{candidate.path}"
    hint = _HINTS.get(candidate.framework, "")
    if candidate.framework == "orbax" and not candidate.name.isdecimal():  # as flax names them
        hint = _ORBAX_ALONE
    if candidate.name.endswith(_KERAS_WEIGHTS):
        hint = "model.load_weights({path!r})"
    parent = path.rpartition("/")[0]
    storage, _, run = parent.rpartition("/")
    return hint.format(
        path=path, parent=parent, storage=storage, run=run, name=candidate.name, step=candidate.step
    )
