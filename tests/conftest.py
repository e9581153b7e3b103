"""Every test is alone: no home, no cluster, no webhook and no network but its own."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest
from hypothesis import settings
from platformdirs import user_data_path

from jobmon_core.domain.webhook import is_loopback

_CHECKOUT = Path(__file__).resolve().parents[1]
_FORBIDDEN = tuple(
    str(path)
    for path in (
        _CHECKOUT / "state",
        _CHECKOUT / "logs",
        _CHECKOUT / "config.json",
        user_data_path("jobmon", appauthor=False),
    )
)
_TOUCHING = ("open", "os.mkdir", "os.rename", "os.remove")

settings.register_profile("jobmon", deadline=None)  # a busy machine is no failure
settings.load_profile("jobmon")


class LeftItsCage(AssertionError):
    """A test was about to touch what belongs to the person who runs it."""


def _guard(event: str, arguments: tuple[object, ...]) -> None:
    if event in _TOUCHING:
        _refuse_real_home(arguments[0])
    elif event in ("socket.connect", "socket.sendto"):
        _refuse_network(arguments[1])


def _refuse_real_home(path: object) -> None:
    name = str(path)
    # config.json.example may be read; what lies in a folder is told by the separator
    if any(name == forbidden or name.startswith(f"{forbidden}/") for forbidden in _FORBIDDEN):
        raise LeftItsCage(f"{name} is the user's own")


def _refuse_network(address: object) -> None:
    if isinstance(address, tuple) and not is_loopback(str(address[0])):
        raise LeftItsCage(f"{address} is not this machine")


sys.addaudithook(_guard)


@pytest.fixture(autouse=True)
def _cage(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Take the user's home, cluster and webhooks out of the environment."""
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("JOBMON_HOME", str(tmp_path / "jobmon"))
    monkeypatch.setenv("SLURM_CONF", str(tmp_path / "no-cluster" / "slurm.conf"))
    monkeypatch.delenv("XDG_DATA_HOME", raising=False)
    for variable in ("JOBMON_SUCCESS_WEBHOOK", "JOBMON_ERROR_WEBHOOK"):
        monkeypatch.delenv(variable, raising=False)
