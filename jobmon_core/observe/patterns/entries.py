"""Read the entries of a file of rules, a JSON object with a version and a list, and find all its faults."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import TYPE_CHECKING, Generic, TypeVar

if TYPE_CHECKING:
    from collections.abc import Callable, Collection

SCHEMA_VERSION = 1
_DOCUMENT_KEYS = ("schema_version", "rules")

Built = TypeVar("Built")
Entry = dict[str, object]


@dataclass(frozen=True, slots=True)
class Entries(Generic[Built]):
    """The content of one file."""

    built: tuple[Built, ...] = ()  # of the entries without faults
    faults: tuple[str, ...] = ()  # every fault of the file; each begins with where it is, if known
    skipped: int = 0  # entries with faults


def read_entries(
    text: str, faults_of: Callable[[Entry], list[str]], build: Callable[[Entry], Built]
) -> Entries[Built]:
    """Read the entries of a JSON text."""
    try:
        document = json.loads(text)
    except (ValueError, RecursionError) as error:
        return Entries(faults=(f"not valid JSON: {error}",))
    if not isinstance(document, dict):
        return Entries(faults=("must be an object with schema_version and rules",))
    faults = unknown_keys(document, _DOCUMENT_KEYS)
    version, rules = document.get("schema_version"), document.get("rules")
    has_version = version == SCHEMA_VERSION and not isinstance(version, bool)
    faults += [] if has_version else [f"schema_version: must be {SCHEMA_VERSION}, not {version!r}"]
    faults += [] if isinstance(rules, list) else ["rules: must be a list"]
    built: list[Built] = []
    first: dict[str, int] = {}  # the index of the first entry with an id
    for index, entry in enumerate(rules if isinstance(rules, list) else []):
        where = f"rules[{index}]"
        if not isinstance(entry, dict):
            faults.append(f"{where}: must be an object")
            continue
        entry_faults = faults_of(entry)
        name = entry.get("id")
        if isinstance(name, str) and first.setdefault(name, index) != index:
            entry_faults.append(f"id: {name!r} is also the id of rules[{first[name]}]")
        faults += [f"{where}.{fault}" for fault in entry_faults]
        if not entry_faults:
            built.append(build(entry))
    if not has_version or not isinstance(rules, list):
        return Entries(faults=tuple(faults))
    return Entries(tuple(built), tuple(faults), len(rules) - len(built))


def unknown_keys(entry: Entry, known: Collection[str]) -> list[str]:
    """Return a fault for each key that is not known."""
    return [_unknown_key(key, known) for key in entry if key not in known]


def _unknown_key(key: str, known: Collection[str]) -> str:
    from difflib import get_close_matches  # only for this message

    similar = get_close_matches(key, known, n=1)
    return f"{key}: unknown key" + (f"; did you mean {similar[0]!r}?" if similar else "")


def text_faults(key: str, value: object) -> list[str]:
    """Return a fault unless the value is a text that is not empty."""
    is_valid = isinstance(value, str) and bool(value.strip())
    if is_valid:
        return []
    return [f"{key}: must be a non-empty text"]
