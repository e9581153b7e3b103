"""Where a job writes its outputs, by the words of its log and the options in its script.

These are guesses: a caller uses a path only if it exists and was written by this run. Only phrases that name
a place to write to count: ``Saving model checkpoint to X``, ``output_dir: X``, ``--save_dir X``.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping

from jobmon_core.domain.artifacts.model import name_of, parent_of

_SAVED_PATH = (
    r"""['"`]?(?P<path>(?:/|\.{1,2}/|\w[\w.=@+-]*/)[^\s'"`,;:()]+|[\w.=@+-]+\.(?:pth|pt|ckpt|keras|h5)"""
    r"|(?:checkpoint|ckpt|global_step|step|epoch|iter)[-_]?\d[\w.=+-]*)"
)
_SAVED = re.compile(
    r"(?:\b(?:sav(?:ed?|ing)|wr(?:ote|iting)|writing|storing|stored)\b.{0,80}?"
    r"\b(?:checkpoint|ckpt|model|state|snapshot|weights)s?\b|\b(?:checkpoint|ckpt)s?\b.{0,40}?\bsav(?:ed|ing)\b)"
    r".{0,60}?(?:\b(?:to|at|in|as|into|under)\b|:)?\s*" + _SAVED_PATH,
    re.IGNORECASE,
)

_FOLDER = (
    r"(?:output|out|save|saving|checkpoint|ckpt|checkpoints|results?|export|dump|model_output)[-_]?"
    r"(?:dir|directory|folder|path)"
)
_PATH = r"[\"'`]?(?P<path>[^\s\"'`,;()\[\]{}<>|*?=$]+)"
# an option on a command line, e.g. --output_dir X, --out=X, -o X, hydra.run.dir=X
_OPTION = re.compile(
    rf"(?:^|\s)(?:--(?:{_FOLDER}|output|out|outdir|save|default_root_dir|work[-_]dir)(?:\s+|=)|-o\s+|hydra\.run\.dir=)"
    rf"{_PATH}",
    re.IGNORECASE,
)
# a setting in a printed configuration, e.g. "output_dir": "X", save_dir=X, output_dir ........ X
_SETTING = re.compile(
    rf"(?:^|[\s\"'(,{{.])(?:{_FOLDER}|outdir|hydra\.run\.dir)[\"']?(?:\s*[:=]\s*|\s\.{{3,}}\s){_PATH}",
    re.IGNORECASE,
)
# a sentence, e.g. Saving model checkpoint to X; Results written to X; Model weights saved in X
_SENTENCE = re.compile(
    r"\b(?:sav(?:ed?|ing)|wrote|writ(?:e|ing|ten)|export(?:ed|ing)?|dump(?:ed|ing)|stor(?:ed|ing))\b"
    r"(?:[^\n\"'`/]{0,60}\b(?:to|in|into|at|as|under)\b)?"
    rf"(?: (?:the )?(?:file|folder|directory|disk|model|checkpoint|weights|results?))?:? {_PATH}",
    re.IGNORECASE,
)
# Ray Train prints this for every worker that reports a checkpoint
CREATED = re.compile(
    r"Checkpoint successfully created at: Checkpoint\(filesystem=local, path=(?P<path>[^\s,)]+)\)"
)
_MUST_HOLD = re.compile(r"sav|writ|wrote|export|dump|stor|output|out|dir|path|folder", re.IGNORECASE)
_NEGATED = re.compile(r"\b(?:not|cannot|couldn't|failed|error|unable|would|load(?:ed|ing)?)\b", re.IGNORECASE)
_FILE = re.compile(r"\.[A-Za-z][A-Za-z0-9]{1,12}$")
_OF_ONE_CHECKPOINT = re.compile(
    r"^(?:checkpoint|ckpt|step|epoch|iter|global_?step|version)[-_=]?\d+(?:-unsharded|-\d\d-\d\d_[\d.-]+)?$",
    re.IGNORECASE,
)
_WORD = re.compile(r"[\w.-]*[A-Za-z][\w.-]*")
_NO_PATH = (
    "none",
    "null",
    "nil",
    "true",
    "false",
    "auto",
    "default",
    "stdout",
    "stderr",
    "str",
    "path",
    "yes",
    "no",
)
# what programs write beside their outputs: run logs of trackers, caches
_NOT_OUTPUT = re.compile(
    r"(?:^|/)(?:wandb|mlruns|swanlog|\.[^./][^/]*|[^/]*cache[^/]*|site-packages)(?:/|$)", re.IGNORECASE
)
_ASSIGNED = re.compile(
    r"\s*(?:export\s+|readonly\s+|local\s+)?([A-Za-z_]\w*)=(\"[^\"\n]*\"|'[^'\n]*'|[^\s;&|]*)"
)
_VARIABLE = re.compile(r"\$(?:\{([A-Za-z_]\w*)\}|([A-Za-z_]\w*))")
_MAX_LINE = 2000


def paths_in_log(lines: Iterable[str]) -> Iterator[str]:
    """Yield the paths to which a log says that something is or will be written."""
    for line in lines:
        if len(line) > _MAX_LINE or not _MUST_HOLD.search(line):
            continue
        for match in (*_SETTING.finditer(line), *_OPTION.finditer(line), *CREATED.finditer(line)):
            if path := _plausible(match["path"], is_named=True):
                yield path
        if not _NEGATED.search(line):
            yield from filter(None, (_plausible(match["path"]) for match in _SENTENCE.finditer(line)))


def paths_in_script(text: str, variables: Mapping[str, str]) -> Iterator[str]:
    """Yield the paths that options in a job script name, given the variables of the job's environment.

    Plain assignments are followed; a path ends before the first variable that is not known.
    """
    for line, _ in script_lines(text, variables):
        for match in _OPTION.finditer(line):
            if path := _plausible(match["path"], is_named=True):
                yield path


def script_lines(text: str, variables: Mapping[str, str]) -> Iterator[tuple[str, Mapping[str, str]]]:
    """Yield the lines of a job script with the values of variables, and all variables that are known then."""
    known = dict(variables)
    for line in text.replace("\\\n", " ").split("\n"):
        if line.lstrip().startswith("#") or len(line) > _MAX_LINE:
            continue
        assigned = _ASSIGNED.match(line)
        while assigned:  # export A=1 B=2
            value = assigned[2]
            known[assigned[1]] = value if value.startswith("'") else _expanded(value, known)
            assigned = _ASSIGNED.match(line, assigned.end())
        yield _expanded(line, known), known


def likely_folders(paths: Iterable[str]) -> list[str]:
    """Return the folders in which to look for outputs: first the one that holds most of the paths."""
    found = list(dict.fromkeys(paths))
    folders = dict.fromkeys(map(folder_of, found))
    held = {
        folder: sum(path == folder or path.startswith(f"{folder}/") for path in found) for folder in folders
    }
    return sorted(folders, key=lambda folder: -held[folder])


def folder_of(path: str) -> str:
    """Return the folder of outputs, given a path that a program writes to."""
    name = name_of(path)
    if not (_FILE.search(name) or _OF_ONE_CHECKPOINT.search(name)):
        return path
    folder = parent_of(path)
    if _OF_ONE_CHECKPOINT.search(name_of(folder)):
        return parent_of(folder)
    return folder


def _plausible(path: str, *, is_named: bool = False) -> str:
    """Return a path without the punctuation of its sentence; empty if it is probably not a path to outputs.

    A single word counts only as the value of an option or a setting: in a sentence, it may mean anything.
    """
    path = path.rstrip(".:!/")
    is_word = bool(_WORD.fullmatch(path)) and path.lower() not in _NO_PATH
    is_place = "/" in path.lstrip("/") or (is_named and (is_word or path.startswith("/")))
    is_elsewhere = "://" in path or path.startswith(("-", "/dev/", "/proc/")) or _NOT_OUTPUT.search(path)
    if is_place and not is_elsewhere:
        return path
    return ""


def _expanded(text: str, known: Mapping[str, str]) -> str:
    return _VARIABLE.sub(lambda found: known.get(found[1] or found[2], found[0]), text).strip("\"'")


def saved_paths(lines: Iterable[str]) -> list[str]:
    """Return the paths that log lines say a checkpoint was saved to, the latest last, each once."""
    found = (
        match["path"].rstrip(".")
        for line in lines
        for mention in (_SAVED, CREATED)
        for match in mention.finditer(line[-_MAX_LINE:])
    )
    return list(dict.fromkeys(path for path in reversed(list(found)) if path.strip("./")))[::-1]
