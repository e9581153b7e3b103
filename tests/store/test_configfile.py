from __future__ import annotations

import stat
from pathlib import Path

import pytest

from jobmon_core.domain.channels import Route
from jobmon_core.domain.config import Config
from jobmon_core.domain.errors import ConfigInvalid
from jobmon_core.store.configfile import read_config, tighten, write_config

URL = "https://discord.com/api/webhooks/123456789012345678/tOkEn-0123456789"


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "config.json"


def test_a_missing_file_is_an_empty_configuration(path: Path) -> None:
    assert read_config(path, {}) == Config()


def test_a_configuration_written_is_the_configuration_read(path: Path) -> None:
    write_config(path, {"discord": {"error_webhook": URL}, "backend": "local"})
    config = read_config(path, {})
    assert config.backend == "local"
    assert config.webhook(Route.ERROR) is not None


def test_a_configuration_is_private_and_its_folder_stays_as_it_is(tmp_path: Path) -> None:
    checkout, new = tmp_path / "checkout", tmp_path / "new" / "home"
    checkout.mkdir(mode=0o755)
    for folder in (checkout, new):
        write_config(folder / "config.json", {})
        assert stat.S_IMODE((folder / "config.json").stat().st_mode) == 0o600
    assert stat.S_IMODE(checkout.stat().st_mode) == 0o755
    assert stat.S_IMODE(new.stat().st_mode) == 0o700


@pytest.mark.parametrize(
    ("content", "why"),
    [
        (b"{", "it is no JSON"),
        (b"", "it is no JSON"),
        (b"[" * 100_000, "it is no JSON"),
        (b"\xef\xbb\xbf{}", "it is no JSON"),
        (b"\xff", "it can't be read"),
        (b"[]", "expected an object"),
    ],
)
def test_a_file_that_makes_no_sense_is_a_fault_that_names_it(path: Path, content: bytes, why: str) -> None:
    path.write_bytes(content)
    with pytest.raises(ConfigInvalid, match=why) as caught:
        read_config(path, {})
    assert str(path) in str(caught.value)


def test_a_folder_in_its_place_is_a_fault(path: Path) -> None:
    path.mkdir()
    with pytest.raises(ConfigInvalid, match="can't be read"):
        read_config(path, {})


def test_a_file_that_holds_a_webhook_counts_from_the_configurations_folder(path: Path) -> None:
    write_config(path, {"discord": {"error_webhook_file": "secret/error"}})
    (path.parent / "secret").mkdir()
    (path.parent / "secret" / "error").write_text(f"{URL}\n", encoding="utf-8")
    assert read_config(path, {}).webhook(Route.ERROR) is not None


@pytest.mark.parametrize(
    "name", ["missing", ".", "~nobody-of-this-name/x", "a\0b", "binary", "config.json/x"]
)
def test_a_webhook_file_that_cannot_be_read_is_a_fault_among_the_others(path: Path, name: str) -> None:
    (path.parent / "binary").write_bytes(b"\xff\xfe")
    write_config(path, {"discord": {"error_webhook_file": name}, "backend": "pbs"})
    with pytest.raises(ConfigInvalid, match="can't be read: ") as caught:
        read_config(path, {})
    assert len(caught.value.faults) == 2
    assert "None" not in str(caught.value)


def test_a_configuration_that_others_can_read_is_closed_once(path: Path) -> None:
    path.write_text("{}", encoding="ascii")
    path.chmod(0o640)
    assert tighten(path)
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert not tighten(path)


def test_there_is_nothing_to_close_where_no_configuration_is(path: Path) -> None:
    assert not tighten(path)
