from __future__ import annotations

from dataclasses import replace
from typing import Any

from jobmon.views.telemetry.figures import live_json
from jobmon_core.app.live.tasks import TaskAgents, live_tasks
from jobmon_core.domain.job.job_progress import JobProgress
from jobmon_core.domain.logs.progress.events.event import Event, EventKind
from jobmon_core.domain.node.telemetry.model import AgentReport, Sample, WorkerStatus
from tests.support.agent_reports import GIB, gpu, report, sample, worker
from tests.support.job_records import NOW_S, job_of, status_of
from tests.support.live_jobs import running_task


def shown(*reports: AgentReport, events: tuple[Event, ...] = (), key: str = "") -> dict[str, Any]:
    job, progress = job_of(running_task(key)), JobProgress(NOW_S, events=events)
    return live_json(live_tasks(status_of(job), progress, NOW_S, agents={key: TaskAgents(reports)}), NOW_S)


def test_without_an_agent_nothing_is_known() -> None:
    assert shown() == {"problems": [], "workers": None, "gpus": None, "nodes": None}


def test_what_is_wrong_now_is_listed() -> None:
    slow = Event(NOW_S - 60, EventKind.SLOW, "throughput 31% below its best")
    leak = Event(NOW_S - 50, EventKind.TROUBLE, "memory grows", "", None, "memory-leak", advice="Look.")
    found = shown(events=(slow, leak))["problems"]
    assert [(each["kind"], each["subject"], each["since"]) for each in found] == [
        ("trouble", "memory-leak", NOW_S - 50),
        ("slow", "", NOW_S - 60),
    ]
    assert found[0] | {"text": "memory grows", "advice": "Look.", "is_critical": False} == found[0]


def test_a_worker_has_its_process_and_its_gpu() -> None:
    (found,) = shown(report(sample((gpu(0, 95.31),), (worker(0),))), key="3")["workers"]
    assert found == {
        "job_id": "12_3", "node": "n17", "rank": 0, "pid": 40_200, "name": "python train.py",
        "status": "running", "gpu_id": 0, "gpu_ids": [0], "gpu_util": 95.3, "gpu_memory_mb": 60 * 1024,
        "cpu_percent": 103.4, "memory_bytes": int(12.3 * GIB), "uptime": 9227.0, "children": 4,
        "threads": 36, "last_activity": NOW_S - 2, "read_bytes_per_s": None, "written_bytes_per_s": None,
    }  # fmt: skip


def test_a_worker_that_was_never_seen_has_no_pid() -> None:
    missing = replace(worker(1, WorkerStatus.NOT_FOUND), pid=0, started_s=0.0, gpus=(), last_activity_s=None)
    (found,) = shown(report(sample((), (missing,))))["workers"]
    assert [found[key] for key in ("job_id", "status", "pid", "uptime", "gpu_id", "gpu_util")] == [
        "12", "not_found", None, None, None, None,
    ]  # fmt: skip


def test_gpus_and_nodes_are_listed() -> None:
    found = shown(report())
    assert [(each["gpu_id"], each["gpu_util"], each["marks"]) for each in found["gpus"]] == [
        (0, 92.0, []),
        (1, 92.0, []),
        (2, 1.0, ["idle"]),
        (3, 92.0, []),
    ]
    (node,) = found["nodes"]
    assert (node["node"], node["memory_bytes"], node["memory_limit_bytes"]) == ("n17", 52 * GIB, 64 * GIB)
    assert (node["as_of"], node["is_current"]) == (NOW_S - 3, True)
    old = shown(report(age_s=900.0))
    assert not old["nodes"][0]["is_current"]


def test_what_is_not_available_is_null() -> None:
    (node,) = shown(AgentReport(Sample(NOW_S)))["nodes"]
    known = {key for key, value in node.items() if value is not None}
    assert known == {"job_id", "node", "as_of", "is_current", "unavailable"}
