from __future__ import annotations

from pathlib import Path

import pytest

from jobmon_core.domain.channels import Route
from jobmon_core.domain.delivery.outbox import DeliveryOutcome, Message, OutboxEntry, Receipt, Tone
from jobmon_core.store.channels import DeadChannels, SendQueues

NOW = 1_000_000.0
HERE, THERE = "discord.com …1 (aa)", "discord.com …2 (bb)"
OLD, YOUNG = (Message(f"m{made_s}", Route.ERROR, Tone.FAILURE, "x", created_s=made_s) for made_s in (1, 2))


def _again_s(queues: SendQueues, fingerprint: str, message: Message) -> float | None:
    return queues.request_turn(fingerprint, OutboxEntry(message), NOW).again_s


def test_all_who_look_see_who_waits(tmp_path: Path) -> None:
    assert _again_s(SendQueues(tmp_path), HERE, OLD) is None
    assert _again_s(SendQueues(tmp_path), HERE, YOUNG) is not None
    SendQueues(tmp_path).record_result(
        HERE, OutboxEntry(OLD, delivered_s=NOW), Receipt(DeliveryOutcome.DELIVERED), NOW
    )
    assert _again_s(SendQueues(tmp_path), HERE, YOUNG) is None


def test_each_channel_has_a_lane_of_its_own(tmp_path: Path) -> None:
    _again_s(SendQueues(tmp_path), HERE, OLD)
    assert _again_s(SendQueues(tmp_path), THERE, YOUNG) is None


@pytest.mark.parametrize("content", [b"", b"[]", b"\xff", b'{"shut_until_s": "late"}'])
def test_a_lane_that_cannot_be_read_holds_nobody_up(tmp_path: Path, content: bytes) -> None:
    _again_s(SendQueues(tmp_path), HERE, OLD)
    (file,) = tmp_path.glob("*.lane")
    file.write_bytes(content)
    assert _again_s(SendQueues(tmp_path), HERE, YOUNG) is None


def test_a_folder_that_takes_no_lane_holds_nobody_up(tmp_path: Path) -> None:
    queues = SendQueues(tmp_path / "missing")
    assert _again_s(queues, HERE, OLD) is None
    assert _again_s(queues, HERE, YOUNG) is None
    queues.record_result(HERE, OutboxEntry(OLD), Receipt(DeliveryOutcome.DELIVERED), NOW)


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
    channels.clear("a")
