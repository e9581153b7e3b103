from __future__ import annotations

from pathlib import Path

from jobmon_core.store.dead_channels import DeadChannels


def test_a_mark_keeps_its_reason_until_it_is_cleared(tmp_path: Path) -> None:
    channels = DeadChannels(tmp_path)
    assert channels.why("a") == ""
    channels.mark_dead("a", "404 \udcff")
    assert channels.why("a") == "404 ?"
    assert channels.why("b") == ""
    channels.clear("a")
    channels.clear("a")
    assert channels.why("a") == ""


def test_an_unreadable_mark_counts_as_none(tmp_path: Path) -> None:
    channels = DeadChannels(tmp_path)
    channels.mark_dead("a", "404")
    (path,) = tmp_path.iterdir()
    path.unlink()
    path.mkdir()
    assert channels.why("a") == ""
