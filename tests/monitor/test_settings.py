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
CONFIG = Config(policy=Policy(running_s=7.0), heartbeat=ADDRESS)


class ConfigFile:
    """A configuration file; another file lists the PIDs of the processes that read it."""

    def __init__(self, folder: Path) -> None:
        self.path = folder / "config.json"
        self.path.write_text("{}", encoding="ascii")
        self.readers = folder / "readers"
        self.load: Callable[[], Config] = lambda: CONFIG
        self.reader = SettingsReader(self.path, self._read, Worker())

    def _read(self) -> Config:
        with self.readers.open("a") as file:
            file.write(f"{os.getpid()}\n")
        return self.load()

    @property
    def reads(self) -> list[int]:
        return [int(line) for line in self.readers.read_text().splitlines()]


@pytest.fixture
def config_file(tmp_path: Path) -> ConfigFile:
    return ConfigFile(tmp_path)


def invalid() -> Config:
    raise ConfigInvalid("config.json", ["not valid JSON", "backend: unknown"])


def test_the_settings_are_read_by_another_process(config_file: ConfigFile) -> None:
    settings = config_file.reader.settings()
    assert (settings.policy, settings.heartbeat) == (CONFIG.policy, ADDRESS)
    assert os.getpid() not in config_file.reads


def test_the_settings_are_read_again_only_after_a_change(config_file: ConfigFile) -> None:
    for _ in range(3):
        config_file.reader.settings()
    assert len(config_file.reads) == 1
    config_file.path.write_text('{"backend": "slurm"}', encoding="ascii")
    config_file.load = Config
    assert config_file.reader.settings().policy == Policy()
    assert len(config_file.reads) == 2


def test_without_a_file_the_settings_are_read_once(config_file: ConfigFile) -> None:
    config_file.path.unlink()
    for _ in range(3):
        config_file.reader.settings()
    assert len(config_file.reads) == 1


def test_every_fault_is_reported_and_a_correction_takes_effect_at_once(config_file: ConfigFile) -> None:
    config_file.load = invalid
    for _ in range(2):
        with pytest.raises(ConfigInvalid) as caught:
            config_file.reader.settings()
        assert list(caught.value.faults) == ["not valid JSON", "backend: unknown"]
    config_file.load = lambda: CONFIG  # as after a change to a file that the configuration refers to
    assert config_file.reader.settings().policy == CONFIG.policy


def test_the_settings_are_read_even_if_no_process_can_be_started(config_file: ConfigFile) -> None:
    def fails_in_children() -> Config:
        if os.getpid() != pid:
            os._exit(1)
        return CONFIG

    pid = os.getpid()
    config_file.load = fails_in_children
    assert config_file.reader.settings().policy == CONFIG.policy
    assert config_file.reads[-1] == pid


def test_an_idle_monitor_has_not_loaded_rarely_needed_modules() -> None:
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
