from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import pytest

from jobmon_core.store.json_file import JsonFile, read_record


@dataclass(frozen=True)
class Note:
    text: str = "default"
    at_s: float = 0.0


@pytest.fixture
def file(tmp_path: Path) -> JsonFile[Note]:
    return JsonFile(tmp_path / "a.note", Note)


def test_a_written_record_is_read_back_from_a_private_file(file: JsonFile[Note]) -> None:
    file.write(Note("x\udcff", 5.0))
    assert file.read() == Note("x\udcff", 5.0)
    assert file.path.stat().st_mode & 0o777 == 0o600
    assert file.lock_path == file.path.with_name("a.lock")


@pytest.mark.parametrize("content", ["", "{", "[]", '{"at_s": "x"}', "[" * 100_000, "\x00"])
def test_a_damaged_file_reads_as_the_default(file: JsonFile[Note], content: str) -> None:
    file.path.write_text(content, encoding="ascii")
    assert file.read() == Note()
    assert read_record(file.path, Note) is None


def test_a_missing_file_and_a_link_read_as_the_default(file: JsonFile[Note], tmp_path: Path) -> None:
    assert file.read() == Note()
    file.write(Note("theirs"))
    file.path.rename(tmp_path / "elsewhere")
    file.path.symlink_to(tmp_path / "elsewhere")
    assert file.read() == Note()


def test_a_file_that_is_too_long_reads_as_the_default(tmp_path: Path) -> None:
    path = tmp_path / "a.note"
    JsonFile(path, Note).write(Note("x" * 100))
    assert JsonFile(path, Note, max_bytes=50).read() == Note()
