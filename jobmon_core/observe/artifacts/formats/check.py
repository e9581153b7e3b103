"""Judge whether a file is whole: its format is found by its content first, then by its name.

By default, some megabytes of a file are read at most, however large it is; what was not read may hold damage
(``FileCheck.is_sampled``). Nothing is unpickled or executed.
"""

from __future__ import annotations

from dataclasses import replace
from pathlib import PurePath
from typing import TYPE_CHECKING, NoReturn

from jobmon_core.domain.artifacts.model import FileCheck, FileVerdict
from jobmon_core.observe.artifacts.formats import archives, arrays, hdf5, parquet
from jobmon_core.observe.artifacts.formats.csv_table import check_csv
from jobmon_core.observe.artifacts.formats.json_file import check_json, check_json_lines
from jobmon_core.observe.artifacts.formats.msgpack import check_msgpack
from jobmon_core.observe.artifacts.formats.source import (
    PIECE,
    Corrupt,
    Damaged,
    NotChecked,
    Truncated,
    pieces,
    valid,
)
from jobmon_core.observe.logs.open_file import Unreadable, regular_file

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from jobmon_core.observe.artifacts.formats.source import Source

    Check = Callable[[Source, int], FileCheck]

MAX_BYTES = 2 * 2**20  # of one file that are read; the headers of some formats come on top
WHOLE = 2**62  # in place of `MAX_BYTES`: read the whole file, e.g. to count its records

# a format's name, its check, the ends of the names of its files, and how its content begins, if that tells it
_FORMATS: tuple[tuple[str, Check, tuple[str, ...], tuple[bytes, ...]], ...] = (
    ("zip", archives.check_zip, (".keras", ".npz", ".zip"), archives.ZIP_SIGNATURES),
    ("npy", arrays.check_npy, (".npy",), (arrays.NPY_SIGNATURE,)),
    ("parquet", parquet.check_parquet, (".parquet",), (parquet.MAGIC,)),
    ("zstd", archives.check_zstd, (".zst",), (archives.ZSTD_SIGNATURE,)),
    ("hdf5", hdf5.check_hdf5, (".h5", ".hdf5"), (hdf5.SIGNATURE,)),
    ("json", check_json, (".json", ".geojson", ".ipynb"), ()),
    ("jsonl", check_json_lines, (".jsonl", ".ndjson", ".jsonlines"), ()),
    ("csv", check_csv, (".csv", ".tsv"), ()),
    ("msgpack", check_msgpack, (".msgpack",), ()),
    ("safetensors", arrays.check_safetensors, (".safetensors",), ()),
    ("tar", archives.check_tar, (".tar",), ()),
)
_BY_SUFFIX = {suffix: each for each in _FORMATS for suffix in each[2]}
_GZIP_SUFFIXES = (".gz", ".tgz")
_SAVED = (".pt", ".pth", ".ckpt", ".bin", ".pkl", ".pickle", ".joblib")  # may be of several formats
_HEAD = 512
_LFS_POINTER = b"version https://git-lfs.github.com/spec/"
_PICKLE = b"\x80"
_PICKLE_PROTOCOLS = range(2, 6)


def check_file(path: str | Path, *, still_written: bool = False, max_bytes: int = MAX_BYTES) -> FileCheck:
    """Return the verdict on a file; never raises for what it contains.

    One that is ``still_written`` is not judged to be damaged. `WHOLE` bytes are read in bounded memory, too.
    """
    try:
        with regular_file(str(path)) as file:
            check = check_source(str(path), file, max_bytes)
    except Unreadable as problem:
        return FileCheck(str(path), "", FileVerdict.UNREADABLE, str(problem))
    if still_written and check.is_bad:
        return replace(check, verdict=FileVerdict.UNKNOWN, why="is still being written")
    return check


def check_source(path: str, source: Source, max_bytes: int) -> FileCheck:
    """Return the verdict on the content of a file, of which ``max_bytes`` may be read."""
    name = PurePath(path).name.lower()
    unchecked = FileCheck(
        path, _expected(name, source), FileVerdict.EMPTY, "is empty", size_bytes=source.size
    )
    if not source.size:
        return unchecked
    try:
        return replace(_content(source, name, max_bytes), path=path, size_bytes=source.size)
    except Truncated as damage:
        return replace(unchecked, verdict=FileVerdict.TRUNCATED, why=str(damage))
    except Damaged as damage:
        return replace(unchecked, verdict=FileVerdict.CORRUPT, why=str(damage))
    except NotChecked as reason:
        return replace(unchecked, verdict=FileVerdict.UNKNOWN, why=str(reason))


def _expected(name: str, source: Source) -> str:
    suffix = PurePath(name).suffix
    if suffix in _GZIP_SUFFIXES:
        return "gzip"
    if suffix in _BY_SUFFIX:
        return _BY_SUFFIX[suffix][0]
    head = source.read_at(0, _HEAD)
    return next((known for known, _, _, signatures in _FORMATS if head.startswith(signatures)), "")


def _content(source: Source, name: str, max_bytes: int) -> FileCheck:
    head = source.read_at(0, _HEAD)
    if head.startswith(_LFS_POINTER):
        raise Corrupt("is a Git LFS pointer, not the file itself; `git lfs pull` gets it")
    if head.startswith(archives.GZIP_SIGNATURE):
        return _unpacked(source, name, max_bytes)
    if check := _by_content(source, head):
        return check(source, max_bytes)
    suffix = PurePath(name).suffix
    if suffix in _BY_SUFFIX and not _BY_SUFFIX[suffix][3]:
        return _BY_SUFFIX[suffix][1](source, max_bytes)
    if suffix in (*_BY_SUFFIX, *_GZIP_SUFFIXES):
        _reject_content(head, _expected(name, source))
    elif suffix in _SAVED:
        _check_saved(source, suffix, max_bytes)
    raise NotChecked("has no format that jobmon can check")


def _by_content(source: Source, head: bytes) -> Check | None:
    for _, check, _, signatures in _FORMATS:
        if head.startswith(signatures):
            return check
    if hdf5.find_superblock(source) is not None:
        return hdf5.check_hdf5
    if arrays.is_safetensors(source):
        return arrays.check_safetensors
    if archives.is_tar(source):
        return archives.check_tar
    return None


def _reject_content(head: bytes, expected: str) -> NoReturn:
    if _is_nul(head):
        raise Corrupt("begins with NUL bytes: data were lost, e.g. when the node crashed")
    raise Corrupt(f"does not begin as a {expected} file does")


def _check_saved(source: Source, suffix: str, max_bytes: int) -> None:
    head = source.read_at(0, _HEAD)
    # a .bin file may be an array of raw values, all of them zero
    if suffix != ".bin" and _is_nul(head) and _is_all_nul(source, max_bytes):
        raise Corrupt("contains only NUL bytes: data were lost, e.g. when the node crashed")
    if head.startswith(_PICKLE) and len(head) > 1 and head[1] in _PICKLE_PROTOCOLS:
        raise NotChecked("is a pickle, which jobmon does not load")


def _is_all_nul(source: Source, max_bytes: int) -> bool:
    ranges = ((0, min(source.size, max_bytes)), (max(0, source.size - PIECE), source.size))
    return all(_is_nul(piece) for begin, end in ranges for piece in pieces(source, begin, end))


def _is_nul(data: bytes) -> bool:
    return not data.strip(b"\0")


def _unpacked(source: Source, name: str, max_bytes: int) -> FileCheck:
    unpacked, is_whole = archives.unpack(source, max_bytes)
    if not unpacked.size:
        return valid("gzip")
    inner = name.removesuffix(".gz").removesuffix(".tgz")
    try:
        if unpacked.read_at(0, 3) == archives.GZIP_SIGNATURE:  # one level is enough
            return valid("gzip", is_sampled=True)
        found = _content(unpacked, inner, max_bytes)
    except NotChecked:
        return valid("gzip", is_sampled=not is_whole)
    except Truncated:
        if is_whole:
            raise
        return valid("gzip", is_sampled=True)
    if not is_whole:
        found = replace(found, records=None, is_sampled=True)
    return replace(found, format=f"{found.format}.gz")
