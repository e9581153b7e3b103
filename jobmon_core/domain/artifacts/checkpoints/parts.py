"""Find parts of a checkpoint that are missing: shards, or the files of some ranks."""

from __future__ import annotations

import json
import re
from collections import defaultdict

from jobmon_core.domain.artifacts.checkpoints.model import Candidate, Evidence
from jobmon_core.domain.humanize import listed

_SHARD = re.compile(r"(?P<stem>.*?)-?(?P<number>\d{4,6})-of-(?P<total>\d{4,6})(?P<end>\D*)")
_WORLD = re.compile(r"(?P<stem>.*)world_size_(?P<total>\d+)_rank_(?P<number>\d+)(?P<end>.*)")
_RANKS = re.compile(
    r"(?P<stem>(?:.*?[/_.-])?(?:(?:zero_pp_rank|random_states|rng_state|shard|mp_rank|rank)_?|__))"
    r"(?P<number>\d{1,9})(?P<end>(?:\D.*)?)"
)
_INDEX = (".safetensors.index.json", ".bin.index.json")
_MAX_TOTAL = 100_000


def missing_part(candidate: Candidate, others: list[Candidate], evidence: Evidence) -> str:
    """Return which part is missing, e.g. ``lacks shard 3 of 8``; empty if none is known to be."""
    names = candidate.names()
    return (
        _missing_of_total(names)
        or _missing_of_index(candidate, names, evidence)
        or _missing_rank(names, [other.names() for other in others])
        or _missing_pair(candidate, names)
    )


def _missing_of_total(names: set[str]) -> str:
    """Find a gap where the names say how many parts there are."""
    for (stem, end, total), numbers in sorted(_numbered(_SHARD, names).items()):
        begin = 0 if 0 in numbers else 1
        if (missing := _first_gap(numbers, begin, total)) is not None:
            return f"lacks shard {missing - begin + 1} of {total} ({stem.rpartition('/')[2]}-…{end})"
    for (_, _, total), numbers in sorted(_numbered(_WORLD, names).items()):
        if (missing := _first_gap(numbers, 0, total)) is not None:
            return f"lacks the file of rank {missing} of {total}"
    return ""


def _numbered(rule: re.Pattern[str], names: set[str]) -> dict[tuple[str, str, int], set[int]]:
    """Return the numbers of the parts by stem, end and total number."""
    groups: defaultdict[tuple[str, str, int], set[int]] = defaultdict(set)
    for name in names:
        if found := rule.fullmatch(name):
            groups[found["stem"], found["end"], int(found["total"])].add(int(found["number"]))
    return groups


def _first_gap(numbers: set[int], begin: int, total: int) -> int | None:
    return next((n for n in range(begin, begin + min(total, _MAX_TOTAL)) if n not in numbers), None)


def _missing_of_index(candidate: Candidate, names: set[str], evidence: Evidence) -> str:
    """Find a shard that the index names, and that does not exist."""
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
    """Find the missing half of a checkpoint of TensorFlow."""
    if candidate.framework != "tensorflow":
        return ""
    if not any(name.endswith(".index") for name in names):
        return "lacks its .index file"
    return "" if any(".data-" in name for name in names) else "lacks its .data file"
