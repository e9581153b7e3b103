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
from jobmon_core.domain.job.tracking.policy import Policy
from jobmon_core.monitor.settings import SettingsReader
from jobmon_core.scheduler.backends import NAMES
from jobmon_core.system.helper import Helper

ADDRESS = HeartbeatUrl.parse("https://hc.example.org/s3cret")
FOUND = Config(policy=Policy(running_s=7.0), heartbeat=ADDRESS)


class Site:
    """A configuration file and its readers: each process that reads it adds a line to another file."""

    def __init__(self, folder: Path) -> None:
        self.path = folder / "config.json"
        self.path.write_text("{}", encoding="ascii")
        self.readers = folder / "readers"
        self.found: Callable[[], Config] = lambda: FOUND
        self.reader = SettingsReader(self.path, self._read, Helper())

    def _read(self) -> Config:
        with self.readers.open("a") as file:
            file.write(f"{os.getpid()}\n")
        return self.found()

    @property
    def reads(self) -> list[int]:
        return [int(line) for line in self.readers.read_text().splitlines()]


@pytest.fixture
def site(tmp_path: Path) -> Site:
    return Site(tmp_path)


def faulty() -> Config:
    raise ConfigInvalid("config.json", ["not valid JSON", "backend: unknown"])


def test_the_file_is_read_by_another_process(site: Site) -> None:
    settings = site.reader.settings()
    assert (settings.policy, settings.heartbeat) == (FOUND.policy, ADDRESS)
    assert os.getpid() not in site.reads


def test_the_file_is_read_again_only_after_a_change(site: Site) -> None:
    for _ in range(3):
        site.reader.settings()
    assert len(site.reads) == 1
    site.path.write_text('{"backend": "slurm"}', encoding="ascii")
    site.found = Config
    assert site.reader.settings().policy == Policy()
    assert len(site.reads) == 2


def test_a_missing_file_is_read_once(site: Site) -> None:
    site.path.unlink()
    for _ in range(3):
        site.reader.settings()
    assert len(site.reads) == 1


def test_every_fault_is_reported_and_a_corrected_file_takes_effect_at_once(site: Site) -> None:
    site.found = faulty
    for _ in range(2):
        with pytest.raises(ConfigInvalid) as caught:
            site.reader.settings()
        assert list(caught.value.faults) == ["not valid JSON", "backend: unknown"]
    site.found = lambda: FOUND  # a file that the configuration names, which no stamp tells of
    assert site.reader.settings().policy == FOUND.policy


def test_the_file_is_read_even_if_no_process_can_be_started(site: Site) -> None:
    def broken() -> Config:
        if os.getpid() != here:
            os._exit(1)
        return FOUND

    here = os.getpid()
    site.found = broken
    assert site.reader.settings().policy == FOUND.policy
    assert site.reads[-1] == here


def test_an_idle_monitor_does_not_import_what_it_rarely_needs() -> None:
    code = """
import sys, jobmon_core.monitor.main, jobmon_core.store.message_files
from jobmon_core.scheduler.backends import find_backend
find_backend("slurm")
print(*sys.modules)
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    rare = {
        "apprise",
        "requests",
        "smtplib",
        "traceback",
        "jobmon_core.domain.config",
        "jobmon_core.domain.delivery.plan",
        "jobmon_core.domain.redaction",
        "jobmon_core.analysis.explainer",
        "jobmon_core.domain.messages.job_ended",
        "jobmon_core.domain.messages.progress_alerts",
        "jobmon_core.domain.artifacts",
        "jobmon_core.domain.job.history",
        "jobmon_core.domain.logs.progress.model",
        "jobmon_core.monitor.card",
        "jobmon_core.store.history",
        "jobmon_core.monitor.outbox",
        "jobmon_core.monitor.restarts",
        "jobmon_core.store.lineages",
        "jobmon_core.observe",
        "jobmon_core.notify",
        *(f"jobmon_core.scheduler.{name}" for name in NAMES if name != "slurm"),
    }
    assert rare & set(done.stdout.split()) == set()


def test_what_a_monitor_imports_before_a_job_starts_leaves_the_model_of_progress_out() -> None:
    code = "import sys, jobmon_core.analysis.job_logs; print(*sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert {"jobmon_core.domain.logs.progress.model", "jobmon_core.domain.artifacts"} & set(
        done.stdout.split()
    ) == set()


def test_a_monitor_loads_the_parsers_of_python_only_once_inspect_is_used() -> None:
    code = """
import sys, jobmon_core.monitor.main
print("ast" in sys.modules)
import inspect
print(inspect.signature(lambda seconds: None))
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    loaded, signature = done.stdout.splitlines()
    assert signature == "(seconds)"
    assert loaded == "False" or sys.version_info >= (3, 13)  # its dataclasses always use inspect


def test_modules_that_python_seldom_uses_are_loaded_by_the_first_use() -> None:
    code = """
import jobmon_core.monitor.main, subprocess, urllib.parse
print(urllib.parse.urlsplit("http://[::1]:80").hostname, subprocess.getoutput("echo text"))
import ipaddress, locale
print(ipaddress.ip_address("::1").is_loopback, bool(locale.getlocale))
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.splitlines() == ["::1 text", "True True"]
