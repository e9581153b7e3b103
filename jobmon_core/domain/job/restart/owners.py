"""What a log or a script says about a signal that ended the program, and about others who start it again."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence

_SIGNAL = r"SIG(?:TERM|USR1|USR2|CONT|HUP|XCPU)\b"  # not SIGINT: that is what a person sends
_SAVED = re.compile(
    r"(?i)(?:starting|saving|saved|triggering) (?:a |immediate async )?jit checkpoint"  # transformers
    r"|exiting program after receiving sig"  # Megatron saves before it says so
    r"|handling auto-requeue signal"  # Lightning saves after it
    rf"|(?:receiv|caught|got|handl)\w*\b.{{0,40}}\b{_SIGNAL}.{{0,80}}(?:sav|checkpoint)"
    rf"|\b{_SIGNAL}.{{0,20}}(?:receiv|caught).{{0,80}}(?:sav|checkpoint)"
)
_REFUSED = re.compile(r"(?i)requeu?ing SLURM job \S+ failed")  # Slurm refuses it for a job with --no-requeue
_OWNERS_BY_LINE = {
    "Lightning": re.compile(r"requeing job [\d_]+\.\.\.|Requeued SLURM job: [\d_]+"),
    "submitit": re.compile(r"\bRequeued job [\d_]+ \(\d+ remaining"),
}
_REQUEUE = "--requeue"
# Restarts of workers within a job, as by `torchrun --max-restarts`, are over when the job ends
_OWNERS_BY_SCRIPT = {
    f"Slurm (`{_REQUEUE}`)": re.compile(rf"(?m)^#SBATCH\b[^#\n]*\s{_REQUEUE}\b"),
    "its script (`scontrol requeue`)": re.compile(r"\bscontrol\s+requeue"),
    "its script (`sbatch`)": re.compile(r"\bsbatch\b[^#\n]*\$\{?(?:0|BASH_SOURCE)\b"),
    "submitit": re.compile(r"\bsubmitit\.core\._submit\b"),
    "snakemake": re.compile(r"(?m)^# properties = \{|\bsnakemake\b.*\s--(?:retries|restart-times|mode)\b"),
    "Ray Train (`max_failures`)": re.compile(r"\bmax_failures['\"]?\s*[=:]\s*(?!0\b)-?\d"),
}
_NOT_COMMENTS = ("#SBATCH", "# properties = {")  # of Slurm, of snakemake


def saved_on_signal(lines: Iterable[str]) -> bool:
    """Whether one of these last lines of a log says that the program saved because of a signal."""
    return any(_SAVED.search(line) for line in lines)


def other_owner(lines: Sequence[str], script: str, command: Iterable[str]) -> str:
    """Return who, besides jobmon, starts a job again."""
    words = tuple(command)
    if _REQUEUE in words:
        return f"Slurm (`{_REQUEUE}`)"
    read = (line for line in script.split("\n") if line.startswith(_NOT_COMMENTS) or line.lstrip()[:1] != "#")
    text = "\n".join([*read, " ".join(words)])
    for owner, expression in _OWNERS_BY_SCRIPT.items():
        if expression.search(text):
            return owner
    if any(_REFUSED.search(line) for line in lines):
        return ""
    by_line = _OWNERS_BY_LINE.items()
    return next((owner for owner, each in by_line if any(each.search(line) for line in lines)), "")
