"""The report as text."""

from __future__ import annotations

import time
from collections.abc import Iterator
from dataclasses import replace

import pytest

from jobmon.views.console import Console
from jobmon.views.report.facts import report_json
from jobmon.views.report.text import WIDTH, report_lines
from jobmon.views.text_width import text_width
from jobmon.views.top.drawing import ASCII, UNICODE
from jobmon_core.app.jobs.report import ReportData
from jobmon_core.domain.logs.progress.model import TaskProgress
from tests.support.job_records import failed, succeeded
from tests.support.telemetry import Shape, report_data, two_nodes


@pytest.fixture(autouse=True)
def _local_time(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.setenv("TZ", "UTC")
    time.tzset()
    yield
    monkeypatch.undo()
    time.tzset()


def shown(data: ReportData) -> str:
    return "\n".join(report_lines(data, Console(WIDTH), UNICODE))


def test_the_report_of_a_failed_job_says_what_happened_why_and_what_to_do() -> None:
    lines = shown(report_data()).splitlines()
    assert lines[:4] == ["8123 train-llama-7b", "OUT_OF_MEMORY", "", "Out of memory"]
    assert "  1. Request more with `--mem=120G`." in lines
    assert "ended      01:13, ran 3h of 8h" in lines
    assert "progress   88.1% (70,466/80,000 steps), epoch 3/4" in lines
    assert "loss       first 3.727, last 0.654, best 0.6328 at 2h 58m" in lines
    assert "8 GPUs, 66% busy on average, 10.69 kWh" in lines
    (activity,) = (line for line in lines if line.startswith("activity: "))
    shares = [int(each) for each in activity.split()[1:11]]
    assert abs(sum(shares) - 100) <= 5  # each is rounded
    assert activity.endswith(" (% of GPU time below 10, 20 ... 100%)")


def test_it_has_the_figures_of_each_gpu_and_node() -> None:
    lines = [" ".join(line.split()) for line in shown(report_data()).splitlines()]
    assert "gpu01 0 76/100% 63.0 of 80.0 GiB (79%) 498/617 W 1.49 kWh" in lines
    assert "gpu02 16 5.8/7.5 90.8 of 96.0 GiB (95%)" in lines


def test_the_events_are_listed_by_the_time_since_the_start() -> None:
    assert "   1h 43m  11-14 23:56  no progress for 6m 05s (step 42,100 of 80,000)" in shown(report_data())


def test_no_line_is_wider_than_80_columns_and_it_fits_on_a_page() -> None:
    for data in (report_data(), report_data(ended=False), report_data(nodes=two_nodes(Shape(gpus=16)))):
        lines = shown(data).splitlines()
        assert max(map(text_width, lines)) <= WIDTH
        assert len(lines) < 80


def test_a_terminal_without_unicode_gets_plain_ascii() -> None:
    assert "\n".join(report_lines(report_data(), Console(WIDTH), ASCII)).isascii()


def test_a_running_job_shows_what_is_wrong_now_and_when_it_will_end() -> None:
    lines = shown(report_data(ended=False)).splitlines()
    assert lines[1:5] == [
        "RUNNING",
        "",
        "Memory grows by 17.5 GiB/h on gpu02 and reaches its limit in 42m",
        "Since 00:49.",
    ]
    assert "  83.5 GiB after 2h 36m" in lines
    assert any(line.startswith("ETA        20m 57s") for line in lines)
    healthy = replace(report_data(ended=False), problems=())
    assert "No problem found so far" in shown(healthy)


def test_without_telemetry_or_progress_it_says_what_is_missing() -> None:
    data = report_data(nodes=())
    assert "No agent reported from this job" in shown(data)
    silent = replace(data, live=replace(data.live, progress=TaskProgress()))
    assert "The logs show no progress" in shown(silent)
    assert "\nloss " not in shown(silent)


def test_an_agent_that_measured_only_a_part_is_noted() -> None:
    nodes = two_nodes(Shape(hours=1.0))
    data = report_data(nodes=(replace(nodes[0], unavailable=("GPUs: no NVIDIA driver",)), nodes[1]))
    assert "On gpu01, an agent measured for 1h of 3h." in shown(data)
    assert "Not available: GPUs: no NVIDIA driver." in shown(data)


def test_the_tasks_of_an_array_are_listed() -> None:
    data = replace(report_data(), tasks=(succeeded("1"), failed("2")))
    assert "2 tasks: 1 FAILED, 1 COMPLETED; this report is about 8123:" in shown(data)
    assert ["8123_2", "FAILED,", "exit", "code", "1", "1m"] in [
        line.split() for line in shown(data).splitlines()
    ]


def test_it_names_the_command_that_shows_the_tasks_beyond_the_first() -> None:
    data = replace(report_data(), tasks=tuple(succeeded(str(index)) for index in range(30)))
    assert "and 10 more; `jobmon show 8123 --all` shows all" in shown(data)


def test_json_has_the_same_figures() -> None:
    found = report_json(report_data())
    assert (found["job_id"], found["outcome"], found["verdict"]) == ("8123", "failure", "Out of memory")
    assert found["energy_kwh"] == pytest.approx(10.69, abs=0.01)
    assert [gpu["index"] for gpu in found["gpus"]] == [0, 1, 2, 3] * 2
    assert (len(found["gpu_busy_s"]), sum(found["gpu_busy_s"]) > 0) == (10, True)
    assert found["loss"]["best"] == 0.6328
    assert report_json(report_data(nodes=()))["energy_kwh"] is None
