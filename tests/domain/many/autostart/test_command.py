from __future__ import annotations

import pytest

from jobmon_core.domain.many.autostart.command import (
    AutostartMethod,
    MethodStatus,
    best_method,
    exported_env,
    omitted_secrets,
)


def test_only_cluster_home_and_proxy_are_exported() -> None:
    environment = {
        "SLURM_CONF": "/etc/slurm/other.conf",
        "https_proxy": "http://proxy:3128",
        "JOBMON_ERROR_WEBHOOK": "secret",
        "HOME": "/home/me",
        "PATH": "/long",
    }
    assert exported_env(environment, "/h", "/bin") == {
        "JOBMON_HOME": "/h",
        "SLURM_CONF": "/etc/slurm/other.conf",
        "https_proxy": "http://proxy:3128",
        "PATH": "/bin",
    }
    assert omitted_secrets(environment, ["JOBMON_ERROR_WEBHOOK"]) == ["JOBMON_ERROR_WEBHOOK"]


@pytest.mark.parametrize("proxy", ["http://me:hunter2@proxy:3128", "me:hunter2@proxy", "http://[::1:3128"])
def test_a_proxy_with_a_password_is_listed_and_not_exported(proxy: str) -> None:
    assert "HTTPS_PROXY" not in exported_env({"HTTPS_PROXY": proxy}, "/h", "/bin")
    assert omitted_secrets({"HTTPS_PROXY": proxy}, []) == ["HTTPS_PROXY"]


@pytest.mark.parametrize(
    ("usable", "killed", "way"),
    [
        ("cron systemd scrontab", False, AutostartMethod.CRON),
        ("cron systemd scrontab", True, AutostartMethod.SYSTEMD),
        ("systemd scrontab", False, AutostartMethod.SYSTEMD),
        ("cron scrontab", True, AutostartMethod.CRON),
        ("scrontab", False, AutostartMethod.SCRONTAB),
        ("", False, None),
    ],
)
def test_the_best_method_has_the_fewest_requirements_and_survives_a_logout(
    usable: str, way: AutostartMethod | None, *, killed: bool
) -> None:
    offers = [MethodStatus(each, "" if each in usable.split() else "not here") for each in AutostartMethod]
    assert best_method(offers, killed_at_logout=killed) is way
