"""The section `hosts` of the configuration."""

from __future__ import annotations

from pathlib import Path

import pytest

from jobmon_core.domain.errors import ConfigInvalid
from jobmon_core.domain.node.hosts.settings import Host, find_host, parse_hosts
from jobmon_core.store.config_file import read_config, read_section


def config(tmp_path: Path, text: str) -> Path:
    path = tmp_path / "config.json"
    path.write_text(text)
    path.chmod(0o600)
    return path


def test_a_host_has_a_destination_of_ssh_and_a_folder_whose_space_matters(tmp_path: Path) -> None:
    text = '{"hosts": {"box": {"ssh": "me@gpu7.example", "data": "/data"}, "gpu8": {}}}'
    hosts = read_section(config(tmp_path, text), "hosts", parse_hosts)
    assert hosts == {"box": Host("box", "me@gpu7.example", "/data"), "gpu8": Host("gpu8", "gpu8")}
    assert find_host(hosts, "box").destination == "me@gpu7.example"
    assert find_host(hosts, "gpu9") == Host("gpu9", "gpu9")  # ssh may know it
    assert read_section(tmp_path / "missing.json", "hosts", parse_hosts) == {}


def test_all_faults_of_the_hosts_are_reported_with_those_of_the_rest(tmp_path: Path) -> None:
    path = config(
        tmp_path,
        '{"hosts": {"b": {"ssh": "-oProxyCommand=x"}, "c": {"data": "rel"}, "d": {"port": 1}, "e f": {}},'
        ' "backend": 7}',
    )
    with pytest.raises(ConfigInvalid) as failed:
        read_config(path, {}, {}, ("slurm",))
    assert [fault.partition(": ")[0] for fault in failed.value.faults] == [
        "backend",
        "hosts.b.ssh",
        "hosts.c.data",
        "hosts.d.port",
        "hosts.e f",
        "hosts.e f.ssh",
    ]
    with pytest.raises(ConfigInvalid):
        read_section(path, "hosts", parse_hosts)


@pytest.mark.parametrize("name", ["-oProxyCommand=touch /tmp/x", "a b", "a;b", "", "$(id)"])
def test_a_name_that_ssh_or_a_shell_would_take_for_something_else_is_refused(name: str) -> None:
    with pytest.raises(ValueError, match="not a host"):
        find_host({}, name)
