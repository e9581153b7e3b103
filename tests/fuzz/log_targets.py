"""What holds for everything that reads logs: bounded, readable lines, and evidence from the log."""

from __future__ import annotations

import gzip
import re

from jobmon_core.analysis.explain import explain
from jobmon_core.domain.logs.diagnosis.log_lines import LINE_LIMIT, LogExcerpt, clean_lines
from jobmon_core.domain.logs.diagnosis.model import SlurmEvidence
from jobmon_core.domain.redaction import redacted_lines
from jobmon_core.domain.slurm.states import JobState
from jobmon_core.observe.logs.rank_logs import read_error_file
from jobmon_core.observe.logs.read import HEAD_BYTES, TAIL_BYTES, read_head, read_tail
from tests.fuzz.choices import Choices
from tests.fuzz.folder import written

_CONTROL = re.compile(r"[\x00-\x08\x0a-\x1f\x7f-\x9f]")
_GAP = len(" ... ")
_PACKED = b"\x1f\x8b\x08"


def log(data: bytes) -> None:
    """Any log is read as lines without control codes, of bounded length, in their order."""
    path = str(written("job.log", data))
    tail, head = read_tail(path), read_head(path)
    _readable(tail)
    _readable(head)
    if data.startswith(_PACKED) or tail.problem:
        return
    assert tail.complete
    assert tail.texts == clean_lines(data.rstrip(b"\x00"))
    limit = 1 + data[0] % 64
    end, start = read_tail(path, limit), read_head(path, limit)
    for part in (end, start):
        _readable(part)
        assert sum(map(len, part.texts)) <= limit
    if end.texts and end.first_number:
        assert end.first_number + len(end.texts) - 1 == len(tail.texts)


def packed_log(data: bytes) -> None:
    """A gzip log is read as what it unpacks to, a damaged one up to the damage."""
    cut = int.from_bytes(data[:2], "little")
    packed = gzip.compress(data[2:], mtime=0, compresslevel=1)
    whole = read_tail(str(written("job.log.gz", packed + b"\x00" * (cut % 3))))
    plain = read_tail(str(written("job.log", data[2:])))
    if not data[2:].endswith(b"\x00") and not data[2:].startswith(_PACKED):
        assert (whole.texts, whole.problem) == (plain.texts, plain.problem)
    part = read_tail(str(written("job.log.gz", packed[: cut % (len(packed) + 1)])))
    _readable(part)
    _readable(read_head(str(written("job.log.gz", _PACKED + data))))
    _readable(read_tail(str(written("job.log.gz", packed[:10] + data))))


def _readable(part: LogExcerpt) -> None:
    texts = part.texts
    assert not (part.problem and texts)
    assert part.problem or texts
    assert part.first_number is None or part.first_number >= 1
    assert all(len(text) <= LINE_LIMIT + _GAP for text in texts)
    assert sum(map(len, texts)) <= TAIL_BYTES + HEAD_BYTES
    assert not any(map(_CONTROL.search, texts))


def error_file(data: bytes) -> None:
    """Any error file of torchrun is read as readable lines, or ignored."""
    excerpt = read_error_file(str(written("error.json", data)))
    if excerpt is not None:
        assert excerpt.first_number is None
        assert any(excerpt.texts)
        assert not any(map(_CONTROL.search, excerpt.texts))


def diagnosis(data: bytes) -> None:
    """Any log, with any evidence from Slurm, is explained by lines that occur in it."""
    draw = Choices(data[:4])
    evidence = SlurmEvidence(
        state=draw.pick(tuple(JobState)), exit_code=draw.maybe(draw.number()), signal=draw.maybe(9)
    )
    body = data[4:]
    first, _, second = body.partition(b"\x00\n")
    texts = {str(written(name, part)): part for name, part in (("a.out", first), ("b.err", second))}
    stdout, stderr = texts
    found = explain(evidence, stdout, stderr)
    assert found.title
    assert 0 <= found.confidence <= 1
    assert (found.cause is None) == (not found.fingerprint)
    assert not found.is_proved or found.evidence
    shown = [(line.file, line.number) for line in found.evidence]
    assert all(file in texts for file, _ in shown)
    if any(part.startswith(_PACKED) for part in texts.values()):
        return
    lines = {path: clean_lines(part.rstrip(b"\x00")) for path, part in texts.items()}
    there = tuple(lines[file][(number or 0) - 1] for file, number in shown)
    assert tuple(line.text for line in found.evidence) == redacted_lines(there)
