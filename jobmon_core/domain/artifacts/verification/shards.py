"""Sets of outputs with numbers, such as ``part-00003-of-00008``, and which of their numbers are missing."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

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
class ShardSet:
    """Files whose names differ in one number."""

    pattern: str  # their name with ``*`` in place of the number
    numbers: frozenset[int]  # those that are there
    total: int  # how many there should be

    @property
    def missing(self) -> int:
        """How many are missing."""
        return max(0, self.total - len(self.numbers))

    @property
    def missing_numbers(self) -> tuple[int, ...]:
        """The missing numbers; empty if it is not clear whether they count from 0 or from 1."""
        if 0 not in self.numbers and self.total not in self.numbers:
            return ()
        first = 0 if 0 in self.numbers else 1
        return tuple(each for each in range(first, first + self.total) if each not in self.numbers)


def shard_sets(
    names: Iterable[str], expected: int | None = None, workers: int | None = None
) -> list[ShardSet]:
    """Return the sets of shards among ``names`` whose total is known, each with at least one number.

    If no name states a total, that of the only set is ``expected``, the number of outputs that the user
    expects. Otherwise, the total of names such as ``rank_3`` is ``workers``, the number of workers, but only
    if there are several such names: often only one worker writes.
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
