"""Read labelled logs: one JSON object per line.

Each object has the strings ``id``, ``source`` (where the log was found), ``log``, ``label`` (the root cause),
and the boolean ``multi_rank``. ``thread`` groups logs that are not independent. Other keys are ignored.
"""

from __future__ import annotations

import json
import re
from dataclasses import dataclass
from pathlib import Path

from jobmon_core.domain.logs.diagnosis.patterns import LABELS
from jobmon_core.system.json_codec import DecodeError, from_json

_REPOSITORY = re.compile(r"https://github\.com/[\w.-]+/[\w.-]+")


class CorpusInvalid(Exception):
    """The corpus cannot be read; the text says where and why."""


@dataclass(frozen=True, slots=True)
class Case:
    """A log with the label that a person gave it."""

    id: str
    source: str
    log: str
    label: str
    multi_rank: bool  # several ranks wrote the log, so that one failure may cause others
    thread: str | None = None

    @property
    def group(self) -> str:
        """The name that cases share if they depend on each other: a repository, else a thread, else a source.

        The name of a source ends at its first comma or parenthesis.
        """
        repository = _REPOSITORY.search(self.source)
        if repository is not None:
            return repository[0]
        return self.thread or re.split(r"[,(]", self.source, maxsplit=1)[0].strip()


def read_corpus(path: Path) -> tuple[Case, ...]:
    """Read all cases of a file.

    Raises:
        CorpusInvalid: the file cannot be read, is empty, or has an invalid line.
    """
    try:
        text = path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise CorpusInvalid(f"{path} cannot be read: {error}") from error
    cases = []
    for number, line in enumerate(text.split("\n"), start=1):  # a log may contain other line separators
        if line.strip():
            try:
                cases.append(parse_case(line))
            except CorpusInvalid as error:
                raise CorpusInvalid(f"{path}, line {number}: {error}") from error
    if not cases:
        raise CorpusInvalid(f"{path} has no cases")
    return tuple(cases)


def parse_case(line: str) -> Case:
    """Parse one line of a corpus.

    Raises:
        CorpusInvalid: the line is not a case.
    """
    try:
        case = from_json(Case, json.loads(line))
    except DecodeError as error:
        raise CorpusInvalid(str(error)) from error
    except (json.JSONDecodeError, RecursionError) as error:
        raise CorpusInvalid(f"not valid JSON: {error}") from error
    if case.label not in LABELS:
        raise CorpusInvalid(f"unknown label {case.label!r}")
    return case
