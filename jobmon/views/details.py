"""The screen of ``jobmon show``: everything known about one job, the most important first."""

from __future__ import annotations

from itertools import chain
from types import MappingProxyType
from typing import TYPE_CHECKING

from jobmon.views.artifacts import artifacts_rows
from jobmon.views.delivery import advice, delivery
from jobmon.views.diagnosis import explanation, numbered
from jobmon.views.model import clock, end_rows, pending_reason, span, state, task_state, why_doubtful
from jobmon.views.running import array_rows, progress_rows
from jobmon.views.status import health_text
from jobmon.views.tasks import (
    hidden_lines,
    history_rows,
    problem_rows,
    summary_rows,
    tasks_text,
    telemetry_rows,
    time_rows,
    unwatched_note,
)
from jobmon.views.trackers import tracker_rows
from jobmon_core.app.jobs.find import StateGroup
from jobmon_core.app.jobs.output import known_files
from jobmon_core.app.jobs.overview import detailed_tasks, end_text, ending_of, in_order
from jobmon_core.app.live.tasks import live_tasks
from jobmon_core.domain.backends import DEFAULT_BACKEND
from jobmon_core.domain.humanize import count, filled, joined, size, text_of
from jobmon_core.domain.job.job_progress import JobProgress
from jobmon_core.domain.job.tracking.model import Source
from jobmon_core.domain.logs.diagnosis.exit_causes import CANCELLED
from jobmon_core.domain.logs.diagnosis.patterns import CLEAN
from jobmon_core.domain.messages.scheduler_outage import current_outage
from jobmon_core.domain.node.triage.state import Thresholds
from jobmon_core.domain.slurm.job_ids import ref_of
from jobmon_core.domain.slurm.pending_reasons import pending_hint
from jobmon_core.domain.slurm.states import Outcome, Phase, stated_reason
from jobmon_core.lifecycle.health import Health

if TYPE_CHECKING:
    from collections.abc import Mapping

    from jobmon.views.console import Console, Lines, Rows
    from jobmon_core.app.live.tasks import LiveTask, TaskAgents
    from jobmon_core.domain.job.job_settings import Done, JobSettings
    from jobmon_core.domain.job.tracking.model import Task, WatchedJob
    from jobmon_core.domain.logs.diagnosis.model import Diagnosis
    from jobmon_core.domain.slurm.job_ids import JobRef
    from jobmon_core.lifecycle.health import JobStatus

    Row = tuple[str, str]


_NAME_WIDTH = 9
_INDENT = "  "
_QUOTE = "| "  # before a quoted line of a log or a result
# the order of the rows; those that are known are shown
_ROWS = (
    *("state", "as of", "outage", "outcome", "tasks", "causes", "pending", "problem"),
    *("launch", "launched", "progress", "ETA", "speed", "loss", "metrics"),
    *("tracker", "workers", "GPUs", "memory", "CPU", "agent"),
    *("log says", "verified", "outputs", "result", "disk", "events"),
    *("reason", "cause", "proof", "log end", "also seen", "changed", "known", "to do", "note", "your note"),
    "bundle",
    *("lineage", "decided", "submitted", "restarts", "started", "running", "ended", "limit"),
    *("peak RAM", "nodes", "log", "stdout", "stderr"),
    *("where", "folder", "script", "settings", "message", "muted", "ack", "monitor", "history"),
)
_NO_PROGRESS = JobProgress()
_TASKS_SHOWN = 10
_WHERE = {  # by backend
    "process": "a process of the machine, without a scheduler",
    "ssh": "host {cluster}, reached by ssh",
}
# rows whose value may be a path, which no line break may split
_PATHS = ("tracker", "proof", "log end", "bundle", "log", "stdout", "stderr", "folder", "script", "settings")


def detail_lines(
    status: JobStatus,
    key: str,
    now_s: float,
    console: Console,
    progress: JobProgress = _NO_PROGRESS,
    *,
    agents: Mapping[str, TaskAgents] = MappingProxyType({}),
    memory: tuple[Row, ...] = (),
    all_tasks: bool = False,
) -> Lines:
    """Yield the details of a job, or of its part ``key``; of several tasks a summary and the notable ones.

    ``agents`` are those of the running tasks, by key; ``memory`` are rows about what is not in its state.
    """
    job = status.job
    followed = [*live_tasks(status, progress, now_s, agents=agents)]
    live = {
        each.task.key: [*_progress(each, each.task.key, progress, now_s)] for each in followed if each.task
    }
    tasks = list(job.tasks.values())
    closing: Rows = chain(memory, _shared(job, progress, now_s), _closing(status, now_s))
    yield console.bold(f"{job.ref} {job.label}".rstrip())
    if all(ref_of(job.job_id, task.key) == job.ref for task in tasks):
        parts = (chain(_part(job, task, {}, now_s), live.get(task.key, [])) for task in tasks)
        histories = (history_rows(task, now_s) for task in tasks)
        heading = chain([("state", _state(job))], _hindrances(status, now_s))
        yield from _drawn(chain(heading, *parts, closing, *histories), console)
        return
    if key or len(tasks) == 1:
        yield from _drawn(_hindrances(status, now_s), console)
        shown = [task for task in tasks if not key or task.key == key]
        closing = chain([("tasks", tasks_text(job))], closing)
    else:
        rows = chain(summary_rows(job), array_rows(followed, now_s), _hindrances(status, now_s))
        yield from _drawn(rows, console)
        shown = in_order(tasks) if all_tasks else detailed_tasks(job, _TASKS_SHOWN)
    yield from _task_lines(job, shown, live, now_s, console)
    if not key and not all_tasks:
        yield from hidden_lines(job, len(shown), console)
    yield ""
    yield console.bold(f"{job.job_id}: the whole job")
    yield from _drawn(closing, console)


def _progress(live: LiveTask, key: str, progress: JobProgress, now_s: float) -> Rows:
    yield from problem_rows(live, now_s)
    yield from progress_rows(live, now_s)
    yield from tracker_rows(live, now_s)
    yield from telemetry_rows(live, now_s)
    if key in progress.artifacts:
        yield from artifacts_rows(live.artifacts, now_s, is_running=live.group is StateGroup.RUNNING)


def _shared(job: WatchedJob, progress: JobProgress, now_s: float) -> Rows:
    if "" in progress.artifacts and "" not in job.tasks:
        yield from artifacts_rows(progress.artifacts[""], now_s, is_running=not job.ended)


def _task_lines(
    job: WatchedJob, tasks: list[Task], live: Mapping[str, list[Row]], now_s: float, console: Console
) -> Lines:
    explained: dict[str, JobRef] = {}
    for task in tasks:
        ref = ref_of(job.job_id, task.key)
        job_id = f" (job id {task.raw_job_id})" if len(tasks) == 1 and task.raw_job_id else ""
        yield from ("", *console.heading(f"{ref}{job_id}: {_task_state(task)}"))
        parts = _part(job, task, explained, now_s), live.get(task.key, [])
        yield from _drawn(chain(*parts, history_rows(task, now_s)), console)
        if task.diagnosis and task.diagnosis.cause:
            explained.setdefault(task.diagnosis.title, ref)


def _task_state(task: Task) -> str:
    if task.end:
        return end_text(task.end)
    text = task_state(task) if task.raw_state else "not listed"
    if task.state.phase is Phase.WAITING and (reason := stated_reason(task.reason)):
        return f"{text} ({reason})"
    return text


def _drawn(pairs: Rows, console: Console) -> Lines:
    """Yield names and values as lines, in the order of `_ROWS`."""
    last = ""
    for name, value in sorted(pairs, key=lambda pair: _ROWS.index(pair[0])):
        before = f"{_INDENT}{'' if name == last else name:<{_NAME_WIDTH}} "
        last = name
        if name in _PATHS and value.startswith("/"):
            yield from console.path(value, before, _INDENT * 2)
            continue
        draw = console.advice if name == "to do" else console.prose
        margin = f"{_QUOTE}   " if value.startswith(_QUOTE) else ""  # indents the rest of a long line
        yield from draw(value, before, " " * len(before) + margin)


def _hindrances(status: JobStatus, now_s: float) -> Rows:
    job = status.job
    if not job.closed:
        yield from _reason(pending_reason(job), job.ref)
    if not job.closed and job.answered_s is not None:
        yield "as of", f"{clock(job.answered_s, now_s)}, {span(now_s - job.answered_s)} ago"
    if status.health.is_lost:
        yield "to do", "Run `jobmon recover`: it restarts the monitor."
    if not job.closed and (outage := current_outage(job)):
        who = "accounting (sacct)" if outage.only_accounting else "the scheduler"
        since = clock(outage.since_s, now_s)
        yield "outage", f"{who} has not answered since {since}: {outage.why or 'no error text'}"


def _state(job: WatchedJob) -> str:
    if job.answered_s is None and not job.closed and not job.tasks:
        if job.stale_since_s is None:
            return "submitted, not yet listed"
        return "unknown"
    ends = [task.end for task in job.tasks.values()]
    text = end_text(ends[0]) if len(ends) == 1 and ends[0] else state(job)
    reason = pending_reason(job)
    return text + (filled(" ({})", reason)) + unwatched_note(job)


def _reason(reason: str, ref: JobRef) -> Rows:
    if hint := pending_hint(reason):
        yield "reason", f"It {hint.problem}."
        yield "reason" if hint.starts_by_itself else "to do", hint.advice.replace("JOBID", str(ref))


def _closing(status: JobStatus, now_s: float) -> Rows:
    job = status.job
    where = _WHERE.get(job.backend, "cluster {cluster}" if job.cluster else job.backend)
    partition = filled("partition {}", job.partition)
    yield "where", joined(where.format(cluster=job.cluster), partition)
    if job.workdir:
        yield "folder", job.workdir
    if job.command:
        yield "script", job.command
    if job.settings:
        yield from (("settings", row) for row in settings_rows(job.settings))
    # the title of the only message would repeat what the screen shows above
    has_titles = len({entry.message.id for entry in job.outbox}) > 1
    for entry in job.outbox:
        text = delivery(entry, now_s)
        if hint := advice(entry, status):
            text += f"; {hint}"
        yield "message", f'"{entry.message.title}": {text}' if has_titles else text
    process = ""
    if status.owner and status.health is not Health.DONE:
        process = f"process {status.owner.pid} on {status.owner.host}"
    yield "monitor", joined(health_text(status), process)


def _part(job: WatchedJob, task: Task, explained: Mapping[str, JobRef], now_s: float) -> Rows:
    """Yield what is known of a task; ``explained``: which task explains a cause."""
    ref = ref_of(job.job_id, task.key)
    files = _files(job, task)
    if ref != job.ref and not task.end:
        yield from _reason(task.reason, ref)
    yield from _outcome(job, task)
    found = task.diagnosis
    if found and found.title in explained:
        yield "cause", f"{found.headline}; explained at {explained[found.title]}"
    elif found:
        is_in_state = found.cause == CANCELLED and task.end and task.end.cancelled_by is not None
        yield from _diagnosis(found, ref, files, with_cause=not is_in_state)
    elif task.end and task.end.outcome is Outcome.FAILURE and job.outcome is None:
        yield "cause", f"not analysed until all tasks have ended; now: `jobmon diagnose {ref}`"
    if found:
        yield from end_rows(found)
        yield from (("tracker", text) for text in filter(None, [found.tracker_says]))
    if task.end and task.end.why:
        yield "note", task.end.why
    yield from time_rows(job, task, now_s)
    yield from _resources(task)
    yield from files.items()


def _outcome(job: WatchedJob, task: Task) -> Rows:
    if task.end:
        doubt = f"but doubtful: {why_doubtful(task.diagnosis)}" if task.is_doubtful_success else ""
        yield "outcome", joined(task.end.outcome, _source(job, task.end.source), doubt)
    elif ending := ending_of(task):
        yield "outcome", ending.text


def _source(job: WatchedJob, source: Source) -> str:
    """Return which source shows an end; empty if Slurm itself reports it, as everybody expects."""
    if job.backend == DEFAULT_BACKEND and source not in (Source.ARRAY, Source.NONE):
        return ""
    return job.source_phrase(source)


def _diagnosis(found: Diagnosis, ref: JobRef, files: Mapping[str, str], *, with_cause: bool) -> Rows:
    if with_cause and found.label != CLEAN:
        for text in (found.headline.removeprefix("Cause "), explanation(found)):  # the row is named "cause"
            if text:
                yield "cause", text
    label = "proof" if found.is_proved else "log end"
    if found.evidence and found.log_path:  # a path that another row shows is not repeated
        listed = next((name for name, path in files.items() if path == found.log_path), "")
        yield label, f"from the {listed} (`jobmon logs {ref}` shows more):" if listed else found.log_path
    for line in found.evidence:
        yield label, f"{_QUOTE}{numbered(line)}"
    for title in found.also_seen:
        yield "also seen", title
    if found.advice:
        yield "to do", found.advice.replace("JOBID", str(ref))
    if found.note:
        yield "note", found.note


def _resources(task: Task) -> Rows:
    if task.end and task.end.usage.max_rss_bytes:
        used, requested = size(task.end.usage.max_rss_bytes), task.end.usage.requested_bytes
        if requested and task.peak_was_missed:
            yield "peak RAM", f"over the {size(requested)} requested ({used} when last sampled)"
        else:
            yield "peak RAM", used + (f" of {size(requested)} requested" if requested else "")
    if nodes := (task.end.nodes if task.end else task.nodes):
        yield "nodes", nodes


def _files(job: WatchedJob, task: Task) -> dict[str, str]:
    files = known_files(job, task)
    if not files and task.diagnosis and task.diagnosis.log_path:
        files = [task.diagnosis.log_path]
    if len(files) > 1:
        return dict(zip(("stdout", "stderr"), files, strict=False))
    return dict(zip(["log"], files, strict=False))


def settings_rows(settings: JobSettings) -> Lines:
    """Yield where the settings come from, and what they say."""
    yield from filter(None, (settings.source, ", ".join(_parts(settings))))


def _parts(settings: JobSettings) -> Lines:
    named = {
        "name": settings.name,
        "workers": settings.num_workers,
        "GPUs": ",".join(map(str, settings.gpu_ids)),
        "items": settings.total_items,
        "output": _path(settings.output_dir, settings.output_pattern),
        "logs": settings.log_files,
        "checkpoints": _path(settings.checkpoint_dir, settings.checkpoint_pattern),
        "expected outputs": settings.expected_outputs,
        "results": ", ".join(settings.results),
        "progress patterns": len(settings.progress_patterns) or None,
        "error patterns": len(settings.error_patterns) or None,
        "check every": text_of(settings.check_interval_s, span),
        "progress message every": text_of(settings.progress_every_s, span),
        "launch timeout": text_of(settings.launch_timeout_s, span),
        "stall timeout": text_of(settings.stall_timeout_s, span),
        "slowdown warning at": settings.slowdown_percent and f"-{settings.slowdown_percent:g}%",
        "minimum output growth": settings.min_growth_bytes and f"{size(settings.min_growth_bytes)} per check",
        "done": _done(settings.done),
        "at the notice of a cloud": settings.on_notice,
        "tracker": settings.track and ", ".join(settings.track.places.values()),
    }
    for name, value in named.items():
        if isinstance(value, int):
            yield count(value, name.removesuffix("s"))
        elif value:
            yield f"{name} {value}"
    if settings.chain:
        yield f"stage {settings.chain.number} of {settings.chain.total} of a chain"
    if settings.stacks_on_stall:
        yield "stacks on stall"
    if settings.no_agent:
        yield "no agent"
    if settings.thresholds != Thresholds():
        yield "custom thresholds"


def _path(folder: str, pattern: str) -> str:
    return "/".join(filter(None, (folder, pattern)))


def _done(done: Done | None) -> str:
    """Return what shows that the job is done, e.g. ``marker /a/DONE and log /finished/``."""
    if done is None:
        return ""
    parts = {"marker": done.marker, "log": done.log and f"/{done.log}/", "artifact": done.artifact}
    return " and ".join(f"{name} {value}" for name, value in parts.items() if value)
