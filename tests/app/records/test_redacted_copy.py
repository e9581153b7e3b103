from __future__ import annotations

from pathlib import Path

import pytest

from jobmon_core.app.records import redacted_copy
from jobmon_core.app.records.redacted_copy import copy_text

KIB = 1024
LINES = b"epoch 1 of 9 done\n" * (300 * KIB // 18)


def test_a_secret_where_a_long_log_is_cut_is_hidden(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(redacted_copy, "_HEAD_BYTES", 60 * KIB)
    monkeypatch.setattr(redacted_copy, "_TAIL_BYTES", 100 * KIB)
    token = b"\nexport API_TOKEN=abcdefghijklmnopqrstuvwxyz0123456789\n"
    lines = b"\n".join([b"c2VjcmV0" * 8] * 40)
    key = (
        b"\n-----BEGIN RSA PRIVATE KEY-----\n" + lines + b"\n-----END RSA PRIVATE KEY-----\nloaded the key\n"
    )
    content = bytearray(LINES)
    for cut, secret in ((60 * KIB, token), (len(LINES) - 100 * KIB, key)):
        start = cut - len(secret) // 2
        content[start : start + len(secret)] = secret
    (tmp_path / "12.out").write_bytes(content)
    assert copy_text(str(tmp_path / "12.out"), tmp_path / "copy").endswith("KiB in the middle")
    text = (tmp_path / "copy").read_bytes()
    assert b"c2VjcmV0" not in text
    assert b"uvwxyz" not in text
    assert b"loaded the key" in text
    assert text.startswith(b"epoch 1 of 9 done\n")
    assert text.endswith(b"epoch 1 of 9 done\n")


def test_a_log_that_is_kept_in_full_is_copied_line_by_line(tmp_path: Path) -> None:
    (tmp_path / "12.out").write_bytes(b"password=hunter2hunter2\nlast line without an end")
    assert copy_text(str(tmp_path / "12.out"), tmp_path / "copy") == ""
    assert (tmp_path / "copy").read_bytes().endswith(b"\nlast line without an end")
    assert b"hunter2" not in (tmp_path / "copy").read_bytes()
