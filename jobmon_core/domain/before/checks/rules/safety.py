"""What a job loses if it is interrupted or restarted; what earlier runs and other jobs of its script show."""

from __future__ import annotations

import math
import re
from collections.abc import Iterator

from jobmon_core.domain.before.batch_script.paths import Use, is_on_node
from jobmon_core.domain.before.batch_script.programs import Program
from jobmon_core.domain.before.checks.facts import Facts
from jobmon_core.domain.before.checks.rules.script import takes_arguments
from jobmon_core.domain.finding import Finding, passed, unknown, warned
from jobmon_core.domain.humanize import duration
from jobmon_core.domain.job.restart.owners import other_owner

_HOUR_S = 3600
_LONG_S = 4 * _HOUR_S  # a loss of so many hours hurts
_SAVING = re.compile(r"save|checkpoint|ckpt|snapshot|restart|cpo|cpt|maxh", re.IGNORECASE)
_NEVER = re.compile(r"--?(?:save_strategy|save-strategy)[= ]no\b|--no[-_](?:save|checkpoint)\w*")
_SIGNAL = re.compile(r"(?:([BR]+):)?(?:SIG)?(\w+)(?:@\d+)?")
_NUMBERS = {"10": "USR1", "12": "USR2", "15": "TERM"}  # signals as scripts also write them
_ENDING = ("TERM", "INT", "USR1", "USR2", "XCPU", "HUP", "CONT", "EXIT")


def checkpoints(facts: Facts) -> Finding:
    """A long run saves checkpoints, and often enough."""
    limit_s = facts.time_limit_s
    if limit_s is None or limit_s < _LONG_S:
        limit = "not known" if limit_s is None else f"less than {duration(_LONG_S)}"
        return unknown(f"the time limit is {limit}")
    if saves_never(facts):
        return warned(f"checkpoints are turned off {_with_limit(limit_s)}", "Save them regularly.")
    interval_s = facts.saves_every_s
    if interval_s and interval_s > limit_s / 2:
        return warned(
            f"the last run saved every {duration(interval_s)} {_with_limit(limit_s)}", "Save more often."
        )
    if _saves(facts):
        often = ""
        if interval_s:
            often = f", every {duration(interval_s)} in the last run"
        return passed(f"the program saves checkpoints{often}")
    if not saves_nothing(facts):
        return unknown("the script does not show whether the program saves checkpoints")
    return warned(
        f"nothing in the program saves a checkpoint {_with_limit(limit_s)}",
        "Save checkpoints regularly: a crash or the time limit loses all work since the last one.",
    )


def atomic_saves(facts: Facts) -> Finding:
    """A save that is interrupted leaves the file of the save before it."""
    for each in facts.python:
        if each.source and each.source.overwrites:
            return warned(
                f"{each.path}, line {each.source.overwrites}: each save writes over the one before; if the "
                "job ends during a save, neither is whole",
                "Save under another name in the same folder, then `os.replace` it.",
            )
    return unknown("no program is seen to write over its own saves")


def _with_limit(limit_s: float) -> str:
    if math.isinf(limit_s):
        return "and the job has no time limit"
    return f"and the time limit is {duration(limit_s)}"


def saves_never(facts: Facts) -> bool:
    """Whether an option turns checkpoints off."""
    return bool(_NEVER.search(_arguments(facts)))


def saves_nothing(facts: Facts) -> bool:
    """Whether every source can be read, and none saves a checkpoint."""
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


def signals(facts: Facts) -> Finding:
    """The signal of ``--signal`` goes where it can be handled: to a script that traps it, or to the steps."""
    given = facts.request.options.get("signal", "")
    asked = _SIGNAL.fullmatch(given)
    traps = list(_traps(facts))
    in_program = any(each.source and each.source.handles_signals for each in facts.python)
    if asked is None:
        if traps or in_program:
            return passed("the job handles a signal that ends it")
        return unknown(
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
    work = facts.work
    if not work or any(each.command.in_background for each in work):
        return None
    if "exec" in [launcher.name for launcher in work[-1].launchers]:
        return None
    return work[-1].line


def running(facts: Facts) -> Finding:
    """No other job of the same script is under way."""
    if not facts.running:
        return passed("no other watched job of this script is running or pending")
    shared = [use for use in facts.uses if use.use in (Use.OUTPUT_FOLDER, Use.CHECKPOINTS, Use.REDIRECTED)]
    called = [file.path for file in facts.shell_files]
    advice = ""
    if shared:
        advice = "Give each job its own output folder."
    if called:
        advice = f"{advice} Do not edit {called[0]} while it runs: the shell reads it bit by bit.".strip()
    job = facts.running[0]
    if shared:
        return warned(
            f"job {job} of the same script has not ended, and writes to {shared[0].path} too", advice
        )
    return passed(f"job {job} of the same script has not ended", advice)


_IDIOM = '${JOBMON_RESUME_FROM:+--resume_from_checkpoint "$JOBMON_RESUME_FROM"}'
# in the name of an option; not of one that loads only weights
_RESUMES = re.compile(
    r"(?:(?:.*[_.])?(?:auto)?(?:resume|restart|restore)(?:_.*)?|cpi|ckpt_path|from_checkpoint|load|"
    r"load_(?:ckpt|checkpoint|dir|path))(?<!no_resume)"
)
# they look for their newest checkpoint in the same output folder
_BY_ITSELF = re.compile(
    r"torchtitan|megatron|pretrain_gpt|maxtext|levanter|fairseq|lingua|nemo", re.IGNORECASE
)
_COPIES = ("cp", "rsync", "mv", "tar", "rclone", "dcp")
_LIGHTNING = {"lightning", "pytorch_lightning"}
_USR1 = re.compile(r"(?:[BR]+:)?(?:(?:SIG)?USR1|10)(?:@\d+)?")
_LATE = 0.8  # of the time limit: a first save after so much of it may come too late


def folder(facts: Facts) -> Finding:
    """The checkpoints are where another node finds them."""
    if not facts.is_slurm:
        return unknown("the next attempt runs on this machine, too")
    if local := next(_local_folders(facts), ""):
        return warned(
            f"{local} is on a disk of the node, where the next attempt does not find it",
            "Save to a shared file system, or copy each checkpoint there when it is complete.",
        )
    return passed("no folder of checkpoints is seen to be on a disk of the node")


def _local_folders(facts: Facts) -> Iterator[str]:
    configured = facts.checkpoint_dir or facts.output_dir
    if configured and is_on_node(configured, facts.folder):
        yield f"{configured}, the folder in jobmon.yaml,"
    copies = [each for each in facts.script.commands if each.name in _COPIES]
    if any(each.in_background or each.in_loop or each.in_function for each in copies):
        return  # what is copied while the program runs is found all the same
    is_named = configured or any(use.use is Use.CHECKPOINTS for use in (*facts.uses, *facts.node_uses))
    wanted = (Use.CHECKPOINTS,) if is_named else (Use.CHECKPOINTS, Use.OUTPUT_FOLDER)
    yield from (f"line {use.line}: the folder of {use.name}" for use in facts.node_uses if use.use in wanted)


def saves(facts: Facts) -> Finding:
    """An attempt saves at least once before its time limit."""
    limit_s = facts.time_limit_s
    often = "Save often enough: an attempt that saves nothing is the last one."
    if saves_never(facts):
        return warned("checkpoints are turned off, so there is nothing to resume from", often)
    if saves_nothing(facts):
        return warned("nothing in the program saves a checkpoint", often)
    interval_s = facts.saves_every_s
    if interval_s is None:
        return unknown("jobmon has not seen how often the program saves")
    if limit_s is not None and interval_s > limit_s * _LATE:
        return warned(
            f"the last run saved every {duration(interval_s)}, and the time limit is {duration(limit_s)}",
            "Save more often, or ask for more time: no attempt would get further than the one before.",
        )
    return passed(f"the last run saved every {duration(interval_s)}")


def resumes(facts: Facts) -> Finding:
    """The script asks jobmon where to resume, or the program finds its newest checkpoint itself."""
    if facts.restart and (given := facts.restart.resume_arg):
        if takes_arguments(facts):
            return passed(f"the script gets {given}")
        unused = f"the script uses none of its arguments, so {given} has no effect"
        return warned(unused, 'Put "$@" after the program.')
    if facts.reads_resume:
        return passed("the script reads JOBMON_RESUME_FROM")
    if any(map(_resumes, facts.work)) or any(each.source and each.source.resumes for each in facts.python):
        return passed("the program resumes by an option or by itself")
    return warned(
        "nothing in the script says where to resume, so the next attempt may begin from scratch",
        f"Add {_IDIOM} with the program's own option, unless it finds its newest checkpoint by itself.",
    )


def _resumes(program: Program) -> bool:
    is_known = _BY_ITSELF.search(" ".join(filter(None, program.words)))
    return bool(is_known) or any(map(_RESUMES.fullmatch, program.options()))


def owner(facts: Facts) -> Finding:
    """Nobody but jobmon starts the job again: two owners of retries start it twice."""
    options = facts.request.options
    words = ("--requeue",) if "requeue" in options else ()
    if found := other_owner((), facts.script.text, words) or _framework(facts, options.get("signal", "")):
        what = f"{found} may start the job again, too; jobmon then only observes"
        return warned(what, "Turn that off, or do without jobmon's restarts.")
    return passed("nothing else in the script starts the job again")


def _framework(facts: Facts, signal: str) -> str:
    """Which framework of the Python programs submits the job again."""
    sources = [each.source for each in facts.python if each.source]
    imports = {name for source in sources for name in source.imports}
    if "submitit" in imports:
        return "submitit"
    requeues = all(source.requeues for source in sources) and _USR1.fullmatch(signal.upper())
    if requeues and imports & _LIGHTNING:
        return "Lightning (on SIGUSR1, unless auto_requeue=False)"
    return ""
