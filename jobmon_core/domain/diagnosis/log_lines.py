"""The lines of all logs of a job as one sequence of texts; a ``Line`` is created on access."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import accumulate, chain

from jobmon_core.domain.diagnosis.log_text import LABEL_STARTS, without_label
from jobmon_core.domain.diagnosis.model import Line


@dataclass(frozen=True, slots=True)
class LogExcerpt:
    """Consecutive lines of one file."""

    path: str
    texts: tuple[str, ...] = ()
    first_number: int | None = 1  # of the first line; None if the lines before it were not counted


class LogLines:
    """The lines of several excerpts, one excerpt after the other."""

    def __init__(self, excerpts: Sequence[LogExcerpt]) -> None:
        """Join ``excerpts`` in their order."""
        self.excerpts = tuple([excerpt for excerpt in excerpts if excerpt.texts])
        self.texts = tuple(chain.from_iterable([excerpt.texts for excerpt in self.excerpts]))
        self._ends = tuple(accumulate([len(excerpt.texts) for excerpt in self.excerpts]))

    @cached_property
    def unprefixed(self) -> tuple[str, ...]:
        """The texts without the labels of the ranks that printed them."""
        # the first character rules out a label in nearly every line, which is faster than the regex
        return tuple([without_label(text) if text[:1] in LABEL_STARTS else text for text in self.texts])

    @cached_property
    def labels(self) -> tuple[str, ...]:
        """For each line the label of the rank that printed it; empty without a label."""
        if self.unprefixed == self.texts:
            return ("",) * len(self.texts)
        return tuple(
            text[: len(text) - len(unlabelled)]
            for text, unlabelled in zip(self.texts, self.unprefixed, strict=True)
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
