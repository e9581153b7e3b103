"""Judge which checkpoints are complete, from their names and what was read of them."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Sequence
from itertools import pairwise
from statistics import median

from jobmon_core.domain.artifacts.checkpoints.missing import missing_marker, missing_part, wanted_texts
from jobmon_core.domain.artifacts.checkpoints.model import Candidate, Checkpoint, Evidence
from jobmon_core.domain.artifacts.checkpoints.recognize import (
    RAY_TRAIN,
    reported_step,
)
from jobmon_core.domain.artifacts.model import SMALLER, FileCheck, FileVerdict, ListedFile, without_digits
from jobmon_core.domain.humanize import size

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

_CHECKED = (
    *(".pt", ".pth", ".tar", ".ckpt", ".bin", ".safetensors", ".keras", ".h5", ".hdf5", ".npz", ".npy"),
    *(".json", ".msgpack", ".pkl"),
)
_WRITTEN_S = 30.0  # a program may still be writing what was modified less long ago
_MUCH_SMALLER = 0.9  # times the usual size
_MIN_INTERVALS = 2
_MAX_OTHERS = 20  # a checkpoint is compared with at most so many others
# these rename a checkpoint when it is finished, or only then write the index that names it
_RENAMED = ("gromacs", "flax", "orbax", "tensorflow")
# `missing_marker` has found the file that these write last
_MARKED = ("hf_trainer", "torch_dcp", "megatron", "verl", "accelerate", RAY_TRAIN)
_TEMPORARY_NAME = "has a temporary name: the save did not finish"

__all__ = ["files_to_check", "interval_s", "judge", "newest_first", "wanted_texts"]


def newest_first(candidates: Iterable[Candidate]) -> list[Candidate]:
    """Sort by the time when they were saved."""
    return sorted(candidates, key=lambda each: (-each.saved_s, -(each.step or 0), each.path))


def files_to_check(candidate: Candidate) -> list[ListedFile]:
    """Return the files of a checkpoint whose format shows whether they are whole."""
    return [file for file in candidate.files if file.name.endswith(_CHECKED)]


def judge(
    candidates: Sequence[Candidate],
    evidence: Evidence,
    folder: str,
    now_s: float,
    *,
    is_running: bool = False,
) -> tuple[Checkpoint, ...]:
    """Return the verdict on each of ``candidates``, sorted by `newest_first`; ``folder`` is absolute."""
    comparable: defaultdict[tuple[str, str], list[Candidate]] = defaultdict(list)
    for candidate in candidates:
        if not candidate.is_temporary:
            comparable[candidate.framework, candidate.parent].append(candidate)
    found = []
    for candidate in candidates:
        group = comparable[candidate.framework, candidate.parent][: _MAX_OTHERS + 1]
        others = [each for each in group if each.path != candidate.path]
        is_complete, why = _verdict(candidate, others, evidence)
        if not is_complete and is_running and now_s - candidate.saved_s < _WRITTEN_S:
            is_complete, why = False, "is being written"
        step = candidate.step if candidate.step is not None else reported_step(candidate, evidence)
        found.append(
            Checkpoint(
                candidate.path, candidate.framework, step, is_complete, why, candidate.size_bytes,
                candidate.saved_s, resume_hint(candidate, folder),
                () if candidate.is_folder else tuple(file.name for file in candidate.files),
            )
        )  # fmt: skip
    return tuple(found)


def _verdict(candidate: Candidate, others: list[Candidate], evidence: Evidence) -> tuple[bool | None, str]:
    """``others`` should have the same parts."""
    if candidate.is_temporary:
        return False, _TEMPORARY_NAME
    if not candidate.size_bytes:
        return False, "is empty"
    for rule in (_damaged, missing_part, missing_marker, _small):
        if why := rule(candidate, others, evidence):
            return False, why
    return _by_content(candidate, evidence)


def _damaged(candidate: Candidate, others: list[Candidate], evidence: Evidence) -> str:
    for file in candidate.files:
        check = evidence.checks.get(file.name)
        if check and check.is_bad:
            sizes = ""
            if check.verdict is FileVerdict.TRUNCATED:
                sizes = _compared(file, candidate, others)
            why = ""
            if check.verdict is not FileVerdict.EMPTY:
                why = f": {sizes or check.why}"
            return f"{_within(file, candidate)}{check.verdict.value}{why}"
        if check and check.verdict is FileVerdict.UNREADABLE:
            return f"{_within(file, candidate)}{check.why}"
    return ""


def _within(file: ListedFile, candidate: Candidate) -> str:
    if candidate.is_folder:
        return f"{file.name[len(candidate.path) + 1 :]} is "
    return ""


def _compared(file: ListedFile, candidate: Candidate, others: list[Candidate]) -> str:
    usual = _usual_size(file, candidate, others)
    if file.size_bytes < usual:
        return f"{size(file.size_bytes)} of about {size(usual)}"
    return ""


def _usual_size(file: ListedFile, candidate: Candidate, others: list[Candidate]) -> float:
    if candidate.is_folder:
        name = file.name[len(candidate.path) :]
        sizes = [size_bytes for other in others if (size_bytes := other.sizes().get(name))]
    else:
        sizes = [
            each.size_bytes for each in others if without_digits(each.name) == without_digits(candidate.name)
        ]
    if sizes:
        return median(sizes)
    return 0.0


def _small(candidate: Candidate, others: list[Candidate], evidence: Evidence) -> str:
    if _is_renamed(candidate):
        return ""
    for file in candidate.files:
        if not _is_unknown(evidence.checks.get(file.name)):
            continue
        usual = _usual_size(file, candidate, others)
        if file.size_bytes < _MUCH_SMALLER * usual:
            sizes = f"{size(file.size_bytes)}, in the others {size(usual)}"
            return f"{_within(file, candidate) or 'is '}{SMALLER}: {sizes}"
    return ""


def _by_content(candidate: Candidate, evidence: Evidence) -> tuple[bool | None, str]:
    """Some content must show that it is whole."""
    if _is_renamed(candidate) or candidate.framework in _MARKED:
        return True, ""
    files = files_to_check(candidate)
    weights = [file for file in files if not file.name.endswith(".json")] or files  # settings prove nothing
    checks = [evidence.checks.get(file.name) for file in weights]
    if any(check and check.verdict is FileVerdict.VALID for check in checks):
        return True, ""
    first = next(filter(None, checks), None)
    return None, first.why if first else "its content was not checked"


def _is_renamed(candidate: Candidate) -> bool:
    """The name of a .msgpack file, written by user code, shows nothing."""
    return candidate.framework in _RENAMED and not candidate.name.endswith(".msgpack")


def _is_unknown(check: FileCheck | None) -> bool:
    return check is None or check.verdict is FileVerdict.UNKNOWN


def interval_s(checkpoints: Iterable[Checkpoint]) -> float | None:
    """Return the median time between two checkpoints; None if fewer than two intervals are known.

    Only those that may be complete count, of the framework and the folder of the newest, which comes first.
    """
    possible = [each for each in checkpoints if each.is_complete is not False]
    kinds = [(each.framework, each.path.rpartition("/")[0]) for each in possible]
    times = [each.saved_s for each, kind in zip(possible, kinds, strict=True) if kind == kinds[0]]
    intervals = sorted(later - earlier for later, earlier in pairwise(times) if later > earlier)
    if len(intervals) >= _MIN_INTERVALS:
        return intervals[len(intervals) // 2]
    return None


def resume_hint(candidate: Candidate, folder: str) -> str:
    """Return what to call, or the option to give, for a checkpoint in ``folder`` (an absolute path)."""
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
