from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from jobmon_core.store.monitor_log import MonitorLog

TOKEN = "tOkEn-that-nobody-may-see_0123456789"


@pytest.fixture
def book(tmp_path: Path) -> MonitorLog:
    return MonitorLog(tmp_path / "slurm-a.b-12.log", max_bytes=2000)


def test_an_event_is_one_line_with_a_timestamp(book: MonitorLog) -> None:
    book.write("job 12:\n  RUNNING\r\n")
    book.write("job 12: COMPLETED")
    first, second = book.read().splitlines()
    assert first.endswith(" job 12: RUNNING")
    assert first[:4].isdigit()
    assert second.endswith(" job 12: COMPLETED")


def test_a_log_never_grows_beyond_two_files_of_its_limit(book: MonitorLog) -> None:
    for number in range(200):
        book.write(f"event {number} {'x' * 60}")
    sizes = [path.stat().st_size for path in book.path.parent.iterdir()]
    assert len(sizes) == 2
    assert all(size < 2200 for size in sizes)
    assert book.read().splitlines()[-1].split()[3] == "199"


def test_one_enormous_event_is_cut(book: MonitorLog) -> None:
    book.write("x" * 10_000_000)
    assert book.path.stat().st_size < 20_000


def test_a_log_is_private(book: MonitorLog) -> None:
    book.write("x")
    assert book.path.stat().st_mode & 0o777 == 0o600


@pytest.mark.parametrize(
    "before", ["https://discord.com/api/webhooks/12/", r"https:\/\/discord.com\/api\/webhooks\/12\/"]
)
def test_a_webhook_is_masked(book: MonitorLog, before: str) -> None:
    book.write(f"could not reach {before}{TOKEN}?wait=true")
    assert TOKEN not in book.read()
    assert "could not reach" in book.read()


def test_a_log_that_cannot_be_written_raises_nothing(tmp_path: Path) -> None:
    book = MonitorLog(tmp_path / "missing" / "12.log")
    book.write("x")
    assert book.read() == ""


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.text(st.characters(exclude_categories=())))
def test_every_text_can_be_written_and_stays_one_line(book: MonitorLog, text: str) -> None:
    book.write(text)
    assert len(book.read().splitlines()[-1]) >= len("2026-01-01 00:00:00+0000")
    for path in book.path.parent.iterdir():
        path.unlink()
