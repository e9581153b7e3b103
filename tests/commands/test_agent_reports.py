"""What agents measured, in the output of the commands."""

from __future__ import annotations

import json
import re
import time
from dataclasses import replace

import pytest

from jobmon_core.context import Context
from jobmon_core.domain.job.job_progress import JobProgress
from jobmon_core.domain.logs.progress.events.event import Event, EventKind
from jobmon_core.domain.node.telemetry.model import AgentReport
from jobmon_core.domain.slurm.log_paths import BY_USER, LogPaths
from jobmon_core.store.home import Home
from jobmon_core.store.json_file import JsonFile
from jobmon_core.store.owner import Owner
from jobmon_core.store.telemetry import LATEST
from tests.support.agent_reports import report
from tests.support.documentation import page
from tests.support.job_records import job_of
from tests.support.live_jobs import progress_of, running_task
from tests.support.shell import Shell

_LISTS = ("problems", "workers", "gpus", "nodes")


@pytest.fixture
def shell(shell: Shell) -> Shell:
    """A shell of a user with a running job that has an agent and a problem, and one without."""
    shell.jobmon("--help")  # the first command takes long on a busy machine, and what follows must be recent
    ctx, now_s = Context(Home(shell.home), {}), time.time()
    log = shell.work / "train.log"
    log.write_text("step 673 loss 0.35\n", encoding="utf-8")
    for number in (12, 13):
        job = job_of(running_task(now_s=now_s), job_id=number)
        logs = LogPaths(str(log), str(log), BY_USER)
        ctx.store.save(replace(job, registered_s=now_s, answered_s=now_s, logs=logs))
        ctx.owner_record(job.id).write(Owner.this_process())
    idle = Event(now_s, EventKind.TROUBLE, "GPU 2 is idle", subject="idle-gpu", advice="Ask for 3 GPUs.")
    followed = replace(progress_of(673, 1000, now_s=now_s), logs=(str(log),))
    ctx.progress_file("slurm-12-x").write(JobProgress(now_s, {"": followed}, (idle,)))
    path = ctx.telemetry("slurm-12-x", "").folder / "n17" / LATEST
    path.parent.mkdir(parents=True)
    JsonFile(path, AgentReport).write(report(now_s=now_s))
    return shell


def test_show_has_them_in_short(shell: Shell) -> None:
    shown = shell.jobmon("show", "12").stdout
    rows = dict(re.findall(r"^  (\w+) +(.*)$", shown, re.MULTILINE))
    assert rows["GPUs"] == "4x 69% (lowest 1%: GPU 2), up to 63.0 of 80.0 GiB, 2.0 kW"
    assert rows["memory"] == "52.0 of 64.0 GiB (81%)"
    assert rows["workers"] == "4 running"
    assert re.search(r"^  problem   since \d\d:\d\d: GPU 2 is idle\n +Ask for 3 GPUs\.$", shown, re.MULTILINE)
    assert "GPUs" not in shell.jobmon("show", "13").stdout


def test_the_list_of_jobs_names_the_problem(shell: Shell) -> None:
    assert "idle gpu, 67.3%" in shell.jobmon("status").stdout
    head, first, second = shell.jobmon("top", "--once").stdout.splitlines()[1:]
    assert head.split()[-3:] == ["GPU", "MEM", "ELAPSED/LIMIT"]
    assert re.search(r"^T 12 .* 4x 69%  81%  2h 34m/8h$", first)
    assert "%" not in second


@pytest.mark.parametrize("command", ["status", "show", "progress"])
def test_json_has_problems_workers_gpus_and_nodes(shell: Shell, command: str) -> None:
    found = json.loads(shell.jobmon(command, "12", "--json").stdout)
    found = found[0] if isinstance(found, list) else found
    assert [len(found[each]) for each in _LISTS] == [1, 4, 4, 1]
    assert found["workers"][3]["gpu_util"] == 92.0
    without = json.loads(shell.jobmon(command, "13", "--json").stdout)
    without = without[0] if isinstance(without, list) else without
    assert [without[each] for each in _LISTS] == [[], None, None, None]


def test_the_documentation_has_every_key(shell: Shell) -> None:
    (found,) = json.loads(shell.jobmon("status", "12", "--json").stdout)
    for name in _LISTS:
        row = next(line for line in page("json").splitlines() if line.startswith(f"| `{name}` |"))
        assert [key for key in found[name][0] if f'"{key}"' not in row] == []
