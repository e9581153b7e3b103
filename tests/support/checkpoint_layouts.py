"""Checkpoints as frameworks lay them out, written without them; files that jobmon parses are valid."""

from __future__ import annotations

import json
import os
import pickle
import zipfile
from collections.abc import Callable
from pathlib import Path

RECORDED = Path(__file__).parents[1] / "recordings" / "files"


def torch_file(path: Path, size: int = 20_000) -> None:
    """Write a file in the zip format of torch.save."""
    path.parent.mkdir(parents=True, exist_ok=True)
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("archive/data.pkl", pickle.dumps({"w": 1}))
        archive.writestr("archive/data/0", os.urandom(size))
        archive.writestr("archive/version", "3\n")


def tensors_file(path: Path, size: int = 4000) -> None:
    """Write a safetensors file."""
    path.parent.mkdir(parents=True, exist_ok=True)
    header = json.dumps({"w": {"dtype": "U8", "shape": [size], "data_offsets": [0, size]}}).encode()
    path.write_bytes(len(header).to_bytes(8, "little") + header + os.urandom(size))


def text_file(path: Path, text: str = "x") -> None:
    """Write a small file."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)


def hf_trainer(folder: Path, step: int) -> Path:
    saved = folder / f"checkpoint-{step}"
    tensors_file(saved / "model.safetensors")
    torch_file(saved / "optimizer.pt")
    torch_file(saved / "scheduler.pt", 100)
    text_file(saved / "config.json", "{}")
    text_file(saved / "trainer_state.json", json.dumps({"global_step": step, "log_history": []}))
    return saved


def hf_sharded(folder: Path, step: int) -> Path:
    saved = hf_trainer(folder, step)
    (saved / "model.safetensors").unlink()
    names = [f"model-0000{number}-of-00003.safetensors" for number in (1, 2, 3)]
    for name in names:
        tensors_file(saved / name)
    index = {"metadata": {}, "weight_map": {f"layer{n}": name for n, name in enumerate(names)}}
    text_file(saved / "model.safetensors.index.json", json.dumps(index))
    return saved


def lightning(folder: Path, step: int) -> Path:
    torch_file(folder / f"epoch=1-step={step}.ckpt")
    return folder / f"epoch=1-step={step}.ckpt"


def deepspeed(folder: Path, step: int) -> Path:
    saved = folder / f"global_step{step}"
    torch_file(saved / "mp_rank_00_model_states.pt")
    for rank in range(4):
        torch_file(saved / f"zero_pp_rank_{rank}_mp_rank_00_optim_states.pt")
    text_file(folder / "latest", f"global_step{step}")
    return saved


def megatron(folder: Path, step: int) -> Path:
    saved = folder / f"iter_{step:07}"
    for rank in range(4):
        torch_file(saved / f"mp_rank_{rank:02}" / "model_optim_rng.pt")
    text_file(folder / "latest_checkpointed_iteration.txt", str(step))
    return saved


def torch_dcp(folder: Path, step: int) -> Path:
    saved = folder / f"step-{step}"
    for rank in range(4):
        torch_file(saved / f"__{rank}_0.distcp")
    text_file(saved / ".metadata", "metadata" * 100)
    return saved


def verl(folder: Path, step: int) -> Path:
    saved = folder / f"global_step_{step}"
    for rank in range(4):
        torch_file(saved / "actor" / f"model_world_size_4_rank_{rank}.pt")
        torch_file(saved / "actor" / f"optim_world_size_4_rank_{rank}.pt")
    text_file(folder / "latest_checkpointed_iteration.txt", str(step))
    return saved


def accelerate(folder: Path, step: int) -> Path:
    saved = folder / f"checkpoint_{step}"
    tensors_file(saved / "model.safetensors")
    torch_file(saved / "optimizer.bin")
    for rank in range(2):
        text_file(saved / f"random_states_{rank}.pkl", "state" * 99)
    return saved


def orbax(folder: Path, step: int) -> Path:
    saved = folder / str(step)
    text_file(saved / "_CHECKPOINT_METADATA", "{}")
    for name in ("_METADATA", "manifest.ocdbt", "d/a1b2c3", "ocdbt.process_0/d/f00"):
        text_file(saved / "default" / name, "x" * 500)
    return saved


def flax_orbax(folder: Path, step: int) -> Path:
    saved = folder / f"checkpoint_{step}"
    for name in ("_CHECKPOINT_METADATA", "_METADATA", "commit_success.txt", "manifest.ocdbt", "d/a1b2c3"):
        text_file(saved / name, "x" * 500)
    return saved


def tensorflow(folder: Path, step: int) -> Path:
    for part in ("index", "data-00000-of-00002", "data-00001-of-00002"):
        text_file(folder / f"ckpt-{step}.{part}", "x" * 500)
    text_file(folder / "checkpoint", f'model_checkpoint_path: "ckpt-{step}"\n')
    return folder / f"ckpt-{step}"


def keras(folder: Path, step: int) -> Path:
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / f"model_epoch_{step}.keras"
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("metadata.json", "{}")
        archive.writestr("config.json", "{}")
        archive.writestr("model.weights.h5", (RECORDED / "superblock0.h5").read_bytes())
    return path


def plain_torch(folder: Path, step: int) -> Path:
    torch_file(folder / f"ckpt_{step}.pt")
    return folder / f"ckpt_{step}.pt"


def flax(folder: Path, step: int) -> Path:
    text_file(folder / f"checkpoint_{step}", "\x01state" * 300)
    return folder / f"checkpoint_{step}"


def flax_bytes(folder: Path, step: int) -> Path:
    """Write what a program writes itself with flax.serialization.to_bytes."""
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / f"step_{step}.msgpack"
    path.write_bytes((RECORDED / "model.msgpack").read_bytes())
    return path


def ray_train(folder: Path, step: int) -> Path:
    """Write a checkpoint that the file of the run names, as Ray does when all workers have reported it."""
    saved = folder / f"checkpoint_2026-11-22_07-13-{step // 10:02}.946621"
    torch_file(saved / "model.pt")
    text_file(folder / ".validate_storage_marker", "")
    snapshot = folder / "checkpoint_manager_snapshot.json"
    content = json.loads(snapshot.read_text()) if snapshot.exists() else {"checkpoint_results": []}
    content["checkpoint_results"].append({"checkpoint_dir_name": saved.name, "metrics": {"step": step}})
    content["latest_checkpoint_result"] = content["checkpoint_results"][-1]
    snapshot.write_text(json.dumps(content))
    return saved


def gromacs(folder: Path, step: int) -> Path:
    """Write a checkpoint, which replaces the one before."""
    path = folder / "state.cpt"
    if path.exists():
        path.rename(folder / "state_prev.cpt")
    text_file(path, f"{step}" * 200)
    return path


LAYOUTS: dict[str, Callable[[Path, int], Path]] = {
    "hf_trainer": hf_trainer,
    "hf_sharded": hf_sharded,
    "lightning": lightning,
    "deepspeed": deepspeed,
    "megatron": megatron,
    "torch_dcp": torch_dcp,
    "verl": verl,
    "accelerate": accelerate,
    "orbax": orbax,
    "flax_orbax": flax_orbax,
    "tensorflow": tensorflow,
    "keras": keras,
    "torch": plain_torch,
    "flax": flax,
    "flax_bytes": flax_bytes,
    "ray_train": ray_train,
    "gromacs": gromacs,
}


def saved_at(path: Path, at_s: float) -> None:
    """Set the time when a checkpoint, a file or a folder, was saved."""
    parts = path.rglob("*") if path.is_dir() else path.parent.glob(f"{path.name}*")
    for part in parts:
        os.utime(part, (at_s, at_s))
