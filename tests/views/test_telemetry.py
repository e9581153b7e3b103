from __future__ import annotations

from dataclasses import replace
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from jobmon.views.telemetry import (
    cpu_text,
    gpu_marks_texts,
    gpus_short,
    gpus_text,
    is_memory_scarce,
    live_json,
    memory_text,
    network_text,
    node_parts,
    of_total,
    power,
    silence_text,
    silence_texts,
    workers_text,
)
from jobmon_core.app.live.tasks import TaskAgents, live_tasks
from jobmon_core.domain.job.job_progress import JobProgress
from jobmon_core.domain.logs.progress.events.event import Event, EventKind
from jobmon_core.domain.node.telemetry.model import AgentReport, Cpu, Gpu, Memory, Sample, WorkerStatus
from tests.support.agent_reports import GIB, gpu, report, sample, worker
from tests.support.job_records import NOW_S, job_of, status_of
from tests.support.live_jobs import running_task
from tests.support.records import anything


def test_gpus_are_one_line() -> None:
    assert gpus_text([report()]) == "4x 69% (lowest 1%: GPU 2), up to 63.0 of 80.0 GiB, 2.0 kW"
    assert gpus_text([report(sample((gpu(0),)))]) == "92%, 60.0 of 80.0 GiB, 642 W"
    assert gpus_text([report(sample((gpu(0), gpu(1, 90.0))))]) == "2x 91%, up to 61.0 of 80.0 GiB, 1.3 kW"
    assert gpus_text([report(sample())]) == ""
    assert gpus_text([report(sample((Gpu(0), Gpu(1))))]) == "2x utilisation not available"


def test_of_several_nodes_the_one_is_named() -> None:
    both = [report(), report(sample((gpu(0), gpu(1, 0.0)), node="n18", used_gib=62.0))]
    assert "(lowest 0%: GPU 1 of n18)" in gpus_text(both)
    assert [*gpu_marks_texts(both)] == ["idle: GPU 2 of n17, GPU 1 of n18"]
    assert memory_text(both) == "62.0 of 64.0 GiB (97%) on n18"


def test_marks_that_all_gpus_have_do_not_list_them() -> None:
    assert [*gpu_marks_texts([report(sample((gpu(0, 0.0), gpu(1, 0.0))))])] == ["idle: all"]
    assert [*gpu_marks_texts([report(sample((gpu(0, 0.0),)))])] == ["idle: GPU 0"]


def test_gpus_have_a_cell_of_the_list() -> None:
    assert gpus_short([report()]) == "4x 69%"
    assert gpus_short([report(sample((gpu(0),)))]) == "92%"
    assert gpus_short([report(sample((Gpu(0),)))]) == "?"
    assert gpus_short([]) == ""


def test_memory_stands_beside_its_limit() -> None:
    assert memory_text([report()]) == "52.0 of 64.0 GiB (81%)"
    assert not is_memory_scarce([report()])
    assert is_memory_scarce([report(sample(used_gib=57.7))])
    killed = report(replace(sample(), memory=Memory(2 * GIB, oom_kills=2)))
    assert memory_text([killed]) == "2.0 GiB, 2 OOM kills"
    assert is_memory_scarce([killed])
    assert of_total(512 * 2**20, 64 * GIB) == "512.0 MiB of 64.0 GiB"


def test_workers_that_are_gone_come_first_with_their_ranks() -> None:
    assert workers_text([report()]) == "4 running"
    found = [*map(worker, range(3)), worker(3, WorkerStatus.ZOMBIE), worker(4, WorkerStatus.SLEEPING)]
    assert workers_text([report(sample((), tuple(found)))]) == "5: 1 zombie (rank 3), 4 running"
    missing = [worker(rank, WorkerStatus.NOT_FOUND) for rank in range(6)]
    assert workers_text([report(sample((), tuple(missing)))]) == "6 not found (ranks 0, 1, 2, 3, ...)"
    assert (
        workers_text([report(sample((), (worker(None),)))]) == "python train.py, running, 103% CPU, 12.3 GiB"
    )
    assert workers_text([report(sample())]) == ""


def test_cpus_network_and_power_are_short() -> None:
    assert cpu_text(Cpu(16.0, 1520.0, 12.0)) == "15.2 of 16 cores, throttled 12%"
    assert cpu_text(Cpu(1.5, 80.0)) == "0.8 of 1.5 cores"
    assert (cpu_text(None), cpu_text(Cpu(16.0))) == ("", "")
    assert network_text(sample()) == "in 1.2 MiB/s, out 3.0 MiB/s"
    assert [*node_parts(sample())][1:3] == ["load 12.3 on 16 cores", "I/O wait 2%"]
    assert [*filter(None, node_parts(Sample()))] == []
    assert [power(None), power(90.0), power(1250.0)] == ["", "90 W", "1.2 kW"]


def test_an_agent_that_is_silent_says_since_when() -> None:
    assert silence_text(report(age_s=720.0), NOW_S).endswith(" (12m ago)")
    ended = replace(report(age_s=720.0), ended_s=NOW_S - 710)
    assert silence_text(ended, NOW_S).startswith("agent ended, last report ")
    assert silence_texts([report()], NOW_S) == ""
    assert silence_texts([ended], NOW_S) == silence_text(ended, NOW_S)
    assert silence_texts([report(), ended, ended], NOW_S).startswith("n17: agent ended")
    assert silence_texts([report(), ended, ended], NOW_S).endswith("; likewise 1 other node")


@given(st.lists(anything(AgentReport), min_size=1, max_size=2).map(tuple))
def test_any_report_can_be_shown(reports: tuple[AgentReport, ...]) -> None:
    gpus_text(reports)
    memory_text(reports)
    workers_text(reports)
    for each in reports:
        [*node_parts(each.latest)]
        silence_text(each, NOW_S)
    job = job_of(running_task())
    live_json(live_tasks(status_of(job), JobProgress(), NOW_S, agents={"": TaskAgents(reports)}), NOW_S)


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
