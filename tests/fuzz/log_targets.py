"""What holds of everything that reads logs: bounded lines that a person can read, and proof that is there."""

from __future__ import annotations

import gzip
import re

from jobmon_core.analysis.explain import explain
from jobmon_core.domain.diagnosis.log_text import LINE_LIMIT, clean_lines
from jobmon_core.domain.diagnosis.model import SlurmEvidence
from jobmon_core.domain.redaction import redacted_lines
from jobmon_core.domain.slurm.states import JobState
from jobmon_core.observe.logs.read import HEAD_BYTES, TAIL_BYTES, LogPart, read_head, read_tail
from jobmon_core.observe.logs.torchrun import read_error_file
from tests.fuzz.folder import written
from tests.fuzz.tape import Tape

_CONTROL = re.compile(r"[\x00-\x08\x0a-\x1f\x7f-\x9f]")
_GAP = len(" ... ")
_PACKED = b"\x1f\x8b\x08"


def log(data: bytes) -> None:
    """Any bytes where a log was give lines without codes, no longer than a screen can bear, in its order."""
    path = str(written("job.log", data))
    tail, head = read_tail(path), read_head(path)
    _readable(tail)
    _readable(head)
    if data.startswith(_PACKED) or tail.problem:
        return
    assert tail.complete
    assert tail.excerpt.texts == clean_lines(data.rstrip(b"\x00"))
    few = 1 + data[0] % 64
    end, start = read_tail(path, few), read_head(path, few)
    for part in (end, start):
        _readable(part)
        assert sum(map(len, part.excerpt.texts)) <= few
    if end.excerpt.texts and end.excerpt.first_number:
        assert end.excerpt.first_number + len(end.excerpt.texts) - 1 == len(tail.excerpt.texts)


def packed_log(data: bytes) -> None:
    """A packed log is read as what it unpacks to; one that was cut or damaged, up to there."""
    cut = int.from_bytes(data[:2], "little")
    packed = gzip.compress(data[2:], mtime=0, compresslevel=1)
    whole = read_tail(str(written("job.log.gz", packed + b"\x00" * (cut % 3))))
    plain = read_tail(str(written("job.log", data[2:])))
    if not data[2:].endswith(b"\x00") and not data[2:].startswith(_PACKED):
        assert (whole.excerpt.texts, whole.problem) == (plain.excerpt.texts, plain.problem)
    part = read_tail(str(written("job.log.gz", packed[: cut % (len(packed) + 1)])))
    _readable(part)
    _readable(read_head(str(written("job.log.gz", _PACKED + data))))
    _readable(read_tail(str(written("job.log.gz", packed[:10] + data))))


def _readable(part: LogPart) -> None:
    texts = part.excerpt.texts
    assert not (part.problem and texts)
    assert part.problem or texts
    assert part.excerpt.first_number is None or part.excerpt.first_number >= 1
    assert all(len(text) <= LINE_LIMIT + _GAP for text in texts)
    assert sum(map(len, texts)) <= TAIL_BYTES + HEAD_BYTES
    assert not any(map(_CONTROL.search, texts))


def error_file(data: bytes) -> None:
    """Any bytes where torchrun left its record give readable lines, or none."""
    found = read_error_file(str(written("error.json", data)))
    if found is not None:
        assert found.first_number is None
        assert any(found.texts)
        assert not any(map(_CONTROL.search, found.texts))


def diagnosis(data: bytes) -> None:
    """Any log, whatever Slurm says with it, is explained; the lines that are shown stand in it."""
    tape = Tape(data[:4])
    evidence = SlurmEvidence(
        state=tape.pick(tuple(JobState)),
        exit_code=tape.maybe(tape.number()),
        signal=tape.maybe(9),
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
