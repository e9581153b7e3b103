"""The lines of all logs of a job as one sequence of texts; a ``Line`` is created on access."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from hashlib import sha256
from itertools import accumulate, chain

from jobmon_core.domain.logs.diagnosis.log_text import (
    LABEL_STARTS,
    PADDED_RANK,
    host_labels,
    searched_text,
    without_label,
)
from jobmon_core.domain.logs.diagnosis.model import EarlierLog, Line


@dataclass(frozen=True, slots=True)
class LogExcerpt:
    """Consecutive lines of one file."""

    path: str
    texts: tuple[str, ...] = ()
    first_number: int | None = 1  # of the first line; None if the lines before it were not counted

    def as_earlier_log(self) -> EarlierLog | None:
        """Return what shows later which lines were appended; None without lines or without their numbers."""
        if self.first_number is None or not self.texts:
            return None
        return EarlierLog(self.first_number + len(self.texts) - 1, _hash(self.texts[-1]))

    def appended_to(self, earlier: EarlierLog | None) -> LogExcerpt:
        """Return the lines after those of ``earlier``; all if the excerpt lacks the last one of those."""
        if earlier is None or self.first_number is None:
            return self
        last = earlier.lines - self.first_number
        if last not in range(len(self.texts)) or _hash(self.texts[last]) != earlier.last_line:
            return self
        return LogExcerpt(self.path, self.texts[last + 1 :], earlier.lines + 1)


def _hash(line: str) -> str:
    return sha256(line.encode(errors="replace")).hexdigest()[:16]


class LogLines:
    """The lines of several excerpts, one excerpt after the other."""

    def __init__(self, excerpts: Sequence[LogExcerpt]) -> None:
        """Join ``excerpts`` in their order."""
        self.excerpts = tuple([excerpt for excerpt in excerpts if excerpt.texts])
        self.texts = tuple(chain.from_iterable([excerpt.texts for excerpt in self.excerpts]))
        self._ends = tuple(accumulate([len(excerpt.texts) for excerpt in self.excerpts]))

    @cached_property
    def unprefixed(self) -> tuple[str, ...]:
        """The texts to match patterns with, without the labels of the ranks that printed them."""
        if hosts := self._hosts:
            return tuple([searched_text(text, hosts) for text in self.texts])
        # the first characters rule out a label in nearly every line, which is faster than the regex
        return tuple(
            [
                searched_text(text)
                if text[:1] in LABEL_STARTS or (text[:1] == " " and PADDED_RANK.match(text))
                else text
                for text in self.texts
            ]
        )

    @cached_property
    def _hosts(self) -> frozenset[str]:
        return host_labels(self.texts)

    @cached_property
    def labels(self) -> tuple[str, ...]:
        """For each line the label of the rank that printed it; empty without a label."""
        if self.unprefixed == self.texts:
            return ("",) * len(self.texts)
        return tuple(
            "" if text == unprefixed else text[: len(text) - len(without_label(text, self._hosts))]
            for text, unprefixed in zip(self.texts, self.unprefixed, strict=True)
        )

    def __len__(self) -> int:
        return len(self.texts)

    def __getitem__(self, position: int) -> Line:
        text = self.texts[position]
        excerpt = self.excerpts[bisect_right(self._ends, position)]
        number = excerpt.first_number
        if number is not None:
            number += position - self.excerpt_range(position).start
        return Line(excerpt.path, number, text)

    def excerpt_range(self, position: int) -> range:
        """Return the positions of all lines in the excerpt that contains ``position``."""
        index = bisect_right(self._ends, position)
        end = self._ends[index]
        return range(end - len(self.excerpts[index].texts), end)
