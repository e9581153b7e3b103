"""One task, opened: its progress in full, what happened to it, and the end of its log."""

from __future__ import annotations

from typing import TYPE_CHECKING

from jobmon.views.artifacts import checkpoints_text, disk_text, file_rows, outputs_text
from jobmon.views.console import Style, one_line
from jobmon.views.figures import (
    ending,
    epoch,
    loss,
    percentage,
    progress_age,
    remaining,
    units,
    workers_count,
)
from jobmon.views.model import age, clock, run_time_s, span
from jobmon.views.text_width import text_width
from jobmon.views.top.drawing import Span, bar, fitted, line_width, sparkline, text_line, throughput
from jobmon.views.top.rows import LETTERS, has_no_monitor, note, rate_per_s
from jobmon_core.app.jobs.selection import Group
from jobmon_core.domain.diagnosis.patterns import Severity
from jobmon_core.domain.humanize import duration, number, rate
from jobmon_core.domain.progress.events.event import WARNINGS
from jobmon_core.domain.progress.model import Confidence
from jobmon_core.domain.progress.workers import WorkerState, worker_rate_per_s, worker_state

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from jobmon.views.top.drawing import Line, Symbols
    from jobmon_core.app.jobs.output import OutputText
    from jobmon_core.app.live.log_errors import ErrorLine
    from jobmon_core.app.live.tasks import LiveTask
    from jobmon_core.domain.progress.events.event import Event
    from jobmon_core.domain.progress.model import Progress

_LABEL = 13  # columns
_MIN_BAR, _MAX_BAR = 6, 40
_MAX_SPARKLINE = 40
_MIN_LOG = 4  # lines, with its title
_MOST = 5  # lines of a section
_WORKER_BAR = 8
_STATE = len("silent for 59m")
_WORKER_STYLES = {
    WorkerState.RUNNING: Style.ACTIVE,
    WorkerState.SILENT: Style.ATTENTION,
    WorkerState.FINISHED: Style.GOOD,
}
_MIN_SECTION = 3  # lines, with its title; they are kept for each section that follows
_GROWTH = len("growing +1023.9 MiB/min")


def job_lines(
    live: LiveTask,
    tasks_of_job: Sequence[LiveTask],
    log: OutputText | None,
    now_s: float,
    *,
    errors: Sequence[ErrorLine] = (),
    width: int,
    height: int,
    symbols: Symbols,
) -> list[Line]:
    """Return the page of one task; ``tasks_of_job`` include it. The log gets the lines left over.

    ``errors`` are the latest error lines in its logs, oldest first, while it runs.
    """
    lines = [*_facts(live, now_s, width, symbols)]
    sections = {
        "Errors": [*_errors(live), *_error_lines(errors)],
        "Latest outputs": [*_outputs(live, width)],
        "Events": [*_events(live.events, now_s)],
        "Workers": [*_workers(live, now_s, symbols)],
        "Tasks": [*_tasks(tasks_of_job, symbols)],
    }
    shown = {title: content for title, content in sections.items() if content}
    for position, (title, content) in enumerate(shown.items(), 1):
        later = _MIN_SECTION * (len(shown) - position)
        room = min(height - len(lines) - _MIN_LOG - 1 - later, _MOST)
        if room >= min(len(content), _MIN_SECTION - 1):
            lines += [text_line(title, Style.BOLD), *_first(content, room)]
    lines += log_lines(log, width, height - len(lines))
    return [fitted(line, width, symbols) for line in lines[:height]]


def log_lines(log: OutputText | None, width: int, height: int, lines_back: int = 0) -> list[Line]:
    """Return the path and the last lines of a log, or the lines that end ``lines_back`` before."""
    if log is None:
        return [text_line("no log is known yet", Style.DIM)][: max(0, height)]
    texts = [*log.lines, log.unfinished] if log.unfinished else list(log.lines)
    end = max(min(height - 1, len(texts)), len(texts) - lines_back)
    shown = texts[max(0, end - max(0, height - 1)) : end]
    back = f", {len(texts) - end} lines from the end" if end < len(texts) else ""
    problem = f" {log.problem}" if log.problem else ""
    title = f"{problem}{back}"
    path = _end_of(one_line(log.path), width - len("Log ") - text_width(title))
    return [
        (Span("Log ", Style.BOLD), Span(f"{path}{title}", Style.DIM)),
        *(text_line(text.expandtabs()) for text in shown),
    ][: max(0, height)]


def _end_of(path: str, width: int) -> str:
    """Return the end of a path in at most ``width`` columns."""
    while text_width(path) > max(1, width):
        path = f"…{path[max(2, len(path) - width + 1) :]}"
    return path


def _facts(live: LiveTask, now_s: float, width: int, symbols: Symbols) -> Iterator[Line]:
    for kind in live.problems:
        letter, style, meaning = LETTERS[kind]
        event = next((each for each in reversed(live.events) if each.kind is kind), None)
        text = f"since {clock(event.at_s, now_s)}: {event.text or meaning}" if event else meaning
        yield text_line(f"{letter} {text}", style)
    if has_no_monitor(live):
        yield text_line("! its monitor is gone; `jobmon recover` restarts it", Style.BAD)
    if remark := note(live):
        yield _fact("State", remark)
    yield from _times(live, now_s, width)
    progress = live.followed.progress
    if progress:
        yield from _progress(live, progress, now_s, width, symbols)
    elif note(live) is None:
        yield _fact("Progress", Span("none in the log yet", Style.DIM))
    if counted := workers_count(live):
        yield _fact("Workers", Span(counted))
    yield from _artifacts(live, now_s)


def _fact(label: str, *values: Span) -> Line:
    return (Span(f"{label + ':':<{_LABEL - 1}} ", Style.DIM), *values)


def _fitting(width: int, text: str, shorter: str) -> str:
    """Return the text, or the shorter one if a line of ``width`` columns has no room for it."""
    return text if text_width(text) <= width - _LABEL else shorter


def _artifacts(live: LiveTask, now_s: float) -> Iterator[Line]:
    found, is_running = live.artifacts, live.group is Group.RUNNING
    if outputs := found.outputs:
        yield _fact("Outputs", Span(outputs_text(outputs, found.looked_s, is_running=is_running)))
    if saved := found.checkpoints:
        is_late = is_running and saved.is_overdue(found.looked_s)
        text = checkpoints_text(saved, found.looked_s, now_s, is_running=is_running)
        yield _fact("Checkpoints", Span(text, Style.ATTENTION if is_late else Style.PLAIN))
    if found.disk:
        yield _fact("Disk", Span(disk_text(found.disk)))


def _outputs(live: LiveTask, width: int) -> Iterator[Line]:
    """Yield a line for each of the latest outputs."""
    found, is_running = live.artifacts, live.group is Group.RUNNING
    rows = file_rows(found.outputs, found.looked_s, is_running=is_running) if found.outputs else []
    widest = max((text_width(one_line(row.name)) for row in rows), default=0)
    size_width = max((len(row.size) for row in rows), default=0)
    names = max(1, min(widest, width - size_width - _GROWTH - 6))
    for row in rows:
        name = _end_of(one_line(row.name), names)
        padded = name + " " * (names - text_width(name))
        yield (Span(f"  {padded}  {row.size:>{size_width}}  {row.growth}"),)


def _times(live: LiveTask, now_s: float, width: int) -> Iterator[Line]:
    task = live.task
    elapsed_s = run_time_s(task, now_s) if task else None
    if task is None or elapsed_s is None:
        return
    started_s = task.end.started_s if task.end else task.start_s
    if started_s is not None:
        on = f" on {task.nodes}" if task.nodes else ""
        yield _fact(
            "Started", Span(f"{clock(started_s, now_s, seconds=True)} ({span(now_s - started_s)} ago){on}")
        )
    left_s = max(0.0, task.limit_s - elapsed_s) if task.limit_s and not task.end else None
    elapsed = duration(elapsed_s)
    limit = f" of {duration(task.limit_s)}" if task.limit_s else ""
    left = f", limit in {duration(left_s)}" if left_s is not None else ""
    text = Span(_fitting(width, f"{elapsed}{limit}{left}", f"{elapsed}{left}"))
    yield _fact("Elapsed", text, *_lacking_time(live, left_s))


def _lacking_time(live: LiveTask, left_s: float | None) -> Iterator[Span]:
    """Yield by how much the time to the limit is too short, as far as is known."""
    needed_s = live.estimate.remaining_s
    if left_s is None or needed_s is None or live.estimate.confidence is Confidence.LOW:
        return
    if needed_s > left_s:
        yield Span(f", {duration(needed_s - left_s)} too little", Style.ATTENTION)


def _progress(
    live: LiveTask, progress: Progress, now_s: float, width: int, symbols: Symbols
) -> Iterator[Line]:
    style = LETTERS[live.problems[0]][1] if live.problems else Style.GOOD
    if progress.fraction is None:
        yield _fact("Progress", Span(f"{units(progress)}{progress_age(live, now_s)}"))
    else:
        done = f"{percentage(progress.fraction)} ({units(progress)})"
        figures = _fitting(width, f"{done}{progress_age(live, now_s)}", done)
        room = min(_MAX_BAR, width - _LABEL - 1 - text_width(figures))
        drawn = f"{bar(progress.fraction, room, symbols)} " if room >= _MIN_BAR else ""
        yield _fact("Progress", Span(drawn, style), Span(figures))
    if parts := list(_parts(progress)):
        yield _fact("Now", Span(", ".join(parts)))
    if note(live) is None:
        yield _fact("ETA", Span(_fitting(width, ending(live, now_s, symbols), remaining(live, symbols))))
    yield from _throughput(live, progress, width, symbols)
    yield from _loss(live, progress, width, symbols)
    if progress.end_marker:
        yield _fact("Log says", Span(progress.end_marker))


def _parts(progress: Progress) -> Iterator[str]:
    """Yield the counters of which the progress is made up."""
    if text := epoch(progress):
        yield text
    if progress.batch is not None and progress.batches and progress.batch != progress.current:
        yield f"batch {number(progress.batch)}/{number(progress.batches)}"


def _throughput(live: LiveTask, progress: Progress, width: int, symbols: Symbols) -> Iterator[Line]:
    now = rate(rate_per_s(live), progress.unit)
    average = rate(live.estimate.average_rate_per_s, "" if now else progress.unit)
    if now or average:
        text = _fitting(width, f"{now} (avg {average})", now) if now and average else now or average
        history = live.followed.history
        course = throughput(history, _MAX_SPARKLINE)
        yield _with_course("Throughput", text, course, width, symbols, lowest=0.0)


def _loss(live: LiveTask, progress: Progress, width: int, symbols: Symbols) -> Iterator[Line]:
    values = {"lr": progress.learning_rate, "grad norm": progress.grad_norm}
    others = [f"{name} {loss(value)}" for name, value in values.items() if value is not None]
    if progress.loss is None and not others:
        return
    text = ", ".join(filter(None, [loss(progress.loss), *others]))
    course = [each.loss for each in live.followed.history.samples if each.loss is not None]
    yield _with_course("Loss", text, course, width, symbols)


def _with_course(
    label: str,
    text: str,
    values: Sequence[float],
    width: int,
    symbols: Symbols,
    *,
    lowest: float | None = None,
) -> Line:
    """Return a value and its course over time, as long as there is room."""
    line = _fact(label, Span(text))
    room = min(_MAX_SPARKLINE, width - line_width(line) - 2)
    return (*line, Span(f"  {sparkline(values, room, symbols, lowest)}", Style.ACTIVE))


def _errors(live: LiveTask) -> Iterator[Line]:
    found = live.task.diagnosis if live.task else None
    if found and found.cause:
        yield text_line(f"  {found.headline}", Style.BAD)
        for each in found.evidence:
            yield text_line(f"  {each.number}: {each.text}" if each.number else f"  {each.text}")


def _error_lines(errors: Sequence[ErrorLine]) -> Iterator[Line]:
    """Yield the latest line first; the name of its log if there are several."""
    has_names = len({each.path for each in errors}) > 1
    for each in reversed(errors):
        style = Style.BAD if each.severity is Severity.ERROR else Style.ATTENTION
        clock_text = Span(f"  [{each.clock}] ", Style.DIM) if each.clock else Span("  ")
        name = Span(f"{each.path.rpartition('/')[2]}: " if has_names else "", Style.DIM)
        yield clock_text, Span(f"{each.severity.upper():<8}", style), name, Span(each.text.expandtabs())


def _events(events: Sequence[Event], now_s: float) -> Iterator[Line]:
    """Yield the latest event first."""
    for event in reversed(events):
        is_warning = event.kind in WARNINGS
        level, style = ("WARNING", Style.ATTENTION) if is_warning else ("INFO", Style.PLAIN)
        at = Span(f"  [{clock(event.at_s, now_s, seconds=True)}] ", Style.DIM)
        yield at, Span(f"{level:<8}", style), Span(event.text or str(event.kind))


def _workers(live: LiveTask, now_s: float, symbols: Symbols) -> Iterator[Line]:
    workers = live.followed.workers
    if len(workers) < 2:  # noqa: PLR2004 - of one worker, the page shows everything
        return
    width = max(map(text_width, workers))
    silent_s = live.job.settings.stall_timeout_s if live.job.settings else None
    stated = [(worker_state(worker, now_s, silent_s), name) for name, worker in workers.items()]
    for state, name in sorted(stated, key=lambda each: each[0] is not WorkerState.SILENT):
        worker = workers[name]
        padded = name + " " * (width - text_width(name))
        doing = _doing(live, state, now_s - worker.written_s)
        unit = worker.progress.unit if worker.progress else ""
        speed = "" if state is WorkerState.SILENT else rate(worker_rate_per_s(worker), unit)
        yield Span(f"  {padded}  "), doing, _figures(worker.progress, speed, symbols)


def _doing(live: LiveTask, state: WorkerState, silent_s: float) -> Span:
    """Return what a worker does; of a job that does not run, only that it finished."""
    if live.group is not Group.RUNNING and state is not WorkerState.FINISHED:
        return Span(" " * _STATE)
    text = f"silent for {age(silent_s)}" if state is WorkerState.SILENT else str(state)
    return Span(f"{text:<{_STATE}}", _WORKER_STYLES[state])


def _figures(progress: Progress | None, speed: str, symbols: Symbols) -> Span:
    if progress is None:
        return Span("  no progress yet", Style.DIM)
    if progress.fraction is None:
        return Span(f"  {units(progress)}  {speed}")
    drawn = bar(progress.fraction, _WORKER_BAR, symbols)
    return Span(f"  {drawn} {percentage(progress.fraction):>5}  {units(progress)}  {speed}")


def _tasks(tasks: Sequence[LiveTask], symbols: Symbols) -> Iterator[Line]:
    if len(tasks) < 2:  # noqa: PLR2004 - likewise
        return
    width = max(text_width(live.ref) for live in tasks)
    for live in tasks:
        if remark := note(live):
            yield Span(f"  {live.ref:<{width}}  "), remark
        else:
            yield _task_line(live, width, symbols)


def _task_line(live: LiveTask, width: int, symbols: Symbols) -> Line:
    """Return the progress of a running task of the job; its id takes ``width`` columns."""
    padded, progress = f"{live.ref:<{width}}", live.followed.progress
    if progress is None:
        return Span(f"  {padded}  "), Span("no progress yet", Style.DIM)
    speed = rate(rate_per_s(live), progress.unit)
    if progress.fraction is None:
        return (Span(f"  {padded}  {units(progress)}  {speed}"),)
    drawn = f"{bar(progress.fraction, 16, symbols)} {percentage(progress.fraction):>5}"
    return (Span(f"  {padded}  {drawn}  {speed}"),)


def _first(lines: list[Line], room: int) -> list[Line]:
    """Return as many lines as there is room for; the last one counts those that are left out."""
    if len(lines) <= room:
        return lines
    return [*lines[: room - 1], text_line(f"  and {len(lines) - room + 1} more", Style.DIM)]
