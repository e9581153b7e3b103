"""What earlier runs like this one show, and what the history says about the nodes that it may get."""

from __future__ import annotations

import math
from collections.abc import Iterator

from jobmon_core.domain.before.checks.facts import Facts
from jobmon_core.domain.finding import Finding, passed, unknown, warned
from jobmon_core.domain.humanize import duration, listed, number, size
from jobmon_core.domain.job.efficiency.advice import (
    MIN_RUN_S,
    enough_cpus,
    enough_memory,
    enough_time,
    more_memory,
)
from jobmon_core.domain.job.history.forecast import (
    GPU_MEMORY,
    MEMORY,
    PYTHON_MEMORY,
    TIME,
    Forecast,
    Needs,
    forecast,
    last_failure,
    needs,
)
from jobmon_core.domain.job.history.nodes import SuspectNode
from jobmon_core.domain.slurm.rows import node_names
from jobmon_core.domain.slurm.states import JobState

_HOUR_S = 3600
_NARROW = 1.05  # a time limit below so many times the longest completed run is too narrow
_SMALL_GPU_HOURS = 24.0
_REMEDIES = {
    MEMORY: "Request more memory, or use less.",
    PYTHON_MEMORY: "Request more memory, or use less.",
    GPU_MEMORY: "Lower the batch size, unless you have done so.",
    TIME: "Request more time, or resume from a checkpoint.",
}


def past_runs(facts: Facts) -> Finding:
    """The last runs did not fail by a cause that this one may have, too, and the time limit is enough."""
    limit_s = facts.time_limit_s
    if found := forecast(facts.alike) or last_failure(facts.alike):
        return _likely(facts, found)
    started = [run for run in facts.alike if run.started_s]
    if not started:
        return passed("the history has no earlier run of this name or script", _small_first(facts))
    done = [run for run in started if run.state == JobState.COMPLETED]
    if not done:
        return passed(f"the last run, {started[0].ref}, ended {started[0].state}")
    longest = max(done, key=lambda run: run.run_s)
    if limit_s is not None and limit_s < longest.run_s * _NARROW:
        return warned(
            f"{longest.ref} took {duration(longest.run_s)}, and the time limit is {duration(limit_s)}",
            f"Ask for at least {duration(_rounded(longest.run_s * 1.2))}.",
        )
    return passed(f"the longest completed run, {longest.ref}, took {duration(longest.run_s)}")


def _rounded(seconds: float) -> int:
    return int(-(-seconds // 60) * 60)


def _small_first(facts: Facts) -> str:
    gpus, limit_s = facts.request.gpus, facts.time_limit_s
    if not gpus or not limit_s or gpus * limit_s / _HOUR_S < _SMALL_GPU_HOURS:
        return ""
    return "Try it on a small part of the data first, with a short --time."


def _likely(facts: Facts, found: Forecast) -> Finding:
    """A request that is larger than all that failed may be enough."""
    text, request = found.sentence, facts.request
    remedy = _REMEDIES.get(found.cause, "Submit it once you have removed the cause.")
    if found.cause == TIME and found.limit_s:
        text += f" of at most {duration(found.limit_s)}"
        if (limit_s := facts.time_limit_s or 0) > found.limit_s:
            return passed(f"{text}; {_limit_text(limit_s)}")
    if found.cause == MEMORY and found.memory and len(node_names(found.latest.nodes)) == 1:
        text += f" with at most {size(found.memory)}"
        if (requested := request.memory_bytes or 0) > found.memory:
            return passed(f"{text}; this one requests {size(requested)}")
        if not {"mem-per-cpu", "mem-per-gpu"} & request.options.keys():
            remedy = f"Request more memory, e.g. {more_memory(found.memory)}, or use less."
    return warned(text, f"{remedy} `jobmon history {found.latest.ref}` shows the latest.")


def _limit_text(limit_s: float) -> str:
    return "this one has no time limit" if math.isinf(limit_s) else f"this one requests {duration(limit_s)}"


def right_size(facts: Facts) -> Finding:
    """It requests about as much time, memory and CPUs as runs like it took."""
    if facts.history_fault:
        return unknown(facts.history_fault)
    took = needs(facts.alike)
    if took.time_s is None and took.memory is None:
        return unknown("too few successful runs of this name or script took about the same")
    requested = facts.request.memory_bytes
    runs = f"the last {took.runs} successful runs of this name or script"
    if took.memory and requested and requested < took.memory:
        advice = f"Request more, e.g. {more_memory(took.memory)}."
        return warned(f"{runs} took up to {size(took.memory)}, and --mem is {size(requested)}", advice)
    found = [*_too_much(facts, took)]
    if not found:
        return passed(f"no more is requested than {runs} make likely")
    amounts = listed([amount for amount, _ in found], len(found))
    options = listed([option for _, option in found], len(found))
    advice = f"Enough, unless it has more to do: {options}. With less, it may start earlier."
    return warned(f"{runs} took at most {amounts}", advice)


def _too_much(facts: Facts, took: Needs) -> Iterator[tuple[str, str]]:
    """Yield how much of a request was taken, and what would be enough."""
    limit_s, request = facts.time_limit_s, facts.request
    if limit_s and math.isfinite(limit_s) and (enough := enough_time(took.time_s, limit_s)):
        yield f"{duration(took.time_s or 0)} of {duration(limit_s)}", enough
    if (took.time_s or 0) < MIN_RUN_S:  # samples of a short run say little
        return
    if enough := enough_memory(took.memory, request.memory_bytes):
        yield f"{size(took.memory or 0)} of {size(request.memory_bytes or 0)}", enough
    if took.cpus and (request.nodes or 1) == 1 and (enough := enough_cpus(took.cpus, request.cpus)):
        yield f"{number(took.cpus)} of {request.cpus} CPUs", enough


def suspect_nodes(facts: Facts) -> Finding:
    """The job gets no node that killed the user's runs, or slowed them down."""
    if facts.history_fault:
        return unknown(facts.history_fault)
    given = facts.request.options.get("exclude", "")
    found = [each for each in facts.suspects if _may_get(facts, each)]
    if not found:
        return passed("no node on which it may run is known to kill or slow down your runs")
    wanted = {*node_names(facts.request.options.get("nodelist", ""))} & {each.node for each in found}
    exclude = ",".join(filter(None, [given, *(each.node for each in found)]))
    advice = f"Avoid it: `--exclude={exclude}`."
    if wanted:
        advice = f"--nodelist asks for {listed(sorted(wanted), len(wanted))}: leave it out."
    return warned("; ".join(each.sentence for each in found), advice)


def _may_get(facts: Facts, suspect: SuspectNode) -> bool:
    excluded = node_names(facts.request.options.get("exclude", ""))
    nodes = node_names(facts.partition.nodes) if facts.partition else ()
    return facts.is_slurm and suspect.node not in excluded and (not nodes or suspect.node in nodes)
