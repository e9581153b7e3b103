from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from jobmon_core.domain.channels import DeliveryOutcome, Level
from jobmon_core.notify.channels.terminal import Terminal, TerminalLine, read_lines
from tests.support.channel_cases import ENTRY, FAILED, NOW, config_of


def test_a_message_becomes_one_line_without_escape_sequences(tmp_path: Path) -> None:
    path = tmp_path / "state" / "terminal.jsonl"
    message = replace(FAILED, title="\x1b[31mtrain\x1b[0m\nfailed\a")
    channel = Terminal(str(path))
    receipt = channel.deliver(replace(ENTRY, message=message))
    assert receipt.outcome is DeliveryOutcome.DELIVERED
    assert read_lines(path.read_bytes()) == [TerminalLine(FAILED.id, NOW, Level.CRITICAL, "train failed")]


def test_the_file_keeps_the_last_messages_and_damage_costs_only_its_line(tmp_path: Path) -> None:
    path = tmp_path / "terminal.jsonl"
    path.write_bytes(b'{"id": "x"}\n' * 10_000 + b"\xff{broken\n")
    channel = Terminal(str(path))
    channel.deliver(ENTRY)
    assert path.stat().st_size < 10_000
    assert [line.text for line in read_lines(path.read_bytes())] == [FAILED.title]


def test_a_home_that_cannot_be_written_is_named_with_what_to_do(tmp_path: Path) -> None:
    (tmp_path / "state").touch()
    result = Terminal(str(tmp_path / "state" / "terminal.jsonl")).deliver(ENTRY)
    assert result.outcome is DeliveryOutcome.TRY_AGAIN
    assert str(tmp_path) in result.why
    assert "`jobmon where`" in result.advice


def test_the_refresh_rate_is_a_setting() -> None:
    config = config_of({"alerts": {"terminal": {"enabled": True, "refresh_rate": 1}}})
    (channel,) = config.channels
    assert channel.channel == Terminal("/home/me/jobmon/state/terminal.jsonl", 1)
