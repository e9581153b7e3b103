"""Jobs on a host behind a real sshd, under another user, in real tmux."""

from __future__ import annotations

import os
import shlex
import signal
import subprocess
import time
from contextlib import suppress
from dataclasses import replace

import pytest

from jobmon_core.domain.errors import JobmonError, UnknownJob
from jobmon_core.domain.node.hosts.judge import KEEP_DAYS
from jobmon_core.domain.slurm.rows import Unreachable
from jobmon_core.scheduler.ssh import connection
from jobmon_core.scheduler.ssh.jobs import HostJobs
from tests.support.ssh_jobs import BASHRC, WAIT, Jobs, tmux
from tests.support.ssh_server import Box, unusable
from tests.support.waiting import eventually

pytestmark = [
    pytest.mark.xdist_group("ssh"),
    pytest.mark.skipif(bool(unusable()), reason=unusable()),
]


def test_one_round_trip_shows_how_each_of_many_jobs_ended(box: Box, jobs: Jobs) -> None:
    count = "echo started >> ~/starts; "
    done, failed, killed = (jobs.run(f"{count}echo step 1/2; {WAIT}; echo last words; {end}") for end in ENDS)
    (box.home / "no-tmux").touch()
    alone = jobs.run(f"{count}{WAIT}; exit 7")
    wrapper_killed = jobs.run(f"{count}{WAIT}; exit 0")
    (box.home / "no-tmux").unlink()
    tmux(box, "kept", f"{WAIT}; exit 5")
    box.shell("tmux set-option -g remain-on-exit on")
    for name, end in (("killed", "kill -KILL $$"), ("ok", "exit 0")):
        tmux(box, name, f"{WAIT}; {end}")
    tmux(box, "shell", "bash --norc -i")
    box.shell(f"tmux send-keys -t shell 'sh -c \"{WAIT}; touch ~/DONE\"' Enter")
    plain = box.detached(f"{WAIT}; echo lost > ~/lost.log")
    logged = box.detached(f"exec > ~/logged.log; echo step 1/9; {WAIT}; echo step 9/9")
    eventually(lambda: "step 1" in box.shell("cat ~/logged.log"))
    box.shell("tmux set-option -t shell remain-on-exit off")
    in_shell = registered(jobs, "tmux:shell", "marker:DONE")
    kept, signalled, ok = (jobs.watch(f"tmux:{name}") for name in ("kept", "killed", "ok"))
    by_pid = jobs.watch("process:lost > ~/lost")
    assert jobs.watch(f"pid:{plain}") == by_pid  # the same process is the same job
    by_log = jobs.watch("log:~/logged.log")
    every = (done, failed, killed, alone, wrapper_killed, in_shell, kept, signalled, ok, by_pid, by_log)
    assert len(set(every)) == len(every)
    assert jobs.watch(f"pid:{logged}") == by_log  # the same process is the same job

    calls = box.calls
    assert {row.state for row in jobs.rows().values()} == {"RUNNING"}
    assert set(jobs.rows()) == set(every)
    assert box.calls == calls + 2  # one for each look, whatever the number of jobs

    os.kill(jobs.wrapper(wrapper_killed), signal.SIGKILL)
    eventually(lambda: jobs.rows()[wrapper_killed].reason.startswith("its wrapper was killed"))
    (box.home / "go").touch()
    jobs.end_as(
        {
            done: ("COMPLETED", 0, None),
            failed: ("FAILED", 3, None),
            killed: ("FAILED", 137, None),
            alone: ("FAILED", 7, None),
            wrapper_killed: None,
            in_shell: ("COMPLETED", None, None),
            kept: ("FAILED", 5, None),
            signalled: ("FAILED", None, 9),
            ok: ("COMPLETED", 0, None),
            by_pid: None,
            by_log: None,
        }
    )
    assert box.shell("cat ~/starts").count("started") == 5
    assert jobs.log(failed) == "step 1/2\nlast words\n"


ENDS = ("exit 0", "exit 3", "kill -KILL $$")


def registered(jobs: Jobs, *words: str) -> int:
    """Register a job as soon as its program runs in the foreground of its shell."""
    found: list[int] = []

    def register() -> bool:
        with suppress(UnknownJob):  # only the shell runs so far
            found.append(jobs.watch(*words))
        return bool(found)

    eventually(register, step_s=0.5)
    return found[0]


def test_a_host_that_does_not_answer_proves_nothing(
    box: Box, jobs: Jobs, monkeypatch: pytest.MonkeyPatch
) -> None:
    number = jobs.run(WAIT)

    def why() -> str:
        answer = jobs.scheduler.ask_queue("")
        assert isinstance(answer, Unreachable), answer
        return answer.why

    # a frozen peer: the connection stays open, and nothing comes
    monkeypatch.setattr(connection, "TIMEOUT_S", 2.0)
    sessions = box.sessions()
    for session in sessions:
        session.suspend()
    assert "no answer within 2 s" in why()
    for session in sessions:
        session.resume()
    monkeypatch.setattr(connection, "TIMEOUT_S", 60.0)
    assert jobs.rows()[number].state == "RUNNING"

    # a login shell that ends at once, and one that fails as ssh does
    for line, text in (("exit 0", "no complete answer"), ("exit 255", "ssh: ")):
        (box.home / ".bashrc").write_text(f"echo hello\n{line}\n")
        assert text in why()
    (box.home / ".bashrc").write_text(BASHRC)

    box.stop()
    assert "Connection refused" in why()
    box.new_host_key()
    box.start()
    assert "the key of the host has changed" in why()
    box.trust_host_key()
    assert jobs.rows()[number].state == "RUNNING"

    (box.home / "boot_id").write_text("boot-2\n")
    (box.home / "uptime").write_text("9999999.00 1.00\n")
    assert "another machine answers" in why()
    (box.home / "hostname").write_text("login2\n")  # an alias of both login nodes
    (box.home / "uptime").write_text("0.01 0.01\n")
    assert "box reaches different machines: login2 answered" in why()
    (box.home / "hostname").write_text("login1\n")
    (box.home / "boot_id").write_text("boot-1\n")
    assert jobs.rows()[number].reason == ""
    (box.home / "boot_id").write_text("boot-2\n")
    row = jobs.rows()[number]
    assert (row.state, row.reason) == ("NODE_FAIL", "the host was restarted")


def test_a_command_is_never_taken_for_one_that_did_not_start_where_an_alias_reaches_two_machines(
    box: Box, jobs: Jobs
) -> None:
    """Each has a home of its own, and the first look after the start reaches the other one."""
    number = jobs.run(WAIT)
    (box.home / "boot_id").write_text("boot-2\n")
    (box.home / "hostname").write_text("login2\n")
    (box.home / ".local").rename(box.home / "home-of-login1")
    answer = jobs.scheduler.ask_queue("")
    assert isinstance(answer, Unreachable), answer
    assert "login2 answered, which shows nothing of the job on login1" in answer.why
    assert not (box.home / ".local").exists()
    (box.home / "home-of-login1").rename(box.home / ".local")
    (box.home / "boot_id").write_text("boot-1\n")
    (box.home / "hostname").write_text("login1\n")
    assert jobs.rows()[number].state == "RUNNING"


def test_a_command_gets_the_environment_of_a_login_though_tmux_runs_in_another(box: Box, jobs: Jobs) -> None:
    box.shell(f"PATH=/usr/bin:/bin OTHER=x tmux new-session -d -s old {shlex.quote(WAIT)}")
    number = jobs.run('echo "$PATH ${OTHER-unset} ${TMUX-unset} $(umask)"')
    jobs.end_as({number: ("COMPLETED", 0, None)})
    command = ("ssh", "box", 'echo "$PATH ${OTHER-unset} ${TMUX-unset} $(umask)"')
    login = subprocess.run(command, capture_output=True, text=True, check=True)
    assert jobs.log(number) == login.stdout.replace("Welcome to the box!\n", "")


def test_the_folder_of_a_command_is_removed_a_month_after_its_end_by_a_look_at_another_job(
    box: Box, jobs: Jobs
) -> None:
    old, recent, running = jobs.run("exit 3"), jobs.run("exit 0"), jobs.run(WAIT)
    jobs.end_as({old: ("FAILED", 3, None), recent: ("COMPLETED", 0, None)})
    folders = HostJobs(jobs.resources, "box").records
    for number, days in ((old, KEEP_DAYS + 1), (recent, KEEP_DAYS - 1)):
        job = folders.of(number).load()
        assert job.end
        end = replace(job.end, end_s=int(time.time()) - days * 86_400)
        folders.of(number).save(replace(job, end=end, registered_s=0.0, is_dropped=True))
    calls = box.calls
    assert jobs.rows()[running].state == "RUNNING"
    assert box.calls == calls + 1
    assert [folders.of(number).load().is_removed for number in (old, recent)] == [True, False]
    left = box.shell("ls ~/.local/state/jobmon").split()
    assert sorted(left) == sorted(folders.of(number).load().run_id for number in (recent, running))


def test_what_cannot_be_watched_is_refused_with_what_to_do(box: Box, jobs: Jobs) -> None:
    (box.home / "DONE").touch()
    (box.home / "old.log").write_text("x")
    tmux(box, "idle", "bash --norc -i")
    for words, text in (
        (("pid:4194300",), "no process 4194300 runs on box"),
        (("tmux:other",), "box has no session or pane 'other' of tmux: the sessions are idle"),
        (("tmux:idle",), "no program runs in tmux session 'idle'"),
        (("process:nothing",), "has 'nothing' in its command line"),
        (("marker:DONE",), "exists on box already"),
        (("log:old.log",), "no process of yours on box writes to old.log"),
    ):
        with pytest.raises(JobmonError, match=text):
            jobs.watch(*words)
    assert HostJobs(jobs.resources, "box").names() == ("tmux:idle",)
    assert jobs.watch("marker:LATER") == 1  # nothing was recorded before
