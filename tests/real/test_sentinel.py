"""`jobmon submit --sentinel`: a Slurm job sends the message if the monitor is gone, and never both do."""

from __future__ import annotations

import os
import signal
import sys
from collections.abc import Iterator
from dataclasses import replace

import pytest
from private_slurm import Cluster

from jobmon_core.domain.channels import Route
from jobmon_core.domain.slurm.states import Outcome
from jobmon_core.domain.webhook import Webhook
from jobmon_core.lifecycle.health import Health
from jobmon_core.store.owner import STALE_AFTER_S, Owner, OwnerRecord
from tests.support.discord_answers import hang, ok, server_error
from tests.support.failing_job import UNTIL_GO, assert_failed_and_told_once, kill, let_go
from tests.support.messages import only, read
from tests.support.user import User
from tests.support.waiting import eventually


@pytest.fixture(autouse=True)
def _no_sentinel_remains(user: User) -> Iterator[None]:
    """Cancel the sentinels of a test, which would start when its jobs are cancelled."""
    yield
    for path in (user.home / "state").glob("*.json"):
        user.run("scancel", f"--name={_name(path.name.split('-')[1])}")


@pytest.fixture
def job_id(user: User) -> int:
    """A watched job with a sentinel, which ends with exit code 5 once `let_go` is called."""
    return user.submit("--sentinel", "-J", "train", user.script(UNTIL_GO))


def _name(job_id: int | str) -> str:
    return f"jobmon-sentinel-{job_id}"


def _sentinel(user: User, job_id: int, column: str, *where: str) -> str:
    """Return a column of squeue for a job's only sentinel."""
    line = user.slurm("squeue", *where, "-h", "-t", "all", "-n", _name(job_id), "-O", f"{column}:200")
    return line.strip()


def _ends_well(user: User, job_id: int) -> None:
    eventually(lambda: _sentinel(user, job_id, "State") == "COMPLETED")


def _log(user: User, job_id: int) -> str:
    return user.jobmon("logs", str(job_id), "--monitor").stdout


def _logged(user: User, job_id: int, text: str) -> None:
    eventually(lambda: text in _log(user, job_id))


def _pause(user: User, job_id: int) -> int:
    """Suspend the monitor; return its PID, which must be sent SIGCONT."""
    pid = user.monitor_pid(job_id)
    os.kill(pid, signal.SIGSTOP)
    return pid


def test_a_sentinel_leaves_the_job_to_a_live_monitor(user: User, job_id: int) -> None:
    user.watched_as(job_id, "RUNNING")
    pid = _pause(user, job_id)
    let_go(user)
    _logged(user, job_id, f"monitor {pid} on {os.uname().nodename} is running; waiting for it")
    assert user.discord.attempts == []
    os.kill(pid, signal.SIGCONT)
    assert_failed_and_told_once(user, job_id)
    _ends_well(user, job_id)
    assert "nothing to do: all messages are delivered" in _log(user, job_id)
    assert len(user.discord.attempts) == 1


def test_a_sentinel_sends_the_message_of_a_killed_monitor_once(user: User, job_id: int) -> None:
    pid = user.monitor_pid(job_id)
    kill(user, job_id)
    let_go(user)
    assert_failed_and_told_once(user, job_id)
    _ends_well(user, job_id)
    host = os.uname().nodename
    name = f"sentinel {_sentinel(user, job_id, 'JobID')} on {host}"
    assert f" {name}: monitor {pid} on {host} is dead; this sentinel takes over\n" in _log(user, job_id)
    assert len(user.discord.attempts) == 1
    assert user.jobmon("recover").stdout == "nothing to do: no jobs are being watched\n"


def test_a_sentinel_takes_over_from_a_host_without_heartbeat(user: User, job_id: int) -> None:
    kill(user, job_id)
    record = OwnerRecord(user.home / "state" / "monitors" / f"{user.job(job_id).id}.owner")
    record.write(replace(Owner.this_process(), host="login1", pid=71))
    let_go(user)
    _logged(user, job_id, "monitor 71 on login1 sent a heartbeat recently; waiting")
    assert user.discord.attempts == []
    silent_since_s = record.path.stat().st_mtime - STALE_AFTER_S - 60
    os.utime(record.path, (silent_since_s, silent_since_s))
    assert_failed_and_told_once(user, job_id)
    assert "monitor 71 on login1 has sent no heartbeat for more than 900 s; this sentinel" in _log(
        user, job_id
    )


def test_a_sentinel_waits_for_every_component_of_a_heterogeneous_job(user: User) -> None:
    job_id = user.submit("--sentinel", "-n1", ":", "-n1", user.script(UNTIL_GO))
    kill(user, job_id)
    user.in_state(job_id, "RUNNING")
    assert _sentinel(user, job_id, "State") == "PENDING"
    let_go(user)
    user.told(job_id)
    _ends_well(user, job_id)
    assert f"({job_id})" in read(only(user, Route.ERROR))


@pytest.mark.parametrize("arrived", [False, True])
def test_a_sentinel_sends_an_interrupted_message_again_and_marks_it(user: User, *, arrived: bool) -> None:
    user.discord.script(hang(saves=arrived))
    job_id = user.submit("--sentinel", "--wrap", "exit 5", "-J", "train")
    user.discord.wait_for_attempts(1)
    kill(user, job_id)
    user.told(job_id)
    _ends_well(user, job_id)
    *first, last = user.discord.received(Route.ERROR)
    assert len(first) == arrived
    # the name of this test must not contain the word, because the message shows the path of its folder
    assert all("repeat" not in str(payload) for payload in first)
    assert "repeat" in str(last)
    assert len(user.discord.attempts) == 2


def test_a_rejected_sentinel_affects_neither_job_nor_monitor(user: User) -> None:
    refusing = user.work / "bin"
    refusing.mkdir()
    sbatch = user.slurm("which", "sbatch").strip()
    wrapper = refusing / "sbatch"
    wrapper.write_text(
        f'#!/bin/bash\n[[ "$*" == *jobmon-sentinel* ]] && set -- "$@" -p nowhere\nexec {sbatch} "$@"\n'
    )
    wrapper.chmod(0o755)
    path = f"{refusing}:{user.environment['PATH']}"
    done = user.jobmon("submit", "--sentinel", "-J", "train", "--wrap", "exit 5", PATH=path)
    job_id = int(done.stdout.removeprefix("Submitted batch job "))
    assert done.returncode == 0
    watching, refused = done.stderr.splitlines()
    assert watching == f"jobmon: watching job {job_id}; `jobmon status` shows it"
    assert refused.startswith(f"jobmon: job {job_id} has no sentinel: sbatch: error: ")
    assert refused.endswith("Batch job submission failed: Invalid partition name specified")
    assert_failed_and_told_once(user, job_id)


def test_no_webhook_is_visible_in_a_sentinel(user: User) -> None:
    urls = {
        "JOBMON_SUCCESS_WEBHOOK": user.discord.success_url,
        "JOBMON_ERROR_WEBHOOK": user.discord.error_url,
    }
    job_id = user.submit("--sentinel", user.script(UNTIL_GO), **urls)
    user.watched_as(job_id, "RUNNING")
    pid = _pause(user, job_id)
    let_go(user)
    _logged(user, job_id, "is running")
    sentinel = _sentinel(user, job_id, "JobID")
    node = _sentinel(user, job_id, "NodeList")  # by default scontrol asks the first node
    listed = user.slurm("scontrol", "listpids", sentinel, node).splitlines()[1:]
    processes = [line.split()[0] for line in listed if line.split()[0] != "-1"]
    kept = ("sacct", "-j", sentinel)
    eventually(lambda: "PATH=" in user.slurm(*kept, "--env-vars"))
    shown = [
        user.slurm("scontrol", "write", "batch_script", sentinel, "-"),
        user.slurm("scontrol", "show", "job", sentinel),
        user.slurm(*kept, "--env-vars"),
        user.slurm(*kept, "--batch-script"),
        *(user.slurm("cat", f"/proc/{process}/{file}") for process in processes for file in _SHOWN),
    ]
    assert any("jobmon_core.lifecycle.sentinel" in text for text in shown[4:])
    os.kill(pid, signal.SIGKILL)
    _ends_well(user, job_id)
    assert_failed_and_told_once(user, job_id)
    texts = [*shown, *(path.read_text() for path in (user.home / "logs").iterdir())]
    for url in urls.values():
        assert [text for text in texts if Webhook.parse(url).token in text] == []


_SHOWN = ("cmdline", "environ")


def test_no_sentinel_is_submitted_if_it_lacks_a_webhook_from_the_environment(user: User) -> None:
    user.configure(discord={"success_webhook": user.discord.success_url})
    done = user.jobmon("submit", "--sentinel", "--wrap", "true", JOBMON_ERROR_WEBHOOK=user.discord.error_url)
    job_id = int(done.stdout.removeprefix("Submitted batch job "))
    assert f"job {job_id} has no sentinel: it would lack $JOBMON_ERROR_WEBHOOK" in done.stderr
    assert user.discord.error_url not in done.stderr
    assert _sentinel(user, job_id, "JobID") == ""


@pytest.mark.xdist_group("n5")  # whose jobs others preempt
def test_a_sentinel_waits_for_a_whole_array_and_inherits_only_the_partition(user: User) -> None:
    script = user.script("[ $SLURM_ARRAY_TASK_ID = 1 ] && exit 3; " + UNTIL_GO)
    # these variables must not make the sentinel an array
    job_id = user.submit("--sentinel", script, SBATCH_ARRAY_INX="1-2", SBATCH_PARTITION="low")
    kill(user, job_id)
    eventually(
        lambda: "FAILED" in user.run("squeue", "-h", "-t", "all", "-o", "%T", "-j", f"{job_id}").stdout
    )
    shape = [_sentinel(user, job_id, column) for column in ("State", "Partition", "NumCPUs", "NumTasks")]
    assert shape == ["PENDING", "low", "1", "1"]
    assert user.discord.attempts == []
    let_go(user)
    user.told(job_id)
    _ends_well(user, job_id)
    assert f"({job_id})" in read(only(user, Route.ERROR))


def test_a_sentinel_is_submitted_to_the_cluster_of_its_job(user: User, slurm: Cluster) -> None:
    job_id = user.submit("--sentinel", "-M", slurm.name, "-J", "train", user.script(UNTIL_GO))
    assert _sentinel(user, job_id, "State", "-M", slurm.name).endswith("PENDING")
    kill(user, job_id)
    let_go(user)
    assert_failed_and_told_once(user, job_id)


def test_a_sentinel_keeps_waiting_if_its_job_is_requeued(user: User, job_id: int) -> None:
    user.watched_as(job_id, "RUNNING")
    user.slurm("scontrol", "requeue", str(job_id))
    user.in_state(job_id, "PENDING")
    assert _sentinel(user, job_id, "State") == "PENDING"
    kill(user, job_id)
    let_go(user)
    assert_failed_and_told_once(user, job_id)


def test_a_sentinel_exits_if_the_watch_was_cancelled(user: User, job_id: int) -> None:
    assert user.jobmon("cancel", str(job_id)).returncode == 0
    let_go(user)
    _ends_well(user, job_id)
    assert "nothing to do: `jobmon cancel` stopped the monitoring" in _log(user, job_id)
    assert user.discord.attempts == []


def test_a_sentinel_at_its_time_limit_leaves_the_job_to_the_monitor(user: User, job_id: int) -> None:
    user.watched_as(job_id, "RUNNING")
    pid = _pause(user, job_id)
    let_go(user)
    _logged(user, job_id, "is running")
    user.slurm("scancel", f"--name={_name(job_id)}")
    _logged(
        user, job_id, f"terminated (SIGTERM) while monitor {pid} on {os.uname().nodename} has not finished"
    )
    os.kill(pid, signal.SIGCONT)
    assert_failed_and_told_once(user, job_id)


def test_recover_sends_what_a_sentinel_could_not_send_in_time(user: User, job_id: int) -> None:
    user.discord.always(server_error())
    kill(user, job_id)
    let_go(user)
    user.discord.wait_for_attempts(2)
    user.slurm("scancel", f"--name={_name(job_id)}")
    eventually(lambda: user.snapshot(job_id).health is Health.DEAD)
    assert "terminated (SIGTERM)" in _log(user, job_id)
    assert user.status(job_id)["undelivered"] == 1
    user.discord.always(ok())
    assert "restarted" in user.jobmon("recover").stdout
    assert_failed_and_told_once(user, job_id)


def test_a_search_by_login_session_ignores_sentinels(user: User, job_id: int) -> None:
    listing = ("squeue", "-h", "-j", str(job_id), "-O", "AllocSID:20")
    assert user.slurm(*listing).strip() == str(os.getsid(0))
    assert _sentinel(user, job_id, "AllocSID") not in ("", str(os.getsid(0)))


def test_a_local_job_has_no_sentinel_and_the_user_is_informed(user: User) -> None:
    done = user.jobmon("submit", "--sentinel", "--backend", "local", "--wrap", "exit 5")
    assert done.returncode == 0
    assert "has no sentinel: the local backend cannot run one" in done.stderr


def test_a_job_that_submits_its_successor_is_warned_unless_that_has_a_sentinel(
    user: User, slurm: Cluster
) -> None:
    if not slurm.has_cgroup_memory:
        pytest.skip("without cgroups, Slurm does not kill a monitor that a job started")
    job = user.script("jobmon submit --wrap 'exit 3'; jobmon submit --sentinel --wrap 'exit 4'", "-o out.txt")
    program = os.path.dirname(sys.executable)  # noqa: PTH120 - a text
    first = user.submit(job, PATH=f"{program}:{user.environment['PATH']}")
    assert user.told(first).outcome is not None
    said = (user.work / "out.txt").read_text()
    assert said.count("this is inside a Slurm job") == 1, said
    with_sentinel = said.partition("sentinel ")[2].partition(" has ended")[0].rpartition(" ")[2]
    assert user.told(with_sentinel).outcome is Outcome.FAILURE
    assert f"the monitor of job {with_sentinel}" not in said


def test_the_shell_of_salloc_on_this_host_is_no_job(user: User) -> None:
    done = user.run("salloc", "-n1", "jobmon", "submit", "--wrap", "exit 0")
    assert "watching job" in done.stderr, done
    assert "inside a Slurm job" not in done.stderr
