"""The section of a handover page about one job."""

from __future__ import annotations

import re
import shlex
from typing import TYPE_CHECKING

from jobmon.views.model import age, cause, doubt, elapsed, failed_task, pending_text, stamp, state
from jobmon.views.running import job_progress
from jobmon.views.tasks import unwatched_note
from jobmon_core.app.jobs.find import StateGroup, group_of
from jobmon_core.app.jobs.overview import in_order, may_still_run
from jobmon_core.domain.backends import DEFAULT_BACKEND, is_local
from jobmon_core.domain.humanize import count, size
from jobmon_core.domain.many.provenance.model import ScriptKind
from jobmon_core.domain.many.provenance.script_references import without_values
from jobmon_core.domain.slurm.states import Outcome
from jobmon_core.domain.visible_text import in_markdown, one_line

if TYPE_CHECKING:
    from collections.abc import Iterator

    from jobmon_core.app.handover_facts import HandoverJob
    from jobmon_core.domain.artifacts.checkpoints.model import FoundCheckpoints
    from jobmon_core.domain.artifacts.model import Outputs
    from jobmon_core.domain.job.tracking.model import WatchedJob

_TIME = "%Y-%m-%d %H:%M"
_MAX_FAILED = 8  # tasks that are named


def job_section(entry: HandoverJob, now_s: float) -> Iterator[str]:
    """Yield what is known, then how to look, stop and resume."""
    job = entry.job
    yield from part(f"## Job {in_markdown(f'{job.ref} {job.name}')}: {state(job)}{unwatched_note(job)}")
    yield from (f"- {label}: {text}" for label, text in _facts(entry, now_s) if text)
    for quote in entry.view.files.results:
        yield from part(f"- result {code(quote.name)}:")
        yield from _fenced("text", quote.text.split("\n"))
    yield from ("", "Look:", "")
    yield from shell(*_look(entry))
    yield from _stop(entry)
    yield from _resume(entry)


def _facts(entry: HandoverJob, now_s: float) -> Iterator[tuple[str, str]]:
    job = entry.job
    yield "time", f"{elapsed(job, now_s)} (elapsed/limit)"
    yield "nodes", ", ".join(dict.fromkeys(task.nodes for task in job.tasks.values() if task.nodes))
    ended_s = _ended_s(entry)
    yield "ended", stamp(ended_s, _TIME) if ended_s else ""
    yield "cause", in_markdown(cause(job))
    yield "doubt", in_markdown(doubt(job))
    yield "pending", pending_text(job)
    tasks = []
    if len(job.tasks) > 1:
        tasks = in_order([*job.tasks.values()])
    failed = [task for task in tasks if task.end and task.end.outcome is Outcome.FAILURE]
    for task in failed[:_MAX_FAILED]:
        yield "failed", in_markdown(failed_task(job, task))
    if len(failed) > _MAX_FAILED:
        yield "failed", f"{count(len(failed) - _MAX_FAILED, 'more task')}"
    yield "progress", job_progress(entry.view.status, entry.view.progress, now_s)
    for live in entry.view.tasks:
        yield from (("wrong now", in_markdown(event.text)) for event in live.ongoing)
    yield "submitted", _submitted(entry)
    yield "script", code(job.command) if job.command else ""
    yield "logs", ", ".join(map(code, entry.logs))
    yield from _files(entry, now_s)
    for found in entry.checkpoints:
        yield from _checkpoints(found, now_s)
    for note in entry.notes:
        yield f"note of {stamp(note.at_s, _TIME)}", in_markdown(note.text)


def _ended_s(entry: HandoverJob) -> int | None:
    """Return when the last task ended, if all have."""
    ends = [task.end for task in entry.job.tasks.values()]
    if not entry.job.ended or not all(ends):
        return None
    return max((end.ended_s or 0 for end in ends if end), default=0) or None


def _submitted(entry: HandoverJob) -> str:
    record = entry.record
    if record is None or record.arguments_hidden:
        if entry.job.workdir:
            return f"in {code(entry.job.workdir)}"
        return ""
    is_command = record.script is not None and record.script.kind is ScriptKind.COMMAND
    arguments = record.arguments if is_command else without_values(record.arguments)
    backend = ["--backend", entry.job.backend]
    if entry.job.backend == DEFAULT_BACKEND:
        backend = []
    words = ("jobmon", "run", "--") if is_command else ("jobmon", "submit", *backend)
    if arguments:
        return f"{code(shlex.join((*words, *arguments)))} in {code(record.folder)}"
    return ""


def _files(entry: HandoverJob, now_s: float) -> Iterator[tuple[str, str]]:
    expected = None
    if entry.job.settings:
        expected = entry.job.settings.expected_outputs
    for artifacts in entry.view.progress.artifacts.values():
        if outputs := artifacts.outputs:
            yield "outputs", _outputs(outputs, expected)
        if artifacts.disk:
            looked = age(max(0.0, now_s - artifacts.looked_s))
            yield "disk", f"{size(artifacts.disk.free_bytes)} free, {looked} ago"
    for sign, is_seen in entry.view.files.markers.items():
        yield "sign that it is done", f"{code(sign)} ({'seen' if is_seen else 'not seen yet'})"


def _outputs(outputs: Outputs, expected: int | None) -> str:
    if outputs.problem:
        return f"{in_markdown(outputs.problem)}: {code(outputs.folder)}"
    number = f"{outputs.count:,} of {count(expected, 'file')}" if expected else count(outputs.count, "file")
    at_least = ""
    if outputs.is_partial:
        at_least = "at least "
    return f"{at_least}{number}, {size(outputs.total.size_bytes)}, in {code(outputs.folder)}"


def _checkpoints(found: FoundCheckpoints, now_s: float) -> Iterator[tuple[str, str]]:
    if not found.checkpoints:
        yield "checkpoints", f"in {code(found.place)}: {one_line(found.problem)}"
        return
    best = found.newest_complete
    at_least = ""
    if found.is_partial:
        at_least = "at least "
    number = count(len(found.checkpoints), "checkpoint")
    yield "checkpoints", f"{at_least}{number} in {code(found.place)}"
    if best is None:
        yield "newest complete checkpoint", "none"
        return
    label = "newest checkpoint, not certain to be complete"
    if best.is_complete:
        label = "newest complete checkpoint"
    step = "" if best.step is None else f"step {best.step}, "
    yield label, f"{code(f'{found.folder}/{best.path}')} ({step}saved {age(now_s - best.saved_s)} ago)"
    if best.resume:
        yield "how a program resumes from it", code(best.resume)


def _look(entry: HandoverJob) -> Iterator[str]:
    ref = entry.job.ref
    yield f"jobmon show {ref}          # everything known about it"
    if entry.logs:
        yield f"jobmon logs -n 50 {ref}    # the end of its output; -f follows it"
    yield from entry.look
    if any(each.checkpoints for each in entry.checkpoints):
        yield f"jobmon checkpoints {ref}"
    if group_of(entry.job) is StateGroup.PENDING:
        yield f"jobmon why {ref}           # why it is pending, and what to do"
    elif entry.job.closed:
        yield f"jobmon diagnose {ref}      # {_purpose_of_diagnose(entry.job)}"


def _purpose_of_diagnose(job: WatchedJob) -> str:
    if job.outcome is None:
        return "whether it still runs, and what its log shows"
    if job.outcome is Outcome.FAILURE:
        return "why it failed, with the proof and what to do"
    if job.outcome is Outcome.UNKNOWN:
        return "what its log shows"
    return "how it ended, with the proof"


def _stop(entry: HandoverJob) -> Iterator[str]:
    if not entry.stop:
        return
    owner, backend = entry.view.status.owner, entry.job.backend
    where = ""
    if owner and is_local(backend):
        where = f", on {owner.host}"
    status = f"`jobmon status {entry.job.ref}`"
    yield from part(f"Stop the job{where}:")
    if is_local(backend):
        yield from part(f"First check with {status} that it still runs: its process may be gone.")
    yield from shell(*entry.stop)
    yield from part(f"{status} then shows that it ended. `jobmon cancel` only stops the watching.")


def _resume(entry: HandoverJob) -> Iterator[str]:
    resume = entry.resume
    if not resume.command:
        yield from part(f"Resume: {one_line(resume.note)}")
        return
    yield from part(_resume_heading(entry.job))
    if entry.job.outcome is Outcome.FAILURE:
        yield from part("First fix what made it fail; otherwise it may fail again at the same point.")
    yield from _fenced("sh", [resume.command])
    if resume.command.startswith(("jobmon rerun", "jobmon restart")):
        yield (
            "It shows what it submits, and asks first; `--yes` answers for you. The new job has its own"
            " id; use that with the other commands."
        )
    if resume.note:
        yield f"Note: {one_line(resume.note)}"
    if entry.waits_for and resume.command.startswith("jobmon rerun"):
        jobs = ", ".join(each.job for each in entry.waits_for)
        yield f"It waits for {jobs} again; add `--dependency=...` with another job if one of them failed."
    if entry.checkpoints and not resume.command.startswith("jobmon restart"):
        yield (
            "It runs the same command again and passes no checkpoint to it. Check whether the script, or the"
            " program that it starts, looks for the newest checkpoint by itself. If not, have"
            f" the script name the newest complete one, which `jobmon checkpoints {entry.job.ref}` shows."
            " Once the new job runs, `jobmon logs` shows whether it goes on from there."
        )
    yield ""


def _resume_heading(job: WatchedJob) -> str:
    if not may_still_run(job):
        return "Resume:"
    if not job.closed:
        return "Resume, but only after it has ended (else it runs twice):"
    why = "does not watch it any more"
    if job.outcome:
        why = "found no proof that it has"
    return f"Resume, but only if it has ended (else it runs twice): jobmon {why}."


def part(*lines: str) -> Iterator[str]:
    """Yield the lines of a heading or a paragraph, and an empty line."""
    yield from (*lines, "")


def code(text: str) -> str:
    """Return a text as inline code."""
    text = one_line(text)
    ticks = "`" * (_longest_ticks(text) + 1)
    if "`" in text:
        return f"{ticks} {text} {ticks}"
    return f"`{text}`"


def shell(*commands: str) -> Iterator[str]:
    """Yield commands as a block to be copied into a shell, and an empty line."""
    yield from part(*_fenced("sh", commands))


def _fenced(language: str, lines: list[str] | tuple[str, ...]) -> Iterator[str]:
    fence = "`" * max(3, *(_longest_ticks(line) + 1 for line in lines), 0)
    yield f"{fence}{language}"
    yield from lines
    yield fence


def _longest_ticks(text: str) -> int:
    return max(map(len, re.findall("`+", text)), default=0)
