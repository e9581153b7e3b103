"""Isolate every test from the home, cluster, webhooks and network of the user who runs it."""

from __future__ import annotations

import gc
import itertools
import os
import re
import shutil
import signal
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings
from platformdirs import user_data_path

from jobmon_core.domain.webhook import is_loopback
from tests.support.order import DURATIONS, Recorder, order

_TESTS = Path(__file__).resolve().parent
_CHECKOUT = _TESTS.parent
_FORBIDDEN = tuple(
    str(path)
    for path in (
        _CHECKOUT / "state",
        _CHECKOUT / "logs",
        _CHECKOUT / "config.json",
        user_data_path("jobmon", appauthor=False),
    )
)
_FILE_EVENTS = ("open", "os.mkdir", "os.rename", "os.remove")
_MAX_NAME = 60  # characters of a value in the name of a test
_numbers = itertools.count()
_REAL = _TESTS / "real"
# tests of these folders write many files that must not be lost, for each of which a disk takes milliseconds;
# others stay on the disk, because jobmon looks for no outputs below /dev, and memory counts no bytes written
_IN_MEMORY = {"lifecycle", "monitor", "polling", "store"}
_MEMORY, _ENOUGH_BYTES = Path("/dev/shm"), 4 * 2**30

# xdist sets it in its workers; here, because test modules copy the environment when they are imported
os.environ.pop("COLUMNS", None)
# what tests start would inherit that `nohup` ignores the one, and a shell in its background jobs the other
signal.signal(signal.SIGHUP, signal.SIG_DFL)
if signal.getsignal(signal.SIGINT) == signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)

# A slow machine must not fail a test, and the same code must get the same answer. With the option
# `--hypothesis-profile random`, other examples are drawn each time; dev/fuzz searches for hours.
settings.register_profile("random", deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.register_profile("jobmon", settings.get_profile("random"), derandomize=True)
settings.load_profile("jobmon")


class IsolationError(AssertionError):
    """A test tried to access something that belongs to the user who runs it."""


def _audit(event: str, arguments: tuple[object, ...]) -> None:
    if event in _FILE_EVENTS:
        _refuse_real_home(arguments[0])
    elif event in ("socket.connect", "socket.sendto"):
        _refuse_network(arguments[1])


def _refuse_real_home(path: object) -> None:
    name = str(path)
    # not any name that starts like a forbidden one: tests may read config.json.example
    if any(name == forbidden or name.startswith(f"{forbidden}/") for forbidden in _FORBIDDEN):
        raise IsolationError(f"a test must not access {name}")


def _refuse_network(address: object) -> None:
    if isinstance(address, tuple) and not is_loopback(str(address[0])):
        raise IsolationError(f"a test must not connect to another machine: {address}")


sys.addaudithook(_audit)


@pytest.hookimpl(wrapper=True)
def pytest_collection() -> Iterator[None]:
    """Keep the garbage collector from the half a million objects that live as long as the run."""
    gc.disable()
    try:
        return (yield)
    finally:
        gc.enable()
        gc.freeze()


def pytest_make_parametrize_id(val: object) -> str | None:
    """Name a long text by its beginning: every report of a worker holds the whole name of its test."""
    if not isinstance(val, str | bytes) or len(val) <= _MAX_NAME:
        return None
    return f"{val[:_MAX_NAME]!a}... ({len(val)})"


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption(
        "--record-durations", action="store_true", help=f"write how long each test takes into {DURATIONS}"
    )


def pytest_configure(config: pytest.Config) -> None:
    if config.getoption("--record-durations") and not hasattr(config, "workerinput"):
        config.pluginmanager.register(Recorder())


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    for item in items:
        if item.path.is_relative_to(_REAL):
            item.add_marker("real")
    if hasattr(config, "workerinput"):
        order(items)


@pytest.fixture(scope="session")
def memory(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """A folder in memory, or on the disk where there is too little of it or it takes no programs."""
    if (
        not _MEMORY.is_mount()
        or shutil.disk_usage(_MEMORY).free < _ENOUGH_BYTES
        or os.statvfs(_MEMORY).f_flag & os.ST_NOEXEC
    ):
        yield tmp_path_factory.getbasetemp()
        return
    with tempfile.TemporaryDirectory(prefix="jobmon-", dir=_MEMORY, ignore_cleanup_errors=True) as folder:
        yield Path(folder)


@pytest.fixture
def tmp_path(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder of the test's own; the fixture of pytest lists the folders of all earlier tests to name it."""
    name = re.sub(r"\W", "_", request.node.name)[:30]
    is_light = request.path.relative_to(_TESTS).parts[0] in _IN_MEMORY
    base: Path = request.getfixturevalue("memory") if is_light else tmp_path_factory.getbasetemp()
    folder = base / f"{name}{next(_numbers)}"
    folder.mkdir(mode=0o700)
    return folder


@pytest.fixture(autouse=True)
def _isolated_environment(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Remove the user's home, cluster and webhooks from the environment."""
    if tmp_path.is_relative_to(_MEMORY):
        monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("JOBMON_HOME", str(tmp_path / "jobmon"))
    monkeypatch.setenv("SLURM_CONF", os.devnull)  # names no cluster, so Slurm's commands refuse it at once
    monkeypatch.delenv("XDG_DATA_HOME", raising=False)
    for variable in ("JOBMON_SUCCESS_WEBHOOK", "JOBMON_ERROR_WEBHOOK"):
        monkeypatch.delenv(variable, raising=False)
