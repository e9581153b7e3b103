from __future__ import annotations

from dataclasses import replace

from jobmon.views.console import Style
from jobmon.views.top.drawing import log_lines
from jobmon.views.top.job_page import JobPage
from jobmon_core.app.jobs.find import StateGroup
from jobmon_core.app.jobs.output import OutputText
from jobmon_core.app.live.log_errors import ErrorLine
from jobmon_core.app.live.tasks import LiveTask, TaskAgents, live_tasks
from jobmon_core.domain.artifacts.model import Growth, OutputFile
from jobmon_core.domain.job.job_progress import FollowedTask, JobProgress
from jobmon_core.domain.job.job_settings import JobSettings
from jobmon_core.domain.logs.progress.events.event import Event, EventKind
from jobmon_core.domain.logs.progress.model import (
    Confidence,
    Estimate,
    Progress,
    Sample,
    WorkerProgress,
)
from jobmon_core.lifecycle.health import Health
from tests.support.agent_reports import report, sample, worker
from tests.support.job_records import NOW_S, OOM, PENDING, failed, job_of, status_of
from tests.support.live_jobs import progress_of, running_task, some_artifacts, steady
from tests.support.styled_lines import as_text

EXPECTED = JobSettings(num_workers=5, log_pattern="worker_*.log")
LOG = OutputText("/scratch/me/train.log", tuple(f"line {number}" for number in range(100)))


def tasks(*followed: FollowedTask, events: tuple[Event, ...] = ()) -> list[LiveTask]:
    keys = [str(number) for number in range(len(followed))] if len(followed) > 1 else [""]
    job = job_of(*(running_task(key) for key in keys))
    progress = JobProgress(NOW_S, dict(zip(keys, followed, strict=True)), events)
    return [steady(task) for task in live_tasks(status_of(job), progress, NOW_S)]


def page(
    live: LiveTask, others: list[LiveTask] | None = None, height: int = 24, width: int = 80
) -> list[str]:
    return as_text(JobPage(live, others or [live], LOG, NOW_S).lines(width, height))


def value(lines: list[str], label: str) -> str:
    return next(line.split(":", 1)[1].strip() for line in lines if line.startswith(f"{label}:"))


def test_everything_about_a_running_job_is_on_its_page() -> None:
    (live,) = tasks(progress_of(67_300, 100_000))
    lines = page(live)
    assert value(lines, "Started").endswith("(2h 34m ago) on gpu[1-2]")
    assert value(lines, "Elapsed") == "2h 34m of 8h, limit in 5h 26m"
    assert value(lines, "Progress").endswith("░ 67.3% (67,300/100,000 steps), 0s ago")
    assert value(lines, "ETA").startswith("1h 14m ±3m (")
    assert value(lines, "Throughput").startswith("7.3 steps/s (avg 7.3/s)  ")
    assert value(lines, "Loss").startswith("0.35, lr 1e-05  █")
    assert lines[-1] == "line 99"
    assert len(lines) == 24


def test_on_a_narrow_screen_the_less_important_half_of_a_line_is_left_out() -> None:
    (live,) = tasks(progress_of(67_300, 100_000))
    lines = page(live, width=44)
    assert value(lines, "Progress") == "67.3% (67,300/100,000 steps)"
    assert value(lines, "ETA") == "1h 14m ±3m"
    assert value(lines, "Throughput").split("  ")[0] == "7.3 steps/s (avg 7.3/s)"
    assert value(page(live, width=40), "Elapsed") == "2h 34m, limit in 5h 26m"
    assert value(page(live, width=32), "Throughput").split("  ")[0] == "7.3 steps/s"


def test_too_little_time_is_said() -> None:
    (live,) = tasks(progress_of(67_300, 100_000))
    late = replace(live, estimate=Estimate(1.0, 1.0, 6 * 3600.0, confidence=Confidence.MEDIUM))
    assert value(page(late), "Elapsed") == "2h 34m of 8h, limit in 5h 26m, 34m too little"
    unsure = replace(live, estimate=Estimate(1.0, 1.0, 6 * 3600.0))
    assert value(page(unsure), "Elapsed") == "2h 34m of 8h, limit in 5h 26m"


def test_events_stand_with_time_and_level_the_latest_first() -> None:
    stalled = Event(NOW_S - 60, EventKind.STALLED, "no progress for 12m")
    events = (*(Event(NOW_S - 900 + n, EventKind.MILESTONE, f"{n}%") for n in range(9)), stalled)
    (live,) = tasks(progress_of(500, 1000), events=events)
    lines = page(live)
    assert lines[0].startswith("S since ")
    assert lines[0].endswith(": no progress for 12m")
    first = lines.index("Events") + 1
    assert lines[first].endswith("] WARNING no progress for 12m")
    assert lines[first + 1].endswith("] INFO    8%")
    assert lines[first + 4] == "  and 6 more"


def test_error_lines_stand_with_time_log_and_level_the_latest_first() -> None:
    (live,) = tasks(progress_of(500, 1000))
    errors = (
        ErrorLine("/w/worker_0.log", True, "retrying"),
        ErrorLine("/w/worker_1.log", False, "KeyError:\t'lr'", "03:12:45"),
    )
    lines = as_text(JobPage(live, [live], LOG, NOW_S, errors).lines(80, 24))
    first = lines.index("Errors") + 1
    assert lines[first : first + 2] == [
        "  [03:12:45] ERROR   worker_1.log: KeyError:       'lr'",
        "  WARNING worker_0.log: retrying",
    ]
    of_one_log = JobPage(live, [live], LOG, NOW_S, errors[1:]).lines(80, 24)
    assert "  [03:12:45] ERROR   KeyError:       'lr'" in as_text(of_one_log)


def test_each_task_has_a_line() -> None:
    found = tasks(progress_of(500, 1000), progress_of(250, 1000))
    lines = page(found[0], found)
    first = lines.index("Tasks") + 1
    assert [line.split()[0] for line in lines[first : first + 2]] == ["12_0", "12_1"]
    assert "25.0%" in lines[first + 1]


def test_each_worker_has_a_line_the_silent_ones_first() -> None:
    shown = Progress(100, 400, "item", rate_per_s=2.5)
    workers = {
        "worker_0.log": WorkerProgress(shown, NOW_S - 5),
        "worker_1.log": WorkerProgress(replace(shown, current=400), NOW_S - 900),
        "worker_2.log": WorkerProgress(replace(shown, rate_per_s=None), NOW_S - 340, Sample(NOW_S - 540, 50)),
        "worker_3.log": WorkerProgress(None, NOW_S),
    }
    (live,) = tasks(replace(progress_of(200, 800), workers=workers))
    lines = page(replace(live, status=replace(live.status, job=replace(live.job, settings=EXPECTED))))
    assert value(lines, "Workers") == "4 of 5"
    first = lines.index("Workers") + 1
    assert [line.rstrip() for line in lines[first : first + 4]] == [
        "  worker_2.log  silent for 5m  ██░░░░░░ 25.0%  100/400 items",
        "  worker_0.log  running        ██░░░░░░ 25.0%  100/400 items  2.5 items/s",
        "  worker_1.log  finished       ████████  100%  400/400 items  2.5 items/s",
        "  worker_3.log  running        no progress yet",
    ]
    (ended,) = tasks(replace(progress_of(200, 800), workers=workers))
    assert "silent" not in "".join(page(replace(ended, group=StateGroup.FAILED)))


def test_the_logs_of_workers_join_the_processes_of_the_same_ranks() -> None:
    shown = Progress(100, 400, "item", rate_per_s=2.5)
    workers = {f"worker_{rank}.log": WorkerProgress(shown, NOW_S - 500 * rank) for rank in range(2)}
    (live,) = tasks(replace(progress_of(200, 800), workers=workers))
    live = replace(live, agents=TaskAgents((report(sample((), (worker(0), worker(1)))),)))
    lines = page(live)
    first = next(number for number, line in enumerate(lines) if line.startswith("Workers  "))
    assert [line.rstrip() for line in lines[first : first + 3]] == [
        "Workers   STATUS    LOG            PROGRESS        GPU  SPEED         CPU",
        "  rank 0  running                  ██░░░░░░ 25.0%    0  2.5 items/s  103%",
        "  rank 1  running   silent for 8m  ██░░░░░░ 25.0%    1               103%",
    ]
    wide = page(live, width=130)[first]
    assert wide.split() == [
        *("Workers", "PID", "STATUS", "LOG", "PROGRESS", "GPU", "SPEED", "CPU", "MEMORY", "ACTIVE", "UP"),
        *("CHILDREN", "THREADS"),
    ]


def test_logs_that_belong_to_no_known_rank_have_a_section_of_their_own() -> None:
    workers = {name: WorkerProgress(None, NOW_S) for name in ("loader.log", "worker_1.log")}
    (live,) = tasks(replace(progress_of(200, 800), workers=workers))
    live = replace(live, agents=TaskAgents((report(sample((), (worker(0), worker(1)))),)))
    lines = page(live, height=40)
    assert value(lines, "Workers") == "2 running, 2 with a log"
    assert "  loader.log    running  no progress yet" in lines
    assert lines.index("Logs of workers") > next(n for n, line in enumerate(lines) if "STATUS" in line)


def test_counters_inside_the_progress_are_shown() -> None:
    progress = Progress(1300, 3000, epoch=2, epochs=3, batch=300, batches=1000, metrics={"acc": 0.5})
    (live,) = tasks(FollowedTask(progress))
    assert value(page(live), "Now") == "epoch 2/3, batch 300/1,000"
    assert value(page(live), "Metrics") == "acc 0.5"


def saving(number: int) -> tuple[Event, ...]:
    texts = [f"checkpoint saved ({each}.pt)" for each in range(number)]
    return tuple(Event(NOW_S - 900 + at_s, EventKind.CHECKPOINT, text) for at_s, text in enumerate(texts))


def test_outputs_checkpoints_and_the_disk_are_shown_if_folders_are_named() -> None:
    (live,) = tasks(progress_of(67_300, 100_000), events=saving(9))
    lines = page(replace(live, artifacts=some_artifacts()))
    assert value(lines, "Outputs") == "4 files, 960.0 MiB, growing +2.0 MiB/min"
    assert value(lines, "Checkpoints") == "5 saved, last 12m ago, next expected in 18m"
    assert value(lines, "Disk") == "234.0 GiB free (82%)"
    first = lines.index("Outputs:     4 files, 960.0 MiB, growing +2.0 MiB/min") + 1
    assert lines[first : first + 4] == [
        "  output_0.jsonl  245.0 MiB  growing +512.0 KiB/min",
        "  output_1.jsonl  244.0 MiB  growing +512.0 KiB/min",
        "  output_2.jsonl  243.0 MiB  growing +512.0 KiB/min",
        "  output_3.jsonl  190.0 MiB  not growing for 12m",
    ]
    assert lines[first + 4] == "Events"
    assert lines[first + 5].endswith("] INFO    checkpoint saved (8.pt)")
    assert not any(line.startswith(("Outputs", "Checkpoints", "Disk")) for line in page(live))


WORKERS = TaskAgents((report(),))


def training(*, agents: TaskAgents = WORKERS) -> LiveTask:
    """Return a job of four workers on four GPUs, with a log each and four outputs."""
    shown = Progress(16_800, 25_000, "item", rate_per_s=62.5)
    workers = {f"worker_{rank}.log": WorkerProgress(shown, NOW_S - 3) for rank in range(4)}
    (live,) = tasks(replace(progress_of(67_300, 100_000), workers=workers), events=saving(2))
    return replace(live, artifacts=some_artifacts(), agents=agents)


def test_a_window_of_80x24_shows_each_worker_with_its_gpu_and_each_output() -> None:
    lines = page(training(), height=22)
    assert len(lines) <= 22
    first = next(number for number, line in enumerate(lines) if line.startswith("Workers  "))
    assert [line.rstrip() for line in lines[first : first + 5]] == [
        "Workers   STATUS    PROGRESS        GPU  UTIL         GPU MEM  SPEED",
        "  rank 0  running   █████░░░ 67.2%    0   92%        60.0 GiB  62.5 items/s",
        "  rank 1  running   █████░░░ 67.2%    1   92%        61.0 GiB  62.5 items/s",
        "  rank 2  running   █████░░░ 67.2%    2    1%  idle  62.0 GiB  62.5 items/s",
        "  rank 3  running   █████░░░ 67.2%    3   92%        63.0 GiB  62.5 items/s",
    ]
    assert sum("output_" in line for line in lines) == 4
    assert value(lines, "Checkpoints").startswith("5 saved")
    assert lines[lines.index("Events") + 1].endswith("checkpoint saved (1.pt)")
    without_agent = page(training(agents=TaskAgents()), height=22)
    assert sum("worker_" in line and "62.5 items/s" in line for line in without_agent) == 4
    assert sum("output_" in line for line in without_agent) == 4


def test_a_page_that_does_not_fit_can_be_scrolled_to_its_end() -> None:
    job_page = JobPage(training(), [training()], LOG, NOW_S)
    most = job_page.scrollable(80, 22)
    windows = [as_text(job_page.lines(80, 22, down)) for down in range(most + 1)]
    shown = {line for window in windows for line in window}
    assert {len(window) for window in windows[1:]} == {22}
    assert windows[1][0].startswith("Started:")
    assert windows[-1][-1] == "line 99"
    assert sum(line.startswith("  n17 ") for line in shown) == 1
    assert as_text(job_page.lines(80, 22, most + 50)) == windows[-1]
    assert job_page.scrollable(120, 60) == 0


def test_in_a_small_window_the_events_come_before_the_list_of_outputs() -> None:
    (live,) = tasks(progress_of(67_300, 100_000), events=saving(9))
    small, larger = (page(replace(live, artifacts=some_artifacts()), height=height) for height in (13, 16))
    assert value(small, "Outputs") == "4 files, 960.0 MiB, growing +2.0 MiB/min"
    assert not any("output_0" in line for line in small)
    assert any("output_0" in line for line in larger)
    assert larger[larger.index("Events") + 1].endswith("checkpoint saved (8.pt)")


def test_the_end_of_a_long_name_of_an_output_stays() -> None:
    (live,) = tasks(progress_of(67_300, 100_000))
    found = some_artifacts(1)
    assert found.outputs is not None
    long = OutputFile("embeddings/" * 9 + "part_07.jsonl", Growth(2**40, NOW_S, NOW_S, 2e9))
    live = replace(live, artifacts=replace(found, outputs=replace(found.outputs, files=(long,))))
    lines = as_text(JobPage(live, [live], LOG, NOW_S).lines(60, 30))
    row = next(line for line in lines if "part_07" in line)
    assert row.endswith("part_07.jsonl  1.0 TiB  growing +111.8 GiB/min")
    assert len(row) <= 60


def test_a_checkpoint_that_is_overdue_stands_out() -> None:
    (live,) = tasks(progress_of(67_300, 100_000))
    late = replace(live, artifacts=replace(some_artifacts(), looked_s=NOW_S + 3600))
    lines = JobPage(late, [late], LOG, NOW_S + 3600).lines(80, 24)
    (line,) = (line for line in lines if line[0].text.startswith("Checkpoints"))
    assert line[1].style is Style.ATTENTION


def test_a_job_that_does_not_run_says_why() -> None:
    pending = next(live_tasks(status_of(job_of(PENDING)), JobProgress(), NOW_S))
    assert value(page(pending), "State") == "PENDING (Priority)"
    ended = next(
        live_tasks(status_of(job_of(failed(diagnosis=OOM), concluded_s=NOW_S)), JobProgress(), NOW_S)
    )
    lines = page(ended)
    assert value(lines, "State") == "FAILED: CUDA out of memory"
    assert lines[lines.index("Errors") + 2].startswith("  7: torch.OutOfMemoryError")


def test_a_job_without_a_monitor_says_what_to_do() -> None:
    (live,) = tasks(FollowedTask())
    lines = page(replace(live, status=status_of(live.job, Health.DEAD)))
    assert "`jobmon recover`" in lines[0]
    assert value(lines, "Progress") == "none in the log yet"


def test_a_log_can_be_scrolled_back_to_its_first_line() -> None:
    assert as_text(log_lines(LOG, 80, 4))[1:] == ["line 97", "line 98", "line 99"]
    back = as_text(log_lines(LOG, 80, 4, 10))
    assert back[0].endswith("train.log, 10 lines from the end")
    assert back[1:] == ["line 87", "line 88", "line 89"]
    assert as_text(log_lines(LOG, 80, 4, 1000))[1:] == ["line 0", "line 1", "line 2"]
    assert as_text(log_lines(LOG, 16, 1)) == ["Log …e/train.log"]
    assert as_text(log_lines(OutputText("/w/a.log", problem="does not exist"), 80, 4)) == [
        "Log /w/a.log does not exist"
    ]


def test_problems_stand_at_the_top_with_the_advice_about_the_worst() -> None:
    events = (
        Event(NOW_S - 60, EventKind.TROUBLE, "memory grows 1.2 GiB/h", subject="memory-leak", advice="Look."),
        Event(NOW_S - 50, EventKind.ERROR, "CUDA out of memory", "", is_critical=True, advice="Use less."),
    )
    (live,) = tasks(progress_of(67_300, 100_000), events=events)
    lines = page(live)
    assert [line.partition(": ")[2] or line for line in lines[:3]] == [
        "CUDA out of memory",
        "  Use less.",
        "memory grows 1.2 GiB/h",
    ]
    assert [line[0] for line in lines[:3]] == ["E", " ", "T"]
    assert any("] CRITICAL CUDA out of memory" in line for line in lines)


def test_an_agent_that_does_not_report_is_named() -> None:
    (live,) = tasks(progress_of(67_300, 100_000))
    old = report(sample(node="n18"), age_s=720.0)
    assert value(page(replace(live, agents=TaskAgents((old,)))), "Agent").startswith("no report since ")
    both = page(replace(live, agents=TaskAgents((report(), old))))
    assert value(both, "Agent").startswith("n18: no report since ")
    denied = page(replace(live, agents=TaskAgents(problem="srun: Access/permission denied")))
    assert value(denied, "Agent") == "none: srun: Access/permission denied"
    assert value(both, "Memory") == "52.0 of 64.0 GiB (81%), CPU 15.2 of 16 cores"
