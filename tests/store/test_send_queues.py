from __future__ import annotations

from pathlib import Path

import pytest

from jobmon_core.domain.channels import Route
from jobmon_core.domain.delivery.outbox import DeliveryOutcome, Message, OutboxEntry, Receipt, Tone
from jobmon_core.store.send_queues import SendQueues

NOW = 1_000_000.0
HERE, THERE = "discord.com …1 (aa)", "discord.com …2 (bb)"
OLD, YOUNG = (Message(f"m{made_s}", Route.ERROR, Tone.FAILURE, "x", created_s=made_s) for made_s in (1, 2))


def test_all_who_look_see_who_waits(tmp_path: Path) -> None:
    assert SendQueues(tmp_path).request_turn(HERE, OLD, NOW) is None
    assert SendQueues(tmp_path).request_turn(HERE, YOUNG, NOW) is not None
    SendQueues(tmp_path).record_result(
        HERE, OutboxEntry(OLD, delivered_s=NOW), Receipt(DeliveryOutcome.DELIVERED), NOW
    )
    assert SendQueues(tmp_path).request_turn(HERE, YOUNG, NOW) is None


def test_each_channel_has_a_lane_of_its_own(tmp_path: Path) -> None:
    SendQueues(tmp_path).request_turn(HERE, OLD, NOW)
    assert SendQueues(tmp_path).request_turn(THERE, YOUNG, NOW) is None


@pytest.mark.parametrize("content", [b"", b"[]", b"\xff", b'{"shut_until_s": "late"}'])
def test_a_lane_that_cannot_be_read_holds_nobody_up(tmp_path: Path, content: bytes) -> None:
    SendQueues(tmp_path).request_turn(HERE, OLD, NOW)
    (file,) = tmp_path.glob("*.lane")
    file.write_bytes(content)
    assert SendQueues(tmp_path).request_turn(HERE, YOUNG, NOW) is None


def test_a_folder_that_takes_no_lane_holds_nobody_up(tmp_path: Path) -> None:
    queues = SendQueues(tmp_path / "missing")
    assert queues.request_turn(HERE, OLD, NOW) is None
    assert queues.request_turn(HERE, YOUNG, NOW) is None
    queues.record_result(HERE, OutboxEntry(OLD), Receipt(DeliveryOutcome.DELIVERED), NOW)
