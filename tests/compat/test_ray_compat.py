"""The functions of an older monitor script: their names, fields and meanings, by HTTP and through a pod."""

from __future__ import annotations

import os
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from jobmon import api, ray_compat
from jobmon.ray_compat import (
    check_gpu_utilization,
    check_job_status,
    detect_stall,
    get_current_step,
    monitor_job,
)
from jobmon_core.app.ray_job.look import Memory, look
from jobmon_core.domain.errors import JobmonError, UnknownJob
from jobmon_core.domain.node.health.pods import GpuProcess, parse_node_gpus
from jobmon_core.domain.node.telemetry.model import Gpu
from jobmon_core.system.json_codec import from_json
from tests.support.fake_ray import FakeRay, ray_job
from tests.support.processes import processes_of
from tests.support.waiting import PATIENCE_S, eventually

POD, JOB = "training-head-x", "raysubmit_1"
LOG = b"\x1b[36m(RayTrainWorker pid=1)\x1b[0m step 40/100 loss=0.25\nstep 41/100 loss=0.24\n"
STATUS = """\
Resources
---------------------------------------------------------------
Total Usage:
 3.0/16.0 CPU
 {}/4.0 GPU
 0B/1.20GiB memory
Total Demands:
 {{'GPU': 8.0}}: 2+ pending tasks/actors
"""
SMI = "0, GPU-a, H100, 95, 15234, 81920\n1, GPU-b, H100, 85, 100, 81920"
NCCL = "n1:1:1 [0] NCCL INFO Channel 00/0 : 8[0] -> 0[0] [receive] via NET/Socket/0"


@pytest.fixture
def ray(monkeypatch: pytest.MonkeyPatch) -> Iterator[FakeRay]:
    for name in ("RAY_ADDRESS", "RAY_API_SERVER_ADDRESS", "RAY_AUTH_TOKEN", "RAY_AUTH_TOKEN_PATH"):
        monkeypatch.delenv(name, raising=False)
    with FakeRay() as server:
        server.jobs = [ray_job(JOB)]
        server.logs[JOB] = LOG
        server.cluster_status = STATUS.format("4.0")
        yield server


@pytest.fixture
def pod(ray: FakeRay, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A kubectl that runs commands here, as if in the head pod; return the folder of its programs."""
    folder = tmp_path / "programs"
    folder.mkdir()
    lines = [
        '[ "$*" != "${*#exec -n ml training-}" ] || { echo "pods \\"$4\\" not found" >&2; exit 1; }',
        f"export RAY_API_SERVER_ADDRESS={ray.url} HOME=/nowhere",
        'while [ "$1" != -- ]; do shift; done; shift',
        'exec "$@"',
    ]
    _program(folder, "kubectl", *lines)
    _program(
        folder, "nvidia-smi", f'case "$1" in *gpu=*) echo "{SMI}";; *) echo "GPU-a, 7, python, 15000";; esac'
    )
    monkeypatch.setenv("PATH", f"{folder}:{os.environ['PATH']}")
    return folder


def _program(folder: Path, name: str, *lines: str) -> None:
    (folder / name).write_text("\n".join(("#!/bin/sh", *lines, "")), encoding="utf-8")
    (folder / name).chmod(0o755)


@pytest.mark.parametrize(
    ("status", "changes", "shown"),
    [
        ("RUNNING", {}, "RUNNING"),
        ("PENDING", {}, "PENDING"),
        ("SUCCEEDED", {"driver_exit_code": 0}, "SUCCEEDED"),
        ("FAILED", {"driver_exit_code": 3}, "FAILED"),
        ("STOPPED", {}, "STOPPED"),
        ("SUCCEEDED", {"type": "DRIVER"}, "UNKNOWN"),  # a killed driver shows this, too
        ("FAILED", {"error_type": "JOB_SUPERVISOR_ACTOR_DIED"}, "UNKNOWN"),  # it may run on
    ],
)
def test_a_status_is_only_what_ray_proves(
    ray: FakeRay, status: str, changes: dict[str, object], shown: str
) -> None:
    ray.jobs = [ray_job(JOB, status, **changes)]
    assert check_job_status(ray.url, JOB) == shown


def test_the_same_answers_come_through_the_head_pod(
    pod: Path, ray: FakeRay, caplog: pytest.LogCaptureFixture
) -> None:
    del pod
    assert check_job_status(POD, JOB, "ml") == "RUNNING"
    assert get_current_step(POD, JOB, namespace="ml") == get_current_step(ray.url, JOB) == 41
    resources = ray_compat.verify_ray_resources(POD, "ml")
    assert resources == ray_compat.verify_ray_resources(ray.url)
    assert (resources["gpus_used"], resources["gpus_available"]) == (4.0, 4.0)
    assert f"{resources['cpus_used']}/{resources['cpus_available']} CPUs" == "3/16 CPUs"
    assert check_job_status(POD, "raysubmit_2", "ml") == "UNKNOWN"  # and the log says why
    assert get_current_step(POD, "raysubmit_2", namespace="ml") is None
    assert "`ray job list` lists its jobs" in caplog.text
    assert check_job_status("other-pod", JOB, "ml") == "UNKNOWN"  # an outage proves nothing
    with pytest.raises(JobmonError, match="not a Kubernetes name"):
        check_gpu_utilization("--help")


def test_the_gpus_of_a_pod_have_the_documented_fields(pod: Path) -> None:
    found = check_gpu_utilization(POD, namespace="ml")
    assert found["gpu_count"] == 2
    assert found["gpu_utilizations"] == [95.0, 85.0]
    assert found["memory_used"] == [15234.0, 100.0]
    assert found["memory_total"] == [81920.0, 81920.0]
    assert found["avg_utilization"] == 90.0
    assert found["processes"][0]["pid"] == 7
    assert found["healthy"] is True
    _program(pod, "nvidia-smi", "echo no driver >&2; exit 9")
    (pod / "kubectl").write_text("#!/bin/sh\necho 'error: forbidden' >&2; exit 1\n", encoding="utf-8")
    failed = check_gpu_utilization(POD, "ml")
    assert (failed["healthy"], failed["gpu_count"]) == (False, 0)
    assert "forbidden" in failed["error"]


def test_the_report_says_what_is_wrong(
    pod: Path, ray: FakeRay, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    del pod
    ray.logs[JOB] = f"{NCCL}\nn1:1:1 [0] NCCL INFO comm 0x1 rank 0 nRanks 16 nNodes 2 localRanks 8\n".encode()
    ray.cluster_status = STATUS.format("0.0")
    (tmp_path / "step_1000").mkdir()
    report = ray_compat.get_training_health(
        head_pod=POD, checkpoint_dir="/nowhere", all_pods=[POD, "training-w1"], namespace="ml", job_id=JOB
    )
    assert report["healthy"] is False
    assert list(report["pods"]) == [POD, "training-w1"]
    assert report["gpu"]["avg_utilization"] == 90.0
    assert report["efa"]["efa_active"] is False
    assert report["efa"]["transport"] == "TCP sockets"
    assert any(each.startswith("GPUs available but not being used") for each in report["issues"])
    assert any("/nowhere" in each for each in report["issues"])
    ray_compat.print_training_health(report)
    shown = capsys.readouterr().out
    assert "NOT healthy" in shown
    assert "0 of 4 GPUs held" in shown
    assert max(map(len, shown.splitlines())) <= 80


def test_checkpoints_of_the_pod_or_of_this_host_have_a_step(pod: Path, tmp_path: Path) -> None:
    del pod
    saved = tmp_path / "saved"
    for step in (100, 500, 1000):
        (saved / f"step_{step}").mkdir(parents=True)
        (saved / f"step_{step}" / "model.pt").write_bytes(b"x" * 4096)
    (saved / "latest").symlink_to("step_1000")
    report = ray_compat.get_training_health(POD, str(saved), namespace="ml")
    assert report["checkpoints"] is not None
    assert report["checkpoints"]["latest_step"] == 1000


def test_a_job_is_followed_in_a_thread_until_it_ends(ray: FakeRay, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level("INFO", logger="jobmon")
    results: list[ray_compat.MonitorResult] = []
    thread = threading.Thread(target=lambda: results.append(monitor_job(ray.url, JOB, check_interval=0.02)))
    thread.start()
    while not caplog.messages:
        thread.join(0.02)
    ray.jobs = [ray_job(JOB, "FAILED", driver_exit_code=1)]
    thread.join(PATIENCE_S)
    assert (results[0]["status"], results[0]["final_step"]) == ("FAILED", 41)
    assert f"job {JOB}: RUNNING, step 41" in caplog.messages


def test_the_step_is_that_of_the_end_of_a_log_whose_lines_are_too_long_for_one_answer(ray: FakeRay) -> None:
    bar = b"\r".join(b"loading %d" % number for number in range(6000))
    ray.logs[JOB] = b"step 1/900\n" + (bar + b"\n") * 100 + b"step 700/900\n"
    assert get_current_step(ray.url, JOB) == 700


def test_following_ends_at_its_time_limit_or_when_ray_has_forgotten_the_job(ray: FakeRay) -> None:
    assert monitor_job(ray.url, JOB, check_interval=0.01, timeout=0.05)["status"] == "RUNNING"
    ray.jobs = [ray_job(JOB, "SUCCEEDED", type="DRIVER")]
    assert monitor_job(ray.url, JOB)["status"] == "UNKNOWN"  # over, and nothing shows how
    assert monitor_job(ray.url, "raysubmit_2")["status"] == "UNKNOWN"  # Ray has no such job
    with pytest.raises(JobmonError, match="check_interval"):
        monitor_job(ray.url, JOB, check_interval=0)


def test_calls_remember_what_earlier_calls_saw(ray: FakeRay) -> None:
    assert detect_stall(ray.url, JOB, stagnation_threshold=0) is False  # the first one
    assert detect_stall(ray.url, JOB, stagnation_threshold=0) is True
    assert detect_stall(ray.url, JOB, stagnation_threshold=300) is False
    ray.logs[JOB] += b"step 42/100 loss=0.2\n"
    assert detect_stall(ray.url, JOB, stagnation_threshold=0.001) is False
    ray.jobs = [ray_job(JOB, "FAILED", driver_exit_code=1)]
    assert detect_stall(ray.url, JOB, stagnation_threshold=0) is False  # it does not run
    ray.refusals["/api/jobs"] = (500, "down")
    assert detect_stall(ray.url, JOB, stagnation_threshold=0) is False


def test_a_job_on_ray_is_watched_and_waited_for_by_its_own_name(ray: FakeRay, tmp_path: Path) -> None:
    ray.jobs = [ray_job(JOB, "FAILED", driver_exit_code=3)]
    job = api.watch(JOB, backend="ray", address=ray.url)
    assert job.backend == "ray"
    assert api.watch(JOB, backend="ray", address=ray.url).job_id == job.job_id  # once is enough
    found = api.wait(JOB, at_most_s=PATIENCE_S)
    assert found.result is api.Result.FAILURE
    assert found.jobs[0].job is not None
    assert found.jobs[0].job.exit_code == 3
    assert api.watch(JOB, backend="ray", address=ray.url).outcome is api.Outcome.FAILURE  # its record
    with pytest.raises(UnknownJob, match="raysubmit_2"):
        api.watch("raysubmit_2", backend="ray", address=ray.url)
    eventually(lambda: not list(processes_of(tmp_path / "jobmon")))


def test_a_command_is_submitted_to_ray_once_and_watched(ray: FakeRay, tmp_path: Path) -> None:
    gpu = {"entrypoint_num_gpus": 1}
    job = api.submit("python", "my train.py", backend="ray", address=ray.url, ray=gpu, group="sweep")
    (started,) = ray.started
    entry = next(each for each in ray.jobs if each["submission_id"] == started)
    assert (entry["entrypoint"], entry["entrypoint_num_gpus"]) == ("python 'my train.py'", 1)
    assert api.status(started).job_id == job.job_id
    entry.update(ray_job(started, "SUCCEEDED", driver_exit_code=0))
    assert api.wait(started, at_most_s=PATIENCE_S).result is api.Result.SUCCESS
    assert api.wait("sweep", at_most_s=PATIENCE_S).result is api.Result.SUCCESS
    ray.refusals["/api/jobs"] = (400, "no")
    with pytest.raises(api.SchedulerRejected, match="no"):
        api.submit("x", backend="ray", address=ray.url)
    with pytest.raises(JobmonError, match="backend"):
        api.submit("x", address=ray.url)
    eventually(lambda: not list(processes_of(tmp_path / "jobmon")))


@pytest.mark.parametrize(
    ("story", "stalled"),
    [
        ([(0, 1, "a"), (299, 1, "a")], False),
        ([(0, 1, "a"), (300, 1, "a")], True),
        ([(0, 1, "a"), (290, 1, "b"), (400, 1, "b")], False),  # it still prints
        ([(0, 1, "a"), (600, 2, "b"), (1200, 3, "c"), (2900, 3, "c")], False),  # its steps take ten minutes
        ([(0, 1, "a"), (600, 2, "b"), (1200, 3, "c"), (3000, 3, "c")], True),
        ([(0, 50, "a"), (10, 1, "b"), (309, 1, "b")], False),  # a new run
        ([(0, None, "a"), (300, None, "a")], True),  # no step is known
    ],
)
def test_a_pause_is_no_stall(story: list[tuple[float, float | None, str]], stalled: bool) -> None:  # noqa: FBT001 - of a table
    memory: Memory | None = None
    found = False
    for at_s, step, log in story:
        memory, found = look(memory, step, log, 1_000_000 + at_s, 300)
    assert found is stalled


def test_what_an_earlier_version_saw_of_a_job_counts() -> None:
    seen = {"step": 7.0, "step_s": 1e6, "longest_pause_s": 400.0, "log": "a", "log_s": 1e6, "seen_s": 1e6}
    memory = from_json(Memory, seen)
    assert [look(memory, 7, "a", 1e6 + quiet_s, 300)[1] for quiet_s in (1199, 1200)] == [False, True]


def test_gpus_that_the_nodes_of_ray_measure_are_read() -> None:
    entry = {"index": 0, "uuid": "GPU-a", "utilizationGpu": 7, "memoryUsed": 10, "memoryTotal": 100}
    entry |= {"processesPids": [{"pid": 5, "gpuMemoryUsage": 9}, "x"]}
    gpus, processes = parse_node_gpus([entry, {"index": "x"}, {}])
    size = 2**20
    assert gpus == (Gpu(0, "GPU-a", utilization_percent=7.0, memory=10 * size, memory_total=100 * size),)
    assert processes == (GpuProcess(5, "", 9 * size, "GPU-a"),)
