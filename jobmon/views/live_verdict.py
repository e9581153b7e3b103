"""What is wrong with a running job, and where its processes are, as text for a person and as JSON."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from jobmon.views.console import Style, one_line

if TYPE_CHECKING:
    from collections.abc import Iterator

    from jobmon.views.console import Console
    from jobmon_core.app.diagnose import Subject
    from jobmon_core.app.live.verdict import LiveVerdict
    from jobmon_core.domain.triage.situation import Verdict
    from jobmon_core.domain.triage.stacks import StackReport

_INDENT = "  "
_MAX_FRAMES = 12  # of one process


def live_json(live: LiveVerdict, subject: Subject) -> dict[str, Any]:
    """Return the documented object ``live`` of ``jobmon diagnose --json``."""
    return {
        **_verdict_json(live.verdict, subject),
        "others": [_verdict_json(verdict, subject) for verdict in live.others],
        "unseen": list(live.unseen),
    }


def _verdict_json(verdict: Verdict, subject: Subject) -> dict[str, Any]:
    return {
        "verdict": verdict.name,
        "title": verdict.title,
        "text": verdict.text,
        "critical": verdict.is_critical,
        "since": int(verdict.since_s),
        "evidence": list(verdict.evidence),
        "advice": _advice(verdict, subject),
    }


def live_lines(live: LiveVerdict, heading: str, subject: Subject, console: Console) -> Iterator[str]:
    """Yield the verdict about a running job, its evidence and advice, other verdicts, what was not seen."""
    verdict = live.verdict
    yield from (console.styled(line, Style.BOLD) for line in console.prose(verdict.title))
    yield from console.prose(f"{heading}; {verdict.text}")
    if verdict.evidence:
        yield from ("", "Signs:")
        for line in verdict.evidence:
            yield from console.prose(line, _INDENT, _INDENT * 2)
    if verdict.advice:
        yield from ("", "What to do:", *console.advice(_advice(verdict, subject), _INDENT))
    others = [f"Also: {other.title.lower()} ({other.text})" for other in live.others]
    if others or live.unseen:
        yield ""
    for line in others:
        yield from console.prose(line)
    if live.unseen:
        yield from console.prose(f"Not seen: {'; '.join(live.unseen)}")


def _advice(verdict: Verdict, subject: Subject) -> str:
    return verdict.advice.replace("JOBID", str(subject.ref))


def stacks_json(report: StackReport) -> dict[str, Any]:
    """Return the documented object ``stacks`` of ``jobmon diagnose --stacks --json``."""
    return {
        "text": report.comparison.text,
        "odd": list(report.comparison.odd),
        "processes": [
            {"node": each.node, "pid": each.pid, "rank": each.rank, "frames": list(each.frames)}
            for each in report.stacks
        ],
        "dumps": list(report.dumps),
        "problems": list(report.problems),
    }


def stack_lines(report: StackReport, console: Console) -> Iterator[str]:
    """Yield how the ranks differ, each stack once with its processes, flight recorder dumps and problems."""
    yield from ("", "Stacks:")
    if report.comparison.text:
        yield from console.prose(report.comparison.text, _INDENT, _INDENT * 2)
    groups: dict[tuple[str, ...], list[str]] = {}
    for stack in report.stacks:
        if stack.frames:
            groups.setdefault(stack.frames, []).append(f"{stack.name} on {stack.node} (PID {stack.pid})")
    for frames, names in groups.items():
        yield from console.prose(f"{', '.join(names)}:", _INDENT, _INDENT * 2)
        yield from (f"{_INDENT * 2}{one_line(frame)}" for frame in frames[:_MAX_FRAMES])
        if len(frames) > _MAX_FRAMES:
            yield f"{_INDENT * 2}... and {len(frames) - _MAX_FRAMES} more"
    for dump in report.dumps:
        yield f"{_INDENT}Flight recorder: {one_line(dump)}"
    for problem in report.problems:
        yield from console.prose(problem, _INDENT, _INDENT * 2)
