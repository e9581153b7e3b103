"""Job ids as Slurm writes them: ``12``, ``12_3``, ``12_[1-9:2,12%4]``, ``12+1``; and as PBS does."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator
from dataclasses import dataclass
from itertools import pairwise

_NUMBER = r"([0-9]{1,10})"
# a job, array task, component, or pending tasks, whose list squeue may cut off; then the suffix of a step
_REF = re.compile(rf"{_NUMBER}(?:_{_NUMBER}|\+{_NUMBER}|_\[([^\]]*)\]?)?(?:\.\w+)?")
# PBS: 12.server, a subjob 12[3].server, a whole array 12[].server
_PBS_ID = re.compile(rf"{_NUMBER}(?:\[{_NUMBER}?\])?(?:\.[A-Za-z][\w.-]*)?", re.ASCII)
_MAX_LISTED = 1_000  # words of a command line
_KEY = re.compile(rf"\+?{_NUMBER}")
_SPAN = re.compile(rf"{_NUMBER}(?:-{_NUMBER}(?::{_NUMBER})?)?")


@dataclass(frozen=True, slots=True)
class IndexSet:
    """The indices of an array as ranges: ``1-100000`` takes no more memory than ``1-2``."""

    spans: tuple[range, ...]

    @classmethod
    def parse(cls, expression: str) -> IndexSet:
        """Read ``1-9:2,12%4``; the throttle and invalid spans are ignored."""
        matches = (_SPAN.fullmatch(part) for part in expression.split("%", 1)[0].split(","))
        spans = (_span(match) for match in matches if match)
        return cls(tuple(span for span in spans if span))

    def __contains__(self, index: object) -> bool:
        return any(index in span for span in self.spans)

    def __iter__(self) -> Iterator[int]:
        for span in self.spans:
            yield from span

    def __len__(self) -> int:
        return sum(len(span) for span in self.spans)

    def __str__(self) -> str:
        return ",".join(_expression(span) for span in self.spans)

    def without(self, indices: Collection[int]) -> IndexSet:
        """The others of them."""
        spans = []
        for span in self.spans:
            cuts = sorted(span.index(index) for index in indices if index in span)
            spans += [span[last + 1 : cut] for last, cut in pairwise((-1, *cuts, len(span)))]
        return IndexSet(tuple(span for span in spans if span))


def _span(match: re.Match[str]) -> range:
    first, last, step = match.groups()
    return range(int(first), int(last or first) + 1, max(1, int(step or 1)))


def _expression(span: range) -> str:
    if len(span) == 1:
        return str(span[0])
    return f"{span[0]}-{span[-1]}" + (f":{span.step}" if span.step > 1 else "")


def compact(indices: list[int]) -> str:
    """Slurm's short form: ``1-3,7``."""
    spans: list[range] = []
    for index in sorted(set(indices)):
        if spans and spans[-1].stop == index:
            spans[-1] = range(spans[-1].start, index + 1)
        else:
            spans.append(range(index, index + 1))
    return str(IndexSet(tuple(spans)))


@dataclass(frozen=True, slots=True)
class JobRef:
    """A job, a task of an array, or a component of a heterogeneous job."""

    job_id: int
    task: int | None = None
    component: int | None = None

    @classmethod
    def parse(cls, text: str) -> JobRef:
        """Read one id as users, Slurm and PBS write it, without the suffix of a step or the server of PBS."""
        if of_pbs := _PBS_ID.fullmatch(text.strip()):
            return cls(int(of_pbs[1]), int(of_pbs[2]) if of_pbs[2] else None)
        match = _REF.fullmatch(text.strip())
        if match is None or match[4] is not None:
            expected = f"{match[1]} is that of the whole array" if match else (
                "expected 12, 12_3 (array task) or 12+1 (het job component)"
            )  # fmt: skip
            raise ValueError(f"{text!r} is not the id of one job; {expected}")
        return cls(int(match[1]), int(match[2]) if match[2] else None, int(match[3]) if match[3] else None)

    @property
    def key(self) -> str:
        """``""`` for the whole job, ``"3"`` for a task, ``"+1"`` for a component."""
        if self.task is not None:
            return str(self.task)
        if self.component is None:
            return ""
        return f"+{self.component}"

    def __str__(self) -> str:
        if self.task is not None:
            return f"{self.job_id}_{self.task}"
        return f"{self.job_id}{self.key}"


def pbs_id(ref: JobRef, server: str = "", *, is_array: bool = False) -> str:
    """The id for the commands of PBS, by default of its default server: ``12``, ``12[3]``, ``12[]``."""
    index = "[]" if is_array and ref.task is None else ""
    if ref.task is not None:
        index = f"[{ref.task}]"
    return f"{ref.job_id}{index}" + (f".{server}" if server else "")


def parse_listed(text: str) -> tuple[JobRef, IndexSet | None]:
    """A listed job id and None; for pending tasks, the array's id and their indices."""
    match = _REF.fullmatch(text.strip())
    if match is None:
        raise ValueError(f"{text!r} is not a Slurm job id")
    if match[4] is None:
        return JobRef.parse(text), None
    return JobRef(int(match[1])), IndexSet.parse(match[4])


def each_task(word: str) -> list[str]:
    """The ids that a word such as ``12_[1-3]`` lists; else the word."""
    try:
        ref, indices = parse_listed(word)
    except ValueError:
        return [word]
    if not indices or len(indices) > _MAX_LISTED:
        return [word]
    return [str(JobRef(ref.job_id, task=index)) for index in indices]


def ref_of(job_id: int, key: str) -> JobRef:
    """By a `JobRef.key`; the whole job if that is empty or invalid."""
    if not _KEY.fullmatch(key):
        return JobRef(job_id)
    if key.startswith("+"):
        return JobRef(job_id, component=int(key))
    return JobRef(job_id, task=int(key))


def includes(indices: IndexSet | None, key: str) -> bool:
    """Whether ``key`` names an array task with one of these indices."""
    return indices is not None and key.isdigit() and int(key) in indices
