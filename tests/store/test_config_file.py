from __future__ import annotations

import os
import shlex
import stat
from pathlib import Path

import pytest

from jobmon_core.domain.config import Config
from jobmon_core.domain.errors import ConfigInvalid
from jobmon_core.notify.channels import CHANNEL_TYPES
from jobmon_core.store.config_file import read_config, write_config

URL = "https://discord.com/api/webhooks/123456789012345678/tOkEn-0123456789"
BACKENDS = ("slurm", "local")


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "config.json"


def test_a_missing_file_is_an_empty_configuration(path: Path) -> None:
    assert read_config(path, {}, CHANNEL_TYPES, BACKENDS) == Config()


def test_a_configuration_written_is_the_configuration_read(path: Path) -> None:
    write_config(path, {"discord": {"error_webhook": URL}, "backend": "local"})
    config = read_config(path, {}, CHANNEL_TYPES, BACKENDS)
    assert config.backend == "local"
    assert config.channel("error") is not None


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
        (b"{", "not valid JSON"),
        (b"", "not valid JSON"),
        (b"[" * 100_000, "not valid JSON"),
        (b"\xff", "cannot be read: it is not a UTF-8 text file$"),
        (b"[]", "expected an object"),
    ],
)
def test_an_unreadable_file_is_a_fault_that_names_it(path: Path, content: bytes, why: str) -> None:
    path.write_bytes(content)
    path.chmod(0o600)
    with pytest.raises(ConfigInvalid, match=why) as caught:
        read_config(path, {}, CHANNEL_TYPES, BACKENDS)
    assert str(path) in str(caught.value)


def test_a_byte_order_mark_is_no_fault(path: Path) -> None:
    path.write_bytes(b'\xef\xbb\xbf{"monitors": {"at_most": 3}}')
    path.chmod(0o600)
    assert read_config(path, {}, CHANNEL_TYPES, BACKENDS).monitors == 3


def test_a_folder_in_its_place_is_a_fault(path: Path) -> None:
    path.mkdir()
    with pytest.raises(ConfigInvalid, match=r"cannot be read: Is a directory$"):
        read_config(path, {}, CHANNEL_TYPES, BACKENDS)


def test_a_relative_webhook_file_is_found_beside_the_configuration(path: Path) -> None:
    write_config(path, {"discord": {"error_webhook_file": "secret/error"}})
    (path.parent / "secret").mkdir()
    (path.parent / "secret" / "error").write_text(f"{URL}\n", encoding="utf-8")
    (path.parent / "secret" / "error").chmod(0o600)
    assert read_config(path, {}, CHANNEL_TYPES, BACKENDS).channel("error") is not None


@pytest.mark.parametrize(
    "name", ["missing", ".", "~nobody-of-this-name/x", "a\0b", "binary", "config.json/x"]
)
def test_a_webhook_file_that_cannot_be_read_is_a_fault_among_the_others(path: Path, name: str) -> None:
    (path.parent / "binary").write_bytes(b"\xff\xfe")
    write_config(path, {"discord": {"error_webhook_file": name}, "backend": "pbs"})
    with pytest.raises(ConfigInvalid, match="cannot read ") as caught:
        read_config(path, {}, CHANNEL_TYPES, BACKENDS)
    assert len(caught.value.faults) == 2
    assert "None" not in str(caught.value)


@pytest.mark.parametrize("mode", [0o644, 0o640, 0o604, 0o620, 0o602, 0o610, 0o601])
def test_a_configuration_that_others_can_read_is_refused_with_the_remedy(path: Path, mode: int) -> None:
    write_config(path, {"backend": "local"})
    path.chmod(mode)
    with pytest.raises(ConfigInvalid, match=f"its mode is {mode:04o}: run `chmod 600 {path}`$") as caught:
        read_config(path, {}, CHANNEL_TYPES, BACKENDS)
    assert str(caught.value).startswith(f"{path} is not usable:")
    assert stat.S_IMODE(path.stat().st_mode) == mode
    path.chmod(0o400)
    assert read_config(path, {}, CHANNEL_TYPES, BACKENDS).backend == "local"


def test_the_remedy_can_be_pasted_into_a_shell(tmp_path: Path) -> None:
    path = tmp_path / "it's; $(touch x)" / "config.json"
    write_config(path, {})
    path.chmod(0o644)
    with pytest.raises(ConfigInvalid) as caught:
        read_config(path, {}, CHANNEL_TYPES, BACKENDS)
    command = caught.value.faults[0].split("`")[1]
    assert shlex.split(command) == ["chmod", "600", str(path)]


def test_a_configuration_of_another_user_is_refused_with_another_remedy(path: Path) -> None:
    if os.getuid() != 0:
        pytest.skip("a file can be given away only by root")
    write_config(path, {})
    path.chmod(0o644)
    os.chown(path, 12345, 12345)
    with pytest.raises(ConfigInvalid, match="it belongs to 12345 and its mode is 0644: use a copy"):
        read_config(path, {}, CHANNEL_TYPES, BACKENDS)


def test_a_webhook_file_that_others_can_read_is_refused(path: Path) -> None:
    write_config(path, {"discord": {"error_webhook_file": "error"}})
    secret = path.with_name("error")
    secret.write_text(URL, encoding="ascii")
    secret.chmod(0o644)
    with pytest.raises(
        ConfigInvalid, match=f"it holds a secret, but its mode is 0644: run `chmod 600 {secret}`"
    ):
        read_config(path, {}, CHANNEL_TYPES, BACKENDS)
