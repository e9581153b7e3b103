"""The completion scripts of bash, zsh and fish."""

from __future__ import annotations

import shlex
from typing import TYPE_CHECKING

from command_model import Kind, Value

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from command_model import CommandModel, Option

_TOP_OPTIONS = ("-h", "--help", "-V", "--version")


def _all(commands: Sequence[CommandModel]) -> Iterator[CommandModel]:
    for command in commands:
        yield command
        yield from _all(command.subcommands)


def _names(commands: Sequence[CommandModel]) -> str:
    return " ".join(command.name.rpartition(" ")[2] for command in commands)


# --- bash

_BASH_START = """\
# bash completion of jobmon: written by `jobmon completion bash`
_jobmon() {
    local current=${COMP_WORDS[COMP_CWORD]} before=${COMP_WORDS[COMP_CWORD-1]}
    local command=${COMP_WORDS[1]} options= words= kind= i
    COMPREPLY=()
    if ((COMP_CWORD == 1)); then"""
_BASH_SUBMIT_START = """\
    if [[ $command == submit ]]; then  # what follows the options of jobmon is for sbatch
        for ((i = 2; i < COMP_CWORD; i++)); do
            case ${COMP_WORDS[i]} in"""
_BASH_SUBMIT_END = """\
                *) options= ;;
            esac
        done
    fi"""
_BASH_END = """\
    if [[ $current == -* ]]; then
        words=$options kind=
    elif [[ $kind == job* ]]; then
        words=$("${COMP_WORDS[0]}" completion jobs 2>/dev/null)
    elif [[ -z $words$kind ]]; then
        words=$options
    fi
    COMPREPLY=($(compgen -W "$words" -- "$current"))
    if [[ $kind == *file && -z ${COMPREPLY[*]} ]]; then compopt -o default; fi
}
complete -F _jobmon jobmon"""


def bash(commands: Sequence[CommandModel]) -> str:
    """Return the script for bash."""
    return "\n".join((*_bash(commands), ""))


def _bash(commands: Sequence[CommandModel]) -> Iterator[str]:
    yield _BASH_START
    names = f"{_names(commands)} {' '.join(_TOP_OPTIONS)}"
    yield f'        COMPREPLY=($(compgen -W "{names}" -- "$current"))'
    yield from ("        return", "    fi", "    case $command in")
    for command in commands:
        if command.subcommands:
            yield f'        {command.name}) if ((COMP_CWORD > 2)); then command+=" ${{COMP_WORDS[2]}}"; fi ;;'
    yield from ("    esac", "    case $command in")
    for command in _all(commands):
        options = " ".join(name for option in command.options for name in option.names)
        yield f'        "{command.name}") options="{options}"{_bash_words(command, commands)} ;;'
    yield from ("    esac", '    case "$command $before" in')
    for command in _all(commands):
        for option in command.options:
            if option.value:
                patterns = "|".join(f'"{command.name} {name}"' for name in option.names)
                keep = "" if option.value.is_optional else " options="
                yield f"        {patterns}){keep}{_bash_value(option.value, commands)} ;;"
    yield "    esac"
    for command in commands:
        if command.name == "submit":
            yield from (_BASH_SUBMIT_START, *_bash_skipped(command), _BASH_SUBMIT_END)
    yield _BASH_END


def _bash_skipped(submit: CommandModel) -> Iterator[str]:
    """Yield the cases that skip each option of jobmon, with its argument if it takes one."""
    for takes_value, skip in ((False, ""), (True, "((i++)) ")):
        options = [option for option in submit.options if (option.value is not None) is takes_value]
        if names := "|".join(name for option in options for name in option.names):
            yield f"                {names}) {skip};;"


def _bash_words(command: CommandModel, commands: Sequence[CommandModel]) -> str:
    if command.subcommands:
        return f' words="{_names(command.subcommands)}"'
    return _bash_value(command.values[0], commands) if command.values else ""


def _bash_value(value: Value, commands: Sequence[CommandModel]) -> str:
    if value.kind in (Kind.CHOICE, Kind.COMMAND):
        words = " ".join(value.choices) if value.choices else _names(commands)
        return f' words="{words}" kind='
    return f' words= kind="{value.kind}"'


# --- zsh

_ZSH_START = """\
#compdef jobmon
# zsh completion of jobmon: written by `jobmon completion zsh`
_jobmon_jobs() {
  local -a ids=(${(f)"$(jobmon completion jobs 2>/dev/null)"})
  _wanted jobs expl job compadd -a ids
}
_jobmon_jobs_or_files() { _alternative 'jobs:job:_jobmon_jobs' 'files:file:_files' }
_jobmon_commands() {
  local -a commands=("""
_ZSH_MIDDLE = """\
  )
  _describe -t commands command commands
}
_jobmon() {
  if (( CURRENT == 2 )); then
    _jobmon_commands
    _arguments '(- *)'{-h,--help}'[show the help]' '(- *)'{-V,--version}'[show the version]'
    return
  fi
  local command=$words[2]
  shift words; (( CURRENT-- ))
  case $command in"""
_ZSH_END = """\
  esac
}
if [[ $funcstack[1] == _jobmon ]]; then _jobmon "$@"; else compdef _jobmon jobmon; fi"""
_ZSH_ACTIONS = {
    Kind.JOB: "_jobmon_jobs",
    Kind.FILE: "_files",
    Kind.JOB_OR_FILE: "_jobmon_jobs_or_files",
    Kind.COMMAND: "_jobmon_commands",
    Kind.TEXT: " ",
}


def zsh(commands: Sequence[CommandModel]) -> str:
    """Return the script for zsh, to be sourced or to be put into a folder of ``$fpath`` as ``_jobmon``."""
    return "\n".join((*_zsh(commands), ""))


def _zsh(commands: Sequence[CommandModel]) -> Iterator[str]:
    yield _ZSH_START
    yield from (f"    {shlex.quote(f'{command.name}:{command.summary}')}" for command in commands)
    yield _ZSH_MIDDLE
    for command in commands:
        yield f"    {command.name})"
        yield from (f"      {line}" for line in _zsh_command(command))
        yield "      ;;"
    yield _ZSH_END


def _zsh_command(command: CommandModel) -> Iterator[str]:
    if command.subcommands:
        described = (f"{sub.name.rpartition(' ')[2]}:{sub.summary}" for sub in command.subcommands)
        yield f"local -a actions=({' '.join(map(shlex.quote, described))})"
        yield "if (( CURRENT == 2 )); then _describe -t actions action actions; return; fi"
        yield "local action=$words[2]"
        yield "shift words; (( CURRENT-- ))"
        yield "case $action in"
        for sub in command.subcommands:
            yield f"  {sub.name.rpartition(' ')[2]}) {_zsh_arguments(sub)} ;;"
        yield "esac"
    else:
        yield _zsh_arguments(command)


def _zsh_arguments(command: CommandModel) -> str:
    specs = [_zsh_option(option) for option in command.options]
    for position, value in enumerate(command.values, 1):
        number = "*" if value.is_repeatable else str(position)
        specs.append(shlex.quote(f"{number}:{_zsh_text(value.name)}:{_zsh_action(value)}"))
    # the options that follow the first argument are for sbatch or the script
    stop = "-A '-*' " if command.name == "submit" else ""
    return f"_arguments -s {stop}{' '.join(specs)}"


def _zsh_option(option: Option) -> str:
    value = option.value
    text = f"[{_zsh_text(option.summary)}]"
    if value:
        separator = "::" if value.is_optional else ":"
        text += f"{separator}{_zsh_text(value.name)}:{_zsh_action(value)}"
    if len(option.names) == 1:
        return shlex.quote(f"{option.names[0]}{text}")
    return f"'({' '.join(option.names)})'{{{','.join(option.names)}}}{shlex.quote(text)}"


def _zsh_action(value: Value) -> str:
    return f"({' '.join(value.choices)})" if value.kind is Kind.CHOICE else _ZSH_ACTIONS[value.kind]


def _zsh_text(text: str) -> str:
    for special in "\\[]:":
        text = text.replace(special, f"\\{special}")
    return text


# --- fish

_FISH_START = """\
# fish completion of jobmon: written by `jobmon completion fish`
function __jobmon_at --description 'whether these are the words after jobmon'
    set -l words (commandline -opc)
    set -l last (math 1 + (count $argv))
    test (count $words) -ge $last; and test "$words[2..$last]" = "$argv"
end
function __jobmon_words --description 'whether the command line has this number of words'
    test (count (commandline -opc)) -eq $argv[1]
end
function __jobmon_jobs
    jobmon completion jobs 2>/dev/null
end
complete -c jobmon -f
complete -c jobmon -n '__jobmon_words 1' -s h -l help -d 'show the help'
complete -c jobmon -n '__jobmon_words 1' -s V -l version -d 'show the version'"""


def fish(commands: Sequence[CommandModel]) -> str:
    """Return the script for fish."""
    return "\n".join((*_fish(commands), ""))


def _fish(commands: Sequence[CommandModel]) -> Iterator[str]:
    yield _FISH_START
    for command in commands:
        yield _fish_line("__jobmon_words 1", f"-a {command.name}", command.summary)
    for command in _all(commands):
        at = f"__jobmon_at {command.name}"
        for sub in command.subcommands:
            yield _fish_line(f"{at}; and __jobmon_words 2", f"-a {sub.name.rpartition(' ')[2]}", sub.summary)
        for option in command.options:
            yield _fish_line(at, _fish_option(option, commands), option.summary)
        for value in command.values:
            yield _fish_line(at, _fish_value(value, commands))


def _fish_line(condition: str, words: str, summary: str = "") -> str:
    description = f" -d {_fish_quoted(summary)}" if summary else ""
    return f"complete -c jobmon -n '{condition}' {words}{description}"


def _fish_option(option: Option, commands: Sequence[CommandModel]) -> str:
    names = [f"-l {name[2:]}" if name.startswith("--") else f"-s {name[1:]}" for name in option.names]
    if option.value is None:
        return " ".join(names)
    return " ".join((*names, "-r", _fish_value(option.value, commands))).rstrip()


def _fish_value(value: Value, commands: Sequence[CommandModel]) -> str:
    match value.kind:
        case Kind.JOB:
            return "-a '(__jobmon_jobs)'"
        case Kind.FILE:
            return "-F"
        case Kind.JOB_OR_FILE:
            return "-F -a '(__jobmon_jobs)'"
        case Kind.COMMAND:
            return f"-a '{_names(commands)}'"
        case Kind.CHOICE:
            return f"-a '{' '.join(value.choices)}'"
        case _:
            return ""


def _fish_quoted(text: str) -> str:
    escaped = text.replace("\\", "\\\\").replace("'", "\\'")
    return f"'{escaped}'"


SCRIPTS: dict[str, Callable[[Sequence[CommandModel]], str]] = {"bash": bash, "zsh": zsh, "fish": fish}
