"""The report as an HTML page."""

from __future__ import annotations

import re
import shutil
import subprocess
import time
import zlib
from dataclasses import replace
from pathlib import Path
from xml.etree import ElementTree as ET

import pytest

from jobmon.views.report.html import report_html
from jobmon_core.app.jobs.report import ReportData
from jobmon_core.domain.job.history.record import HistoryRecord
from jobmon_core.domain.job.report.series import Window
from jobmon_core.domain.logs.diagnosis.model import Line
from jobmon_core.domain.logs.progress.events.event import Event, EventKind
from jobmon_core.domain.logs.progress.model import TaskProgress
from tests.support.job_records import failed, succeeded
from tests.support.telemetry import OOM_KILLED, START_S, Shape, report_data, two_nodes

_HOSTILE = "</title><script>alert(1)</script><img src=x onerror='a'>\x00\x1b[31m\ud800&\"]]>"
_XHTML = "{http://www.w3.org/1999/xhtml}"
_CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
_SCREENSHOT_S = 600  # a few seconds on a quiet machine


def parsed(page: str) -> ET.Element:
    """Return the page as XML: it is well-formed."""
    return ET.fromstring(page.removeprefix("<!DOCTYPE html>\n"))  # noqa: S314 - our own page


def charts(page: str) -> list[str]:
    return [str(figure.get("id")) for figure in parsed(page).iter(f"{_XHTML}figure")]


def silent(data: ReportData) -> ReportData:
    """Return the data of a job that printed no progress."""
    return replace(data, live=replace(data.live, progress=TaskProgress()), events=())


def hostile() -> ReportData:
    """Return the data of a job whose names, logs and events try to get into the page."""
    data = report_data(nodes=tuple(replace(node, name=_HOSTILE) for node in two_nodes(Shape(hours=0.2))))
    diagnosis = replace(OOM_KILLED, title=_HOSTILE, evidence=(Line(_HOSTILE, 1, _HOSTILE),), advice=_HOSTILE)
    task = replace(data.task, diagnosis=diagnosis, nodes=_HOSTILE)
    job = replace(data.job, name=_HOSTILE, partition=_HOSTILE, cluster=_HOSTILE)
    progress = data.progress.progress
    assert progress
    followed = replace(data.progress, progress=replace(progress, unit=_HOSTILE))
    live = replace(data.live, status=replace(data.live.status, job=job), task=task, progress=followed)
    events = (Event(START_S + 60.0, EventKind.ERROR, _HOSTILE, evidence=(_HOSTILE,), advice=_HOSTILE),)
    return replace(data, live=live, task=task, events=events, tasks=(task, failed("2")))


def test_the_page_has_all_charts_on_one_time_axis_with_the_same_marks() -> None:
    page = report_html(report_data())
    keys = ["progress", "throughput", "loss", "gpu-busy", "gpu-memory", "gpu-power", "memory", "cpu", "busy"]
    assert charts(page) == keys
    pictures = [
        picture
        for picture in parsed(page).iter(f"{_XHTML}svg")
        if picture.get("role") == "img" and picture.get("aria-labelledby") != "busy-t busy-d"
    ]  # fmt: skip
    marks = {
        tuple(
            str(line.get("x1"))
            for group in picture.findall(f"{_XHTML}g")
            for line in group.findall(f"{_XHTML}line")
        )
        for picture in pictures
    }
    assert len(pictures) == len(keys) - 1
    assert len(marks) == 1
    assert len(next(iter(marks))) == 5


def test_a_run_stands_among_the_last_ones_of_its_name_where_there_are_any() -> None:
    data = report_data()
    assert "of its name" not in report_html(data)
    alike = tuple(
        HistoryRecord(
            8_000 - number,
            START_S - 90_000 * number,
            0.0,
            outcome="success",
            unit="step",
            step_s=0.1,
            started_s=START_S - 90_000 * number - 7_200,
            ended_s=START_S - 90_000 * number,
            run_s=7_200.0,
        )
        for number in range(1, 11)
    )
    page = report_html(replace(data, alike=alike))
    assert "<h2>Among the last 11 runs of its name</h2>" in page
    assert charts(page)[-3:] == ["pace", "busy", "time"]
    assert "this run is slower than usual" in page  # 0.135 s
    assert page.count('<svg class="dot this" x') == 2


def test_the_use_of_gpus_is_shown_where_an_agent_measured_it() -> None:
    assert "GPUs below 10% busy for 12% of the time" in report_html(report_data())
    assert "Use of its GPUs" not in report_html(report_data(nodes=()))


def test_each_chart_has_a_title_a_description_and_a_table() -> None:
    page = parsed(report_html(report_data()))
    identifiers = {element.get("id") for element in page.iter()}
    for figure in page.iter(f"{_XHTML}figure"):
        picture = figure.find(f"{_XHTML}svg")
        assert picture is not None
        assert set(str(picture.get("aria-labelledby")).split()) <= identifiers
        rows = list(figure.iter(f"{_XHTML}tr"))
        assert 10 < len(rows) <= 25


def test_titles_state_what_was_found() -> None:
    titles = [title.text for title in parsed(report_html(report_data())).iter(f"{_XHTML}h3")]
    assert "6.6 steps/s on average, 7.4 steps/s at the end; longest pause 19m" in titles
    assert "Loss from 3.727 to 0.654, best 0.6328; spike to 7.189 at 2h 12m" in titles
    assert "GPUs busy 66% of the time on average" in titles
    assert "Memory peaked at 91.2 of 96.0 GiB (95%) on gpu01" in titles


def test_the_page_loads_nothing_and_runs_nothing() -> None:
    for data in (report_data(), hostile()):
        page = report_html(data)
        names = {element.tag.removeprefix(_XHTML) for element in parsed(page).iter()}
        assert not names & {
            "script",
            "link",
            "img",
            "iframe",
            "object",
            "embed",
            "image",
            "use",
            "base",
            "form",
        }
        attributes = {name for element in parsed(page).iter() for name in element.attrib}
        assert not attributes & {"src", "href", "action", "background"}
        assert not [name for name in attributes if name.startswith("on")]
        assert not re.search(r"url\((?!#p-)", page)
        assert "default-src &#x27;none&#x27;" in page


def test_hostile_names_and_log_lines_stay_text() -> None:
    page = report_html(hostile())
    heading = next(parsed(page).iter(f"{_XHTML}h1"))
    assert "<script>alert(1)</script>" in "".join(heading.itertext())
    assert not re.search(r"[\x00-\x08\x0b\x0c\x0e-\x1f\ud800-\udfff]", page)
    page.encode()


def test_secrets_are_hidden() -> None:
    data, token = report_data(), "ghp_" + "a1B2" * 9
    diagnosis = replace(
        OOM_KILLED, what_failed=f"bad token {token}", evidence=(Line("x", 1, f"token={token}"),)
    )
    assert token not in report_html(replace(data, task=replace(data.task, diagnosis=diagnosis)))


def test_without_advice_nothing_is_said_to_do() -> None:
    data = report_data()
    task = replace(data.task, diagnosis=replace(OOM_KILLED, advice=""))
    assert "What to do" in report_html(data)
    assert "What to do" not in report_html(replace(data, task=task, live=replace(data.live, task=task)))


def test_without_telemetry_or_progress_the_page_says_so() -> None:
    page = report_html(report_data(nodes=()))
    assert charts(page) == ["progress", "throughput", "loss"]
    assert "No agent reported from this job" in page
    empty = report_html(silent(report_data(nodes=())))
    assert charts(empty) == []
    assert "The logs show no progress" in empty


def test_of_very_many_gpus_only_the_mean_the_extremes_and_the_lowest_are_drawn() -> None:
    page = report_html(report_data(nodes=two_nodes(Shape(gpus=16))))
    assert "mean of 32" in page
    assert ", the lowest" in page
    assert len(page) < 300_000


def test_the_tasks_of_an_array_are_in_a_table() -> None:
    page = report_html(replace(report_data(), tasks=(succeeded("1"), failed("2"))))
    title = "2 tasks: 1 FAILED, 1 COMPLETED; this report is about 8123"
    assert page.index(title) < page.index("<figure")
    assert " more; " not in page
    page = report_html(replace(report_data(), tasks=tuple(succeeded(str(index)) for index in range(501))))
    assert "<p>and 1 more; <code>jobmon show 8123 --all</code> shows all</p>" in page


def test_a_figure_that_was_measured_once_has_no_chart() -> None:
    nodes = tuple(replace(node, samples=node.samples[:1]) for node in two_nodes())
    page = report_html(report_data(nodes=nodes))
    assert charts(page) == [*charts(report_html(report_data(nodes=()))), "busy"]
    assert "<h2>Nodes</h2>" in page


def test_a_heading_says_that_only_the_latest_events_are_listed() -> None:
    data = report_data()
    assert "<h2>Events</h2>" in report_html(data)
    events = tuple(Event(START_S + number, EventKind.CHECKPOINT, "saved") for number in range(101))
    page = report_html(replace(data, events=events))
    assert "<h2>Events, the latest 100 of 101</h2>" in page
    assert page.count("<p>saved</p>") == 100


def test_the_page_of_a_three_day_job_on_eight_gpus_is_small_and_quick() -> None:
    data = report_data(nodes=two_nodes(Shape(gpus=4, hours=72)))
    data = replace(data, window=Window(START_S, START_S + 72 * 3600))
    started_s = time.process_time()
    page = report_html(data)
    assert time.process_time() - started_s < 20  # half a second on a quiet machine
    assert len(page) < 2_000_000


@pytest.mark.real
@pytest.mark.skipif(_CHROMIUM is None, reason="needs Chromium")
def test_a_browser_shows_it_light_and_dark(tmp_path: Path) -> None:
    file = tmp_path / "report.html"
    file.write_text(report_html(report_data()), encoding="utf-8")
    shades = [_background(file, tmp_path / f"{scheme}.png", scheme) for scheme in ("light", "dark")]
    assert shades[0] > 200
    assert shades[1] < 50


def _background(page: Path, picture: Path, scheme: str) -> int:
    """Return the red value (0 to 255) of the first pixel of the page as Chromium shows it."""
    preferred = {"dark": 0, "light": 1}[scheme]
    subprocess.run(
        [
            *(str(_CHROMIUM), "--headless", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage"),
            "--window-size=800,600",
            f"--user-data-dir={picture.with_suffix('')}",
            f"--blink-settings=preferredColorScheme={preferred}",
            *(f"--screenshot={picture}", page.as_uri()),
        ],
        capture_output=True,
        check=True,
        timeout=_SCREENSHOT_S,
    )
    content = picture.read_bytes()
    chunks = re.findall(rb"IDAT", content)
    assert chunks
    start = content.index(b"IDAT") + 4
    # the first byte is the filter of the first row, which leaves its first pixel as it is
    return zlib.decompressobj().decompress(content[start:], 2)[1]
