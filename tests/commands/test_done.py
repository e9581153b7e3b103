"""``done:`` of a job configuration, and ``jobmon mark``: real processes and monitors, no Slurm."""

from __future__ import annotations

import json
import os
import subprocess
from functools import partial

from jobmon_core.context import Context
from jobmon_core.domain.job.tracking.model import WatchedJob
from jobmon_core.domain.slurm.job_ids import JobRef
from jobmon_core.domain.slurm.states import Outcome
from jobmon_core.lifecycle.health import Health, job_status
from jobmon_core.store.jobs import JobStore
from tests.support.shell import Shell, complaint
from tests.support.waiting import eventually

# name -> the configuration, what is run after the end of the process, and its outcome
CASES = {
    "a marker": ({"marker": "DONE"}, "echo now > DONE", Outcome.SUCCESS),
    "a marker with a status": ({"marker": "DONE"}, """echo '{"exit_status": 3}' > DONE""", Outcome.FAILURE),
    "only an old marker": ({"marker": "DONE"}, "true", Outcome.UNKNOWN),
}


def job_of(shell: Shell, pid: int) -> WatchedJob:
    return JobStore(shell.state).find(JobRef(pid))[-1]


def is_done(ctx: Context, shell: Shell, pid: int) -> bool:
    return job_status(ctx, job_of(shell, pid)).health is Health.DONE


def test_only_what_the_user_named_proves_the_end_of_a_process(shell: Shell) -> None:
    config = shell.home / "config.json"
    config.write_text(json.dumps({"poll": {"running_s": 5, "pending_s": 5}, "agent": {"enabled": False}}))
    config.chmod(0o600)
    started: dict[str, subprocess.Popen[bytes]] = {}
    for number, (name, (done, _, _)) in enumerate(CASES.items()):
        folder = shell.work / str(number)
        folder.mkdir()
        (folder / "log").write_text("earlier done\n", "utf-8")
        (folder / "DONE").touch()  # of an earlier run
        os.utime(folder / "DONE", (1, 1))
        (folder / "job.yaml").write_text(json.dumps({"done": done}), "utf-8")
        program = "read line; sleep 0.01"
        with (folder / "log").open("ab") as log:
            started[name] = subprocess.Popen(
                ["/bin/bash", "-c", program], cwd=folder, stdin=subprocess.PIPE, stdout=log, stderr=log
            )
        watched = shell.jobmon(
            "watch", "--pid", str(started[name].pid), "--job-config", str(folder / "job.yaml")
        )
        assert watched.returncode == 0, watched
    for number, (name, process) in enumerate(started.items()):
        process.communicate()
        subprocess.run(["/bin/bash", "-c", CASES[name][1]], cwd=shell.work / str(number), check=True)
    ctx = Context.open(os.environ)
    for name, process in started.items():
        eventually(partial(is_done, ctx, shell, process.pid))
        job = job_of(shell, process.pid)
        assert job.outcome is CASES[name][2], name
    shown = shell.jobmon("show", str(started["a marker"].pid)).stdout
    assert f"marker {shell.work}/0/DONE" in shown
    failed = job_of(shell, started["a marker with a status"].pid).tasks[""].end
    assert failed is not None
    assert failed.exit_code == 3


def test_a_marker_is_written_in_one_step_and_says_when_and_where(shell: Shell) -> None:
    (shell.work / "DONE").write_text("old", "utf-8")
    done = shell.jobmon("mark", "--status", "3", "--note", "eval", "DONE", SLURM_JOB_ID="12")
    assert (done.returncode, done.stdout) == (0, f"{shell.work}/DONE\n")
    marker = json.loads((shell.work / "DONE").read_text("utf-8"))
    assert (marker["exit_status"], marker["job_id"], marker["note"]) == (3, "12", "eval")
    assert marker["host"] == os.uname().nodename
    missing = shell.jobmon("mark", "nosuch/DONE")
    assert missing.returncode == 74
    assert "nosuch/DONE cannot be written: No such file or directory" in complaint(missing)
    assert shell.jobmon("mark", "--status", "256", "DONE").returncode == 2
