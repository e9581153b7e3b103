"""What a monitor knows of the configuration, and what it does not carry for that."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from jobmon_core.domain.config import Config
from jobmon_core.domain.errors import ConfigInvalid
from jobmon_core.domain.heartbeat import HeartbeatUrl
from jobmon_core.domain.tracking.policy import Policy
from jobmon_core.monitor.settings import SettingsReader
from jobmon_core.system.worker import Worker

ADDRESS = HeartbeatUrl.parse("https://hc.example.org/s3cret")
FOUND = Config(policy=Policy(running_s=7.0), heartbeat=ADDRESS)


class Desk:
    """A configuration file, and who has read it: each reading is a line of another file."""

    def __init__(self, folder: Path) -> None:
        self.path = folder / "config.json"
        self.path.write_text("{}", encoding="ascii")
        self.readers = folder / "readers"
        self.found: Callable[[], Config] = lambda: FOUND
        self.reader = SettingsReader(self.path, self._read, Worker())

    def _read(self) -> Config:
        with self.readers.open("a") as file:
            file.write(f"{os.getpid()}\n")
        return self.found()

    @property
    def reads(self) -> list[int]:
        return [int(line) for line in self.readers.read_text().splitlines()]


@pytest.fixture
def session(tmp_path: Path) -> Desk:
    return Desk(tmp_path)


def faulty() -> Config:
    raise ConfigInvalid("config.json", ["not valid JSON", "backend: unknown"])


def test_it_is_read_by_another_process(session: Desk) -> None:
    settings = session.reader.settings()
    assert (settings.policy, settings.heartbeat) == (FOUND.policy, ADDRESS)
    assert os.getpid() not in session.reads


def test_it_is_read_again_only_where_the_file_changed(session: Desk) -> None:
    for _ in range(3):
        session.reader.settings()
    assert len(session.reads) == 1
    session.path.write_text('{"backend": "slurm"}', encoding="ascii")
    session.found = Config
    assert session.reader.settings().policy == Policy()
    assert len(session.reads) == 2


def test_without_a_file_it_is_read_once(session: Desk) -> None:
    session.path.unlink()
    for _ in range(3):
        session.reader.settings()
    assert len(session.reads) == 1


def test_every_fault_is_told_and_a_mended_one_counts_at_once(session: Desk) -> None:
    session.found = faulty
    for _ in range(2):
        with pytest.raises(ConfigInvalid) as caught:
            session.reader.settings()
        assert list(caught.value.faults) == ["not valid JSON", "backend: unknown"]
    session.found = lambda: FOUND  # a file that the configuration names, which no stamp tells of
    assert session.reader.settings().policy == FOUND.policy


def test_where_no_process_can_be_made_it_is_read_all_the_same(session: Desk) -> None:
    def broken() -> Config:
        if os.getpid() != here:
            os._exit(1)
        return FOUND

    here = os.getpid()
    session.found = broken
    assert session.reader.settings().policy == FOUND.policy
    assert session.reads[-1] == here


def test_an_idle_monitor_carries_nothing_that_only_rare_moments_need() -> None:
    code = "import sys, jobmon_core.monitor.main; print(*sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    rare = {
        "requests",
        "traceback",
        "jobmon_core.domain.config",
        "jobmon_core.analysis.explainer",
        "jobmon_core.monitor.outbox",
        "jobmon_core.observe",
        "jobmon_core.notify",
    }
    assert rare & set(done.stdout.split()) == set()
