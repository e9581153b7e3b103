from __future__ import annotations

import pytest

from jobmon_core.domain.many.autostart.logind_rules import in_session, in_slurm_job, kills_at_logout

SHIPPED_NO = "[Login]\n#KillUserProcesses=no\n#KillOnlyUsers=\n#KillExcludeUsers=root\n"
SHIPPED_YES = SHIPPED_NO.replace("Processes=no", "Processes=yes")
SET = "[Login]\nKillUserProcesses=yes\n"


@pytest.mark.parametrize(
    ("cgroups", "expected"),
    [
        ("0::/user.slice/user-1000.slice/session-3.scope\n", True),
        ("12:pids:/x\n1:name=systemd:/user.slice/user-1000.slice/session-c2.scope\n", True),
        ("0::/user.slice/user-1000.slice/user@1000.service/app.slice/tmux.scope\n", False),
        ("0::/system.slice/cron.service\n", False),
        ("0::/\n", False),
        ("", False),
    ],
)
def test_only_processes_of_a_login_session_can_be_killed_at_logout(cgroups: str, *, expected: bool) -> None:
    assert in_session(cgroups) is expected


@pytest.mark.parametrize(
    ("cgroups", "expected"),
    [
        ("0::/\n6:freezer:/slurm_n1/uid_0/job_1002/step_batch\n", True),
        ("0::/system.slice/slurmstepd.scope/job_1002/step_extern/user/task_0\n", True),
        ("0::/system.slice/n1_slurmstepd.scope/sEKNKTV3WPV500/step_batch/user\n", True),
        ("0::/system.slice/slurmstepd.scope/system\n", False),
        ("0::/user.slice/user-1000.slice/session-3.scope\n", False),
        ("0::/user.slice/job_of_anna/x\n", False),
        ("", False),
    ],
)
def test_only_processes_in_the_cgroup_of_a_slurm_job_end_with_it(cgroups: str, *, expected: bool) -> None:
    assert in_slurm_job(cgroups) is expected


@pytest.mark.parametrize(
    ("files", "expected"),
    [
        ([], False),
        ([SHIPPED_NO], False),
        ([SHIPPED_YES], True),
        ([SHIPPED_NO, SET], True),
        ([SET, SHIPPED_NO], True),
        ([SET, "KillUserProcesses = no\n"], False),
        ([SET, "KillExcludeUsers=root me\n"], False),
        ([SET, "KillOnlyUsers=you\n"], False),
        ([SET, "KillOnlyUsers=you me\n"], True),
        (["no ini\x00 at all = = ="], False),
    ],
)
def test_the_last_setting_counts_and_a_comment_shows_the_default(files: list[str], *, expected: bool) -> None:
    assert kills_at_logout(files, "me") is expected


def test_root_is_excluded_by_default() -> None:
    assert not kills_at_logout([SET], "root")
    assert kills_at_logout([f"{SET}KillExcludeUsers=\n"], "root")
