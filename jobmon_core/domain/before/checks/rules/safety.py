"""What a job loses if it is interrupted, and what earlier runs and other jobs of its script show."""

from __future__ import annotations

import math
import re
from collections.abc import Iterator

from jobmon_core.domain.before.batch_script.paths import Use
from jobmon_core.domain.before.checks.facts import Facts
from jobmon_core.domain.before.checks.model import Item, not_applicable, passed, warned
from jobmon_core.domain.humanize import duration

_HOUR_S = 3600
_LONG_S = 4 * _HOUR_S  # a loss of so many hours hurts
_SAVING = re.compile(r"save|checkpoint|ckpt|snapshot|restart|cpo|cpt|maxh", re.IGNORECASE)
_NEVER = re.compile(r"--?(?:save_strategy|save-strategy)[= ]no\b|--no[-_](?:save|checkpoint)\w*")
_SIGNAL = re.compile(r"(?:([BR]+):)?(?:SIG)?(\w+)(?:@\d+)?")
_NUMBERS = {"10": "USR1", "12": "USR2", "15": "TERM"}  # signals as scripts also write them
_ENDING = ("TERM", "INT", "USR1", "USR2", "XCPU", "HUP", "CONT", "EXIT")
_OUT_OF_MEMORY = ("cuda_oom", "host_oom_kill", "python_memory_error")
_NARROW = 1.05  # a time limit below so many times the longest completed run is too narrow
_SMALL_GPU_HOURS = 24.0


def checkpoints(facts: Facts) -> Item:
    """A long run saves checkpoints, and often enough."""
    limit_s = facts.time_limit_s
    if limit_s is None or limit_s < _LONG_S:
        limit = "not known" if limit_s is None else f"less than {duration(_LONG_S)}"
        return not_applicable(f"the time limit is {limit}")
    if saves_never(facts):
        return warned(f"checkpoints are turned off {_with_limit(limit_s)}", "Save them regularly.")
    intervals = [run.checkpoint_interval_s for run in facts.past if run.checkpoint_interval_s]
    if intervals and intervals[0] > limit_s / 2:
        return warned(
            f"the last run saved every {duration(intervals[0])} {_with_limit(limit_s)}", "Save more often."
        )
    if _saves(facts):
        often = f", every {duration(intervals[0])} in the last run" if intervals else ""
        return passed(f"the program saves checkpoints{often}")
    if not saves_nothing(facts):
        return not_applicable("the script does not show whether the program saves checkpoints")
    return warned(
        f"nothing in the program saves a checkpoint {_with_limit(limit_s)}",
        "Save checkpoints regularly: a crash or the time limit loses all work since the last one.",
    )


def atomic_saves(facts: Facts) -> Item:
    """A save that is interrupted leaves the file of the save before it."""
    for each in facts.python:
        if each.source and each.source.overwrites:
            return warned(
                f"{each.path}, line {each.source.overwrites}: each save writes over the one before; if the "
                "job ends during a save, neither is whole",
                "Save under another name in the same folder, then `os.replace` it.",
            )
    return not_applicable("no program is seen to write over its own saves")


def _with_limit(limit_s: float) -> str:
    return (
        "and the job has no time limit"
        if math.isinf(limit_s)
        else f"and the time limit is {duration(limit_s)}"
    )


def saves_never(facts: Facts) -> bool:
    """Whether an option turns checkpoints off."""
    return bool(_NEVER.search(_arguments(facts)))


def saves_nothing(facts: Facts) -> bool:
    """Whether the source of every program can be read, and none saves a checkpoint."""
    sources = [each.source for each in facts.python if each.source and not each.source.fault]
    is_read = sources and len(sources) >= len([each for each in facts.work if each.python])
    return bool(is_read) and not _saves(facts)


def _arguments(facts: Facts) -> str:
    return " ".join(word for each in facts.work for word in each.arguments if word)


def _saves(facts: Facts) -> bool:
    by_path = bool(facts.checkpoint_dir) or any(use.use is Use.CHECKPOINTS for use in facts.uses)
    return (
        by_path
        or bool(_SAVING.search(_arguments(facts)))
        or any(each.source and each.source.saves for each in facts.python)
    )


def signals(facts: Facts) -> Item:
    """The signal of ``--signal`` goes where it can be handled: to a script that traps it, or to the steps."""
    given = facts.request.options.get("signal", "")
    asked = _SIGNAL.fullmatch(given)
    traps = list(_traps(facts))
    in_program = any(each.source and each.source.handles_signals for each in facts.python)
    if asked is None:
        if traps or in_program:
            return passed("the job handles a signal that ends it")
        return not_applicable(
            "no trap and no --signal: at the time limit, all work since the last checkpoint is lost"
        )
    to_shell, signal = "B" in (asked[1] or ""), _NUMBERS.get(asked[2], asked[2].upper())
    trapped = any(signal in names for _line, names in traps)
    if to_shell and not trapped:
        return warned(
            f"--signal=B:{signal} goes to the script, which has no trap for it and would end",
            f"Add `trap '...' {signal}`, or leave out `B:` so that the program gets it.",
        )
    if trapped and not to_shell:
        return warned(
            f"the script traps {signal}, but --signal without `B:` sends it to the steps of srun only",
            f"Use --signal=B:{given.rpartition(':')[2]}.",
        )
    if to_shell and (line := _blocking(facts)):
        return warned(
            f"the shell handles {signal} only after the command in line {line} has ended",
            "Start it in the background (`&`), followed by `wait`.",
        )
    return passed(f"{signal} goes to {'the script' if to_shell else 'the steps'} before the time limit")


def _traps(facts: Facts) -> Iterator[tuple[int, set[str]]]:
    for command in facts.script.commands:
        if command.name == "trap":
            names = {word.raw.strip("'\"").upper().removeprefix("SIG") for word in command.words[2:]}
            if names & {*_ENDING, *_NUMBERS}:
                yield command.line, {_NUMBERS.get(each, each) for each in names} - {"EXIT"}


def _blocking(facts: Facts) -> int | None:
    """Return the line of the last program if the shell waits for it in the foreground."""
    work = facts.work
    if not work or any(each.command.in_background for each in work):
        return None
    return None if "exec" in [launcher.name for launcher in work[-1].launchers] else work[-1].line


def past_runs(facts: Facts) -> Item:
    """The time limit is enough for runs like the earlier ones, and the last one did not run out of memory."""
    limit_s = facts.time_limit_s
    if not facts.past:
        return passed("jobmon has watched no earlier run of this script", _small_first(facts))
    last = facts.past[0]
    if last.cause in _OUT_OF_MEMORY or last.state.startswith("OUT_OF_ME"):
        return warned(
            f"the last run, {last.job}, ran out of memory ({last.title or last.state})",
            "Lower the batch size or ask for more memory, unless you have done so.",
        )
    if last.state.startswith("TIMEOUT") and limit_s and limit_s <= (last.limit_s or last.elapsed_s or 0):
        return warned(
            f"the last run, {last.job}, reached its limit of {duration(last.limit_s or last.elapsed_s or 0)}",
            "Ask for more time, unless it resumes where that one ended.",
        )
    return _compared(facts, limit_s)


def _compared(facts: Facts, limit_s: float | None) -> Item:
    """Compare the time limit with the longest run that succeeded."""
    done = [run for run in facts.past if run.state.startswith("COMPLETED") and run.elapsed_s]
    if not done:
        return passed(f"the last run, {facts.past[0].job}, ended {facts.past[0].state}")
    longest = max(done, key=lambda run: run.elapsed_s or 0)
    elapsed_s = longest.elapsed_s or 0
    if limit_s is not None and limit_s < elapsed_s * _NARROW:
        return warned(
            f"{longest.job} took {duration(elapsed_s)}, and the time limit is {duration(limit_s)}",
            f"Ask for at least {duration(_rounded(elapsed_s * 1.2))}.",
        )
    return passed(f"the longest completed run, {longest.job}, took {duration(elapsed_s)}")


def _rounded(seconds: float) -> int:
    """Round up to whole minutes."""
    return int(-(-seconds // 60) * 60)


def _small_first(facts: Facts) -> str:
    gpus, limit_s = facts.request.gpus, facts.time_limit_s
    if not gpus or not limit_s or gpus * limit_s / _HOUR_S < _SMALL_GPU_HOURS:
        return ""
    return "Try it on a small part of the data first, with a short --time."


def running(facts: Facts) -> Item:
    """No other job of the same script is under way."""
    if not facts.running:
        return passed("no other watched job of this script is running or pending")
    shared = [use for use in facts.uses if use.use in (Use.OUTPUT_FOLDER, Use.CHECKPOINTS, Use.REDIRECTED)]
    called = [file.path for file in facts.shell_files]
    advice = "Give each job its own output folder." if shared else ""
    if called:
        advice = f"{advice} Do not edit {called[0]} while it runs: the shell reads it bit by bit.".strip()
    job = facts.running[0]
    if shared:
        return warned(
            f"job {job} of the same script has not ended, and writes to {shared[0].path} too", advice
        )
    return passed(f"job {job} of the same script has not ended", advice)
