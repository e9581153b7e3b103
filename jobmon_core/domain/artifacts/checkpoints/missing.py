"""Find out whether a checkpoint lacks a part, or the marker that its framework writes last."""

from __future__ import annotations

import json
import re
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator

from jobmon_core.domain.artifacts.checkpoints.model import Candidate, Evidence
from jobmon_core.domain.artifacts.checkpoints.recognize import (
    RAY_TRAIN,
    missing_from_snapshot,
    snapshot_path,
)
from jobmon_core.domain.artifacts.model import name_of
from jobmon_core.domain.humanize import listed

_TRACKERS = {
    "deepspeed": "latest",
    "megatron": "latest_checkpointed_iteration.txt",
    "verl": "latest_checkpointed_iteration.txt",
}
# until a checkpoint is saved, NeMo keeps a file whose name is the checkpoint's, followed by this
_UNFINISHED = "-unfinished"
# transformers writes the first while it saves at a signal
_NOT_DONE = re.compile(r"checkpoint-is-incomplete\.txt|(?i:[._]?(?:incomplete|in_progress)(?:\.\w{1,8})?)")
_DONE = re.compile(r"(?i)[._]?(?:done|complete|completed|success|finished|commit)(?:\.\w{1,8})?")
_HF_WEIGHTS = re.compile(
    r"(?:model|pytorch_model|adapter_model|tf_model|diffusion_pytorch_model)[\w.-]*\.(?:safetensors|bin|h5|index\.json)"
    r"|.*/.*"  # of FSDP or DeepSpeed, or of a pipeline with several models
)
_SHARD = re.compile(r"(?P<stem>.*?)-?(?P<number>\d{4,6})-of-(?P<total>\d{4,6})(?P<end>\D*)")
_WORLD = re.compile(r"(?P<stem>.*)world_size_(?P<total>\d+)_rank_(?P<number>\d+)(?P<end>.*)")
_RANKS = re.compile(
    r"(?P<stem>(?:.*?[/_.-])?(?:(?:zero_pp_rank|random_states|rng_state|shard|mp_rank|rank)_?|__))"
    r"(?P<number>\d{1,9})(?P<end>(?:\D.*)?)"
)
_INDEX = (".safetensors.index.json", ".bin.index.json")
_MAX_TOTAL = 100_000


def wanted_texts(candidate: Candidate) -> Iterator[str]:
    """Yield the paths of small files that the judgement needs; they may not exist."""
    if tracker := _TRACKERS.get(candidate.framework):
        yield _beside(candidate, tracker)
    if candidate.framework == "lightning":
        yield candidate.path + _UNFINISHED
    if candidate.framework == RAY_TRAIN:
        yield snapshot_path(candidate)
    for file in candidate.files:
        if file.name.endswith(".index.json") or name_of(file.name) == "trainer_state.json":
            yield file.name


def missing_marker(candidate: Candidate, others: list[Candidate], evidence: Evidence) -> str:
    """Return why a checkpoint is not finished, e.g. ``lacks .metadata, which is written last``."""
    rule = _RULES.get(candidate.framework)
    return (rule(candidate, others, evidence) if rule else "") or _by_files(candidate, others)


def _by_files(candidate: Candidate, others: list[Candidate]) -> str:
    """By markers that programs write themselves; most others have them."""
    names = candidate.names()
    if unfinished := next(filter(_NOT_DONE.fullmatch, sorted(names)), ""):
        return f"is marked as unfinished by {unfinished}"
    if any(map(_DONE.fullmatch, names)):
        return ""
    usual = Counter(name for other in others for name in other.names() if _DONE.fullmatch(name))
    missing = next((name for name, number in sorted(usual.items()) if 2 * number > len(others)), "")
    if missing:
        return f"lacks {missing}, which most others have"
    return ""


def _beside(candidate: Candidate, name: str) -> str:
    if candidate.parent:
        return f"{candidate.parent}/{name}"
    return name


def _hf_trainer(candidate: Candidate, others: list[Candidate], evidence: Evidence) -> str:  # noqa: ARG001 - all rules have this form
    names = candidate.names()
    if "trainer_state.json" not in names:
        return "lacks trainer_state.json, which is written last"
    try:
        state = json.loads(evidence.texts.get(f"{candidate.path}/trainer_state.json", "{}"))
    except (ValueError, RecursionError):
        return "has a damaged trainer_state.json"
    if not isinstance(state, dict):
        return "has a damaged trainer_state.json"
    if any(map(_HF_WEIGHTS.fullmatch, names)):
        return ""
    return "lacks the weights of the model"


def _dcp(candidate: Candidate, others: list[Candidate], evidence: Evidence) -> str:  # noqa: ARG001 - all rules have this form
    names = candidate.names()
    parts = {name.rpartition("/")[0] for name in names if name.endswith((".distcp", ".metadata"))}
    for part in sorted(parts):
        marker = f"{part}/.metadata" if part else ".metadata"
        if marker not in names:
            return f"lacks {marker}, which is written last"
    return ""


def _tracked(candidate: Candidate, others: list[Candidate], evidence: Evidence) -> str:
    """The tracker is the file that names the latest complete checkpoint."""
    if candidate.framework == "megatron" and (why := _dcp(candidate, others, evidence)):
        return why
    tracker = _TRACKERS[candidate.framework]
    text = evidence.texts.get(_beside(candidate, tracker))
    if text is None:
        if candidate.framework != "deepspeed":
            return f"is not named in {tracker}, which is missing or unreadable"
        return ""
    named = text.strip()
    if named == candidate.name:
        return ""
    latest = _step_in(named, others)
    if latest is None or candidate.step is None or candidate.step <= latest:
        return ""
    return f"is not finished: {tracker} still names {named[:40]}"


def _step_in(named: str, others: Iterable[Candidate]) -> int | None:
    if named.isascii() and named.isdecimal() and len(named) <= 12:  # noqa: PLR2004 - as in names
        return int(named)
    return next((other.step for other in others if other.name == named), None)


def _accelerate(candidate: Candidate, others: list[Candidate], evidence: Evidence) -> str:  # noqa: ARG001 - all rules have this form
    if any(name.startswith("random_states_") for name in candidate.names()):
        return ""
    return "lacks random_states_0.pkl, which is written last"


def _orbax(candidate: Candidate, others: list[Candidate], evidence: Evidence) -> str:  # noqa: ARG001 - all rules have this form
    names = candidate.names()
    if unfinished := next((name for name in sorted(names) if ".orbax-checkpoint-tmp" in name), ""):
        return f"is not finished: it holds {unfinished.partition('/')[0]}"
    for marker in ("_CHECKPOINT_METADATA", "commit_success.txt"):
        if marker not in names and any(marker in other.names() for other in others):
            return f"lacks {marker}, which the others have"
    return ""


def _lightning(candidate: Candidate, others: list[Candidate], evidence: Evidence) -> str:
    if candidate.is_folder and not any(name.startswith("checkpoint/") for name in candidate.names()):
        return _dcp(candidate, others, evidence)  # FSDP; else DeepSpeed
    if candidate.path + _UNFINISHED in evidence.texts:
        return "is marked as unfinished"
    return ""


_RULES: dict[str, Callable[[Candidate, list[Candidate], Evidence], str]] = {
    "hf_trainer": _hf_trainer,
    "torch_dcp": _dcp,
    "deepspeed": _tracked,
    "megatron": _tracked,
    "verl": _tracked,
    "accelerate": _accelerate,
    "orbax": _orbax,
    "lightning": _lightning,
    RAY_TRAIN: missing_from_snapshot,
}


def missing_part(candidate: Candidate, others: list[Candidate], evidence: Evidence) -> str:
    """Return which part is missing, e.g. ``lacks shard 3 of 8``."""
    names = candidate.names()
    return (
        _missing_of_total(names)
        or _missing_of_index(candidate, names, evidence)
        or _missing_rank(names, [other.names() for other in others])
        or _missing_pair(candidate, names)
    )


def _missing_of_total(names: set[str]) -> str:
    for (stem, end, total), numbers in sorted(_numbered(_SHARD, names).items()):
        begin = 0 if 0 in numbers else 1
        if (missing := _first_gap(numbers, begin, total)) is not None:
            return f"lacks shard {missing - begin + 1} of {total} ({stem.rpartition('/')[2]}-…{end})"
    for (_, _, total), numbers in sorted(_numbered(_WORLD, names).items()):
        if (missing := _first_gap(numbers, 0, total)) is not None:
            return f"lacks the file of rank {missing} of {total}"
    return ""


def _numbered(rule: re.Pattern[str], names: set[str]) -> dict[tuple[str, str, int], set[int]]:
    groups: defaultdict[tuple[str, str, int], set[int]] = defaultdict(set)
    for name in names:
        if found := rule.fullmatch(name):
            groups[found["stem"], found["end"], int(found["total"])].add(int(found["number"]))
    return groups


def _first_gap(numbers: set[int], begin: int, total: int) -> int | None:
    return next((n for n in range(begin, begin + min(total, _MAX_TOTAL)) if n not in numbers), None)


def _missing_of_index(candidate: Candidate, names: set[str], evidence: Evidence) -> str:
    for name in sorted(names):
        text = evidence.texts.get(f"{candidate.path}/{name}")
        if not name.endswith(_INDEX) or text is None:
            continue
        folder = name.rpartition("/")[0]
        try:
            shards = set(map(str, json.loads(text)["weight_map"].values()))
        except (ValueError, LookupError, TypeError, AttributeError, RecursionError):
            return f"has a damaged index {name}"
        missing = sorted(shard for shard in shards if (f"{folder}/{shard}" if folder else shard) not in names)
        if missing:
            return (
                f"lacks {listed([each[:60] for each in missing], 1)} of the {len(shards)} shards in its index"
            )
    return ""


def _rank_groups(names: set[str]) -> dict[tuple[str, str], set[int]]:
    groups: defaultdict[tuple[str, str], set[int]] = defaultdict(set)
    for name in names:
        if not _WORLD.fullmatch(name) and (found := _RANKS.fullmatch(name)):
            groups[found["stem"], found["end"]].add(int(found["number"]))
    return groups


def _missing_rank(names: set[str], others: list[set[str]]) -> str:
    """Find a rank without a file: a gap in the numbers, or one that all other checkpoints have."""
    own = _rank_groups(names)
    usual = [_rank_groups(each) for each in others]
    for key in sorted({key for groups in (own, *usual[:1]) for key in groups}):
        numbers = own.get(key, set())
        expected = [groups[key] for groups in usual if key in groups]
        least = set.intersection(*expected) if expected else set[int]()
        if not numbers and len(expected) < len(others):
            continue
        gaps = set(range(min(max(numbers, default=0), _MAX_TOTAL))) if 0 in numbers else set()
        missing = sorted((least | gaps) - numbers)
        if missing:
            ranks = listed([str(each) for each in missing], 1)
            return f"lacks the file of rank {ranks} ({key[0].rpartition('/')[2]}N{key[1]})"
    return ""


def _missing_pair(candidate: Candidate, names: set[str]) -> str:
    if candidate.framework != "tensorflow":
        return ""
    if not any(name.endswith(".index") for name in names):
        return "lacks its .index file"
    if any(".data-" in name for name in names):
        return ""
    return "lacks its .data file"
