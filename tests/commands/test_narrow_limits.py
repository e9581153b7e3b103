"""Commands in a shell that allows little memory or few files, and in a home that others may change."""

from __future__ import annotations

import os

import pytest

from jobmon_core.store.jobs import JobStore
from tests.support.blocking_files import STRANGER
from tests.support.job_records import OOM, RUNNING, failed, job_of
from tests.support.shell import Shell


@pytest.mark.parametrize("command", ["status --all", "show 12", "efficiency 12", "handover", "report 12"])
def test_250_mb_of_address_space_suffice(shell: Shell, command: str) -> None:
    JobStore(shell.state).save(job_of(failed(diagnosis=OOM), job_id=12, concluded_s=1.0))
    JobStore(shell.state).save(job_of(RUNNING, job_id=13))
    plain, narrow = shell.line(f"jobmon {command}"), shell.line(f"ulimit -v 250000; jobmon {command}")
    assert (narrow.returncode, narrow.stderr) == (plain.returncode, plain.stderr)
    assert narrow.stdout.splitlines()[2:] == plain.stdout.splitlines()[2:] != []


def test_run_warns_if_the_monitor_may_open_too_few_files(shell: Shell) -> None:
    warning = "warning: a process of this shell may open only 12 files (`ulimit -Hn`)"
    assert warning in " ".join(shell.line("ulimit -n 12; jobmon run -- /bin/true").stderr.split())
    assert "ulimit" not in shell.line("ulimit -Sn 12; jobmon run -- /bin/true").stderr


def test_a_home_that_everybody_may_write_to_is_named(shell: Shell) -> None:
    shell.home.mkdir(exist_ok=True)
    shell.home.chmod(0o777)
    advice = f"every user may write to {shell.home}: run `chmod o-w {shell.home}`"
    assert advice in " ".join(shell.jobmon("where").stdout.split())
    assert f"warning: {advice}" in " ".join(shell.jobmon("run", "--", "/bin/true").stderr.split())
    shell.home.chmod(0o1777)  # as /tmp, whose mode nobody should change
    advice = f"every user may write to {shell.home}: set $JOBMON_HOME to a folder of yours"
    assert advice in " ".join(shell.jobmon("where").stdout.split())
    assert "every user" not in shell.jobmon("where", JOBMON_HOME="/dev/null").stdout
    shell.home.chmod(0o700)
    assert "every user" not in shell.jobmon("where").stdout + shell.jobmon("run", "--", "/bin/true").stderr


@pytest.mark.skipif(os.getuid() != 0, reason="only root can give files to another user")
def test_patterns_of_another_user_are_not_used(shell: Shell) -> None:
    shell.home.mkdir(exist_ok=True)
    own = shell.home / "patterns.json"
    own.write_text('{"schema_version": 1, "rules": []}', "utf-8")
    assert shell.jobmon("patterns", "check").returncode == 0
    os.chown(own, STRANGER, -1)
    done = shell.jobmon("patterns", "check")
    assert done.returncode == 1
    assert f"the file belongs to user {STRANGER}, not to you" in " ".join(done.stdout.split())
    assert shell.jobmon("patterns", "check", str(own)).returncode == 0, "named, it is only checked"
