from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path

import pytest

from jobmon_core.app.autostart import search_path
from jobmon_core.context import Context
from jobmon_core.domain.job.tracking.model import WatchedJob
from jobmon_core.monitor.wiring import MonitorFactory
from jobmon_core.scheduler.base import Scheduler
from jobmon_core.store.home import Home
from jobmon_core.system.environment import (
    controller_fingerprint,
    dir_of_program,
    env_fingerprint,
    query_environment,
    user_environment,
)
from tests.support.clock import FakeClock
from tests.support.processes import in_a_copy
from tests.support.scheduler import FakeScheduler

HERE, THERE = "/here/slurm.conf", "/there/slurm.conf"


def slurm_in(folder: Path) -> str:
    folder.mkdir()
    for program in ("squeue", "sacct", "scontrol"):
        (folder / program).touch(mode=0o755)
    return str(folder)


def test_a_removed_working_directory_hides_no_program(tmp_path: Path) -> None:
    slurm, gone = slurm_in(tmp_path / "slurm"), tmp_path / "gone"

    def look() -> None:
        gone.mkdir()
        os.chdir(gone)
        gone.rmdir()
        assert dir_of_program("squeue", {"PATH": f":bin:{slurm}"}) == slurm

    in_a_copy(look)


@pytest.mark.parametrize(
    "name", ["SLURM_CONF", "SLURM_JWT", "JOBMON_ERROR_WEBHOOK", "https_proxy", "SSL_CERT_FILE", "HOME"]
)
def test_another_cluster_or_channel_changes_the_fingerprint(name: str) -> None:
    assert env_fingerprint({name: "a"}) != env_fingerprint({name: "b"})
    assert env_fingerprint({name: "a"}) == env_fingerprint({name: "a"})


def test_terminal_and_home_do_not_change_the_fingerprint() -> None:
    plain = env_fingerprint({"SLURM_CONF": "/a"})
    assert (
        env_fingerprint({"SLURM_CONF": "/a", "TERM": "x", "SLURM_JOB_ID": "7", "JOBMON_HOME": "/h"}) == plain
    )


def test_only_the_path_to_slurm_changes_the_fingerprint(tmp_path: Path) -> None:
    slurm, another = slurm_in(tmp_path / "slurm"), slurm_in(tmp_path / "another")
    plain = env_fingerprint({"PATH": f"/usr/games:{slurm}"})
    assert env_fingerprint({"PATH": f"/some/conda/bin:{slurm}:{another}"}) == plain
    assert env_fingerprint({"PATH": f"{another}:{slurm}"}) != plain


@pytest.mark.parametrize("name", ["RAY_AUTH_TOKEN", "RAY_AUTH_TOKEN_PATH", "RAY_JOB_HEADERS"])
def test_other_credentials_for_ray_change_the_fingerprint(name: str) -> None:
    assert len({env_fingerprint(each) for each in ({}, {name: "a"}, {name: "b"})}) == 3


def test_the_fingerprint_reveals_no_password() -> None:
    assert len(env_fingerprint({"JOBMON_ERROR_WEBHOOK": "https://example.org/secret"})) == 8


@pytest.mark.parametrize("name", ["SLURM_CONF", "SLURM_CONF_SERVER"])
def test_another_configuration_is_another_controller(name: str) -> None:
    assert controller_fingerprint({name: "a"}) != controller_fingerprint({name: "b"})
    assert controller_fingerprint({name: "a"}) == controller_fingerprint({name: "a"})


def test_another_squeue_is_another_controller(tmp_path: Path) -> None:
    slurm, another = slurm_in(tmp_path / "slurm"), slurm_in(tmp_path / "another")
    assert controller_fingerprint({"PATH": f"{slurm}:{another}"}) != controller_fingerprint(
        {"PATH": f"{another}:{slurm}"}
    )
    assert controller_fingerprint({"PATH": f"/some/conda/bin:{slurm}:{another}"}) == controller_fingerprint(
        {"PATH": slurm}
    )


def test_user_and_channels_do_not_change_the_controller_fingerprint() -> None:
    others = {"SLURM_JWT": "x", "HOME": "/h", "https_proxy": "p", "JOBMON_ERROR_WEBHOOK": "w"}
    assert controller_fingerprint({"SLURM_CONF": HERE, **others}) == controller_fingerprint(
        {"SLURM_CONF": HERE}
    )


def test_files_on_the_path_that_are_not_programs_are_skipped(tmp_path: Path) -> None:
    slurm, others = slurm_in(tmp_path / "slurm"), tmp_path / "others"
    (others / "squeue").mkdir(parents=True)
    (others / "sacct").touch(mode=0o644)
    path = f"{others}:{slurm}"
    assert search_path({"PATH": path}).startswith(f"{slurm}:/")
    assert env_fingerprint({"PATH": path}) == env_fingerprint({"PATH": slurm})
    assert controller_fingerprint({"PATH": path}) == controller_fingerprint({"PATH": slurm})


class TwoClusters(Context):
    """The context of a login node; SLURM_CONF decides which cluster it talks to."""

    slurm: Mapping[str, FakeScheduler]

    def scheduler(self, backend: str, cluster: str = "") -> Scheduler:  # noqa: ARG002 - the signature of Context
        return self.slurm[self.environment["SLURM_CONF"]]


@pytest.fixture
def slurm() -> dict[str, FakeScheduler]:
    found = {HERE: FakeScheduler(), THERE: FakeScheduler()}
    found[HERE].cluster, found[THERE].cluster = "here", "there"
    return found


@pytest.fixture
def shops(tmp_path: Path, slurm: dict[str, FakeScheduler]) -> list[TwoClusters]:
    """Three processes with one home; the second one was started for another cluster."""
    home, clock = Home(tmp_path / "home"), FakeClock()
    contexts = [TwoClusters(home, {"SLURM_CONF": conf}, clock=clock) for conf in (HERE, THERE, HERE)]
    for ctx in contexts:
        ctx.slurm = slurm
    return contexts


def test_the_name_of_one_cluster_is_not_used_for_another(
    shops: list[TwoClusters], slurm: dict[str, FakeScheduler]
) -> None:
    assert [ctx.cluster_name("slurm").get() for ctx in shops] == ["here", "there", "here"]
    assert [each.asked["cluster"] for each in slurm.values()] == [1, 1]


def test_the_answer_of_one_queue_is_not_used_for_another(
    shops: list[TwoClusters], slurm: dict[str, FakeScheduler]
) -> None:
    for ctx in shops:
        ctx.store.save(WatchedJob("slurm-12-x", 12, ctx.clock.now(), user="me"))
        MonitorFactory(ctx).job_monitor("slurm-12-x", lambda _event: None).poll_once()
    assert [each.asked["queue"] for each in slurm.values()] == [1, 1]


def test_the_local_scheduler_is_the_same_whatever_cluster_is_meant(shops: list[TwoClusters]) -> None:
    assert len({ctx.shared_answer("queue", "local").path for ctx in shops}) == 1
    assert len({ctx.shared_answer("queue", "slurm").path for ctx in shops}) == 2


def test_user_defaults_for_slurm_commands_are_removed() -> None:
    variables = {"SQUEUE_USERS": "x", "SACCT_FORMAT": "jobid", "SINFO_ALL": "1", "SLURM_CLUSTERS": "other"}
    assert not variables.keys() & query_environment(variables).keys()


def test_variables_of_the_surrounding_job_are_removed() -> None:
    variables = {"SLURM_JOB_ID": "7", "SLURMD_NODENAME": "n1", "SLURM_NTASKS": "4"}
    assert not variables.keys() & query_environment(variables).keys()


def test_the_cluster_and_credentials_are_kept() -> None:
    variables = {
        "SLURM_CONF": "/etc/own.conf",
        "SLURM_JWT": "token",
        "PATH": "/opt/slurm/bin",
        "HOME": "/home/me",
    }
    assert variables.items() <= query_environment(variables).items()


def test_machine_readable_formats_are_requested() -> None:
    variables = {"SLURM_TIME_FORMAT": "relative", "LC_ALL": "de_DE", "SLURM_BITSTR_LEN": "9"}
    machine_readable = {"SLURM_TIME_FORMAT": "%s", "LC_ALL": "C", "SLURM_BITSTR_LEN": "0"}
    assert query_environment(variables) == machine_readable


def test_no_program_gets_a_webhook_or_the_password_of_the_mail_server() -> None:
    variables = {
        "JOBMON_SMTP_PASSWORD": "d",
        "JOBMON_SUCCESS_WEBHOOK": "https://a",
        "JOBMON_ERROR_WEBHOOK": "https://b",
        "JOBMON_WEBHOOK": "c",
    }
    assert user_environment(variables) == {}
    assert not variables.keys() & query_environment(variables).keys()


def test_user_programs_get_all_other_variables() -> None:
    variables = {
        "SLURM_JOB_ID": "7",
        "SBATCH_PARTITION": "gpu",
        "JOBMON_HOME": "/j",
        "JOBMON_ERROR_WEBHOOK_FILE": "/secret",
    }
    assert user_environment(variables) == variables


SHOW_LOCALE = """
import os
from jobmon_core.system.environment import user_environment
print(user_environment(os.environ).get("LC_CTYPE"))
"""


@pytest.mark.parametrize(("own", "shown"), [({}, "None"), ({"LC_CTYPE": "C.UTF-8"}, "C.UTF-8")])
def test_a_locale_set_by_python_does_not_reach_the_job(own: dict[str, str], shown: str) -> None:
    environ = {"LANG": "C", "PYTHONPATH": os.pathsep.join(sys.path), **own}
    command = [sys.executable, "-c", SHOW_LOCALE]
    done = subprocess.run(command, env=environ, capture_output=True, text=True, check=True)
    assert done.stdout.strip() == shown
