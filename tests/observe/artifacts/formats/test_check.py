"""Files of each format: good, truncated, empty and corrupt; libraries wrote those of their formats."""

from __future__ import annotations

import gzip
import io
import json
import math
import os
import struct
import tarfile
import zipfile
from collections.abc import Callable
from pathlib import Path

import pytest

from jobmon_core.domain.artifacts.model import FileCheck, FileVerdict
from jobmon_core.observe.artifacts.formats.check import WHOLE, check_file
from jobmon_core.observe.artifacts.formats.hdf5 import lookup3

RECORDED = Path(__file__).parents[3] / "recordings" / "files"
_ROWS = [{"step": step, "loss": 1 / (step + 1), "text": 'é, \n "x"'} for step in range(300)]
_CSV = "step,loss\n" + "".join(f"{step},{step / 7}\n" for step in range(300))


def _tar() -> bytes:
    packed = io.BytesIO()
    with tarfile.open(fileobj=packed, mode="w") as archive:
        for name, size in (("a" * 150, 700), ("b", 9000), ("c", 0)):
            member = tarfile.TarInfo(name)
            member.size = size
            archive.addfile(member, io.BytesIO(os.urandom(size)))
    return packed.getvalue()


def _zip() -> bytes:
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("a.txt", "text " * 500)
        archive.writestr("b.bin", os.urandom(2000))
    return packed.getvalue()


_LINES = "".join(f"{json.dumps(row)}\n" for row in _ROWS).encode()
_GOOD: dict[str, tuple[Callable[[], bytes], str, int | None, int | None]] = {
    # name: content, format, records, columns
    "a.json": (lambda: json.dumps(_ROWS).encode(), "json", 300, None),
    "indented.json": (lambda: json.dumps({"a": _ROWS}, indent=2).encode(), "json", None, None),
    "log.json": (lambda: _LINES, "jsonl", 300, None),
    "a.jsonl": (lambda: _LINES, "jsonl", 300, None),
    "no_newline.jsonl": (_LINES.rstrip, "jsonl", 300, None),
    "a.csv": (_CSV.encode, "csv", 300, 2),
    "a.tsv": (lambda: _CSV.replace(",", "\t").encode(), "csv", 300, 2),
    "quoted.csv": (lambda: b'a,b\n1,"x,\ny"\n2,"z"\n', "csv", 2, 2),
    "a.tar": (_tar, "tar", 3, None),
    "a.tar.gz": (lambda: gzip.compress(_tar()), "tar.gz", 3, None),
    "a.jsonl.gz": (lambda: gzip.compress(_LINES), "jsonl.gz", 300, None),
    "a.csv.gz": (lambda: gzip.compress(_CSV.encode()), "csv.gz", 300, 2),
    "members.csv.gz": (
        lambda: gzip.compress(_CSV[:999].encode()) + gzip.compress(_CSV[999:].encode()),
        "csv.gz",
        300,
        2,
    ),
    "a.log.gz": (lambda: gzip.compress(b"any text"), "gzip", None, None),
    "a.zip": (_zip, "zip", None, None),
    **{
        name: ((RECORDED / name).read_bytes, kind, records, columns)
        for name, kind, records, columns in (
            ("table.npy", "npy", 10, 3),
            ("records.npy", "npy", 4, None),
            ("arrays.npz", "npz", None, None),
            ("packed.npz", "npz", None, None),
            ("superblock0.h5", "hdf5", None, None),
            ("superblock3.h5", "hdf5", None, None),
            ("user_block.h5", "hdf5", None, None),
            ("table.parquet", "parquet", 100, 4),
            ("model.safetensors", "safetensors", None, None),
            ("model.pt", "torch", None, None),
            ("model.msgpack", "msgpack", None, None),
            ("data.zst", "zstd", None, None),
        )
    },
}


@pytest.fixture(params=_GOOD)
def good(request: pytest.FixtureRequest, tmp_path: Path) -> Path:
    path = tmp_path / str(request.param)
    path.write_bytes(_GOOD[path.name][0]())
    return path


def _written(path: Path, data: bytes) -> FileCheck:
    path.write_bytes(data)
    return check_file(path)


def test_a_good_file_is_valid_and_its_records_are_counted(good: Path) -> None:
    _, kind, records, columns = _GOOD[good.name]
    check = check_file(good)
    assert (check.verdict, check.why) == (FileVerdict.VALID, "")
    assert (check.format, check.records, check.columns) == (kind, records, columns)
    assert check.size_bytes == good.stat().st_size
    assert check_file(good, max_bytes=WHOLE).records == records


@pytest.mark.parametrize("more", [0, 16, 22, 137, 241, 262])  # around one piece of output, which is 256 KiB
def test_a_compressed_member_may_end_with_any_amount_of_output(more: int, tmp_path: Path) -> None:
    path = tmp_path / "mask.zip"
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("mask", bytes(2**18 + more))
    assert check_file(path).verdict is FileVerdict.VALID
    packed = _written(tmp_path / "mask.gz", gzip.compress(bytes(2**18 + more)))
    assert packed.verdict is FileVerdict.VALID


def test_a_file_is_recognized_by_its_content_not_its_name(tmp_path: Path) -> None:
    for name in ("model.pt", "table.parquet", "superblock3.h5", "table.npy", "model.safetensors"):
        check = _written(tmp_path / "checkpoint.bin", (RECORDED / name).read_bytes())
        assert (check.verdict, check.format) == (FileVerdict.VALID, _GOOD[name][1])


def test_an_empty_file_is_empty(good: Path) -> None:
    assert _written(good, b"").verdict is FileVerdict.EMPTY


def test_a_cut_file_is_truncated_at_any_length(good: Path) -> None:
    data = good.read_bytes()
    padding = 10240 if good.suffix == ".tar" else 0  # the end of a tar archive is padded
    end = len(data) - padding if padding else len(data) - 1
    lines = good.suffix in (".csv", ".tsv", ".jsonl") or good.name == "log.json"
    for number in range(1, 20):
        cut = end * number // 19
        check = _written(good, data[:cut])
        if lines and data[:cut].rfind(b"\n") >= cut - 30:
            continue  # whole lines, and what may be a whole last value, do not show that more were there
        if data[cut:] in (b"", b"\n"):
            continue
        assert check.verdict in (FileVerdict.TRUNCATED, FileVerdict.CORRUPT), cut
        assert check.is_bad
        assert (
            cut < 200
            or good.name in ("quoted.csv", "user_block.h5")
            or check.verdict is FileVerdict.TRUNCATED
        ), check.why


def test_a_truncated_file_that_is_still_written_is_not_called_so(good: Path) -> None:
    good.write_bytes(good.read_bytes()[: good.stat().st_size // 2])
    check = check_file(good, still_written=True)
    assert not check.is_bad


_CORRUPTIONS: dict[str, Callable[[bytes], bytes]] = {
    "a.json": lambda data: data.replace(b"}, {", b"} {", 1),
    "a.jsonl": lambda data: data.replace(b'"loss"', b'"loss', 1),
    "a.csv": lambda data: data.replace(b"\n7,", b"\n7,8,9,", 1),
    "a.tar": lambda data: b"ustar\x0001".join(data.rsplit(b"ustar\x0000", 1)),
    "a.tar.gz": lambda data: data[:5000] + b"\0\0\0\0" + data[5004:],
    "a.jsonl.gz": lambda data: data[:100] + bytes([data[100] ^ 1]) + data[101:],
    "a.zip": lambda data: data[:60] + bytes([data[60] ^ 1]) + data[61:],
    "table.npy": lambda data: data.replace(b"'shape'", b"'shqpe'", 1),
    "arrays.npz": lambda data: data.replace(b"\xf0?", b"\xf1?", 1),
    "superblock0.h5": lambda data: data.replace(b"TREE", b"TREF", 1),
    "superblock3.h5": lambda data: data[:20] + bytes([data[20] ^ 1]) + data[21:],
    "table.parquet": lambda data: (
        data[: -8 - (size := int.from_bytes(data[-8:-4], "little"))] + data[-size:] + data[-8:]
    ),
    "model.safetensors": lambda data: data.replace(b'"dtype"', b'"dtype', 1),
    "model.pt": lambda data: data.replace(b"\x80?", b"\x81?", 1),
    "model.msgpack": lambda data: data.replace(b"\xa6kernel", b"\xc1kernel", 1),
    "data.zst": lambda data: data[:4] + b"\x00" + data[5:],
}


@pytest.mark.parametrize("name", _CORRUPTIONS)
def test_a_damaged_file_is_corrupt(name: str, tmp_path: Path) -> None:
    data = _GOOD[name][0]()
    assert _CORRUPTIONS[name](data) != data
    check = _written(tmp_path / name, _CORRUPTIONS[name](data))
    assert check.is_bad
    assert name == "data.zst" or check.verdict is FileVerdict.CORRUPT, check.why


def test_the_line_that_is_damaged_is_named(tmp_path: Path) -> None:
    for line, why in (
        (b'{"loss" 1}', "is not valid JSON in line 3"),
        (b'{"loss": 1', "has an incomplete record in line 3"),
    ):
        assert _written(tmp_path / "a.jsonl", b"{}\n{}\n" + line + b"\n{}\n").why == why


@pytest.mark.parametrize(
    "name", ["a.json", "a.jsonl", "a.csv", "a.npy", "a.npz", "a.h5", "a.parquet", "a.pt", "a.gz", "a.msgpack"]
)
def test_a_file_of_zeros_after_a_crash_of_its_node_is_corrupt(name: str, tmp_path: Path) -> None:
    check = _written(tmp_path / name, bytes(5000))
    assert check.verdict is FileVerdict.CORRUPT
    assert "NUL bytes" in check.why


@pytest.mark.parametrize("offset", [2**62, 2**63 - 1, 2**63, 2**64 - 1])
def test_an_archive_whose_directory_names_an_impossible_offset_is_corrupt(
    offset: int, tmp_path: Path
) -> None:
    member = io.BytesIO()
    with zipfile.ZipFile(member, "w") as archive:
        archive.writestr("a", b"text")
    data = member.getvalue()
    at = data.index(b"PK\x01\x02")
    # the entry of the directory gets a zip64 field, which holds the offset of its local header
    field = b"\x01\x00\x08\x00" + offset.to_bytes(8, "little")
    entry = data[at : at + 30] + bytes([len(field), 0]) + data[at + 32 : at + 42] + b"\xff" * 4 + b"a" + field
    end = data.index(b"PK\x05\x06")
    data = data[:at] + entry + data[end : end + 12] + len(entry).to_bytes(4, "little") + data[end + 16 :]
    assert _written(tmp_path / "a.zip", data).verdict is FileVerdict.CORRUPT


def test_a_zip_archive_with_a_huge_directory_is_checked_at_its_end(tmp_path: Path) -> None:
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w") as archive:
        for number in range(40):
            archive.writestr(f"{number:060000}", b"")
    check = _written(tmp_path / "a.zip", packed.getvalue())
    assert (check.verdict, check.is_sampled) == (FileVerdict.VALID, True)
    assert _written(tmp_path / "a.zip", packed.getvalue()[:-30]).verdict is FileVerdict.TRUNCATED


def test_an_array_of_raw_values_may_begin_with_zeros(tmp_path: Path) -> None:
    for name, data in (
        ("tokens.bin", bytes(5000)),
        ("tokens.bin", bytes(5000) + b"tokens"),
        ("state.pt", bytes(5000) + b"state"),
        ("state.pt", bytes(3 * 2**20) + b"state"),  # more than is read
    ):
        assert _written(tmp_path / name, data).verdict is FileVerdict.UNKNOWN
    assert _written(tmp_path / "state.pt", bytes(3 * 2**20)).verdict is FileVerdict.CORRUPT


def test_a_table_in_utf_16_is_not_checked(tmp_path: Path) -> None:
    check = _written(tmp_path / "a.csv", _CSV.encode("utf-16"))
    assert (check.verdict, check.format, "UTF-16" in check.why) == (FileVerdict.UNKNOWN, "csv", True)


def test_a_table_with_huge_rows_is_not_checked(tmp_path: Path) -> None:
    row = ",".join(["0.123"] * 200_000)
    check = _written(tmp_path / "a.csv", f"{row}\n0,1\n".encode())
    assert (check.verdict, check.format) == (FileVerdict.UNKNOWN, "csv")


def test_a_huge_json_line_is_a_record(tmp_path: Path) -> None:
    check = _written(tmp_path / "a.jsonl", _LINES + json.dumps(["0.123"] * 180_000).encode() + b"\n")
    assert (check.verdict, check.records) == (FileVerdict.VALID, 301)


def test_text_whose_end_was_lost_to_zeros_is_corrupt(tmp_path: Path) -> None:
    for name, data in (("a.jsonl", _LINES), ("a.csv", _CSV.encode())):
        check = _written(tmp_path / name, data + bytes(512))
        assert (check.verdict, "NUL bytes" in check.why) == (FileVerdict.CORRUPT, True)


def test_what_jobmon_cannot_check_is_unknown_with_the_reason(tmp_path: Path) -> None:
    legacy = check_file(RECORDED / "legacy.pt")
    assert (legacy.verdict, legacy.why) == (FileVerdict.UNKNOWN, "is a pickle, which jobmon does not load")
    objects = check_file(RECORDED / "objects.npy")
    assert (objects.verdict, "pickled" in objects.why) == (FileVerdict.UNKNOWN, True)
    assert _written(tmp_path / "notes.txt", b"{text").verdict is FileVerdict.UNKNOWN
    assert _written(tmp_path / "raw.bin", os.urandom(99)).verdict is FileVerdict.UNKNOWN


def test_what_is_no_file_is_unreadable_with_the_reason(tmp_path: Path) -> None:
    loop = tmp_path / "loop.json"
    loop.symlink_to(loop)
    pipe = tmp_path / "pipe.json"
    os.mkfifo(pipe)
    for path in (tmp_path, tmp_path / "none.json", loop, pipe, Path("/dev/zero")):
        check = check_file(path)
        assert check.verdict is FileVerdict.UNREADABLE
        assert check.why


def test_a_git_lfs_pointer_is_not_the_model(tmp_path: Path) -> None:
    pointer = b"version https://git-lfs.github.com/spec/v1\noid sha256:1234\nsize 5\n"
    check = _written(tmp_path / "model.safetensors", pointer)
    assert check.is_bad
    assert "git lfs pull" in check.why


def test_odd_values_are_noted(tmp_path: Path) -> None:
    assert "50% of 100 values" in check_file(RECORDED / "nan.npy").note
    table = "step,loss\n" + "".join(f"{step},{'nan' if step % 2 else 1}\n" for step in range(100))
    assert "column loss: 50% of 100" in _written(tmp_path / "a.csv", table.encode()).note
    assert not check_file(RECORDED / "table.npy").note
    header = b"{'descr': '<f4', 'fortran_order': False, 'shape': (1000,)}\n"
    start = b"\x93NUMPY\x01\x00" + len(header).to_bytes(2, "little") + header
    one_in_a_thousand = start + struct.pack("<1000f", *[1.0] * 999, math.nan)
    assert _written(tmp_path / "a.npy", one_in_a_thousand).note.startswith("less than 1% of 1,000 values")


def test_a_table_may_have_a_preamble_and_comments(tmp_path: Path) -> None:
    text = b"# made by x\n# units: m\nExperiment 7\n\n" + _CSV.encode()
    check = _written(tmp_path / "a.csv", text)
    assert (check.verdict, check.records) == (FileVerdict.VALID, 300)


@pytest.mark.parametrize("end", ["# done", "# done, 3 errors\n", "# a, b, c, d\n", "Total", "(end)"])
def test_a_table_may_end_with_a_word_or_a_comment(end: str, tmp_path: Path) -> None:
    text = _CSV.replace("\n", ",0\n")
    for table in (text, text * 1000):  # the second is larger than what is read
        check = _written(tmp_path / "a.csv", (table + end).encode())
        assert (check.verdict, check.why) == (FileVerdict.VALID, "")
    assert _written(tmp_path / "a.csv", (text + end).encode()).records == 300


@pytest.mark.parametrize("end", ["30", "-1", ".5", "300,0.1", "Total,1", '"a', "2026-11-2"])
def test_a_table_that_ends_with_a_part_of_a_row_is_truncated(end: str, tmp_path: Path) -> None:
    text = _CSV.replace("\n", ",0\n")
    assert _written(tmp_path / "a.csv", (text + end).encode()).verdict is FileVerdict.TRUNCATED


def test_the_checksum_is_that_of_bob_jenkins() -> None:
    assert lookup3(b"") == 0xDEADBEEF
    assert lookup3(b"Four score and seven years ago") == 0x17770551


def test_a_file_may_end_inside_a_character(tmp_path: Path) -> None:
    check = _written(tmp_path / "a.json", '["größe'.encode()[:5])
    assert (check.verdict, check.why) == (FileVerdict.TRUNCATED, "ends inside a character")
    text = json.dumps(["ö" * 900_000] * 2, ensure_ascii=False)
    for shift in (
        " ",
        "  ",
    ):  # of a large gzip file only the start is read: its end may be inside a character
        check = _written(tmp_path / "a.json.gz", gzip.compress(f"{shift}{text}".encode()))
        assert check.verdict is FileVerdict.VALID


def test_a_last_line_that_is_too_wide_has_no_number(tmp_path: Path) -> None:
    check = _written(tmp_path / "a.csv", b"a,b\n" + b"1,2\n" * 10**6 + b"1,2,3")
    assert check.why == "has 3 columns in its last line, elsewhere 2"
