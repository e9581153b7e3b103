"""How the script deals with failures, output and variables."""

from __future__ import annotations

import re
from collections.abc import Iterator

from jobmon_core.domain.before.batch_script.model import Command
from jobmon_core.domain.before.batch_script.programs import Program
from jobmon_core.domain.before.batch_script.variables import exported, set_names, unguarded_uses
from jobmon_core.domain.before.checks.facts import Facts, PythonFact
from jobmon_core.domain.finding import Finding, Severity, failed, passed, unknown, warned

_MARKER = re.compile(
    r"(?:^|[/._-])(?:DONE|SUCCESS|SUCCEEDED|COMPLETED?|FINISHED|READY|OK)(?:$|[/._-])", re.IGNORECASE
)
_LEAVES_LOOP = ("break", "exit", "return")
_MAX_ARGUMENTS = 2**31
_SHORT_S = 900  # nobody looks at the log of a shorter job
_FLUSHED = "PYTHONUNBUFFERED"
_SHELL_NAMES = """
HOME USER LOGNAME PATH PWD OLDPWD SHELL TERM LANG HOSTNAME HOSTTYPE MACHTYPE OSTYPE RANDOM SECONDS LINENO
UID EUID PPID SHLVL IFS OPTARG OPTIND REPLY BASH BASHPID BASH_SOURCE BASH_VERSION FUNCNAME PIPESTATUS
GROUPS EPOCHSECONDS EPOCHREALTIME DIRSTACK COLUMNS LINES MAIL PS1 PS4 _ SRANDOM ENV BASH_ENV
BASH_VERSINFO BASH_REMATCH
"""
_BY_SHELL = frozenset(_SHELL_NAMES.split())
# set by Slurm, by the prologs or modules of many sites, or by a launcher
_BY_SITE = re.compile(
    r"SLURM.*|SBATCH_.*|CUDA_VISIBLE_DEVICES|ROCR_VISIBLE_DEVICES|GPU_DEVICE_ORDINAL|ZE_AFFINITY_MASK|.*TMP.*|TEMP|"
    r".*SCRATCH.*|XDG_.*|PMI.*|OMPI_.*|PMIX.*|CONDA.*|VIRTUAL_ENV|MODULE.*|LMOD.*|EB[A-Z]+.*|JOB_?TMP.*|DISPLAY|"
    r"LD_LIBRARY_PATH|PYTHONPATH|MANPATH|OMP_.*|LIBRARY_PATH|CPATH"
)
_TORCHRUN_NAMES = """
RANK LOCAL_RANK WORLD_SIZE LOCAL_WORLD_SIZE MASTER_ADDR MASTER_PORT GROUP_RANK NODE_RANK
"""
_BY_TORCHRUN = frozenset(_TORCHRUN_NAMES.split())
_BY_JOBMON = "JOBMON_"
_POSITIONAL = re.compile(r"[1-9]\d*")


def exit_status(facts: Facts) -> Finding:
    """A failure of the work makes the job fail."""
    work = [each for each in facts.work if not each.command.in_function]
    if not work or not facts.script.is_shell:
        return unknown("the script starts no program whose failure could be missed")
    if marker(facts).severity is Severity.WARNING:
        return unknown("see the completion marker")
    piped = [each for each in work if each.command.operator_after == "|"]
    if piped and not _sets(facts, "pipefail"):
        return warned(
            f"line {piped[0].line}: the pipe hides a failure of {piped[0].label}",
            "Put `set -o pipefail` at the top of the script.",
        )
    if _sets(facts, "e"):
        return passed("set -e: the first failure ends the job")
    for program in work:
        if hidden := _hidden(program, facts.script.commands):
            return warned(
                f"line {program.line}: after a failure of {program.label}, {hidden}",
                "Put `set -eo pipefail` at the top of the script.",
            )
    return passed("the job ends with the exit status of its program")


def _hidden(program: Program, commands: tuple[Command, ...]) -> str:
    """What hides the failure of a program; empty if the job fails with it."""
    command = program.command
    if command.in_background:
        if any(_waits_for_one(each) for each in commands):
            return ""
        return "the job still counts as completed"
    rest = commands[commands.index(command) + 1 :]
    while rest and command.operator_after == "&&":  # the rest of its chain does not run
        command, rest = rest[0], rest[1:]
    if command.operator_after == "||" or any(_hands_on_status(each) for each in rest):
        return ""
    if not rest:
        is_repeated = program.command.in_loop and command.name not in _LEAVES_LOOP
        if is_repeated:
            return "the loop goes on, and only its last round decides how the job ends"
        return ""
    return "the job goes on, and counts as completed if its last command succeeds"


def _waits_for_one(command: Command) -> bool:
    return command.name == "wait" and len(command.words) > 1


def _hands_on_status(command: Command) -> bool:
    texts = [word.raw for word in command.every_word()]
    if command.name == "exit" and len(texts) > 1:
        return "$" in texts[1]
    if command.name == "trap":
        return True
    return any("$?" in text or "PIPESTATUS" in text for text in texts)


def _sets(facts: Facts, option: str) -> bool:
    """For ``e``, a trap on ERR counts too."""
    words = [word.raw for each in facts.script.commands if each.name == "set" for word in each.words[1:]]
    long_name = {"e": "errexit"}.get(option, option)
    by_shebang = [word for word in facts.script.interpreter[1:] if word.startswith("-")]
    short = any(
        len(option) == 1 and re.match("-[^-]", word) and option in word.rstrip("o")
        for word in words + by_shebang
    )
    has_trap = option == "e" and any(_traps_errors(each) for each in facts.script.commands)
    return short or has_trap or long_name in words


def _traps_errors(command: Command) -> bool:
    return command.name == "trap" and any(word.raw == "ERR" for word in command.words[2:])


def marker(facts: Facts) -> Finding:
    """A file that marks success is written only after success."""
    commands = facts.script.commands
    found = [(each, path) for each in commands for path in _marked(facts, each)]
    work, has_errexit = facts.work, _sets(facts, "e")
    if not found:
        return unknown("the script writes no completion marker")
    for command, path in found:
        before = [each for each in work if each.line <= command.line and each.command is not command]
        is_guarded = command.operator_before == "&&" or bool(command.within) or has_errexit
        if before and not is_guarded and not _is_checked(before[-1], command, commands):
            return warned(
                f"line {command.line}: {path} is written even if the command in line {before[-1].line} fails",
                "Join the two commands with `&&`, or put `set -e` at the top of the script.",
            )
    return passed("the marker is written only after success")


def _is_checked(program: Program, command: Command, commands: tuple[Command, ...]) -> bool:
    between = commands[commands.index(program.command) + 1 : commands.index(command)]
    has_exit = any(each.name in ("exit", "return") for each in between)
    return has_exit or any("$?" in word.raw for each in between for word in each.every_word())


def _marked(facts: Facts, command: Command) -> Iterator[str]:
    words = command.words[1:] if command.name == "touch" else ()
    targets = [target for operator, target in command.redirections if operator in (">", ">>")]
    is_text = command.name in ("echo", "date", "printf", ":", "") or bool(words)
    for word in (*words, *(targets if is_text else ())):
        path = word.value(facts.values) or word.raw
        if _MARKER.search(path.rpartition("/")[2]):
            yield path


def buffering(facts: Facts) -> Finding:
    """The output of Python reaches the log at once."""
    runs = [each for each in facts.python if each.program.is_work]
    if not runs:
        return unknown("the script starts no Python program")
    if _FLUSHED in exported(facts.script, facts.values) or _FLUSHED in facts.environment:
        return passed(f"{_FLUSHED} is set")
    limit_s = facts.request.time_limit_s
    is_long = limit_s is None or limit_s > _SHORT_S
    buffered = [each for each in runs if each.program.python and not each.program.python.is_unbuffered]
    for each in buffered:
        if is_long and _prints_late(each):
            return warned(
                f"line {each.program.line}: Python buffers what it prints, so the log lags behind",
                f"Use `python -u`, or `export {_FLUSHED}=1`.",
            )
    if any(each.source is None for each in buffered):
        return unknown("the source of the Python program cannot be read")
    return passed("output reaches the log at once")


def _prints_late(fact: PythonFact) -> bool:
    if any(name == _FLUSHED for name, _ in fact.program.command.assignments):
        return False
    return fact.source is not None and fact.source.prints and not fact.source.flushes


def variables(facts: Facts) -> Finding:
    """Every variable that the script uses is set."""
    unset = list(dict.fromkeys(_unset(facts)))
    if not unset:
        return passed("every variable that the script uses is set")
    if facts.sourced_names is None:
        return unknown(f"files or modules that the script loads may set {unset[0][0]}")
    variable, place = unset[0]
    what = f"{place}: ${variable} is not set" if not variable.isdigit() else (
        f"{place}: the script uses argument {variable} (${variable}), but gets {len(facts.request.arguments)}"
    )  # fmt: skip
    advice = "Pass it after the script."
    if not variable.isdigit():
        advice = "Set it in the script, or before you submit."
    if variable in _BY_TORCHRUN and not place.startswith("line"):
        return failed(
            what, "Start the program with torchrun, or read SLURM_PROCID and similar variables instead."
        )
    return warned(what, advice)


def _unset(facts: Facts) -> Iterator[tuple[str, str]]:
    known = {*set_names(facts.script), *facts.environment, *(facts.sourced_names or ()), *_BY_SHELL}
    arguments = _lacking_arguments(facts)
    is_strict = _sets(facts, "u")
    for name, line in unguarded_uses(facts.script):
        if name in known or _BY_SITE.fullmatch(name):
            continue
        if facts.restart and name.startswith(_BY_JOBMON) and not is_strict:
            continue  # empty in the first attempt
        is_argument = bool(_POSITIONAL.fullmatch(name)) and int(name) in arguments
        if is_argument or name[0].isalpha() or name[0] == "_":
            yield name, f"line {line}"
    yield from _unset_for_python(facts, known)


def _lacking_arguments(facts: Facts) -> range:
    commands = facts.script.commands
    sets_own = any(each.name in ("set", "shift") and each.words[1:2] for each in commands)
    if sets_own or any(each.in_function for each in commands):
        return range(0)
    return range(len(facts.request.arguments) + 1, _MAX_ARGUMENTS)


def _unset_for_python(facts: Facts, known: set[str]) -> Iterator[tuple[str, str]]:
    for each in facts.python:
        by_launcher = (
            _BY_TORCHRUN if each.program.launcher("torchrun", "accelerate", "deepspeed") else frozenset()
        )
        for name in each.source.required_variables if each.source else ():
            if name not in known and name not in by_launcher and not _BY_SITE.fullmatch(name):
                yield name, each.path
