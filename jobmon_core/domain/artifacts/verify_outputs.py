"""Judge the outputs of an ended job: complete or not, damaged or not; in words for the message.

A file from before the run does not count, however well its name fits. Of a folder that only the log or the
script names, hard evidence alone casts doubt: a file of a format that marks its end, and that lacks this end.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace

from jobmon_core.domain.artifacts.checkpoints.model import Checkpoint
from jobmon_core.domain.artifacts.model import (
    SMALLER,
    UNEVEN_ROWS,
    FileCheck,
    FileVerdict,
    ListedFile,
    name_of,
    suffix_of,
)
from jobmon_core.domain.humanize import count, listed, size
from jobmon_core.domain.logs.diagnosis.model import DAMAGED_OUTPUTS, MISSING_OUTPUTS

_NAMED, _NAMED_MISSING = 4, 8  # at most so many damaged files are named in an explanation
_UNFINISHED = (".tmp", ".temp", ".part", ".partial", ".lock", ".incomplete")
_MARKS_ITS_END = (  # suffixes of formats that say how long a file is, or end with a mark
    *(".safetensors", ".npz", ".npy", ".pt", ".pth", ".ckpt", ".keras", ".zip"),
    *(".gz", ".tgz", ".tar", ".parquet", ".h5", ".hdf5"),
)
# e.g. part-00003-of-00008, shard_3_of_8: the name itself says how many there are
_OF_TOTAL = re.compile(r"(?<!\d)(\d{1,6})([-_. ]?of[-_. ]?)(\d{1,6})(?!\d)", re.IGNORECASE)
# a number after such a word is that of a part; the name does not say how many there are
_OF_WORD = re.compile(
    r"(?<![A-Za-z])((?:worker|rank|shard|part|chunk|split|proc|process|task)[-_.]?)(\d{1,6})(?!\d)",
    re.IGNORECASE,
)
_OF_TIME = re.compile(r"(?:epoch|step|iter|iteration|round|trial|try|day)[-_. ]?$", re.IGNORECASE)
_WORKERS = ("worker", "rank", "proc", "task")
_MIN_TOTAL, _MAX_TOTAL = 2, 100_000


@dataclass(frozen=True, slots=True)
class Found:
    """What is there after the end of the job, and what there should be, as the user says."""

    folder: str = ""
    files: tuple[ListedFile, ...] = ()  # written by this run; the names are within the folder
    stale: tuple[ListedFile, ...] = ()  # from before the run
    checks: tuple[FileCheck, ...] = ()  # of some of the files
    is_partial: bool = False
    wrote_nothing: bool = False  # the run wrote no file anywhere in the named folder
    missing_results: tuple[str, ...] = ()
    stale_results: tuple[str, ...] = ()
    checkpoint: Checkpoint | None = None  # of this run
    expected: int | None = None  # outputs
    workers: int | None = None
    is_named: bool = True  # else the log or the script named the folder


@dataclass(frozen=True, slots=True)
class Judgement:
    """What the outputs show."""

    summary: str = ""  # e.g. ``8 of 8 shards, 1.2 GiB``
    is_verified: bool = False
    cause: str = ""  # the cause of a doubtful success
    what_failed: str = ""  # completes "completed, but ...", e.g. ``3 of 8 shards are missing``
    explanation: str = ""


def judge_outputs(found: Found) -> Judgement:
    """Return what the outputs of a job show after its end."""
    sets = shard_sets([file.name for file in found.files], found.expected, found.workers)
    gaps: list[tuple[str, str]] = []  # what is missing, and a sentence about it
    if found.is_named:
        gaps = [*_missing(found, sets), *_unusable(found)]
    facts, details, cause = [fact for fact, _ in gaps], [detail for _, detail in gaps], ""
    damaged = [check for check in found.checks if _is_damaged(check, found, sets)]
    if damaged:
        facts.append(_damage(damaged))
        details.append(_reasons(damaged))
        cause = DAMAGED_OUTPUTS
    if gaps:
        cause = MISSING_OUTPUTS
    return Judgement(
        _summary(found, sets, damaged),
        found.is_named and not facts and _are_shown_whole(found, sets),
        cause,
        " and ".join(facts),
        " ".join(filter(None, details)),
    )


def _are_shown_whole(found: Found, sets: Sequence[ShardSet]) -> bool:
    if any(check.verdict is FileVerdict.VALID for check in found.checks):
        return True
    if found.checkpoint and found.checkpoint.is_complete:
        return True
    return not found.is_partial and (found.expected is not None or any(not each.missing for each in sets))


def _missing(found: Found, sets: Sequence[ShardSet]) -> list[tuple[str, str]]:
    gaps: list[tuple[str, str]] = []
    if not found.is_partial:
        # a single shard may be all that this job makes: some users run one job for each shard
        are_several = (found.expected or 0) > 1
        counted = [each for each in sets if are_several or len(each.numbers) > 1]
        gaps = [_gap(each, found) for each in counted if each.missing]
        is_counted = any(found.expected == each.total for each in sets)
        if found.expected and not gaps and not is_counted and len(found.files) < found.expected:
            return [_shortfall(found.expected, len(found.files), found)]
    if found.wrote_nothing and not gaps:
        return [("it wrote no output", f"No file in {found.folder} is from this run.")]
    return gaps


def _unusable(found: Found) -> Iterator[tuple[str, str]]:
    saved = found.checkpoint
    if saved and saved.is_complete is False and SMALLER not in saved.why:
        fact = f"its newest checkpoint {name_of(saved.path)} is incomplete"
        yield fact, f"Checkpoint {saved.path}: {saved.why}."
    if found.missing_results:
        yield _are(found.missing_results, "missing"), ""
    if found.stale_results:
        yield _are(found.stale_results, "older than this run"), ""


def _gap(shards: ShardSet, found: Found) -> tuple[str, str]:
    stale = {*_numbers(shards, found.stale)} - shards.numbers
    what = f"{shards.missing} of {shards.total} shards {_is_or_are(shards.missing)}"
    numbers = shards.missing_numbers
    detail = (
        f"The run left {len(shards.numbers)} of {shards.total} files of {shards.pattern} in {found.folder}"
    )
    if not numbers:
        if stale:
            detail += f"; {count(len(stale), 'other file')} of this pattern from before the run"
        return f"{what} missing", f"{detail}."
    missing, left = listed([str(each) for each in numbers], _NAMED_MISSING), len(stale & {*numbers})
    if left == shards.missing:
        return f"{what} older than this run", f"Shards {missing} of {shards.pattern} are older."
    detail += f"; missing: {missing}"
    if left:
        detail += f"; {left} of these are left from before the run"
    return f"{what} missing", f"{detail}."


def _is_or_are(number: int) -> str:
    return "is" if number == 1 else "are"


def _numbers(shards: ShardSet, files: Sequence[ListedFile]) -> list[int]:
    before, _, after = shards.pattern.partition("*")
    names = (file.name for file in files if file.name.startswith(before) and file.name.endswith(after))
    middles = (name[len(before) : len(name) - len(after)] for name in names)
    return [int(each) for each in middles if each.isascii() and each.isdigit()]


def _shortfall(expected: int, written: int, found: Found) -> tuple[str, str]:
    missing = expected - written
    detail = f"The job configuration expects {expected}; {found.folder} holds {written} from this run"
    if found.stale:
        detail += f", and {count(len(found.stale), 'file')} from before it"
    return f"{missing} of {count(expected, 'output')} {_is_or_are(missing)} missing", f"{detail}."


def _is_damaged(check: FileCheck, found: Found, sets: Sequence[ShardSet]) -> bool:
    suffix = suffix_of(check.path)
    if not check.is_bad or suffix in _UNFINISHED or UNEVEN_ROWS in check.why:
        return False
    if not found.is_named:
        return check.verdict is FileVerdict.TRUNCATED and suffix in _MARKS_ITS_END
    if check.verdict is not FileVerdict.EMPTY:
        return True
    # an empty file may be a mere mark, e.g. _SUCCESS, unless it is named like data or one of several parts
    file = ListedFile(name_of(check.path))
    is_part = any(_numbers(replace(each, pattern=name_of(each.pattern)), (file,)) for each in sets)
    return bool(check.format) or suffix in _MARKS_ITS_END or is_part


def _damage(damaged: Sequence[FileCheck]) -> str:
    if len(damaged) > 1:
        return f"{len(damaged)} outputs are damaged"
    words = {FileVerdict.EMPTY: "empty", FileVerdict.TRUNCATED: "truncated"}
    return f"{name_of(damaged[0].path)} is {words.get(damaged[0].verdict, 'damaged')}"


def _reasons(damaged: Sequence[FileCheck]) -> str:
    reasons = [f"{name_of(check.path)} {check.why}" for check in damaged]
    return f"{listed(reasons, _NAMED, '; ')}."


def _summary(found: Found, sets: Sequence[ShardSet], damaged: Sequence[FileCheck]) -> str:
    parts = []
    others, noun = len(found.files), "file"
    if len(sets) == 1:
        parts.append(f"{len(sets[0].numbers)} of {sets[0].total} shards")
        others, noun = others - len(sets[0].numbers), "other file"
    if others:
        least = "at least " if found.is_partial else ""
        parts.append(f"{least}{count(others, noun)}")
    if found.files:
        parts.append(size(sum(file.size_bytes for file in found.files)))
        if valid := sum(
            each.verdict is FileVerdict.VALID and _is_output(each, found) for each in found.checks
        ):
            parts.append(f"{valid} valid")
        if damaged:
            parts.append(f"{len(damaged)} damaged")
    elif not found.checkpoint and (found.stale or found.wrote_nothing):
        return "none from this run"
    if found.checkpoint:
        state = {True: "complete", False: "incomplete", None: "not checked"}[found.checkpoint.is_complete]
        parts.append(f"newest checkpoint {name_of(found.checkpoint.path)} ({state})")
    return ", ".join(parts)


def _is_output(check: FileCheck, found: Found) -> bool:
    return any(check.path == f"{found.folder}/{file.name}" for file in found.files)


def _are(names: Sequence[str], what: str) -> str:
    if len(names) == 1:
        return f"its result {names[0]} is {what}"
    return f"{len(names)} of its results are {what} ({listed(names, _NAMED_MISSING)})"


@dataclass(frozen=True, slots=True)
class ShardSet:
    """Files whose names differ in one number."""

    pattern: str  # their name with ``*`` in place of the number
    numbers: frozenset[int]  # those that are there
    total: int

    @property
    def missing(self) -> int:
        """How many are missing."""
        return max(0, self.total - len(self.numbers))

    @property
    def missing_numbers(self) -> tuple[int, ...]:
        """None if it is not clear whether they count from 0 or from 1."""
        if 0 not in self.numbers and self.total not in self.numbers:
            return ()
        first = 0 if 0 in self.numbers else 1
        return tuple(each for each in range(first, first + self.total) if each not in self.numbers)


def shard_sets(
    names: Iterable[str], expected: int | None = None, workers: int | None = None
) -> list[ShardSet]:
    """Return the sets of shards among ``names`` whose total is known, each with at least one number.

    If no name states a total, that of the only set is ``expected``; else the total of names such as
    ``rank_3`` is ``workers``, but only if there are several such names: often only one worker writes.
    """
    of_total: dict[tuple[str, int], set[int]] = {}
    of_word: dict[tuple[str, bool], set[int]] = {}
    for name in names:
        if (found := _last(_OF_TOTAL, name)) and not _OF_TIME.search(name[: found.start()]):
            number, total = int(found[1]), int(found[3])
            if _MIN_TOTAL <= total <= _MAX_TOTAL and number <= total:
                pattern = f"{name[: found.start(1)]}*{name[found.end(1) :]}"
                of_total.setdefault((pattern, total), set()).add(number)
        elif found := _last(_OF_WORD, name):
            pattern = f"{name[: found.start(2)]}*{name[found.end(2) :]}"
            is_of_workers = found[1].lower().startswith(_WORKERS)
            of_word.setdefault((pattern, is_of_workers), set()).add(int(found[2]))
    sets = [ShardSet(pattern, frozenset(numbers), total) for (pattern, total), numbers in of_total.items()]
    return [*sets, *_with_known_total(of_word, None if sets else expected, workers)]


def _with_known_total(
    found: dict[tuple[str, bool], set[int]], expected: int | None, workers: int | None
) -> Iterator[ShardSet]:
    for (pattern, is_of_workers), numbers in found.items():
        of_workers = workers if is_of_workers and len(numbers) > 1 else None
        total = expected if len(found) == 1 and expected else of_workers
        if total and max(numbers) <= total >= _MIN_TOTAL:
            yield ShardSet(pattern, frozenset(numbers), total)


def _last(regex: re.Pattern[str], name: str) -> re.Match[str] | None:
    """Return the last match in the last part of a path: a folder is often numbered as well."""
    start = name.rfind("/") + 1
    return max(regex.finditer(name, start), key=lambda match: match.start(), default=None)
