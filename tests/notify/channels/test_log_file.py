from __future__ import annotations

import json
import multiprocessing
import stat
from dataclasses import replace
from pathlib import Path

from jobmon_core.domain.channels import DeliveryOutcome
from jobmon_core.notify.channels.log_file import LogFile
from tests.support.channel_cases import ENTRY, FAILED, config_of

_WRITERS, _LINES = 4, 25


def _write(path: str, writer: int) -> None:
    channel = LogFile(path)
    for number in range(_LINES):
        message = replace(FAILED, id=f"{writer}-{number}/end", summary="long " * 2000)
        assert channel.deliver(replace(ENTRY, message=message)).outcome is DeliveryOutcome.DELIVERED


def test_writers_at_the_same_time_lose_and_mix_no_line(tmp_path: Path) -> None:
    path = tmp_path / "logs" / "messages.jsonl"
    processes = [
        multiprocessing.get_context("fork").Process(target=_write, args=(str(path), writer))
        for writer in range(_WRITERS)
    ]
    for process in processes:
        process.start()
    for process in processes:
        process.join()
    records = [json.loads(line) for line in path.read_text("utf-8").splitlines()]
    assert len({record["id"] for record in records}) == len(records) == _WRITERS * _LINES
    assert stat.S_IMODE(path.stat().st_mode) == 0o600


def test_a_line_that_was_cut_short_does_not_damage_the_next_and_older_lines_stay(tmp_path: Path) -> None:
    path = tmp_path / "messages.jsonl"
    path.write_bytes(b'{"id": "old"}\n{"id": "cut sh')
    LogFile(str(path)).deliver(ENTRY)
    old, cut, new = path.read_text("utf-8").splitlines()
    assert (old, cut) == ('{"id": "old"}', '{"id": "cut sh')
    assert json.loads(new)["title"] == FAILED.title


def test_a_repeat_of_what_is_in_the_file_is_not_written_again(tmp_path: Path) -> None:
    path = tmp_path / "messages.jsonl"
    channel = LogFile(str(path))
    repeat = replace(ENTRY, maybe_delivered=True)
    for entry in (ENTRY, repeat, replace(repeat, message=replace(FAILED, id="4212/end"))):
        assert channel.deliver(entry).outcome is DeliveryOutcome.DELIVERED
    assert [json.loads(line)["id"] for line in path.read_text("utf-8").splitlines()] == [
        FAILED.id,
        "4212/end",
    ]


def test_a_file_that_cannot_be_written_is_tried_again(tmp_path: Path) -> None:
    (tmp_path / "folder.jsonl").mkdir()
    (tmp_path / "file").write_text("", encoding="utf-8")
    for path in (tmp_path / "folder.jsonl", tmp_path / "file" / "x.jsonl", Path("~nobody-here/x")):
        receipt = LogFile(str(path)).deliver(ENTRY)
        assert (receipt.outcome, receipt.for_all) == (DeliveryOutcome.TRY_AGAIN, True)
        assert receipt.why


def test_a_relative_path_counts_from_the_folder_of_the_configuration() -> None:
    data = {
        "alerts": {"log": {}},
        "channels": {"b": {"type": "log", "path": "x.jsonl"}, "c": {"type": "log", "path": "/y.jsonl"}},
    }
    paths = [getattr(channel.channel, "path", None) for channel in config_of(data).channels]
    folder = "/home/me/jobmon"
    assert paths == [f"{folder}/x.jsonl", "/y.jsonl", f"{folder}/logs/messages.jsonl"]
