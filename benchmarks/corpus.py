"""Labelled logs of failures, as the benchmarks read them: one JSON object a line.

Each has the texts ``id``, ``source`` (where the log was found), ``log`` and ``label`` (its root cause), and
the truth value ``multi_rank``; ``thread`` groups logs that are not independent. Other keys are for people.
"""

from __future__ import annotations

import json
import re
from dataclasses import dataclass
from pathlib import Path
from typing import cast

from jobmon_core.domain.diagnosis.patterns import LABELS

_TEXTS = ("id", "source", "log", "label")
_REPOSITORY = re.compile(r"https://github\.com/[\w.-]+/[\w.-]+")


class CorpusInvalid(Exception):
    """The corpus cannot be read; the text says where and why."""


@dataclass(frozen=True, slots=True)
class Case:
    """One log, and what went wrong in it by the word of whoever labelled it."""

    id: str
    source: str  # where it was found; those of one source are not independent
    log: str
    label: str
    multi_rank: bool = False  # whether several ranks wrote it, so that one failure causes others


def read_corpus(path: Path) -> tuple[Case, ...]:
    """Read all cases of a file.

    Raises:
        CorpusInvalid: the file cannot be read, holds no case, or one of its lines is no case.
    """
    try:
        text = path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise CorpusInvalid(f"{path} cannot be read: {error}") from error
    cases = []
    for number, line in enumerate(text.split("\n"), start=1):  # a log may hold the other ends of lines
        if line.strip():
            try:
                cases.append(parse_case(line))
            except CorpusInvalid as fault:
                raise CorpusInvalid(f"{path}, line {number}: {fault}") from fault
    if not cases:
        raise CorpusInvalid(f"{path} holds no case")
    return tuple(cases)


def parse_case(line: str) -> Case:
    """Read one line of a corpus.

    Raises:
        CorpusInvalid: it is no case.
    """
    try:
        entry = json.loads(line)
    except (json.JSONDecodeError, RecursionError) as error:
        raise CorpusInvalid(f"is no JSON: {error}") from error
    if not isinstance(entry, dict):
        raise CorpusInvalid("must be an object")
    for key in _TEXTS:
        if not isinstance(entry.get(key), str):
            raise CorpusInvalid(f"{key} must be a text")
    if not isinstance(entry.get("multi_rank"), bool):
        raise CorpusInvalid("multi_rank must be true or false")
    if entry["label"] not in LABELS:
        raise CorpusInvalid(f"{entry['label']!r} is none of the labels")
    return _case(entry)


def _case(entry: dict[str, object]) -> Case:
    """Build the case of an entry that was found without fault."""
    name, source, log, label = (cast("str", entry[key]) for key in _TEXTS)
    thread = entry.get("thread")
    return Case(
        id=name,
        source=source_of(source, thread if isinstance(thread, str) else ""),
        log=log,
        label=label,
        multi_rank=entry["multi_rank"] is True,
    )


def source_of(source: str, thread: str) -> str:
    """Return what groups the cases that are not independent: the repository, else the thread.

    Without either it is the text of the source up to its first comma or parenthesis.
    """
    repository = _REPOSITORY.search(source)
    if repository is not None:
        return repository[0]
    return thread or re.split(r"[,(]", source, maxsplit=1)[0].strip()
