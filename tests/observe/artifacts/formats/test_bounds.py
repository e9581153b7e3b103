"""Large and hostile files cost little time and memory, and have no effect."""

from __future__ import annotations

import gzip
import io
import json
import os
import pickle
import subprocess
import sys
import tarfile
import zipfile
import zlib
from collections.abc import Callable
from pathlib import Path

import pytest

from jobmon_core.domain.artifacts.model import FileVerdict
from jobmon_core.observe.artifacts.formats.check import check_file

RECORDED = Path(__file__).parents[3] / "recordings" / "files"
_5_GB = 5 * 10**9
# the memory is that beyond what the interpreter and the modules take; the time that of the process
_MEASURE = """
import json, resource, sys, time
from jobmon_core.observe.artifacts.formats.check import check_file
before = resource.getrusage(resource.RUSAGE_SELF)
check = check_file(sys.argv[1])
after = resource.getrusage(resource.RUSAGE_SELF)
cpu_s = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
print(json.dumps([check.verdict, check.why, cpu_s, (after.ru_maxrss - before.ru_maxrss) / 1024]))
"""


def _sparse(path: Path, begin: bytes, size: int = _5_GB, end: bytes = b"") -> None:
    with path.open("wb") as file:
        file.write(begin)
        file.truncate(size)
        file.seek(size - len(end))
        file.write(end)


def _big_tensors(path: Path) -> None:
    header = json.dumps(
        {f"layer{n}": {"dtype": "F32", "shape": [1], "data_offsets": [n, n + 1]} for n in range(9000)}
        | {"end": {"dtype": "F32", "shape": [1], "data_offsets": [9000, 4_999_000_000]}}
    ).encode()
    _sparse(path, len(header).to_bytes(8, "little") + header, 8 + len(header) + 4_999_000_000)


def _big_tar(path: Path) -> None:
    header = tarfile.TarInfo("x")
    header.size = 163_328
    block = header.tobuf()
    with path.open("wb") as file:
        for number in range(0, _5_GB, 163_840):
            file.seek(number)
            file.write(block)
        file.truncate(number + 163_840 + 1024)


def _big_zip(path: Path) -> None:
    """Write a zip archive as torch does, with one large member in a hole."""
    name, size = b"m/data/0", 4_900_000_000
    extra = b"\x01\x00\x10\x00" + size.to_bytes(8, "little") * 2
    local = (
        b"PK\x03\x04" + bytes(14) + b"\xff" * 8 + len(name).to_bytes(2, "little") + b"\x14\x00" + name + extra
    )
    entry = (
        b"PK\x01\x02"
        + bytes(16)
        + b"\xff" * 8
        + len(name).to_bytes(2, "little")
        + b"\x14\x00"
        + bytes(14)
        + name
        + extra
    )
    at = len(local) + size
    end_64 = b"PK\x06\x06" + (44).to_bytes(8, "little") + bytes(12) + b"\x01" + bytes(7) + b"\x01" + bytes(7)
    end_64 += len(entry).to_bytes(8, "little") + at.to_bytes(8, "little")
    locator = b"PK\x06\x07" + bytes(4) + (at + len(entry)).to_bytes(8, "little") + b"\x01\x00\x00\x00"
    end = (
        b"PK\x05\x06"
        + bytes(4)
        + b"\x01\x00\x01\x00"
        + len(entry).to_bytes(4, "little")
        + b"\xff" * 4
        + bytes(2)
    )
    tail = entry + end_64 + locator + end
    _sparse(path, local, at + len(tail), tail)


def _big_gzip(path: Path) -> None:
    packed = gzip.compress(
        b"".join(b'{"a": "%s"}\n' % os.urandom(500).hex().encode() for _ in range(4000)), 1
    )
    _sparse(path, packed[:-100])


_LARGE: dict[str, tuple[Callable[[Path], None], FileVerdict]] = {
    "objects.json": (
        lambda path: _sparse(path, json.dumps([{"a": [1, {"b": 2}]}] * 200_000).encode()[:-1], end=b"\n]"),
        FileVerdict.CORRUPT,
    ),
    "endless.json": (lambda path: _repeat(path, b'{"a": [1, 2, {"b": "c"}], "d": '), FileVerdict.TRUNCATED),
    "deep.json": (lambda path: _repeat(path, b"["), FileVerdict.TRUNCATED),
    "lines.jsonl": (lambda path: _repeat(path, b'{"a": 1, "b": [2, 3]}\n'), FileVerdict.VALID),
    "one_line.jsonl": (lambda path: _repeat(path, b'{"a": 1, "b": '), FileVerdict.VALID),
    "table.csv": (lambda path: _repeat(path, b"1,2.5,some text\n"), FileVerdict.VALID),
    "quote.csv": (lambda path: _repeat(path, b'"x,'), FileVerdict.VALID),
    "array.npy": (lambda path: _sparse(path, (RECORDED / "table.npy").read_bytes()), FileVerdict.VALID),
    "tensors.safetensors": (_big_tensors, FileVerdict.VALID),
    "data.msgpack": (lambda path: _sparse(path, b"\xc6" + b"\xff" * 4, 4 + 2**32), FileVerdict.VALID),
    "values.msgpack": (lambda path: _repeat(path, b"\x93\x01\xc0\xa1a"), FileVerdict.UNKNOWN),
    "packed.jsonl.gz": (_big_gzip, FileVerdict.VALID),
    "members.tar": (_big_tar, FileVerdict.VALID),
    "torch.pt": (_big_zip, FileVerdict.VALID),
    "hole.parquet": (lambda path: _sparse(path, b"PAR1", end=b"\0\0\0\x7fPAR1"), FileVerdict.VALID),
    "hole.h5": (lambda path: _sparse(path, (RECORDED / "superblock3.h5").read_bytes()), FileVerdict.VALID),
    "terabyte.zst": (
        lambda path: _sparse(path, (RECORDED / "data.zst").read_bytes(), 10**12),
        FileVerdict.CORRUPT,
    ),
}


def _repeat(path: Path, piece: bytes) -> None:
    """Write 8 MiB of a text: several times what is read of it."""
    block = (piece * (2**20 // len(piece) + 1))[: 2**20 // len(piece) * len(piece)]
    with path.open("wb") as file:
        for _ in range(8):
            file.write(block)


@pytest.mark.parametrize("name", _LARGE)
def test_a_large_file_costs_little_time_and_50_mb(name: str, tmp_path: Path) -> None:
    write, expected = _LARGE[name]
    write(tmp_path / name)
    ran = subprocess.run(
        [sys.executable, "-c", _MEASURE, tmp_path / name], capture_output=True, check=True, timeout=300
    )
    verdict, why, cpu_s, memory_mb = json.loads(ran.stdout)
    assert verdict == expected, why
    assert cpu_s < 10  # mostly under one; to read the whole file takes longer
    assert memory_mb < 50


def test_a_zip_bomb_is_not_unpacked(tmp_path: Path) -> None:
    packed = zlib.compress(bytes(2**24), 1)[2:-4]
    bomb = io.BytesIO()
    with zipfile.ZipFile(bomb, "w", zipfile.ZIP_DEFLATED) as archive:
        for number in range(3):
            archive.writestr(f"{number}/data.pkl", bytes(2**25))
    path = tmp_path / "bomb.pt"
    path.write_bytes(bomb.getvalue())
    assert check_file(path).is_sampled
    # an entry that unpacks to more than the directory says
    data = bytearray(bomb.getvalue().replace((2**25).to_bytes(4, "little"), (64).to_bytes(4, "little")))
    path.write_bytes(data)
    assert check_file(path).verdict is FileVerdict.CORRUPT
    path = tmp_path / "bomb.json.gz"
    path.write_bytes(b"\x1f\x8b\x08\0\0\0\0\0\0\xff" + packed)
    assert check_file(path).is_bad or check_file(path).is_sampled


class _Trap:
    """An object whose unpickling creates a file."""

    def __init__(self, path: Path) -> None:
        self._path = path

    def __reduce__(self) -> tuple[object, tuple[str]]:
        return os.mkdir, (str(self._path),)


def test_no_pickle_is_executed(tmp_path: Path) -> None:
    trap = pickle.dumps(_Trap(tmp_path / "executed"))
    (tmp_path / "a.pkl").write_bytes(trap)
    with zipfile.ZipFile(tmp_path / "a.pt", "w") as archive:
        archive.writestr("a/data.pkl", trap)
    header = b"{'descr': '|O', 'fortran_order': False, 'shape': (1,), }\n"
    (tmp_path / "a.npy").write_bytes(b"\x93NUMPY\x01\x00" + len(header).to_bytes(2, "little") + header + trap)
    header = f"__import__('os').mkdir('{tmp_path}/executed')\n".encode()
    (tmp_path / "b.npy").write_bytes(b"\x93NUMPY\x01\x00" + len(header).to_bytes(2, "little") + header)
    for name in ("a.pkl", "a.pt", "a.npy", "b.npy"):
        check_file(tmp_path / name)
    assert not (tmp_path / "executed").exists()
