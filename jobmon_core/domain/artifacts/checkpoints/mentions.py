"""Find where a program saves checkpoints, in its log or in the script that starts it."""

from __future__ import annotations

import re
from collections.abc import Iterable

_PATH = r"""['"`]?(?P<path>(?:/|\.{1,2}/|\w[\w.=@+-]*/)[^\s'"`,;:()]+|[\w.=@+-]+\.(?:pth|pt|ckpt|keras|h5))"""
_SAVED = re.compile(
    r"(?:\b(?:sav(?:ed?|ing)|wr(?:ote|iting)|writing|storing|stored)\b.{0,80}?"
    r"\b(?:checkpoint|ckpt|model|state|snapshot|weights)s?\b|\b(?:checkpoint|ckpt)s?\b.{0,40}?\bsav(?:ed|ing)\b)"
    r".{0,60}?(?:\b(?:to|at|in|as|into|under)\b|:)?\s*" + _PATH,
    re.IGNORECASE,
)
# Ray Train prints this for every worker that reports a checkpoint
_CREATED = re.compile(
    r"Checkpoint successfully created at: Checkpoint\(filesystem=local, path=(?P<path>[^\s,)]+)\)"
)
_OPTION = re.compile(
    r"(?:--?|\s)(?:output|save|work|checkpoint|ckpt|checkpoints|default[_-]root|hydra\.run)[_.-]?"
    r"(?:dir|path|folder)?(?:[= ]+)['\"]?(?P<path>[^\s'\"$\\;&|]+)",
    re.IGNORECASE,
)
_MAX_LINE = 2_000


def saved_paths(lines: Iterable[str]) -> list[str]:
    """Return the paths that log lines say a checkpoint was saved to, the latest last, each once."""
    found = (
        match["path"].rstrip(".")
        for line in lines
        for mention in (_SAVED, _CREATED)
        for match in mention.finditer(line[-_MAX_LINE:])
    )
    return list(dict.fromkeys(path for path in reversed(list(found)) if path.strip("./")))[::-1]


def named_folders(script: str) -> list[str]:
    """Return the folders that options in a job script name for outputs and checkpoints."""
    lines = (line for line in script.splitlines() if not line.lstrip().startswith("#"))
    found = (match["path"] for line in lines for match in _OPTION.finditer(line[:_MAX_LINE]))
    return list(dict.fromkeys(path for path in found if path.strip("./") and not path.startswith("-")))
