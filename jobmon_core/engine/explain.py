"""Explain the end of a job: read its logs, match them, judge. Whatever a log holds, there is an answer."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from jobmon_core.domain.diagnosis import SURE, Diagnosis, claim, diagnose, find_root
from jobmon_core.domain.errors import PatternsInvalid
from jobmon_core.domain.webhook import mask_webhooks
from jobmon_core.observe.logtail import LogTail, read_tail
from jobmon_core.observe.matcher import Matcher
from jobmon_core.observe.patterns import load_rules

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from jobmon_core.domain.evidence import SlurmEvidence
    from jobmon_core.domain.rules import Finding, Line, Rule

_NAMELESS = "the path of the log is not known"


def explain(
    evidence: SlurmEvidence, stdout_path: str, stderr_path: str, user_patterns: Path | None = None
) -> Diagnosis:
    """Say why a job ended as it did.

    stderr is read first, as failures are printed there. stdout is read too where both are one file, or
    where stderr is empty, missing, or names no failure but the scheduler's own last words.

    Args:
        evidence: what Slurm knows of the run.
        stdout_path: the expanded path of its output; empty where nobody knows it.
        stderr_path: likewise; empty where stderr goes where stdout goes.
        user_patterns: the user's own pattern file; None where there is none. Where it has faults, the
            shipped rules are used and ``note`` says so.
    """
    rules, fault = _rules(user_patterns)
    matcher = Matcher(rules)
    first = _tail(stderr_path or stdout_path)
    tails = [first]
    lines: Sequence[Line] = first.lines
    findings = matcher.findings(lines)
    if stdout_path and stdout_path != first.path and not _has_root(findings):
        second = _tail(stdout_path)
        tails.append(second)
        # the lines printed to stdout come first: the scheduler's last words stand at the end of stderr
        lines = (*second.lines, *first.lines)
        findings = matcher.findings(lines)
    return diagnose(evidence, findings, lines, note=_note(tails, fault))


def _tail(path: str) -> LogTail:
    """Read the end of a log; a webhook that the job printed goes no further."""
    tail = read_tail(path)
    return replace(tail, lines=tuple(replace(line, text=mask_webhooks(line.text)) for line in tail.lines))


def _rules(user_patterns: Path | None) -> tuple[tuple[Rule, ...], str]:
    """Load the rules; without the user's where those have faults, which are returned in words."""
    try:
        return load_rules(user_patterns), ""
    except PatternsInvalid as invalid:
        faults = "; ".join(invalid.faults)
        fault = f"{invalid.source} has faults, so only the shipped patterns were used: {faults}"
    try:
        return load_rules(), fault
    except PatternsInvalid as invalid:
        return (), f"no patterns could be used: {invalid}"


def _has_root(findings: Sequence[Finding]) -> bool:
    root = find_root(claim(findings))
    return root is not None and root.rule.precedence >= SURE


def _note(tails: Sequence[LogTail], fault: str) -> str:
    """Say where was looked, if no log could be read, and what was wrong with the user's patterns."""
    looked = [f"{tail.path} {tail.problem}" if tail.path else _NAMELESS for tail in tails]
    missing = "" if any(tail.lines for tail in tails) else f"no log to read: {'; '.join(looked)}"
    return "; ".join(part for part in (missing, fault) if part)
