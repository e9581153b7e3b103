"""The section `profiles` of the configuration."""

from __future__ import annotations

from pathlib import Path

import pytest

from jobmon_core.domain.errors import ConfigInvalid
from jobmon_core.domain.node.hosts.profiles import INTERACTIVE, Profile, parse_profiles
from jobmon_core.domain.node.hosts.settings import Host
from jobmon_core.store.config_file import read_config, read_section


def config(tmp_path: Path, text: str) -> Path:
    path = tmp_path / "config.json"
    path.write_text(text)
    path.chmod(0o600)
    return path


def test_a_profile_without_keys_is_a_destination_of_ssh_with_jobmon_on_its_path(tmp_path: Path) -> None:
    text = (
        '{"profiles": {"leo": {}, "juwels": {"host": "me@jw.example", "command": "~/venv/bin/jobmon",'
        ' "home": "~/j", "auth": "interactive"}}}'
    )
    path = config(tmp_path, text)
    assert read_section(path, "profiles", parse_profiles) == {
        "leo": Profile(Host("leo", "leo"), "jobmon", "", "batch"),
        "juwels": Profile(Host("juwels", "me@jw.example"), "~/venv/bin/jobmon", "~/j", INTERACTIVE),
    }
    read_config(path, {}, {}, ("slurm",))  # knows the section, too


def test_all_faults_of_the_profiles_are_reported(tmp_path: Path) -> None:
    text = (
        '{"profiles": {"a b": {}, "b": {"host": "-oProxyCommand=x"}, "c": {"auth": "none"}, "d": {"port": 1},'
        ' "e": {"command": "a\\nb"}}}'
    )
    path = config(tmp_path, text)
    for read in (
        lambda: read_section(path, "profiles", parse_profiles),
        lambda: read_config(path, {}, {}, ("slurm",)),
    ):
        with pytest.raises(ConfigInvalid) as failed:
            read()
        faults = [fault.partition(": ")[0] for fault in failed.value.faults]
        keys = ["a b", "a b.host", "b.host", "c.auth", "d.port", "e.command"]
        assert faults == [f"profiles.{key}" for key in keys]
