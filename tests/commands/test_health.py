"""``jobmon health``: of jobs by the files of jobmon, and of pods through a kubectl that replays answers."""

from __future__ import annotations

import json
import os
import time
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from jobmon.cli import main
from jobmon_core.context import Context
from jobmon_core.domain.job.job_progress import JobProgress
from jobmon_core.domain.job.tracking.model import Task
from jobmon_core.domain.many.groups.model import Group, Member
from jobmon_core.domain.node.telemetry.model import AgentReport, Fabric, FabricKind, FabricPort
from jobmon_core.domain.slurm.log_paths import BY_USER, LogPaths
from jobmon_core.store.home import Home
from jobmon_core.store.json_file import JsonFile
from jobmon_core.store.owner import Owner
from jobmon_core.store.telemetry import LATEST
from tests.support.agent_reports import gpu, report, sample
from tests.support.job_records import OOM, PENDING, failed, job_of, succeeded
from tests.support.live_jobs import progress_of, running_task

_NCCL = """\
gpu1:42:43 [0] NCCL INFO NET/Plugin: Could not find: libnccl-net.so. Using internal network plugin.
gpu1:42:43 [0] NCCL INFO Using network Socket
gpu1:42:43 [0] NCCL INFO Channel 00/0 : 8[0] -> 0[0] [receive] via NET/Socket/0
step 673 loss 0.35
"""
_KUBECTL = """\
#!/bin/sh
# replays what was recorded for the pod, and notes how it was called
echo "$*" | head -n 1 >> "$FAKE_KUBECTL/calls"
for word; do case $word in p-*) pod=$word ;; esac; done
cat "$FAKE_KUBECTL/$pod.err" >&2 2>/dev/null && exit 1
cat "$FAKE_KUBECTL/$pod.out"
"""
_HEAD = """\
== jobmon: gpus
0, GPU-a, NVIDIA H100, {busy}, {memory}, 81559
== jobmon: processes
GPU-a, 4711, python3, {memory}
== jobmon: ray
Usage:
 2.0/16.0 CPU
 {held}/1.0 GPU
== jobmon: nccl
p-head:7:8 [0] NCCL INFO NET/OFI Selected provider is efa, fabric is efa-direct (found 4 nics)
p-head:7:8 [0] NCCL INFO Using network Libfabric
== jobmon: fabric
rdmap0s6
== jobmon: checkpoints
{earlier} step_100
{newest} step_200
"""
_WORKER = """\
== jobmon: gpus
0, GPU-b, NVIDIA H100, 80, 40000, 81559
== jobmon: processes
== jobmon: nccl
== jobmon: fabric
"""


@pytest.fixture(autouse=True)
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("JOBMON_HOME", str(tmp_path / "home"))
    return tmp_path / "home"


def _add(home: Path, number: int, task: Task, log: str = "", *, fabric: Fabric | None = None) -> None:
    """Add a job on the nodes gpu1 and gpu2; one that runs has made progress, and with a fabric has agents."""
    ctx, now_s = Context(Home(home), {}), time.time()
    path = home.parent / f"{number}.log"
    path.write_text(log, encoding="utf-8")
    job = job_of(task, job_id=number, concluded_s=now_s if task.end else None)
    logs = LogPaths(str(path), str(path), BY_USER)
    ctx.store.save(replace(job, registered_s=now_s, answered_s=now_s, logs=logs, workdir=str(home.parent)))
    ctx.owner_record(job.id).write(Owner.this_process())
    if task.end is None and task.start_s:
        followed = replace(progress_of(673, 1000, now_s=now_s), logs=(str(path),))
        ctx.progress_file(job.id).write(JobProgress(now_s, {"": followed}))
    for node in ("gpu1", "gpu2") if fabric else ():
        latest = ctx.telemetry(job.id, "").folder / node / LATEST
        latest.parent.mkdir(parents=True)
        measured = report(sample((gpu(0), gpu(1)), node=node), now_s=now_s)
        JsonFile(latest, AgentReport).write(replace(measured, fabric=fabric))


def _json(capsys: pytest.CaptureFixture[str], *arguments: str) -> tuple[int, Any]:
    code = main(["health", *arguments, "--json"])
    return code, json.loads(capsys.readouterr().out)


def test_a_job_over_tcp_beside_unused_cards_is_unhealthy_and_the_lines_prove_it(
    home: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    efa = Fabric((FabricPort("efa_0", kind=FabricKind.EFA),))
    log = f"{_NCCL}Saving model checkpoint to checkpoint-300\n"
    _add(home, 12, running_task(now_s=time.time()), log, fabric=efa)
    checkpoint = home.parent / "checkpoint-300"
    checkpoint.mkdir()
    (checkpoint / "model.safetensors").write_bytes((0).to_bytes(8, "little"))  # cut off
    code, found = _json(capsys, "12")
    assert (code, found["healthy"], found["stage"], found["state"]) == (1, False, "running", "RUNNING")
    (issue,) = found["issues"]
    assert issue.startswith("network FALLBACK: NCCL uses TCP sockets, although there is a faster network: ")
    assert issue.endswith("gpu1 has 1 active EFA port")
    assert len(found["advice"]) == 1
    assert found["network"]["evidence"][0] == _NCCL.splitlines()[2]
    assert found["progress"]["progress_pct"] == 67.3
    assert found["progress"]["throughput"] > 0
    assert (found["gpus"]["allocated"], found["gpus"]["used"]) == (4, 4)
    assert found["gpus"]["avg_utilization"] == 92.0
    assert found["ray"] is None
    assert (found["checkpoints"]["step"], found["checkpoints"]["complete"]) == (300, False)
    assert main(["health", "12"]) == 1
    page = capsys.readouterr().out
    assert page.startswith("Job 12 train, RUNNING for 2h 34m: UNHEALTHY\n  - network FALLBACK: ")
    assert "\n  GPUs         4 allocated, 4 used, 92% busy\n  network      FALLBACK: TCP sockets\n" in page
    assert "\n               NCCL: Using network Socket\n" in page


def test_without_any_line_of_nccl_the_report_says_what_to_set(
    home: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    _add(home, 12, running_task(now_s=time.time()), "step 673 loss 0.35\n")
    code, found = _json(capsys, "12")
    assert (code, found["healthy"], found["issues"]) == (0, True, [])  # its steps advance
    assert found["network"]["verdict"] == "UNKNOWN"
    assert "NCCL_DEBUG=INFO" in found["network"]["advice"]
    assert found["gpus"] == {
        "allocated": None,
        "used": None,
        "idle": [],
        "utilization": [],
        "avg_utilization": None,
        "span_s": None,
    }
    assert found["not_seen"] == ["processes, GPUs, memory and node: no agent reports about this job"]


def test_the_lines_of_an_earlier_run_in_the_log_are_not_those_of_a_restarted_job(
    home: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    again = replace(running_task(now_s=time.time()), restarts=1)
    _add(home, 12, again, _NCCL + "step 1 loss 0.3\n" * 2**20)
    assert _json(capsys, "12")[1]["network"]["transport"] is None


def test_several_jobs_have_a_line_each_those_with_issues_first(
    home: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    _add(home, 12, running_task(now_s=time.time()))
    _add(home, 13, failed("", OOM))
    _add(home, 14, succeeded())
    _add(home, 15, PENDING)
    assert main(["health", "12", "13", "14", "15"]) == 1
    lines = capsys.readouterr().out.splitlines()
    assert lines[0].split() == ["JOB", "NAME", "STATE", "HEALTH", "PROGRESS", "GPU", "NETWORK", "CHECKPOINT"]
    assert [line.split()[0] for line in lines[1:5]] == ["13", "15", "12", "14"]
    assert lines[6:9] == [
        "13 train",
        "  - it failed: CUDA out of memory",
        "     -> `jobmon diagnose 13` shows the lines that prove it, and what to do.".replace(
            "     ->", "    ->"
        ),
    ]
    assert lines[-1] == "4 jobs: 2 healthy, 1 unhealthy, 1 not known"
    assert main(["health", "14"]) == 0
    capsys.readouterr()
    code, found = _json(capsys, "14", "15")
    assert (code, [each["healthy"] for each in found]) == (3, [True, None])
    assert found[1]["why"] == "it has not started (Priority)"


def test_a_group_stands_for_its_members_and_an_array_for_its_tasks(
    home: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    _add(home, 12, succeeded())
    _add(home, 13, failed("", OOM))
    members = {f"r{number}": Member(state_id=f"slurm-{number}-x") for number in (12, 13)}
    Context(Home(home), {}).groups.create(Group("sweep", time.time(), members={**members, "later": Member()}))
    assert [each["job_id"] for each in _json(capsys, "sweep")[1]] == ["12", "13"]
    ctx = Context(Home(home), {})
    array = job_of(succeeded("1"), failed("2"), job_id=14, concluded_s=time.time())
    ctx.store.save(replace(array, array_indices="1-2"))
    assert [(each["job_id"], each["healthy"]) for each in _json(capsys, "14")[1]] == [
        ("14_1", True),
        ("14_2", False),
    ]
    assert _json(capsys, "14_1")[1]["job_id"] == "14_1"


@pytest.fixture
def pods(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The folder with the answers of a kubectl on PATH."""
    programs = tmp_path / "bin"
    programs.mkdir()
    (programs / "kubectl").write_text(_KUBECTL, encoding="ascii")
    (programs / "kubectl").chmod(0o755)
    answers = tmp_path / "answers"
    answers.mkdir()
    monkeypatch.setenv("PATH", f"{programs}{os.pathsep}{os.environ['PATH']}")
    monkeypatch.setenv("FAKE_KUBECTL", str(answers))
    return answers


def _head(busy: int, memory: int, held: float) -> str:
    """Return what the head pod shows; its newest checkpoint is 10 minutes old."""
    now_s = int(time.time())
    return _HEAD.format(busy=busy, memory=memory, held=held, earlier=now_s - 2400, newest=now_s - 600)


def test_pods_show_gpus_ray_the_network_and_checkpoints(
    pods: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (pods / "p-head.out").write_text(_head(busy=90, memory=40000, held=1.0), encoding="ascii")
    (pods / "p-worker.out").write_text(_WORKER, encoding="ascii")
    (pods / "p-gone.err").write_text(
        'Error from server (NotFound): pods "p-gone" not found', encoding="ascii"
    )
    options = ["--pod", "p-head", "--pod", "p-worker", "--pod", "p-gone", "-n", "ml", "--checkpoints", "/ck"]
    code, found = _json(capsys, *options)
    assert (code, found["healthy"], found["job_id"], found["name"]) == (0, True, None, "p-head, p-worker")
    assert (found["gpus"]["allocated"], found["gpus"]["avg_utilization"]) == (2, 85.0)
    assert (found["network"]["verdict"], found["network"]["transport"]) == ("OK", "EFA")
    assert found["ray"] == {"gpus": 1.0, "gpus_held": 1.0, "cpus": 16.0, "cpus_held": 2.0, "waiting": []}
    assert (found["checkpoints"]["latest"], found["checkpoints"]["step"]) == ("step_200", 200)
    assert found["not_seen"][0].startswith("there is no pod p-gone (kubectl: Error from server (NotFound)")
    calls = sorted((pods / "calls").read_text().splitlines())
    assert calls == [f"exec -n ml {pod} -- sh -c " for pod in ("p-gone", "p-head", "p-worker")]


def test_the_script_that_pods_run_finds_what_is_there(
    pods: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    programs = {
        "kubectl": 'while [ "$1" != -- ]; do shift; done; shift; exec "$@"',
        "nvidia-smi": 'case $1 in *gpu=*) echo "0, GPU-a, H100, 70, 40000, 81559" ;; esac',
        "ray": 'printf "Usage:\\n 1.0/4.0 CPU\\n 1.0/1.0 GPU\\n"',
        "sleep": "",
    }
    for name, text in programs.items():
        (tmp_path / "bin" / name).write_text(f"#!/bin/sh\n{text}\n", encoding="ascii")
        (tmp_path / "bin" / name).chmod(0o755)
    monkeypatch.setenv("RAY_TMPDIR", str(tmp_path))
    logs = tmp_path / "ray" / "session_latest" / "logs"
    logs.mkdir(parents=True)
    (logs / "worker-1.out").write_text(_NCCL, encoding="ascii")
    (logs / "raylet.out").write_text("gpu1:1:1 [0] NCCL INFO Using network IB\n", encoding="ascii")
    for step in (100, 200):
        (tmp_path / "ck" / f"step_{step}").mkdir(parents=True)
    code, found = _json(capsys, "--pod", "p-head", "--checkpoints", str(tmp_path / "ck"))
    assert (code, found["gpus"]["avg_utilization"], found["ray"]["gpus_held"]) == (0, 70.0, 1.0)
    assert found["network"]["transport"] == "TCP sockets"
    assert (found["checkpoints"]["count"], found["checkpoints"]["step"]) == (2, 200)
    assert not (pods / "calls").exists()  # the other kubectl


def test_gpus_in_pods_that_nobody_uses_are_an_issue(pods: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (pods / "p-head.out").write_text(_head(busy=0, memory=4, held=0.0), encoding="ascii")
    code, found = _json(capsys, "--pod", "p-head")
    assert (code, found["healthy"]) == (1, False)
    assert found["issues"] == [
        "GPUs available but not being used: 1 GPU allocated, 0% busy",
        "GPUs available but not being used: no task or actor holds any of Ray's 1 GPUs",
    ]


@pytest.mark.parametrize(
    ("error", "told"),
    [
        (
            'Error from server (Forbidden): pods "p-head" is forbidden: User "u" cannot create resource',
            "`kubectl auth can-i create pods/exec -n ml` must say yes",
        ),
        ("error: You must be logged in to the server (Unauthorized)", "kubectl may not run commands"),
        ('Error from server (NotFound): pods "p-head" not found', "`kubectl get pods -n ml` lists the pods"),
        (
            "The connection to the server localhost:8080 was refused",
            "; `kubectl get pod p-head -n ml` shows its state",
        ),
        (
            'OCI runtime exec failed: exec: "sh": executable file not found in $PATH: unknown',
            "no command could be run in pod p-head",
        ),
    ],
)
def test_a_pod_that_cannot_be_asked_says_why_and_what_to_do(
    pods: Path, capsys: pytest.CaptureFixture[str], error: str, told: str
) -> None:
    (pods / "p-head.err").write_text(error, encoding="ascii")
    assert main(["health", "--pod", "p-head", "--namespace", "ml"]) == 69
    assert told in capsys.readouterr().err


def test_a_missing_kubectl_is_said(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    assert main(["health", "--pod", "p-head"]) == 127
    assert "kubectl: not found on PATH: install it" in capsys.readouterr().err


def test_the_pods_of_a_watched_job_stand_in_for_its_agents(
    pods: Path, home: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    _add(home, 12, running_task(now_s=time.time()))
    (pods / "p-head.out").write_text(_head(busy=90, memory=40000, held=1.0), encoding="ascii")
    _, found = _json(capsys, "12", "--pod", "p-head")
    assert (found["job_id"], found["gpus"]["allocated"], found["ray"]["gpus"]) == ("12", 1, 1.0)
    assert found["progress"]["progress_pct"] == 67.3


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        ([], "name a job, a group, or a --pod"),
        (["12", "--namespace", "ml"], "--namespace requires --pod"),
        (["99"], "no record of job 99"),
    ],
)
def test_wrong_arguments_are_explained(
    capsys: pytest.CaptureFixture[str], arguments: list[str], told: str
) -> None:
    assert main(["health", *arguments]) != 0
    assert told in capsys.readouterr().err
