from __future__ import annotations

import gzip
import tempfile
import time
import tracemalloc
import zlib
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from jobmon_core.domain.logs.diagnosis.log_lines import LogExcerpt, LogLines
from jobmon_core.observe.logs.read import read_head, read_tail

LOG = b"".join(b"step %d: loss 0.%d\n" % (n, n * 7919 % 10007) for n in range(1, 5001))
MEBI = 2**20


def numbered(part: LogExcerpt) -> list[tuple[int | None, str]]:
    lines = LogLines([part])
    return [(lines[n].number, lines[n].text) for n in range(len(lines))]


def compressed(folder: Path, data: bytes, name: str = "job.log") -> str:
    path = folder / name
    path.write_bytes(data)
    return str(path)


@pytest.mark.parametrize("name", ["job.log.gz", "job.log"])
def test_a_compressed_log_is_recognised_by_its_content(tmp_path: Path, name: str) -> None:
    part = read_tail(compressed(tmp_path, gzip.compress(b"one\ntwo\n"), name))
    assert numbered(part) == [(1, "one"), (2, "two")]
    assert (part.complete, part.note) == (True, "")


def test_both_ends_of_a_compressed_log_are_numbered_like_the_plain_log(tmp_path: Path) -> None:
    plain, small = compressed(tmp_path, LOG, "plain"), compressed(tmp_path, gzip.compress(LOG), "compressed")
    for max_bytes in (100, 5000, len(LOG) - 1, len(LOG), 10**6):
        for read in (read_tail, read_head):
            seen, expected = read(small, max_bytes), read(plain, max_bytes)
            assert numbered(seen) == numbered(expected)
            assert seen.complete == expected.complete


def test_several_gzip_members_with_zeros_at_the_end_are_one_log(tmp_path: Path) -> None:
    padded = gzip.compress(b"one\n") + gzip.compress(b"") + gzip.compress(b"two\n") + bytes(200_000)
    part = read_tail(compressed(tmp_path, padded))
    assert (part.texts, part.note) == (("one", "two"), "")


def test_a_truncated_log_is_read_up_to_the_cut(tmp_path: Path) -> None:
    whole = gzip.compress(LOG)
    part = read_tail(compressed(tmp_path, whole[: len(whole) // 2]), 10**6)
    assert len(part.texts) > 1000
    assert LOG.decode().startswith("\n".join(part.texts))
    assert "cut off" in part.note
    assert not part.complete


def test_a_damaged_log_is_read_up_to_the_damage(tmp_path: Path) -> None:
    bare = zlib.compressobj(wbits=16 + zlib.MAX_WBITS)
    before = bare.compress(LOG) + bare.flush(zlib.Z_FULL_FLUSH)
    part = read_tail(compressed(tmp_path, before + b"\xff" * 100), 10**6)
    assert "\n".join(part.texts) + "\n" == LOG.decode()
    assert "damaged" in part.note


def test_a_log_without_readable_content_is_a_problem(tmp_path: Path) -> None:
    part = read_tail(compressed(tmp_path, b"\x1f\x8b\x08\xff\xff\xff\xff\xff\xff\xff\xff\xff"))
    assert "is compressed and" in part.problem
    assert part.texts == ()


def test_a_compressed_binary_file_is_not_a_log(tmp_path: Path) -> None:
    assert "binary" in read_tail(compressed(tmp_path, gzip.compress(bytes(range(256)) * 100))).problem


def test_a_decompression_bomb_costs_seconds_and_little_memory(tmp_path: Path) -> None:
    path = compressed(tmp_path, gzip.compress(b"x" * 16 * MEBI) * 64)  # a megabyte that unpacks to a gigabyte
    tracemalloc.start()
    start_s = time.process_time()
    part = read_tail(path)
    elapsed_s = time.process_time() - start_s
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert "too much" in part.note
    assert elapsed_s < 60  # of CPU time, and mostly two
    assert peak < 8 * MEBI


def test_the_head_of_a_bomb_is_read_without_decompressing_the_rest(tmp_path: Path) -> None:
    part = read_head(compressed(tmp_path, gzip.compress(b"first\n" + bytes(50 * MEBI))))
    assert part.texts[0] == "first"
    assert not part.complete


def test_decompression_stops_after_very_many_members(tmp_path: Path) -> None:
    start_s = time.process_time()
    part = read_tail(compressed(tmp_path, gzip.compress(b"a\n") * 50_000))
    assert "too much" in part.note
    assert time.process_time() - start_s < 60


@settings(deadline=None)  # the machine may be busy
@given(st.binary(max_size=2000), st.integers(0, 3000), st.binary(max_size=50), st.integers(1, 500))
def test_no_bytes_after_the_header_raise(data: bytes, cut: int, tail: bytes, max_bytes: int) -> None:
    with tempfile.NamedTemporaryFile() as file:
        file.write((b"\x1f\x8b\x08" + gzip.compress(data)[3:])[: max(3, cut)] + tail)
        file.flush()
        parts = [read_tail(file.name, max_bytes), read_head(file.name, max_bytes)]
    for part in parts:
        assert sum(len(text) for text in part.texts) <= max_bytes
        assert bool(part.problem) == (not part.texts)
