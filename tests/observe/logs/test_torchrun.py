from __future__ import annotations

import json
import os
import tempfile
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from jobmon_core.observe.logs.torchrun import read_error_file

CALLSTACK = (
    "Traceback (most recent call last):\n"
    '  File "train.py", line 3, in main\n'
    "    raise ValueError(bad)\n"
    "ValueError: bad\n"
)


def lines_of(folder: Path, record: object) -> tuple[str, ...] | None:
    path = folder / "error.json"
    path.write_text(record if isinstance(record, str) else json.dumps(record))
    found = read_error_file(str(path))
    return found.texts if found else None


def test_the_traceback_of_a_worker_is_read_as_lines(tmp_path: Path) -> None:
    record = {
        "message": {
            "message": "ValueError: bad",
            "extraInfo": {"py_callstack": CALLSTACK, "timestamp": "1700000000"},
            "errorCode": 1,
        }
    }
    assert lines_of(tmp_path, record) == tuple(CALLSTACK.splitlines())


def test_a_message_missing_from_the_traceback_follows_it(tmp_path: Path) -> None:
    record = {"message": {"message": "Signal 11", "extraInfo": {"py_callstack": CALLSTACK}}}
    found = lines_of(tmp_path, record)
    assert found
    assert (found[0], found[-1]) == ("Traceback (most recent call last):", "Signal 11")


@pytest.mark.parametrize(
    "record",
    [
        {"message": "ValueError: bad"},
        {"message": {"message": "ValueError: bad"}},
        {"message": {"message": "ValueError: bad", "extraInfo": None}},
        {"message": {"extraInfo": {"py_callstack": "ValueError: bad"}, "message": 3}},
        '"ValueError: bad"',
    ],
)
def test_a_message_without_traceback_is_read_in_every_known_form(tmp_path: Path, record: object) -> None:
    assert lines_of(tmp_path, record) == ("ValueError: bad",)


@pytest.mark.parametrize(
    "text",
    [
        "",
        "{",
        "null",
        "[1, 2]",
        "{}",
        '{"message": {}}',
        '{"message": "\\u0000\\n "}',
        "[" * 100_000,
        "9" * 5000,
        json.dumps({"message": "x" * 2**20}),
    ],
    ids=range(10),
)
def test_an_empty_or_invalid_record_gives_no_excerpt(tmp_path: Path, text: str) -> None:
    assert lines_of(tmp_path, text) is None


def test_the_text_of_a_record_is_cleaned_like_a_log(tmp_path: Path) -> None:
    assert lines_of(tmp_path, '{"message": "\\u001b[31mbad\\u001b[0m\\u0000 \\ud800"}') == ("bad ?",)


def test_a_pipe_and_a_missing_file_give_no_excerpt(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "error.json")
    assert read_error_file(str(tmp_path / "error.json")) is None
    assert read_error_file(str(tmp_path / "gone" / "error.json")) is None


JSON = st.recursive(
    st.one_of(st.none(), st.booleans(), st.text(), st.integers()),
    lambda inner: st.one_of(
        st.lists(inner, max_size=3),
        st.dictionaries(st.sampled_from(["message", "extraInfo", "py_callstack", "x"]), inner, max_size=3),
    ),
)


@settings(deadline=None)  # the machine may be busy
@given(st.one_of(st.binary(), JSON.map(lambda record: json.dumps(record).encode())))
def test_no_record_raises(data: bytes) -> None:
    with tempfile.NamedTemporaryFile() as file:
        file.write(data)
        file.flush()
        found = read_error_file(file.name)
    assert found is None or any(found.texts)
