"""One task, opened: its progress in full, what happened to it, and the end of its log."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from jobmon.views.artifacts import FILES_SHOWN, checkpoints_text, disk_text, file_rows, outputs_text
from jobmon.views.console import Style
from jobmon.views.model import clock, run_time_s, span
from jobmon.views.progress import ending, progress_age, remaining, workers_count
from jobmon.views.running import launch_label, launch_lines
from jobmon.views.telemetry import (
    cpu_text,
    gpus_text,
    is_memory_scarce,
    memory_text,
    silence_texts,
    workers_text,
)
from jobmon.views.text_width import text_width
from jobmon.views.top.drawing import (
    UNICODE,
    Section,
    Span,
    attention,
    bar,
    end_of,
    fitted,
    line_width,
    log_lines,
    section_lines,
    shows_what_is_wanted,
    sparkline,
    text_line,
    throughput,
    titled,
)
from jobmon.views.top.job_list import LETTERS, note, rate_per_s
from jobmon.views.top.telemetry_lines import task_lines, telemetry_sections
from jobmon_core.app.jobs.find import StateGroup
from jobmon_core.domain import finding
from jobmon_core.domain.humanize import duration, filled, joined, rate
from jobmon_core.domain.logs.diagnosis.patterns import SEVERITIES
from jobmon_core.domain.logs.progress.events.event import WARNINGS
from jobmon_core.domain.logs.progress.figures import batch, done, epoch, loss, metrics, units
from jobmon_core.domain.logs.progress.model import Confidence
from jobmon_core.domain.node.telemetry.summary import latest_reports
from jobmon_core.domain.visible_text import one_line

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from jobmon.views.top.drawing import Line, Symbols
    from jobmon_core.app.jobs.output import OutputText
    from jobmon_core.app.live.log_errors import ErrorLine
    from jobmon_core.app.live.tasks import LiveTask
    from jobmon_core.domain.artifacts.model import Outputs
    from jobmon_core.domain.logs.progress.events.event import Event
    from jobmon_core.domain.logs.progress.model import Progress

_LABEL = 13  # columns
_MIN_BAR, _MAX_BAR = 6, 40
_MAX_SPARKLINE = 40
_MIN_LOG, _SHORTEST_LOG = 4, 2  # lines, with its title
_LOG_AT_END = 12  # lines, below everything else
_RESULTS = {finding.Severity.CRITICAL: Style.BAD, finding.Severity.WARNING: Style.ATTENTION}
_GROWTH = len("growing +1023.9 MiB/min")


@dataclass(frozen=True, slots=True)
class JobPage:
    """Everything about one task, which is among ``tasks_of_job``; ``errors`` are lines in its logs."""

    live: LiveTask
    tasks_of_job: Sequence[LiveTask]
    log: OutputText | None
    now_s: float
    errors: Sequence[ErrorLine] = ()
    symbols: Symbols = UNICODE

    def lines(self, width: int, height: int, lines_down: int = 0) -> list[Line]:
        """Return what a window shows: the most important and the end of the log.

        Scrolled down, it shows everything, from its line ``lines_down`` on.
        """
        if lines_down:
            lines = self._everything(width)
            lines = lines[max(0, min(lines_down - 1, len(lines) - height)) :]
        else:
            lines = self._most_important(width, height)
        return [fitted(line, width, self.symbols) for line in lines[:height]]

    def scrollable(self, width: int, height: int) -> int:
        """Return how many lines down a window can be scrolled; 0 if it shows everything."""
        if not self._is_cut(width, height):
            return 0
        return max(1, len(self._everything(width)) - height + 1)

    def _is_cut(self, width: int, height: int) -> bool:
        shown = self._most_important(width, height)
        return any(line not in shown for line in self._everything(width, log_height=0))

    def _everything(self, width: int, log_height: int = _LOG_AT_END) -> list[Line]:
        sections = self._sections(width)
        lines = [
            line
            for section in sections
            if section.rows or section.is_fact
            for line in (section.head, *section.rows)
        ]
        facts = _facts(self.live, self.now_s, width, self.symbols)
        return [*facts, *lines, *log_lines(self.log, width, log_height)]

    def _most_important(self, width: int, height: int) -> list[Line]:
        """Return facts, sections and the log in ``height`` lines.

        Where that makes room for workers and outputs, leave out what these repeat, and the log.
        """
        sections = self._sections(width)
        layouts = [
            ([*_facts(self.live, self.now_s, width, self.symbols, is_short=is_short)], log_height)
            for is_short, log_height in ((False, _MIN_LOG), (True, _SHORTEST_LOG), (True, 0))
        ]
        fitting = (
            (facts, log_height)
            for facts, log_height in layouts
            if shows_what_is_wanted(sections, height - len(facts) - log_height)
        )
        facts, log_height = next(fitting, layouts[0])
        lines = [*facts, *section_lines(sections, height - len(facts) - log_height)]
        room = height - len(lines)
        return [*lines, *(log_lines(self.log, width, room) if room >= _SHORTEST_LOG else [])]

    def _sections(self, width: int) -> list[Section]:
        outputs = self.live.artifacts.outputs
        return [
            titled("Errors", [*_errors(self.live), *_error_lines(self.errors)], 0),
            *telemetry_sections(self.live, self.now_s, width, self.symbols),
            *([_outputs(self.live, outputs, width)] if outputs else []),
            titled("Events", [*_events(self.live.events, self.now_s)], 1),
            titled("Tasks", [*task_lines(self.tasks_of_job, self.symbols)], 4),
        ]


def _facts(
    live: LiveTask, now_s: float, width: int, symbols: Symbols, *, is_short: bool = False
) -> Iterator[Line]:
    """Yield the facts; ``is_short`` leaves out what other lines say as well."""
    yield from _problems(live, now_s)
    if live.status.health.is_lost:
        yield text_line("! its monitor is gone; `jobmon recover` restarts it", Style.BAD)
    if remark := note(live):
        yield _fact("State", remark)
    yield from [*_times(live, now_s, width)][-1:] if is_short else _times(live, now_s, width)
    yield from _launch(live, now_s, is_short=is_short)
    progress = live.progress.progress
    if progress:
        yield from _progress(live, progress, now_s, width, symbols)
    elif note(live) is None:
        yield _fact("Progress", Span("none in the log yet", Style.DIM))
        if live.usual:
            text = _fitting(width, ending(live, now_s, symbols), remaining(live, symbols))
            yield _fact("ETA", Span(text))
    yield from _workers_and_memory(live, now_s, is_short=is_short)
    yield from _artifacts(live, now_s)


def _problems(live: LiveTask, now_s: float) -> Iterator[Line]:
    """Yield what is wrong now; of the worst also the proof and what to do."""
    for event in live.ongoing:
        letter, style, meaning = LETTERS[event.kind]
        style = Style.BAD if event.is_critical else style
        yield text_line(f"{letter} since {clock(event.since_s, now_s)}: {event.text or meaning}", style)
        if event is live.ongoing[0]:
            yield from (text_line(f"  | {line}") for line in event.evidence)
            if event.advice:
                yield text_line(f"  {event.advice.replace('JOBID', live.ref)}")


def _launch(live: LiveTask, now_s: float, *, is_short: bool) -> Iterator[Line]:
    """Yield how the launch is judged, and its checks; ``is_short`` leaves out those that passed."""
    before = _fact(launch_label(live).capitalize())
    for position, (result, text) in enumerate(launch_lines(live, now_s)):
        if not is_short or not position or result in _RESULTS:
            yield (*before, Span(text, _RESULTS.get(result, Style.PLAIN)))
        before = (Span(" " * _LABEL),)


def _workers_and_memory(live: LiveTask, now_s: float, *, is_short: bool) -> Iterator[Line]:
    reports = latest_reports(live.reports, now_s)
    counted, running = workers_count(live), workers_text(reports)
    if counted and running:
        counted = f"{counted} with a log"
    text = joined(running, counted)
    if text and not is_short:
        yield _fact("Workers", Span(text))
    if text := gpus_text(reports):
        yield _fact("GPUs", Span(text))
    if text := memory_text(reports):
        cpu = cpu_text(reports[0].latest.cpu) if len(reports) == 1 else ""
        memory = Span(text, attention(when=is_memory_scarce(reports)))
        yield _fact("Memory", memory, Span(filled(", CPU {}", cpu)))
    if live.agents.problem and not reports:
        yield _fact("Agent", Span(f"none: {live.agents.problem}", Style.DIM))
    if text := silence_texts(live.reports, now_s):
        yield _fact("Agent", Span(text, Style.ATTENTION))


def _fact(label: str, *values: Span) -> Line:
    return (Span(f"{label + ':':<{_LABEL - 1}} ", Style.DIM), *values)


def _fitting(width: int, text: str, shorter: str) -> str:
    """Return the text, or the shorter one if a line of ``width`` columns has no room for it."""
    return text if text_width(text) <= width - _LABEL else shorter


def _artifacts(live: LiveTask, now_s: float) -> Iterator[Line]:
    found, is_running = live.artifacts, live.group is StateGroup.RUNNING
    if saved := found.checkpoints:
        is_late = is_running and saved.is_overdue(found.looked_s)
        text = checkpoints_text(saved, found.looked_s, now_s, is_running=is_running)
        yield _fact("Checkpoints", Span(text, attention(when=is_late)))
    if found.disk:
        yield _fact("Disk", Span(disk_text(found.disk)))


def _outputs(live: LiveTask, outputs: Outputs, width: int) -> Section:
    looked_s, is_running = live.artifacts.looked_s, live.group is StateGroup.RUNNING
    mark = Span(" (found in the log or script)" if outputs.is_found else "", Style.DIM)
    text = Span(outputs_text(outputs, looked_s, is_running=is_running))
    rows = [*_file_lines(file_rows(outputs, looked_s, is_running=is_running), width)]
    return Section(_fact("Outputs", text, mark), rows, 3, FILES_SHOWN, is_wanted=True, is_fact=True)


def _file_lines(rows: Sequence[tuple[str, str, str]], width: int) -> Iterator[Line]:
    widest = max((text_width(one_line(name)) for name, _, _ in rows), default=0)
    size_width = max((len(size) for _, size, _ in rows), default=0)
    names = max(1, min(widest, width - size_width - _GROWTH - 6))
    for path, size, growth in rows:
        name = end_of(one_line(path), names)
        padded = name + " " * (names - text_width(name))
        yield text_line(f"  {padded}  {size:>{size_width}}  {growth}")


def _times(live: LiveTask, now_s: float, width: int) -> Iterator[Line]:
    task, elapsed_s = live.task, run_time_s(live.task, now_s)
    if task is None or elapsed_s is None:
        return
    started_s = task.end.started_s if task.end else task.start_s
    if started_s is not None:
        text = f"{clock(started_s, now_s, seconds=True)} ({span(now_s - started_s)} ago)"
        yield _fact("Started", Span(f"{text} on {task.nodes}" if task.nodes else text))
    text, left_s, left = duration(elapsed_s), None, ""
    if task.limit_s and not task.end:
        left_s = max(0.0, task.limit_s - elapsed_s)
        left = f", limit in {duration(left_s)}"
    limit = f" of {duration(task.limit_s)}" if task.limit_s else ""
    text = _fitting(width, f"{text}{limit}{left}", f"{text}{left}")
    yield _fact("Elapsed", Span(text), *_lacking_time(live, left_s))


def _lacking_time(live: LiveTask, left_s: float | None) -> Iterator[Span]:
    needed_s = live.estimate.remaining_s
    if left_s is None or needed_s is None or live.estimate.confidence is Confidence.LOW:
        return
    if needed_s > left_s:
        yield Span(f", {span(needed_s - left_s)} too little", Style.ATTENTION)


def _progress(
    live: LiveTask, progress: Progress, now_s: float, width: int, symbols: Symbols
) -> Iterator[Line]:
    style = LETTERS[live.problems[0]][1] if live.problems else Style.GOOD
    if progress.fraction is None:
        yield _fact("Progress", Span(f"{units(progress)}{progress_age(live, now_s)}"))
    else:
        figures = _fitting(width, f"{done(progress)}{progress_age(live, now_s)}", done(progress))
        room = min(_MAX_BAR, width - _LABEL - 1 - text_width(figures))
        drawn = f"{bar(progress.fraction, room, symbols)} " if room >= _MIN_BAR else ""
        yield _fact("Progress", Span(drawn, style), Span(figures))
    if counters := joined(epoch(progress), batch(progress)):
        yield _fact("Now", Span(counters))
    if note(live) is None:
        yield _fact("ETA", Span(_fitting(width, ending(live, now_s, symbols), remaining(live, symbols))))
    yield from _throughput(live, progress, width, symbols)
    yield from _loss(live, progress, width, symbols)
    if further := metrics(progress):
        yield _fact("Metrics", Span(one_line(", ".join(further))))
    if progress.end_marker:
        yield _fact("Log says", Span(progress.end_marker))


def _throughput(live: LiveTask, progress: Progress, width: int, symbols: Symbols) -> Iterator[Line]:
    now = rate(rate_per_s(live), progress.unit)
    average = rate(live.estimate.average_rate_per_s, "" if now else progress.unit)
    if now or average:
        text = _fitting(width, f"{now} (avg {average})", now) if now and average else now or average
        course = throughput(live.progress.history, _MAX_SPARKLINE)
        yield _with_course("Throughput", text, course, width, symbols, lowest=0.0)


def _loss(live: LiveTask, progress: Progress, width: int, symbols: Symbols) -> Iterator[Line]:
    values = {"lr": progress.learning_rate, "grad norm": progress.grad_norm}
    others = [f"{name} {loss(value)}" for name, value in values.items() if value is not None]
    if progress.loss is None and not others:
        return
    text = joined(loss(progress.loss), *others)
    course = [each.loss for each in live.progress.history.samples if each.loss is not None]
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
    line = _fact(label, Span(text))
    room = min(_MAX_SPARKLINE, width - line_width(line) - 2)
    return (*line, Span(f"  {sparkline(values, room, symbols, lowest)}", Style.ACTIVE))


def _errors(live: LiveTask) -> Iterator[Line]:
    found = live.task and live.task.diagnosis
    if found and found.cause:
        yield text_line(f"  {found.headline}", Style.BAD)
        for each in found.evidence:
            yield text_line(f"  {each.number}: {each.text}" if each.number else f"  {each.text}")


def _error_lines(errors: Sequence[ErrorLine]) -> Iterator[Line]:
    """Yield the error lines, the latest first; with the name of the log if there are several."""
    has_names = len({each.path for each in errors}) > 1
    for each in reversed(errors):
        style = Style.ATTENTION if each.is_warning else Style.BAD
        clock_text = Span(f"  [{each.clock}] ", Style.DIM) if each.clock else Span("  ")
        name = Span(f"{each.path.rpartition('/')[2]}: " if has_names else "", Style.DIM)
        yield (
            clock_text,
            Span(f"{SEVERITIES[each.is_warning].upper():<8}", style),
            name,
            Span(each.text.expandtabs()),
        )


def _events(events: Sequence[Event], now_s: float) -> Iterator[Line]:
    for event in reversed(events):
        at = Span(f"  [{clock(event.at_s, now_s, seconds=True)}] ", Style.DIM)
        level, style = _level(event)
        yield at, Span(f"{level:<7} ", style), Span(event.text or str(event.kind))


def _level(event: Event) -> tuple[str, Style]:
    if event.is_critical:
        return "CRITICAL", Style.BAD
    return ("WARNING", Style.ATTENTION) if event.kind in WARNINGS else ("INFO", Style.PLAIN)
