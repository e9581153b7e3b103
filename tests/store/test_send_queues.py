from __future__ import annotations

from pathlib import Path

import pytest

from jobmon_core.domain.channels import Route
from jobmon_core.domain.delivery.outbox import Message, Owed, Receipt, Tone, Verdict
from jobmon_core.store.send_queues import Lanes

NOW = 1_000_000.0
HERE, THERE = "discord.com …1 (aa)", "discord.com …2 (bb)"
OLD, YOUNG = (Message(f"m{made_s}", Route.ERROR, Tone.FAILURE, "x", made_s=made_s) for made_s in (1, 2))


def test_all_who_look_see_who_waits(tmp_path: Path) -> None:
    assert Lanes(tmp_path).ask(HERE, OLD, NOW) is None
    assert Lanes(tmp_path).ask(HERE, YOUNG, NOW) is not None
    Lanes(tmp_path).leave(HERE, Owed(OLD, delivered_s=NOW), Receipt(Verdict.DELIVERED), NOW)
    assert Lanes(tmp_path).ask(HERE, YOUNG, NOW) is None


def test_each_channel_has_a_lane_of_its_own(tmp_path: Path) -> None:
    Lanes(tmp_path).ask(HERE, OLD, NOW)
    assert Lanes(tmp_path).ask(THERE, YOUNG, NOW) is None


@pytest.mark.parametrize("content", [b"", b"[]", b"\xff", b'{"shut_until_s": "late"}'])
def test_a_lane_that_cannot_be_read_holds_nobody_up(tmp_path: Path, content: bytes) -> None:
    Lanes(tmp_path).ask(HERE, OLD, NOW)
    (file,) = tmp_path.glob("*.lane")
    file.write_bytes(content)
    assert Lanes(tmp_path).ask(HERE, YOUNG, NOW) is None


def test_a_folder_that_takes_no_lane_holds_nobody_up(tmp_path: Path) -> None:
    lanes = Lanes(tmp_path / "missing")
    assert lanes.ask(HERE, OLD, NOW) is None
    assert lanes.ask(HERE, YOUNG, NOW) is None
    lanes.leave(HERE, Owed(OLD), Receipt(Verdict.DELIVERED), NOW)
