"""Advice for jobs on a single machine, in place of advice of the rules that applies only to Slurm's jobs."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

from jobmon_core.domain.backends import is_single_machine
from jobmon_core.domain.triage.situation import Verdict

_ADVICE = {
    "memory-near-limit": "Beyond the limit the kernel kills it. Use fewer loader workers or a smaller batch, "
    "or end other programs on this machine.",
    "oom-kill": "Use fewer loader workers or a smaller batch, or end other programs on this machine. "
    "What is left of the program may wait for the killed process for ever.",
    "noisy-neighbour": "End the other programs on this machine, or run it when they are done.",
    "idle-allocation": "If nobody uses it, end it; if it should compute, look at its log.",
    "cpu-preprocessing": "Prepare the data beforehand, or move the preprocessing to the GPU.",
    "no-processes": "Look at the end of its log for how its program was launched.",
}


def advised_for(verdicts: Iterable[Verdict], backend: str) -> tuple[Verdict, ...]:
    """Return the verdicts about a task with the advice that applies where it runs."""
    if not is_single_machine(backend):
        return tuple(verdicts)
    return tuple(replace(each, advice=_ADVICE.get(each.name, each.advice)) for each in verdicts)
