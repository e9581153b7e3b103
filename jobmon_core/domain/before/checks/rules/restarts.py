"""What would make a restart fail, or begin from scratch. Only of interest if the user asks for restarts."""

from __future__ import annotations

import re
from collections.abc import Iterator

from jobmon_core.domain.before.batch_script.paths import Use, is_on_node
from jobmon_core.domain.before.batch_script.programs import Program
from jobmon_core.domain.before.checks.facts import Facts
from jobmon_core.domain.before.checks.model import Item, not_applicable, passed, warned
from jobmon_core.domain.before.checks.rules.safety import saves_never, saves_nothing
from jobmon_core.domain.before.checks.rules.script import takes_arguments
from jobmon_core.domain.humanize import duration
from jobmon_core.domain.job.restart.owners import other_owner

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


def folder(facts: Facts) -> Item:
    """The checkpoints are where another node finds them."""
    if not facts.is_slurm:
        return not_applicable("the next attempt runs on this machine, too")
    if local := next(_local_folders(facts), ""):
        return warned(
            f"{local} is on a disk of the node, where the next attempt does not find it",
            "Save to a shared file system, or copy each checkpoint there when it is complete.",
        )
    return passed("no folder of checkpoints is seen to be on a disk of the node")


def _local_folders(facts: Facts) -> Iterator[str]:
    """Yield what names a folder of checkpoints on a disk of the node."""
    configured = facts.checkpoint_dir or facts.output_dir
    if configured and is_on_node(configured, facts.folder):
        yield f"{configured}, the folder in jobmon.yaml,"
    copies = [each for each in facts.script.commands if each.name in _COPIES]
    if any(each.in_background or each.in_loop or each.in_function for each in copies):
        return  # what is copied while the program runs is found all the same
    is_named = configured or any(use.use is Use.CHECKPOINTS for use in (*facts.uses, *facts.node_uses))
    wanted = (Use.CHECKPOINTS,) if is_named else (Use.CHECKPOINTS, Use.OUTPUT_FOLDER)
    yield from (f"line {use.line}: the folder of {use.name}" for use in facts.node_uses if use.use in wanted)


def saves(facts: Facts) -> Item:
    """An attempt saves at least once before its time limit."""
    limit_s = facts.time_limit_s
    often = "Save often enough: an attempt that saves nothing is the last one."
    if saves_never(facts):
        return warned("checkpoints are turned off, so there is nothing to resume from", often)
    if saves_nothing(facts):
        return warned("nothing in the program saves a checkpoint", often)
    interval_s = next((run.checkpoint_interval_s for run in facts.past if run.checkpoint_interval_s), None)
    if interval_s is None:
        return not_applicable("jobmon has not seen how often the program saves")
    if limit_s is not None and interval_s > limit_s * _LATE:
        return warned(
            f"the last run saved every {duration(interval_s)}, and the time limit is {duration(limit_s)}",
            "Save more often, or ask for more time: no attempt would get further than the one before.",
        )
    return passed(f"the last run saved every {duration(interval_s)}")


def resumes(facts: Facts) -> Item:
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
    """Whether an option makes a program resume, or it is one that does so by itself."""
    is_known = _BY_ITSELF.search(" ".join(filter(None, program.words)))
    return bool(is_known) or any(map(_RESUMES.fullmatch, program.options()))


def owner(facts: Facts) -> Item:
    """Nobody but jobmon starts the job again: two owners of retries start it twice."""
    options = facts.request.options
    words = ("--requeue",) if "requeue" in options else ()
    if found := other_owner((), facts.script.text, words) or _framework(facts, options.get("signal", "")):
        what = f"{found} may start the job again, too; jobmon then only observes"
        return warned(what, "Turn that off, or do without jobmon's restarts.")
    return passed("nothing else in the script starts the job again")


def _framework(facts: Facts, signal: str) -> str:
    """Return the framework of the Python programs that submits the job again; empty if none does."""
    sources = [each.source for each in facts.python if each.source]
    imports = {name for source in sources for name in source.imports}
    if "submitit" in imports:
        return "submitit"
    requeues = all(source.requeues for source in sources) and _USR1.fullmatch(signal.upper())
    return "Lightning (on SIGUSR1, unless auto_requeue=False)" if requeues and imports & _LIGHTNING else ""
