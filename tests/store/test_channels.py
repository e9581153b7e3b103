from __future__ import annotations

import os
from dataclasses import replace
from pathlib import Path

import pytest

from jobmon_core.domain.channels import DeliveryOutcome, Receipt, Route, Tone
from jobmon_core.domain.delivery.outbox import Message, OutboxEntry
from jobmon_core.domain.errors import StorageFailed
from jobmon_core.store.channels import ChannelFiles
from tests.support.no_locks import refuse_locks
from tests.support.processes import in_a_copy

NOW = 1_000_000.0
HERE, THERE = "discord.com …1 (aa)", "discord.com …2 (bb)"
OLD, YOUNG = (Message(f"m{made_s}", Route.ERROR, Tone.FAILURE, "x", created_s=made_s) for made_s in (1, 2))


def _again_s(queues: ChannelFiles, fingerprint: str, message: Message) -> float | None:
    return queues.request_turn(fingerprint, OutboxEntry(message), NOW).again_s


def test_all_who_look_see_who_waits(tmp_path: Path) -> None:
    assert _again_s(ChannelFiles(tmp_path), HERE, OLD) is None
    assert _again_s(ChannelFiles(tmp_path), HERE, YOUNG) is not None
    ChannelFiles(tmp_path).record_result(
        HERE, OutboxEntry(OLD, delivered_s=NOW), Receipt(DeliveryOutcome.DELIVERED), NOW
    )
    assert _again_s(ChannelFiles(tmp_path), HERE, YOUNG) is None


def test_each_channel_has_a_lane_of_its_own(tmp_path: Path) -> None:
    _again_s(ChannelFiles(tmp_path), HERE, OLD)
    assert _again_s(ChannelFiles(tmp_path), THERE, YOUNG) is None


@pytest.mark.parametrize("content", [b"", b"[]", b"\xff", b'{"shut_until_s": "late"}'])
def test_a_lane_that_cannot_be_read_holds_nobody_up(tmp_path: Path, content: bytes) -> None:
    _again_s(ChannelFiles(tmp_path), HERE, OLD)
    (file,) = tmp_path.glob("*.lane")
    file.write_bytes(content)
    assert _again_s(ChannelFiles(tmp_path), HERE, YOUNG) is None


def test_a_folder_that_takes_no_lane_holds_nobody_up(tmp_path: Path) -> None:
    queues = ChannelFiles(tmp_path / "missing")
    assert _again_s(queues, HERE, OLD) is None
    assert _again_s(queues, HERE, YOUNG) is None
    queues.record_result(HERE, OutboxEntry(OLD), Receipt(DeliveryOutcome.DELIVERED), NOW)


def test_a_mark_keeps_its_reason_until_it_is_cleared(tmp_path: Path) -> None:
    channels = ChannelFiles(tmp_path)
    assert channels.why_dead("a") == ""
    channels.mark_dead("a", "404 \udcff")
    assert channels.why_dead("a") == "404 ?"
    assert channels.why_dead("b") == ""
    channels.unmark_dead("a")
    channels.unmark_dead("a")
    assert channels.why_dead("a") == ""


def test_a_mark_that_cannot_be_removed_is_reported_with_its_path(tmp_path: Path) -> None:
    (tmp_path / "folder").write_bytes(b"")
    with pytest.raises(StorageFailed, match=r"folder/.*\.dead cannot be removed: "):
        ChannelFiles(tmp_path / "folder").unmark_dead("abc")


def test_an_unreadable_mark_counts_as_none(tmp_path: Path) -> None:
    channels = ChannelFiles(tmp_path)
    channels.mark_dead("a", "404")
    (path,) = tmp_path.iterdir()
    path.unlink()
    path.mkdir()
    assert channels.why_dead("a") == ""
    channels.unmark_dead("a")


def _end(number: int) -> OutboxEntry:
    return OutboxEntry(
        Message(f"{number}/end", Route.ERROR, Tone.FAILURE, "x", created_s=number, digestible=True)
    )


def test_of_several_monitors_at_once_only_one_takes_an_offer(tmp_path: Path) -> None:
    queues = ChannelFiles(tmp_path)
    assert queues.can_agree(HERE)
    queues.record_result(
        HERE, OutboxEntry(OLD, next_try_s=NOW + 5), Receipt(DeliveryOutcome.TRY_AGAIN, for_all=True), NOW
    )
    for number in range(20):
        offered = replace(queues.request_turn(HERE, _end(number), NOW, 5).entry, offered_s=NOW)
        queues.add_offer(HERE, offered)

    def take(leader: int) -> None:
        taken = queues.take_offers(HERE, _end(leader), NOW + 10, 5)
        (tmp_path / f"{leader}.taken").write_text(" ".join(str(entry.created_s) for entry in taken))

    children = []
    for leader in range(100, 106):
        if (pid := os.fork()) == 0:
            try:
                take(leader)
            finally:
                os._exit(0)
        children.append(pid)
    for pid in children:
        os.waitpid(pid, 0)
    files = list(tmp_path.glob("*.taken"))
    taken = [int(number) for file in files for number in file.read_text().split()]
    assert len(files) == 6
    assert sorted(taken) == list(range(20))


def test_an_offer_in_a_queue_that_cannot_be_written_may_have_been_sent(tmp_path: Path) -> None:
    queues = ChannelFiles(tmp_path / "missing")
    assert queues.request_turn(HERE, _end(1), NOW, 5).entry == _end(1)
    turn = queues.request_turn(HERE, replace(_end(1), offered_s=NOW), NOW, 5)
    assert turn.again_s is None
    assert turn.entry.maybe_delivered
    assert queues.take_offers(HERE, _end(1), NOW, 5) == ()
    assert not queues.can_agree(HERE)


def test_without_locks_monitors_cannot_agree(tmp_path: Path) -> None:
    def check() -> None:
        assert refuse_locks(), "this machine has no way to refuse locks"
        assert not ChannelFiles(tmp_path).can_agree(HERE)

    in_a_copy(check)
