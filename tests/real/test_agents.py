"""Agents beside real jobs: they come, stay and go with the job, and leave no trace in its accounting."""

from __future__ import annotations

import json
import os
import re
import signal
import sys
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import Any

import psutil
import pytest
from private_slurm import Cluster

from jobmon_core.domain.node.telemetry.model import Sample
from jobmon_core.domain.slurm.states import Outcome
from tests.support.agents import agents_of, reported, telemetry
from tests.support.failing_job import UNTIL_GO, kill, let_go
from tests.support.user import User
from tests.support.waiting import PATIENCE_S, eventually

_FOUR_PROCESSES = """
env | sort > "env.$1"
echo "n1:1:1 [0] NCCL INFO Using network Socket"
srun -n4 sh -c 'until [ -e go ]; do sleep 0.5; done'
exit 3
"""
# other in each job: its id, its times, and the shell's own
_OF_THE_RUN = re.compile(r"^(SLURM_(JOB_?ID|JOB_(START|END)_TIME|TASK_PID|.*PORT.*)|_)=", re.ASCII)


@pytest.fixture
def user(user: User) -> User:
    """A user with agents."""
    user.configure(agent={})
    user.script(_FOUR_PROCESSES)
    return user


def _rows(user: User, job_id: int) -> list[str]:
    """Return what accounting says about a job and its steps, without those of agents."""
    fields = "JobID,JobName,State,ExitCode,NTasks,AllocTRES"
    rows = user.slurm("sacct", "-n", "-P", "-j", str(job_id), "-o", fields).splitlines()
    return [row.replace(str(job_id), "N") for row in rows if "|jobmon|" not in row]


def _health(user: User, job_id: int) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(user.jobmon("health", str(job_id), "--json").stdout)
    return found


def _environment(user: User, name: str, job_id: int) -> list[str]:
    lines = (user.work / f"env.{name}").read_text(encoding="utf-8").splitlines()
    return [line.replace(str(job_id), "N") for line in lines if not _OF_THE_RUN.match(line)]


def test_agents_watch_both_nodes_soon_and_leave_the_job_as_it_is_without_them(user: User) -> None:
    layout = ("-w", "n1,n2", "--ntasks-per-node=2")
    with_agent, delay_s = _submit_with_agents(user, *layout)
    assert 3.0 <= delay_s <= PATIENCE_S  # 15 on a quiet machine
    assert set(agents_of(user).values()) >= {"srun"}
    report = _health(user, with_agent)
    assert report["state"] == "RUNNING"
    # both agents see that their nodes have no faster network, or that they have one
    assert report["network"]["verdict"] in ("OK", "FALLBACK")
    let_go(user)
    watched = user.told(with_agent)
    assert _health(user, with_agent)["issues"] == ["it failed: FAILED, exit code 3"]
    eventually(lambda: not agents_of(user))
    without = user.submit("--no-agent", *layout, "job.sh", "without")
    alone = user.told(without)
    assert _rows(user, with_agent) == _rows(user, without)
    assert _environment(user, "with", with_agent) == _environment(user, "without", without)
    ends = [
        replace(job.tasks[""].end, started_s=0, ended_s=0, eligible_s=0, nodes="")
        for job in (watched, alone)
        if job.tasks[""].end
    ]
    usages = [end.usage for end in ends]
    assert replace(ends[0], usage=usages[1]) == ends[1]
    assert (ends[0].exit_code, ends[0].derived_exit_code) == (3, 0)
    assert usages[0].requested_bytes == usages[1].requested_bytes


def _submit_with_agents(user: User, *layout: str) -> tuple[int, float]:
    """Submit a job on two nodes; return its id, and the seconds from its start to that of its agents."""
    job_id = user.submit(*layout, "job.sh", "with")
    reported(user, job_id, nodes=2)
    run = telemetry(user, job_id).record.read().attempts
    return job_id, run.started_s - run.run_s


def _cgroup_of_script(job_id: int) -> Path:
    """Return the memory cgroup of a job's batch script, found among those of the machine's processes."""
    for process in psutil.process_iter():
        with suppress(OSError):  # it has just ended
            text = Path(f"/proc/{process.pid}/cgroup").read_text(encoding="ascii")
            if found := re.search(rf":memory:(/\S*/job_{job_id}/step_batch)(?=/|\n)", text):
                return Path(f"/sys/fs/cgroup/memory{found[1]}")
    raise AssertionError(f"no process of job {job_id}")


def _working_set(cgroup: Path) -> int:
    """Return the memory of a cgroup without the file cache, as the kernel counts it now."""
    pairs = (line.split() for line in (cgroup / "memory.stat").read_text(encoding="ascii").splitlines())
    counters = {name: int(number) for name, number in pairs}
    cache = counters["total_active_file"] + counters["total_inactive_file"]
    return int((cgroup / "memory.usage_in_bytes").read_text()) - cache


def test_the_memory_of_a_job_is_that_of_its_cgroup_and_the_limit_that_of_slurm(
    user: User, slurm: Cluster
) -> None:
    if not slurm.has_cgroup_memory:
        pytest.skip("limits of memory need writable cgroup v1 controllers")
    program = "held = bytearray(b'x') * 80_000_000; import time; time.sleep(600)"
    job_id = user.submit("--mem=300M", "--wrap", f'{sys.executable} -c "{program}"')
    reported(user, job_id)
    (node,) = telemetry(user, job_id).nodes()

    def used() -> int:
        held = telemetry(user, job_id).report(node).latest.memory
        return held.used if held else 0

    eventually(lambda: used() > 80_000_000)
    cgroup, at_s = _cgroup_of_script(job_id), telemetry(user, job_id).report(node).latest.at_s
    before = _working_set(cgroup)
    eventually(lambda: telemetry(user, job_id).report(node).latest.at_s > at_s)
    memory, after = telemetry(user, job_id).report(node).latest.memory, _working_set(cgroup)
    assert memory is not None
    assert (memory.source, memory.oom_kills) == ("cgroup v1", 0)
    assert memory.limit == int((cgroup / "memory.limit_in_bytes").read_text()) == 300 * 2**20
    assert min(before, after) - 2**21 <= memory.used <= max(before, after) + 2**21
    user.slurm("scancel", str(job_id))
    user.told(job_id)


def test_a_killed_agent_comes_back_and_the_job_goes_on(user: User) -> None:
    job_id = user.submit("-N2", "-n4", "job.sh", "a")
    reported(user, job_id, nodes=2)
    before = agents_of(user)
    for pid, name in before.items():
        if name != "srun":
            with suppress(ProcessLookupError):  # its step has ended with the other one
                os.kill(pid, signal.SIGKILL)
    eventually(lambda: len(agents_of(user)) == len(before) and not agents_of(user).keys() & before.keys())
    assert user.job(job_id).is_running
    let_go(user)
    job = user.told(job_id)
    assert job.outcome is Outcome.FAILURE
    assert job.tasks[""].end is not None
    assert (job.tasks[""].end.exit_code, job.tasks[""].end.derived_exit_code) == (3, 0)
    eventually(lambda: not agents_of(user))


def test_the_agent_of_a_killed_monitor_goes_on_under_the_next_one(user: User) -> None:
    job_id = user.submit("-N2", "-n4", "job.sh", "a")
    reported(user, job_id, nodes=2)
    node, _ = telemetry(user, job_id).nodes()
    before = agents_of(user)
    kill(user, job_id)
    assert agents_of(user) == before
    assert user.jobmon("recover").returncode == 0
    stamp = telemetry(user, job_id).signs(node)
    eventually(lambda: telemetry(user, job_id).signs(node) != stamp)
    eventually(lambda: user.job(job_id).agents_since_s is not None)
    assert agents_of(user) == before
    let_go(user)
    assert user.told(job_id).outcome is Outcome.FAILURE
    eventually(lambda: not agents_of(user))


def test_cancelled_watching_ends_the_agents_in_good_order_and_not_the_job(user: User) -> None:
    job_id = user.submit("-N2", "-n4", "job.sh", "a")
    reported(user, job_id, nodes=2)
    assert user.jobmon("cancel", str(job_id)).returncode == 0
    eventually(lambda: not agents_of(user))
    user.in_state(job_id, "RUNNING")
    steps = ("sacct", "-n", "-P", "-j", str(job_id), "-o", "JobName,State,ExitCode")
    eventually(lambda: "jobmon|COMPLETED|0:0" in user.slurm(*steps).splitlines())
    let_go(user)


def test_no_agent_is_started_if_it_is_switched_off(user: User) -> None:
    user.configure(agent={"enabled": False})
    job_id = user.submit("--wrap", "sleep 12")
    assert user.told(job_id).outcome is Outcome.SUCCESS
    assert "jobmon" not in user.slurm("sacct", "-n", "-P", "-j", str(job_id), "-o", "JobName").split()
    assert not (user.home / "state" / "telemetry").exists()


def test_each_task_of_an_array_has_an_agent(user: User) -> None:
    job_id = user.submit("--array=1-2", "--wrap", UNTIL_GO)
    eventually(lambda: all(telemetry(user, job_id, key).nodes() for key in ("1", "2")))
    let_go(user)
    user.told(job_id)
    eventually(lambda: not agents_of(user))


def test_a_refused_step_is_tried_again_and_the_log_says_why(user: User, tmp_path: Path) -> None:
    folder = tmp_path / "bin"
    folder.mkdir()
    (folder / "srun").write_text("#!/bin/sh\necho 'srun: error: Access/permission denied' >&2; exit 1\n")
    (folder / "srun").chmod(0o755)
    path = f"{folder}:{user.environment['PATH']}"
    job_id = user.submit("--wrap", UNTIL_GO, PATH=path)
    log = user.home / "logs"
    eventually(lambda: any("Access/permission denied" in each.read_text() for each in log.glob("*.log")))
    # without an agent, Slurm's own samples are shown to a user who looks
    shown = "memory +[0-9.]+ [KM]iB, as Slurm samples it \\(sstat\\)\n"
    eventually(lambda: bool(re.search(shown, user.jobmon("show", str(job_id)).stdout)))
    let_go(user)
    assert user.told(job_id).outcome is Outcome.FAILURE


def test_a_local_job_has_an_agent_that_survives_its_monitor_and_goes_with_the_job(user: User) -> None:
    job_id = user.submit("--backend", "local", "--wrap", UNTIL_GO)
    reported(user, job_id)
    before = agents_of(user)
    kill(user, job_id)
    assert agents_of(user) == before
    assert user.jobmon("recover").returncode == 0
    eventually(lambda: user.job(job_id).agents_since_s is not None)
    assert agents_of(user) == before
    let_go(user)
    user.told(job_id)
    eventually(lambda: not agents_of(user))


def test_a_watched_process_has_an_agent_whose_figures_are_those_of_proc(user: User) -> None:
    program = "import time; held = bytearray(b'x') * 80_000_000; time.sleep(600)"
    with psutil.Popen([sys.executable, "-c", program], cwd=user.work) as process:
        try:
            assert user.jobmon("watch", "--pid", str(process.pid)).returncode == 0
            reported(user, process.pid)
            (node,) = telemetry(user, process.pid).nodes()

            def latest() -> Sample:
                return telemetry(user, process.pid).report(node).latest

            eventually(lambda: bool(latest().workers) and (latest().workers[0].memory or 0) > 80_000_000)
            resident, (worker,), memory = process.memory_info().rss, latest().workers, latest().memory
            assert worker.pid == process.pid
            assert worker.memory == pytest.approx(resident, rel=0.02)
            assert memory is not None
            if memory.source in ("processes", "shared cgroup"):
                assert memory.used == pytest.approx(resident, rel=0.02)
            else:  # its cgroup has nothing but it
                assert memory.used >= 80_000_000
        finally:
            process.kill()
    user.told(process.pid)
    eventually(lambda: not agents_of(user))
