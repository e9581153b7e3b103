"""The page of the history, and charts of ended runs."""

from __future__ import annotations

import re
import time
from pathlib import Path
from random import Random
from typing import Any
from xml.etree import ElementTree as ET

import pytest

from jobmon.views.report.history import busy_html, history_html, pace_html, time_html
from jobmon_core.app.history.look import MAX_LISTED, MAX_RUNS, overview
from jobmon_core.context import Context
from jobmon_core.domain.job.history.record import HistoryRecord
from jobmon_core.domain.job.history.totals import Wanted
from jobmon_core.store.history.index import open_history
from jobmon_core.store.history.lines import append
from jobmon_core.store.home import Home
from tests.support.clock import FakeClock

_NOW_S = 1_795_900_000
_DAY_S = 86_400
_XHTML = "{http://www.w3.org/1999/xhtml}"
_MARKUP = '</title><img src=x onerror=alert(1)>\x00\x1b[31m"]]>'
_HOSTILE = (_MARKUP, "=cmd|' /C calc'!A0", "\u202eevil\u2066", "two\nlines", "n" * 10_000)
_ALL = Wanted()


@pytest.fixture
def ctx(tmp_path: Path) -> Context:
    return Context(Home(tmp_path / "home"), {}, clock=FakeClock(_NOW_S))


def run(number: int, **changed: Any) -> HistoryRecord:  # noqa: ANN401 - fields of a record
    """Return one of up to 40 runs, of which one ends a day."""
    ended_s = _NOW_S - (40 - number) * _DAY_S
    record = HistoryRecord(
        number,
        ended_s - 9_000,
        1.0,
        name="train",
        state="COMPLETED",
        outcome="success",
        gpus=2,
        cpus=8,
        started_s=ended_s - 7_200,
        ended_s=ended_s,
        run_s=7_200.0,
        step_s=0.5,
        unit="step",
        gpu_busy_s=(1_440, *(0,) * 8, 12_960),
        gpu_idle_s=1_440,
    )
    return record._replace(**changed)


def failed(number: int, **changed: Any) -> HistoryRecord:  # noqa: ANN401 - fields of a record
    return run(number, **{"state": "FAILED", "outcome": "failure", **changed})


def add(ctx: Context, *runs: HistoryRecord) -> None:
    append(ctx.home.history, runs, "a", float(_NOW_S))


def page(ctx: Context, wanted: Wanted = _ALL, by: str = "", limit: int = 20) -> str:
    return history_html(overview(ctx, wanted, by, "ended", limit))


def parsed(text: str) -> ET.Element:
    """Return a page as XML: it is well-formed."""
    return ET.fromstring(text.removeprefix("<!DOCTYPE html>\n"))  # noqa: S314 - our own page


def charts(text: str) -> list[str]:
    return [str(each.get("id")) for each in parsed(text).iter(f"{_XHTML}figure")]


def titles(text: str) -> list[str]:
    return ["".join(each.itertext()) for each in parsed(text).iter(f"{_XHTML}h3")]


def cells(text: str) -> list[list[str]]:
    """Return the rows of all tables."""
    rows = parsed(text).iter(f"{_XHTML}tr")
    return [["".join(cell.itertext()) for cell in row] for row in rows]


def tones(figure: str, tag: str) -> list[str]:
    """Return the class of each dot or bar outside of the legend, from left to right."""
    drawn = figure.partition("</ul>")[2]
    return re.findall(rf'<{tag} class="(?:dot|bar) (\w+)"', drawn)


def test_the_page_has_all_charts_and_says_what_they_show(ctx: Context) -> None:
    add(ctx, *(run(number) for number in range(30)), failed(31, cause="cuda_oom"), failed(32, cause=""))
    text = page(ctx)
    assert charts(text) == ["hours", "waste", "busy", "wait", "time", "pace"]
    assert titles(text) == [
        "128 GPU hours, 6% in runs without success",
        "20.0 GPU hours lost or idle, most: GPUs idle in successful runs",
        "GPUs below 10% busy for 10% of the time",
        "Half of the runs waited at most 30m",
        "Half of the runs took at most 2h",
        "Half of the runs take at most 0.5 s per step",
    ]
    assert "<h2>20 of 32 runs</h2>" in text


def test_each_chart_has_a_title_and_a_description(ctx: Context) -> None:
    add(ctx, *(run(number, rate=2.0, currency="EUR") for number in range(9)), failed(9))
    text = parsed(page(ctx))
    names = [str(each.get("id")) for each in text.iter() if each.get("id")]
    assert len(names) == len(set(names))
    pictures = [each for each in text.iter(f"{_XHTML}svg") if each.get("role") == "img"]
    assert len(pictures) == 6
    for picture in pictures:
        assert set(str(picture.get("aria-labelledby")).split()) <= set(names)


def test_weeks_without_runs_keep_their_place(ctx: Context) -> None:
    add(ctx, run(1), failed(2), run(30), run(31, outcome="cancelled", state="CANCELLED"))
    (hours,) = re.findall(r'<figure id="hours">.*?</figure>', page(ctx), flags=re.DOTALL)
    assert tones(hours, "rect") == ["good", "good", "soft", "bad"]
    weeks = re.findall(r'<th scope="row">(\d{4}-W\d\d)', hours)
    assert len(weeks) == 5
    assert weeks == sorted(weeks)
    # what is told apart by colour has a pattern and a label, too
    assert 'fill="url(#p-bad)"' in hours
    assert [label in hours for label in ("succeeded", "cancelled", "failed", "unknown")] == [True] * 3 + [
        False
    ]


def test_a_clock_that_was_wrong_by_decades_hides_no_week(ctx: Context) -> None:
    add(ctx, run(1, ended_s=1_000), run(2), run(3), run(4, ended_s=4_000_000_000))
    (hours,) = re.findall(r'<figure id="hours">.*?</figure>', page(ctx), flags=re.DOTALL)
    assert tones(hours, "rect") in (["good"] * 3, ["good"] * 4)  # days 2 and 3 may share a week


def test_costs_are_shown_where_they_are_known(ctx: Context) -> None:
    add(ctx, run(1), run(2))
    assert "Cost" not in page(ctx)
    add(ctx, run(3, rate=2.5, currency="EUR"), run(4, rate=1.0, currency="USD"))
    text = page(ctx)
    assert "<dd>5.00 EUR, 2.00 USD</dd>" in text


def test_without_gpus_the_hours_are_those_of_cpus(ctx: Context) -> None:
    add(ctx, run(1, gpus=0, gpu_busy_s=(), gpu_idle_s=0), failed(2, gpus=0, gpu_busy_s=(), gpu_idle_s=0))
    text = page(ctx)
    assert titles(text)[:2] == [
        "32.0 CPU hours, 50% in runs without success",
        "16.0 CPU hours lost or idle, most: failed, cause unknown",
    ]
    assert "busy" not in charts(text)


def test_many_causes_are_summed(ctx: Context) -> None:
    add(ctx, *(failed(number, cause=f"cause_{number}", run_s=3600.0 * (number + 1)) for number in range(12)))
    (waste,) = re.findall(r'<figure id="waste">.*?</figure>', page(ctx), flags=re.DOTALL)
    labels = re.findall(r'<text x="0"[^>]*>([^<]*)', waste)
    assert labels[:3] == ["6 other causes", "cause_11", "cause_10"]
    assert len(labels) == 7


def test_a_run_that_is_slower_than_the_usual_before_it_is_marked() -> None:
    runs = [run(number, step_s=0.5 + number / 1000) for number in range(8)]
    runs = [run(9, step_s=0.9), failed(8, step_s=0.51), *reversed(runs)]
    figure = pace_html(runs)
    assert tones(figure, "svg") == ["good"] * 8 + ["bad", "warn"]
    assert "1 of 10 slower than usual" in figure
    assert 'class="band"' in figure
    assert "this run is slower than usual" in pace_html(runs, runs[0])
    assert tones(pace_html(runs, runs[0]), "svg")[-1] == "this"


def test_runs_that_count_another_unit_are_not_compared() -> None:
    figure = pace_html([run(3), run(2), run(1, unit="epoch", step_s=900.0)])
    assert len(tones(figure, "svg")) == 2


def test_of_very_many_runs_some_are_drawn_and_always_the_last() -> None:
    runs = [run(3, job_id=each, ended_s=_NOW_S - each * 600) for each in range(5_000)]
    figure = time_html(runs, runs[0])
    assert len(tones(figure, "svg")) == 385
    assert tones(figure, "svg")[-1] == "this"
    assert "Run time, hours; one dot for 13 runs" in figure
    assert len(figure) < 150_000


def test_gpu_time_is_shared_out_by_utilisation() -> None:
    figure = busy_html([(10, *(0,) * 8, 30), (20, *(0,) * 8, 60), ()])
    assert "GPUs below 10% busy for 25% of the time" in figure
    assert tones(figure, "rect") == ["warn", "good"]
    assert busy_html([()]) == busy_html([(0,) * 10]) == ""


def test_filters_and_totals_are_honoured(ctx: Context) -> None:
    add(ctx, run(1), run(2, name="eval"), failed(3, cause="cuda_oom"))
    text = page(ctx, Wanted(name="train", since_s=_NOW_S - 90 * _DAY_S), by="cause")
    assert "Runs with name train, an end since 20" in text
    assert "eval" not in text
    assert "<h2>By cause</h2>" in text
    assert ["cuda_oom", "1", "1", "4.0", "4.0", "0.4"] in [row[:6] for row in cells(text)]
    daily = page(ctx, by="day")
    assert "GPU hours per day, by outcome" in daily
    assert len(re.findall(r'<th scope="row">20\d\d-\d\d-\d\d<', daily)) == 3


def test_an_empty_history_and_one_run_say_so(ctx: Context) -> None:
    text = page(ctx)
    assert "the history has no such run" in text
    assert charts(text) == []
    add(ctx, run(1))
    text = page(ctx)
    assert "One run: there is nothing yet to compare it with." in text
    assert charts(text) == ["hours", "waste", "busy"]


def test_lines_that_cannot_be_read_are_counted(ctx: Context) -> None:
    add(ctx, run(1))
    with next(ctx.home.history.glob("*.jsonl")).open("a") as file:
        file.write("{\n")
    assert "1 line of the history cannot be read" in page(ctx)


def test_hostile_names_stay_text_and_short(ctx: Context) -> None:
    runs = [
        failed(number, name=text, run=text, group=text, cause=text, unit=text, state=text, outcome=text)
        for number, text in enumerate(_HOSTILE)
    ]
    runs += [failed(10 + number, name=text, cause=text, unit=text) for number, text in enumerate(_HOSTILE)]
    add(
        ctx,
        *runs,
        *(run(20 + number, name=_MARKUP, unit=_MARKUP, currency=_MARKUP, rate=1.0) for number in range(9)),
    )
    for by in ("", "name", "cause", "group"):
        text = page(ctx, Wanted(), by)
        names = {each.tag.removeprefix(_XHTML) for each in parsed(text).iter()}
        assert not names & {"script", "link", "img", "iframe", "image", "use", "a", "base", "form"}
        attributes = {name for each in parsed(text).iter() for name in each.attrib}
        assert not attributes & {"src", "href", "xlink:href", "action"}
        assert not [name for name in attributes if name.startswith("on")]
        assert set(re.findall(r"url\([^)]*\)", text)) <= {
            f"url(#p-{tone})" for tone in ("bad", "soft", "odd", "warn")
        }
        assert {each for each in text if not each.isprintable() and each != "\n"} == set()
        assert len(text) < 100_000
    assert "onerror" not in page(ctx, Wanted(name="=cmd*"))
    text = page(ctx, Wanted(name=_HOSTILE[4]))
    assert len(text) < 50_000


def test_numbers_of_other_programs_break_no_chart() -> None:
    runs = [
        run(1, step_s=float("inf"), run_s=0.0),
        run(2, step_s=0.0),
        run(3, step_s=1e300),
        run(4, run_s=1e15),
    ]
    assert parsed(pace_html(runs).replace("<figure", f'<figure xmlns="{_XHTML[1:-1]}"')) is not None
    assert 'id="time"' in time_html(runs)


def test_the_page_of_very_many_runs_is_small_and_quick(ctx: Context) -> None:
    draw, count = Random(2), 100_000  # noqa: S311 - a simulation
    for first in range(0, count, 20_000):
        records = [
            run(
                number,
                name=f"train-{number % 50}-{'x' * 40}",
                cause=f"cause {number % 3}",
                outcome=draw.choice(("success", "failure", "cancelled")),
                ended_s=_NOW_S - number * 300,
                run_s=draw.uniform(10, 90_000),
            )
            for number in range(first, first + 20_000)
        ]
        append(ctx.home.history, records, "a", float(_NOW_S))
    with open_history(ctx.home.history):  # which makes the index
        pass
    started_s = time.process_time()
    text = page(ctx, by="name", limit=-1)
    assert time.process_time() - started_s < 15  # 1.5 s on a quiet machine
    assert len(text) < 2_000_000
    assert f"<h2>{MAX_LISTED:,} of {count:,} runs" in text
    assert f"of the last {MAX_RUNS:,}." in text
