"""The handover page, in Markdown: with it alone, a stranger can look at, resume and stop each job."""

from __future__ import annotations

import re
import shlex
from typing import TYPE_CHECKING

from jobmon.views.artifacts import at_least, saved_text
from jobmon.views.model import age, cause, doubt, elapsed, failed_task, pending_text, stamp, state
from jobmon.views.running import job_progress
from jobmon.views.tasks import unwatched_note
from jobmon_core import __version__
from jobmon_core.app.jobs.find import StateGroup, group_of
from jobmon_core.app.jobs.overview import in_order, may_still_run
from jobmon_core.domain.backends import DEFAULT_BACKEND, is_local
from jobmon_core.domain.humanize import count, size
from jobmon_core.domain.many.provenance.model import ScriptKind
from jobmon_core.domain.many.provenance.script_references import without_values
from jobmon_core.domain.redaction import redacted
from jobmon_core.domain.slurm.states import Outcome
from jobmon_core.domain.visible_text import in_markdown, one_line

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from jobmon.views.console import Lines, Rows
    from jobmon_core.app.handover_facts import Handover, HandoverJob
    from jobmon_core.domain.artifacts.checkpoints.model import FoundCheckpoints
    from jobmon_core.domain.artifacts.model import Outputs
    from jobmon_core.domain.job.job_settings import ChainStage
    from jobmon_core.domain.job.tracking.model import WatchedJob
    from jobmon_core.domain.many.groups.model import Group


_MAX_DONE = 20


def handover_page(found: Handover, setup: Sequence[str]) -> str:
    """Return the whole page, without secrets; ``setup`` makes its commands work in a new shell."""
    return redacted("\n".join(map(one_line, _page(found, setup)))) + "\n"


def _page(found: Handover, setup: Sequence[str]) -> Lines:
    yield from part(f"# Handover: the jobs of {found.user}")
    at = stamp(found.at_s, "%Y-%m-%d %H:%M %Z")
    has_unwatched = any(group_of(job.job) is StateGroup.UNWATCHED for job in found.jobs)
    but = ", except those marked `no longer watched`" if has_unwatched else ""
    yield from part(
        f"jobmon {__version__} wrote this page on {at}. A monitor, a process of jobmon, watches each job"
        f" below that has not ended{but}, and sends a message when it ends or stops making progress. The"
        " states are those of that time; the first commands show how things are now."
    )
    if found.no_messages:
        yield from part(f"**Messages do not arrive:** {found.no_messages}. Look at `jobmon status` instead.")
    yield from _first_commands(found, setup)
    yield from _overview(found)
    yield from _order(found.jobs)
    yield from _groups(found.groups)
    for job in found.jobs:
        yield from job_section(job, found.at_s)
    yield from _done(found)


def _first_commands(found: Handover, setup: Sequence[str]) -> Lines:
    open_jobs = [each.view.status for each in found.jobs if not each.job.finished]
    hosts = {status.owner.host for status in open_jobs if status.owner}
    yield from part("## The first commands")
    yield from part(f"Log in on {' or '.join(sorted(hosts or {found.host}))} as {found.user}, then:")
    yield from shell(
        *setup,
        "jobmon recover    # restarts monitors that died, e.g. in a reboot; safe at any time",
        "jobmon status     # the list of jobs, those of the last days included",
        "jobmon patrol     # only what has changed since you last ran it; does not affect scheduled patrols",
    )
    acts = any(group.settings.then or group.settings.hold_when_broken for group in found.groups)
    lost = "the messages stop, and `--then` and `--hold-when-broken` of groups do nothing"
    yield from part(
        "The other commands on this page need the lines above `jobmon recover`, too. `jobmon help COMMAND`"
        " explains a command. The jobs run without jobmon: if it stops,"
        f" {lost if acts else 'only the messages stop'}."
    )
    for problem in found.problems:
        yield from part(f"**Not known:** {problem}")


def _overview(found: Handover) -> Lines:
    yield from part("## The jobs")
    if not found.jobs:
        yield from part("No job is running, pending or failed.")
        return
    yield "| job | name | state | progress |"
    yield "|---|---|---|---|"
    for job in found.jobs:
        shown = job_progress(job.view.status, job.view.progress, found.at_s)
        cells = (str(job.job.ref), job.job.name, state(job.job), shown)
        yield f"| {' | '.join(in_markdown(each) or '-' for each in cells)} |"
    yield ""


def _order(jobs: Sequence[HandoverJob]) -> Lines:
    names = {str(job.job.job_id): job.job.name for job in jobs}
    jobs = [job for job in jobs if not job.job.closed]
    waiting = [(job, each) for job in jobs for each in job.waits_for]
    stages = [(job, job.job.settings and job.job.settings.chain) for job in jobs]
    chained = [(job, stage) for job, stage in stages if stage]
    if not waiting and not chained:
        return
    yield from part("## What waits for what")
    for job, each in waiting:
        other = in_markdown(f"{each.job} {names.get(each.job.partition('_')[0], '')}")
        yield f"- {_title(job)} starts when {other} {each.condition}."
    for job, stage in chained:
        yield f"- {_stage(job, stage, chained)}."
    yield ""
    never = "If a job fails, those that wait for its success never start."
    yield from part(f"{never} Cancel them, or resume the chain.")


def _stage(job: HandoverJob, stage: ChainStage, chained: Sequence[tuple[HandoverJob, ChainStage]]) -> str:
    text = f"{_title(job)} is stage {stage.number} of {stage.total} of a chain"
    if before := _before(job, stage, chained):
        text += f", and starts when {_title(before)} has succeeded"
    if stage.later:
        text += f"; after it: {', '.join(map(code, stage.later))}"
    return text


def _before(
    job: HandoverJob, stage: ChainStage, chained: Sequence[tuple[HandoverJob, ChainStage]]
) -> HandoverJob | None:
    """Return the job of the previous stage: the newest earlier one whose next stage is this one."""
    later = (stage.stage, *stage.later)
    earlier = [each for each, its in chained if its.later == later and each.job.job_id < job.job.job_id]
    return max(earlier, key=lambda each: each.job.job_id, default=None)


def _groups(groups: Iterable[Group]) -> Lines:
    groups = list(groups)
    if not groups:
        return
    yield from part("## Groups of jobs")
    for group in groups:
        log = f"; its log: {code(group.log.path)}" if group.log.path else ""
        yield f"- {code(group.name)} has {count(len(group.members), 'run')}{log}"
    yield ""
    yield from shell(*(f"jobmon group status {group.name}" for group in groups))


def _done(found: Handover) -> Lines:
    if not found.done:
        return
    yield from part("## Completed")
    for status in found.done[-_MAX_DONE:]:
        yield f"- {in_markdown(f'{status.job.ref} {status.job.name}')}"
    if len(found.done) > _MAX_DONE:
        yield f"- and {len(found.done) - _MAX_DONE:,} earlier ones: `jobmon status`"
    yield ""


def _title(job: HandoverJob) -> str:
    return in_markdown(f"{job.job.ref} {job.job.name}")


_TIME = "%Y-%m-%d %H:%M"
_MAX_FAILED = 8  # tasks that are named


def job_section(entry: HandoverJob, now_s: float) -> Lines:
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


def _facts(entry: HandoverJob, now_s: float) -> Rows:
    job = entry.job
    yield "time", f"{elapsed(job, now_s)} (elapsed/limit)"
    yield "nodes", ", ".join(dict.fromkeys(task.nodes for task in job.tasks.values() if task.nodes))
    ended_s = _ended_s(entry)
    yield "ended", stamp(ended_s, _TIME) if ended_s else ""
    yield "cause", in_markdown(cause(job))
    yield "doubt", in_markdown(doubt(job))
    yield "pending", pending_text(job)
    if len(job.tasks) > 1:
        yield from (("failed", text) for text in _failed_tasks(job))
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


def _failed_tasks(job: WatchedJob) -> Lines:
    tasks = in_order([*job.tasks.values()])
    failed = [task for task in tasks if task.end and task.end.outcome is Outcome.FAILURE]
    yield from (in_markdown(failed_task(job, task)) for task in failed[:_MAX_FAILED])
    if len(failed) > _MAX_FAILED:
        yield count(len(failed) - _MAX_FAILED, "more task")


def _ended_s(entry: HandoverJob) -> int | None:
    """Return when the last task ended, if all have."""
    ends = [task.end for task in entry.job.tasks.values() if task.end]
    if not entry.job.ended or len(ends) < len(entry.job.tasks):
        return None
    return max((end.ended_s or 0 for end in ends), default=0) or None


def _submitted(entry: HandoverJob) -> str:
    record = entry.record
    if record is None or record.arguments_hidden:
        return f"in {code(entry.job.workdir)}" if entry.job.workdir else ""
    arguments, words = record.arguments, ["jobmon", "run", "--"]
    if record.script is None or record.script.kind is not ScriptKind.COMMAND:
        arguments, words = without_values(record.arguments), ["jobmon", "submit"]
        if entry.job.backend != DEFAULT_BACKEND:
            words += ["--backend", entry.job.backend]
    if arguments:
        return f"{code(shlex.join((*words, *arguments)))} in {code(record.folder)}"
    return ""


def _files(entry: HandoverJob, now_s: float) -> Rows:
    for artifacts in entry.view.progress.artifacts.values():
        if outputs := artifacts.outputs:
            yield "outputs", _outputs(outputs, entry.job.own_settings.expected_outputs)
        if artifacts.disk:
            looked = age(max(0.0, now_s - artifacts.looked_s))
            yield "disk", f"{size(artifacts.disk.free_bytes)} free, {looked} ago"
    for sign, is_seen in entry.view.files.markers.items():
        yield "sign that it is done", f"{code(sign)} ({'seen' if is_seen else 'not seen yet'})"


def _outputs(outputs: Outputs, expected: int | None) -> str:
    if outputs.problem:
        return f"{in_markdown(outputs.problem)}: {code(outputs.folder)}"
    number = f"{outputs.count:,} of {count(expected, 'file')}" if expected else count(outputs.count, "file")
    return f"{at_least(outputs)}{number}, {size(outputs.total.size_bytes)}, in {code(outputs.folder)}"


def _checkpoints(found: FoundCheckpoints, now_s: float) -> Rows:
    if not found.checkpoints:
        yield "checkpoints", f"in {code(found.place)}: {one_line(found.problem)}"
        return
    best = found.newest_complete
    number = count(len(found.checkpoints), "checkpoint")
    yield "checkpoints", f"{at_least(found)}{number} in {code(found.place)}"
    if best is None:
        yield "newest complete checkpoint", "none"
        return
    certain, uncertain = "newest complete checkpoint", "newest checkpoint, not certain to be complete"
    path = code(f"{found.folder}/{best.path}")
    yield certain if best.is_complete else uncertain, f"{path} ({saved_text(best, now_s)})"
    if best.resume:
        yield "how a program resumes from it", code(best.resume)


def _look(entry: HandoverJob) -> Lines:
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


def _stop(entry: HandoverJob) -> Lines:
    if not entry.stop:
        return
    owner, is_here = entry.view.status.owner, is_local(entry.job.backend)
    where = f", on {owner.host}" if owner and is_here else ""
    status = f"`jobmon status {entry.job.ref}`"
    yield from part(f"Stop the job{where}:")
    if is_here:
        yield from part(f"First check with {status} that it still runs: its process may be gone.")
    yield from shell(*entry.stop)
    yield from part(f"{status} then shows that it ended. `jobmon cancel` only stops the watching.")


def _resume(entry: HandoverJob) -> Lines:
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
    why = "found no proof that it has" if job.outcome else "does not watch it any more"
    return f"Resume, but only if it has ended (else it runs twice): jobmon {why}."


def part(*lines: str) -> Lines:
    """Yield the lines of a heading or a paragraph, and an empty line."""
    yield from (*lines, "")


def code(text: str) -> str:
    """Return a text as inline code."""
    text = one_line(text)
    ticks = "`" * (_longest_ticks(text) + 1)
    return f"{ticks} {text} {ticks}" if "`" in text else f"`{text}`"


def shell(*commands: str) -> Lines:
    """Yield commands as a block to be copied into a shell, and an empty line."""
    yield from part(*_fenced("sh", commands))


def _fenced(language: str, lines: list[str] | tuple[str, ...]) -> Lines:
    fence = "`" * max(3, *(_longest_ticks(line) + 1 for line in lines), 0)
    yield f"{fence}{language}"
    yield from lines
    yield fence


def _longest_ticks(text: str) -> int:
    return max(map(len, re.findall("`+", text)), default=0)
