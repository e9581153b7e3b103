"""Recognize the checkpoints among the files below a folder, by names alone.

The conventions were read in the source of each framework, or seen by running it.
"""

from __future__ import annotations

import json
import re
from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from fnmatch import fnmatchcase

from jobmon_core.domain.artifacts.checkpoints.model import Candidate, Evidence
from jobmon_core.domain.artifacts.model import ListedFile, name_of

# names that a framework, a copy or an editor gives to what it has not finished
_TEMPORARY = re.compile(
    r"^tmp[-_.]|^\.|\.orbax-checkpoint-tmp.*|checkpoint_?tmp$|^state_step\d+\.cpt$"
    r"|[._-](?:tmp|temp|part|partial|incomplete)(?:[._-]?\w{0,12})?$",
    re.IGNORECASE,
)
# what such names have in addition to the final name
_ADDED = re.compile(
    r"^tmp[-_.]|^\.|\.orbax-checkpoint-tmp.*$|[._-](?:tmp|temp|part|partial|incomplete)(?:[._-]?\w{0,12})?$",
    re.IGNORECASE,
)
_RSYNC = re.compile(r"(\..+)\.\w{6}")  # the name of a copy that rsync has not finished
_STEP = re.compile(
    r"(?:step|iter(?:ation)?s?|checkpoint|ckpt|model|epoch)s?[-_=]?(\d{1,12})(?![\d])", re.IGNORECASE
)
_PREFERRED = re.compile(r"(?:global_?step|step|iter(?:ation)?)s?[-_=](\d{1,12})", re.IGNORECASE)
_NUMBER = re.compile(r"^(\d{1,12})(?:\.|$)")
_SAVED_NAME = re.compile(
    r"(?:step|iter|epoch|checkpoint|ckpt|model|last|best|latest|final|weights|state|snapshot)", re.IGNORECASE
)

# of Ray Train, as in ``ray/train/v2/_internal/execution/checkpoint`` and ``storage.py`` of Ray 2.60
RAY_TRAIN = "ray_train"
SNAPSHOT = "checkpoint_manager_snapshot.json"
_RAY_TRAIN_FOLDER = r"checkpoint_\d{4}-\d\d-\d\d_\d\d-\d\d-\d\d\.\d{1,6}"
_RAY_TRAIN_NAME = re.compile(_RAY_TRAIN_FOLDER)
_STEP_METRICS = ("global_step", "step", "training_iteration", "epoch")

# the first rule that matches tells the framework of a folder: (framework, its name, a file in it)
_FOLDERS = (
    (RAY_TRAIN, _RAY_TRAIN_FOLDER, r".*"),
    ("orbax", r"\d+", r"(?:[\w.-]+/)?(?:_CHECKPOINT_METADATA|_METADATA|manifest\.ocdbt)"),
    ("orbax", r".*", r"_CHECKPOINT_METADATA|manifest\.ocdbt"),
    (
        "deepspeed",
        r".*",
        r"(?:bf16_)?(?:zero_pp_rank|mp_rank|zero_dp_rank)_\d+\w*_(?:model|optim)_states\.pt",
    ),
    ("megatron", r"iter_\d{7}|release", r"mp_rank_\d+(?:_\d+)*/.*\.pt|.*\.distcp|common\.pt|metadata\.json"),
    ("hf_trainer", r"checkpoint-\d+", r".*"),
    ("verl", r"global_step_\d+", r".*world_size_\d+_rank_\d+\.pt"),
    ("lightning", r".*\.ckpt", r"meta\.pt|\.metadata|.*\.distcp|checkpoint/.*|latest"),
    ("torch_dcp", r".*", r"\.metadata|__\d+_\d+\.distcp"),
    (
        "accelerate",
        r"(?:checkpoint|step|epoch)_\d+",
        r"random_states_\d+\.pkl|optimizer\.bin|scheduler\.bin|optimizer(?:_\d+)?\.pt",
    ),
    (
        "weights",
        r"(?:checkpoint|ckpt|step|iter(?:ation)?|epoch|global_?step)[-_=]?\d+",
        r".*\.(?:safetensors|bin|pt|pth|npz|npy|msgpack|h5|ckpt)",
    ),
)
_FOLDER_RULES = [(name, re.compile(folder), re.compile(file)) for name, folder, file in _FOLDERS]
_FILES = (
    ("tensorflow", re.compile(r".*\.index|.*\.data-\d{5}-of-\d{5}")),
    ("gromacs", re.compile(r".*\.cpt")),
    ("keras", re.compile(r".*\.keras|.*\.weights\.h5|.*\.hdf5|.*\.h5")),
    ("lightning", re.compile(r".*\.ckpt")),
    ("torch", re.compile(r".*\.(?:pt|pth|pth\.tar)")),
    ("flax", re.compile(r"checkpoint_(?:\d+|tmp)|.*\.msgpack")),
    ("weights", re.compile(r".*(?:step|epoch|iter|ckpt|checkpoint)[-_=]?\d+.*\.(?:safetensors|npz|bin)")),
)
_ORBAX_TEMPORARY = ".orbax-checkpoint-tmp"
_MAX_LOOKED_AT = 500  # files of a folder
_ALWAYS_SAVED = (
    "lightning",
    "gromacs",
    "flax",
    "weights",
    "tensorflow",
)  # their names need no word such as "step"
_TENSORFLOW_PART = re.compile(r"\.(?:index|data-\d{5}-of-\d{5})$")
# files with other parts of a training's state, which lie beside its checkpoints
_NO_CHECKPOINT = re.compile(
    r"rng_state|random_states|scheduler\.pt|optimizer\.pt|training_args|scaler\.pt|args\.pt"
)


def recognize(files: Iterable[ListedFile], pattern: str = "") -> list[Candidate]:
    """Return the checkpoints among the files: those of frameworks, and by the user's glob."""
    found: list[Candidate] = []
    every = list(files)
    _recognize_in("", every, found)
    return [*found, *_matching(every, pattern.rstrip("/"), [each.path for each in found])]


def _matching(files: Iterable[ListedFile], pattern: str, known: Sequence[str]) -> Iterator[Candidate]:
    grouped: defaultdict[str, list[ListedFile]] = defaultdict(list)
    for file in files if pattern else ():
        path = "/".join(file.name.split("/")[: pattern.count("/") + 1])
        if fnmatchcase(path, pattern):
            grouped[path].append(file)
    for path, parts in grouped.items():
        if not any(each == path or each.startswith(f"{path}/") for each in known):
            framework = next((each for each, rule in _FILES if rule.fullmatch(name_of(path))), "files")
            yield _candidate(path, framework, parts, is_folder=parts[0].name != path)


def is_checkpoint(name: str, files: Sequence[ListedFile]) -> bool:
    """Whether a folder of this name, with these files below it, is a checkpoint itself."""
    return bool(_framework_of(name, "", files))


def _recognize_in(folder: str, files: Sequence[ListedFile], found: list[Candidate]) -> None:
    prefix = f"{folder}/" if folder else ""
    here: list[ListedFile] = []
    below: defaultdict[str, list[ListedFile]] = defaultdict(list)
    for file in files:
        first, slash, _ = file.name[len(prefix) :].partition("/")
        below[first].append(file) if slash else here.append(file)
    if folder and (framework := _framework_of(folder, prefix, files)):
        found.append(_candidate(folder, framework, files, is_folder=True))
        return
    found += _single_files(here)
    for name, inner in below.items():
        _recognize_in(prefix + name, inner, found)


def _framework_of(folder: str, prefix: str, files: Sequence[ListedFile]) -> str:
    name = name_of(folder)
    if _ORBAX_TEMPORARY in name:
        return "orbax"
    inner = [file.name[len(prefix) :] for file in files[:_MAX_LOOKED_AT]]
    for framework, folder_rule, file_rule in _FOLDER_RULES:
        if folder_rule.fullmatch(_plain(name)) and any(map(file_rule.fullmatch, inner)):
            return framework
    return ""


def _plain(name: str) -> str:
    if copied := _RSYNC.fullmatch(name):
        name = copied[1]
    return _ADDED.sub("", name)


def _single_files(files: Sequence[ListedFile]) -> Iterator[Candidate]:
    grouped: defaultdict[str, list[ListedFile]] = defaultdict(list)
    for file in files:
        name = name_of(file.name)
        framework = _framework_of_file(_plain(name)) or _framework_of_file(name)
        if framework == "tensorflow":
            grouped[_TENSORFLOW_PART.sub("", file.name)].append(file)
        elif framework:
            yield _candidate(file.name, framework, [file], is_folder=False)
    for path, parts in grouped.items():
        if len(parts) > 1 or _SAVED_NAME.search(name_of(path)):
            yield _candidate(path, "tensorflow", parts, is_folder=False)


def _framework_of_file(name: str) -> str:
    framework = next((each for each, rule in _FILES if rule.fullmatch(name)), "")
    if _NO_CHECKPOINT.search(name):
        return ""
    if framework in _ALWAYS_SAVED or _SAVED_NAME.search(name):
        return framework
    return ""


def _candidate(path: str, framework: str, files: Sequence[ListedFile], *, is_folder: bool) -> Candidate:
    name = name_of(path)
    is_temporary = _TEMPORARY.search(name) is not None
    return Candidate(path, framework, tuple(files), is_folder, step_of(_plain(name)), is_temporary)


def step_of(name: str) -> int | None:
    """Return the step, iteration or epoch in a name, e.g. 200 in ``epoch=1-step=200.ckpt``."""
    if is_of_ray_train(name):
        return None
    found = _PREFERRED.search(name) or _STEP.search(name) or _NUMBER.search(name)
    if found:
        return int(found[1])
    return None


def counts_epochs(path: str) -> bool:
    """Whether the number in a checkpoint's name is that of an epoch, not of a step."""
    name = _plain(name_of(path))
    found = _STEP.search(name) if not _PREFERRED.search(name) else None
    return found is not None and found[0].lower().startswith("epoch")


def is_of_ray_train(name: str) -> bool:
    """Whether a folder has the name of such a checkpoint: a time, whose numbers are no step."""
    return _RAY_TRAIN_NAME.fullmatch(name) is not None


def snapshot_path(candidate: Candidate) -> str:
    """Return the file that names the checkpoints of a run."""
    if candidate.parent:
        return f"{candidate.parent}/{SNAPSHOT}"
    return SNAPSHOT


def missing_from_snapshot(candidate: Candidate, others: list[Candidate], evidence: Evidence) -> str:  # noqa: ARG001 - all rules have this form
    """Return why a checkpoint does not count; Ray names it in the file once all workers have reported it."""
    text = evidence.texts.get(snapshot_path(candidate))
    if text is None:
        return f"is not named in {SNAPSHOT}, which is missing or unreadable"
    if candidate.name in _ray_metrics(text):
        return ""
    return f"is not named in {SNAPSHOT}"


def reported_step(candidate: Candidate, evidence: Evidence) -> int | None:
    """Return the step that the program reported with a checkpoint."""
    metrics = _ray_metrics(evidence.texts.get(snapshot_path(candidate), "")).get(candidate.name, {})
    steps = (metrics.get(name) for name in _STEP_METRICS)
    return next((step for step in steps if isinstance(step, int) and not isinstance(step, bool)), None)


def _ray_metrics(text: str) -> dict[str, dict[str, object]]:
    try:
        results = json.loads(text)["checkpoint_results"]
        return {each["checkpoint_dir_name"]: dict(each.get("metrics") or {}) for each in results}
    except (ValueError, RecursionError, TypeError, KeyError, AttributeError):
        return {}
