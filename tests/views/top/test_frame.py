"""The window of ``jobmon top`` in all sizes and situations, without a terminal."""

from __future__ import annotations

import itertools
import os
import time
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from jobmon.views.console import Style
from jobmon.views.text_width import text_width
from jobmon.views.top.drawing import ASCII, UNICODE, Symbols
from jobmon.views.top.frame import Model, frame, plain
from jobmon.views.top.state import Page, View
from jobmon_core.app.jobs.find import StateGroup
from jobmon_core.app.jobs.output import OutputText
from jobmon_core.app.live.jobs import Listing
from jobmon_core.app.live.tasks import LiveTask, TaskAgents, live_tasks
from jobmon_core.domain.artifacts.model import Artifacts
from jobmon_core.domain.job.job_progress import JobProgress
from jobmon_core.domain.job.tracking.model import Task
from jobmon_core.domain.logs.progress.events.event import Event, EventKind
from jobmon_core.domain.logs.progress.model import Estimate, TaskProgress
from jobmon_core.domain.node.telemetry.model import AgentReport, WorkerStatus
from jobmon_core.lifecycle.health import Health
from tests.support.agent_reports import gpu, report, sample, worker
from tests.support.job_records import NOW_S, OOM, PENDING, failed, job_of, status_of, succeeded
from tests.support.live_jobs import jobs, running_task, steady
from tests.support.records import anything
from tests.support.styled_lines import as_text

_SCREENS = Path(__file__).parent / "screens"
_SIZES = ((80, 24), (120, 40), (60, 20))
_PAGES = (
    *((Page.LIST, count) for count in (1, 8, 40)),
    *((page, 8) for page in Page if page is not Page.LIST),
)
_LOG = OutputText(
    "/scratch/me/runs/train-llama-7b/slurm-8123.out",
    tuple(f"[2023-11-14 22:10:{number:02}] step {number} loss 0.3{number:02}" for number in range(60)),
    " 67%|██████▋   | 67300/100000 [2:34:00<1:14:49,  7.28it/s]",
)


@pytest.fixture(autouse=True)
def _local_time(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.setenv("TZ", "UTC")
    time.tzset()
    yield
    monkeypatch.undo()
    time.tzset()


def listing(count: int) -> Listing:
    """Return some jobs as `LiveJobs` lists them."""
    tasks = [
        steady(task) for job, progress in jobs(count) for task in live_tasks(status_of(job), progress, NOW_S)
    ]
    tasks.sort(key=lambda task: task.group is StateGroup.PENDING)
    return Listing(NOW_S, tuple(tasks), NOW_S - 5)


def screen(model: Model, width: int = 80, height: int = 24) -> list[str]:
    return as_text(frame(model, width, height))


@pytest.mark.parametrize("symbols", [UNICODE, ASCII], ids=["utf8", "ascii"])
@pytest.mark.parametrize(("width", "height"), _SIZES)
@pytest.mark.parametrize(("page", "count"), _PAGES)
def test_the_screen_looks_as_it_was_accepted(
    page: Page, count: int, width: int, height: int, symbols: Symbols
) -> None:
    selected = listing(count).tasks[min(2, count - 1)].id
    view = View((page,), selected, position=min(2, count - 1))
    model = Model(listing(count), view, _LOG, 2 if page in (Page.JOB, Page.LOG) else 0, symbols)
    assert_accepted(model, f"{page}-{count}", width, height)


def assert_accepted(model: Model, name: str, width: int, height: int) -> None:
    """Compare a screen with the one that was accepted; with $ACCEPT_SCREENS, accept it."""
    lines = screen(model, width, height)
    accepted = _SCREENS / f"{name}-{width}x{height}-{'ascii' if model.symbols.is_ascii else 'utf8'}.txt"
    if os.environ.get("ACCEPT_SCREENS"):
        accepted.write_text("\n".join(lines) + "\n", encoding="utf-8")
    assert lines == accepted.read_text(encoding="utf-8").splitlines()


_TROUBLE = (
    Event(NOW_S - 900, EventKind.TROUBLE, "GPU 3 memory spike (15.2 GiB)", subject="memory-spike"),
    Event(
        NOW_S - 65,
        EventKind.ERROR,
        "CUDA out of memory (tried 4.00 GiB)",
        subject="oom.cuda",
        is_critical=True,
        advice="Lower the batch size; see `jobmon diagnose 8123`.",
    ),
)


def measured(count: int) -> Listing:
    """Return jobs with agents: of the first, an error in its log, of the third, two nodes, one silent."""
    found = listing(count)
    gpus = (gpu(0), replace(gpu(1), is_lost=True, utilization_percent=None, power_w=None, memory=None))
    workers = (worker(4), worker(5, WorkerStatus.ZOMBIE))
    second = report(sample(gpus, workers, node="n18", used_gib=62.0), age_s=125.0)
    reports = {0: (report(),), 2: (report(), second), 4: (report(sample((), (worker(None),))),)}
    tasks = [
        replace(task, agents=TaskAgents(reports.get(number, ()))) for number, task in enumerate(found.tasks)
    ]
    tasks[0] = replace(tasks[0], events=(*tasks[0].events, *_TROUBLE), ongoing=_TROUBLE[1:])
    return replace(found, tasks=tuple(tasks))


@pytest.mark.parametrize("symbols", [UNICODE, ASCII], ids=["utf8", "ascii"])
@pytest.mark.parametrize(("width", "height"), _SIZES)
@pytest.mark.parametrize(("page", "position"), [(Page.LIST, 1), (Page.JOB, 0), (Page.JOB, 2), (Page.JOB, 4)])
def test_the_screen_with_what_agents_measure_looks_as_it_was_accepted(
    page: Page, position: int, width: int, height: int, symbols: Symbols
) -> None:
    jobs_shown = measured(8)
    view = View((page,), jobs_shown.tasks[position].id, position=position)
    model = Model(jobs_shown, view, _LOG, 2 if page is Page.JOB else 0, symbols)
    assert_accepted(model, f"{page}-agents-{position}", width, height)


_TASKS = st.lists(
    st.builds(
        LiveTask,
        id=st.text(max_size=5),
        ref=st.from_regex(r"[0-9]{1,10}(_[0-9]{1,6})?", fullmatch=True),
        status=st.sampled_from([status_of(job) for job, _ in jobs(8)]),
        group=st.sampled_from(StateGroup),
        task=st.none() | st.sampled_from([running_task(), failed(diagnosis=OOM), succeeded(), Task("3")]),
        progress=anything(TaskProgress),
        estimate=anything(Estimate),
        ongoing=st.just(()) | st.just(_TROUBLE),
        events=st.just(()),
        artifacts=anything(Artifacts),
        is_stale=st.booleans(),
        agents=st.builds(TaskAgents, st.lists(anything(AgentReport), max_size=2).map(tuple), st.text()),
    ),
    max_size=5,
)


@given(
    tasks=_TASKS,
    page=st.sampled_from(Page),
    log=st.none() | st.builds(OutputText, st.text(), st.lists(st.text(), max_size=30).map(tuple), st.text()),
    width=st.integers(1, 140),
    height=st.integers(1, 50),
    symbols=st.sampled_from([UNICODE, ASCII]),
    typed=st.none() | st.text(max_size=3),
)
@settings(max_examples=100)
def test_nothing_is_wider_or_higher_than_the_window(
    *,
    tasks: list[LiveTask],
    page: Page,
    log: OutputText | None,
    width: int,
    height: int,
    symbols: Symbols,
    typed: str | None,
) -> None:
    first = tasks[0].id if tasks else ""
    view = View((page,), first, filter=typed or "", is_typing=typed is not None)
    lines = as_text(frame(Model(Listing(NOW_S, tuple(tasks), NOW_S), view, log, 2, symbols), width, height))
    assert len(lines) <= height
    assert all(text_width(line) <= width for line in lines)
    if symbols.is_ascii:
        assert all(line.isascii() for line in lines)
    assert all(line.isprintable() for line in lines)


def test_every_size_from_one_cell_up_is_drawn() -> None:
    for page in Page:
        view = View((page,), listing(8).tasks[1].id)
        model = Model(listing(8), view, _LOG)
        every_width = itertools.product(range(1, 90), (1, 6, 11, 30))
        every_height = itertools.product((1, 20, 50, 89), range(2, 11))
        for width, height in itertools.chain(every_width, every_height):
            lines = frame(model, width, height)
            assert len(lines) <= height
            assert all(text_width(line) <= width for line in as_text(lines))


def styles(model: Model, text: str) -> set[Style]:
    """Return the styles of the pieces of an 80x24 window that contain a text."""
    return {span.style for line in frame(model, 80, 24) for span in line if text in span.text}


def test_old_data_are_marked_and_their_rows_stay() -> None:
    fresh = listing(8)
    tasks = (replace(fresh.tasks[0], is_stale=True), *fresh.tasks[1:])
    model = Model(replace(fresh, tasks=tasks, stale_since_s=NOW_S - 600), symbols=ASCII)
    lines = screen(model)
    assert lines[0].endswith("1 STALE since 22:03:20, states of 22:13:15")
    assert styles(model, "STALE") == {Style.BAD}
    assert lines[2].startswith("?  8123")
    fresh_page = View((Page.JOB,), tasks[1].id)
    assert screen(replace(model, view=fresh_page))[0].endswith("  states of 22:13:15")
    old_page = View((Page.JOB,), tasks[0].id)
    assert "  STALE since" in screen(replace(model, view=old_page))[0]
    only = Model(Listing(NOW_S, tasks[:1], None, NOW_S - 600))
    assert screen(only)[0].endswith("  STALE since 22:03:20")


def test_a_letter_stands_beside_each_colour() -> None:
    model = Model(listing(8))
    letters = {line[0].text.strip(): line[0].style for line in frame(model, 80, 24)[3:10]}
    assert letters == {"S": Style.BAD, "LW": Style.ATTENTION, "": Style.ATTENTION}
    running = listing(1).tasks[0]
    dead = replace(running, status=status_of(running.job, Health.DEAD))
    assert screen(Model(Listing(NOW_S, (dead, dead))))[2].startswith("! ")


def test_the_selected_row_is_marked_and_stays_in_the_window() -> None:
    tasks = listing(40).tasks
    for position in (0, 7, 20, 39):
        model = Model(listing(40), View(selected=tasks[position].id, position=position))
        assert styles(model, tasks[position].ref) == {Style.SELECTED}


def test_the_keys_are_those_that_work_now() -> None:
    empty = screen(Model(Listing(NOW_S)))
    assert empty[-1] == "q quit (jobs go on)  ? help  / filter"
    assert screen(Model(Listing(NOW_S)), 30)[-1] == "q quit  ? help  / filter"
    assert "`jobmon submit SCRIPT`" in empty[1]
    filtered = screen(Model(listing(8), View(filter="eval")))
    assert "/ filter: eval  esc clear filter" in filtered[-1]
    assert [line.split()[1:3] for line in filtered[2:3]] == [["8130", "eval"]]
    assert screen(Model(listing(8), View(filter="x", is_typing=True)))[-1].startswith("/x_")
    assert "no task matches 'nothing'" in screen(Model(listing(8), View(filter="nothing")))[1]


def test_a_pipe_gets_all_columns_uncut() -> None:
    long = [replace(task, status=status_of(replace(task.job, name="n" * 60))) for task in listing(8).tasks]
    lines = as_text(plain(Model(Listing(NOW_S, tuple(long)))))
    assert "ELAPSED/LIMIT" in lines[1]
    assert len(lines) == 10
    assert "LOSS" not in as_text(plain(Model(listing(8)), 50))[1]


def test_unreadable_state_files_are_counted() -> None:
    assert "1 unreadable state file" in screen(Model(replace(listing(1), unreadable=1)))[0]


def test_help_is_wrapped_in_a_narrow_window_and_says_if_it_is_not_all_of_it() -> None:
    model = Model(listing(1), View((Page.HELP,)))
    lines = screen(model, 40, 60)
    assert "…" not in "".join(lines)
    at = lines.index("  D                diverged: loss or")
    assert lines[at + 1] == "                   gradient norm not"
    low = screen(model, 80, 10)
    assert low[-2] == "... 15 more lines; enlarge the window"


def test_the_ids_of_one_array_do_not_take_the_names_from_all_rows_of_a_narrow_window() -> None:
    array = replace(job_of(job_id=1023, name="sweep"), array_indices="1-5", pending_indices="1-3,5", tasks={})
    (pending,) = live_tasks(status_of(array), JobProgress(), NOW_S)
    running, *_ = listing(1).tasks
    model = Model(Listing(NOW_S, (running, pending)))
    _, head, first, second, *_ = screen(model, 40, 10)
    assert head.split()[:2] == ["JOB", "NAME"]
    assert first.split()[:2] == ["8123", "train…"]
    assert second.split()[:3] == ["1023_[…]", "sweep", "PENDING"]
    assert "1023_[1-3,5]  sweep" in "\n".join(screen(model, 80, 10))


def test_a_pending_job_that_will_not_start_by_itself_says_so() -> None:
    held = job_of(replace(PENDING, reason="JobHeldUser"))
    never = job_of(replace(PENDING, reason="DependencyNeverSatisfied"))
    tasks = [next(live_tasks(status_of(job), JobProgress(), NOW_S)) for job in (held, never)]
    _, _, first, second, *_ = screen(Model(Listing(NOW_S, tuple(tasks))), 80, 10)
    assert first.endswith("PENDING, held by its user (JobHeldUser)")
    assert second.endswith("PENDING, will never start (DependencyNeverSatisfied)")


def test_an_ended_job_whose_next_attempt_is_due_says_so() -> None:
    job = replace(job_of(failed()), restart_due_s=NOW_S + 42)
    (task,) = live_tasks(status_of(job), JobProgress(), NOW_S)
    _, _, row, *_ = screen(Model(Listing(NOW_S, (task,))), 80, 10)
    assert row.endswith("; restart due")
