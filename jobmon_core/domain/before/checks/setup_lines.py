"""The commands of a script that only set up its environment; the short job of `check --on-node` runs them.

What could run a program of the user is left out: command substitutions other than conda's shell hook and
``conda info --base``; commands of conda but to activate and deactivate; and sourced files other than
activation scripts, init files of conda and of environment modules, and start-up files of the shell. Sources:
bash(1); ``conda activate --help``; ``micromamba shell --help``; module(1) of Environment Modules and of Lmod.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping

from jobmon_core.domain.before.batch_script.model import BatchScript, Command, Part, PartKind, Word

_CONDA = ("conda", "mamba", "micromamba")
_SOURCE = ("source", ".")
_BUILTINS = ("export", "unset", "ulimit")
_CHANGES = """
load add try-load try-add unload rm del delete remove swap switch sw purge use unuse restore reset
refresh update
"""
_MODULE_CHANGES = tuple(_CHANGES.split())
# what `ml` takes for a command rather than for the name of a module
_OTHERS = """
save savelist saveshow saverm describe disable source sh-to-mod initadd initprepend initswitch initrm
initclear edit config spider avail av list show help whatis keyword search overview tablelist is-loaded
is-avail
"""
_OTHER_MODULE_COMMANDS = tuple(_OTHERS.split())
_CONDA_BASE = re.compile(r"\$\((?:conda|mamba) info --base\)(?=/)|`(?:conda|mamba) info --base`(?=/)")
_ACTIVATE = re.compile(r"activate|(?:.*/)?bin/activate(?:\.sh)?", re.DOTALL)
_INIT_FILE = re.compile(
    r"(?:.*/)?etc/profile\.d/[\w.+-]+\.sh|(?:.*/)?(?:conda|mamba|micromamba)\.sh"
    r"|(?:.*/(?:lmod|modules)(?:/[\w.+-]+)*|\$\{?(?:LMOD_PKG|MODULESHOME)\}?)/init/(?:bash|sh|zsh|ksh|profile)"
    r"|/etc/(?:profile|bashrc|bash\.bashrc)|(?:~|\$HOME|\$\{HOME\})/\.(?:bashrc|bash_profile|profile|zshrc)",
    re.DOTALL | re.IGNORECASE,
)
_HOOK = re.compile(
    r"\"?\$\([\"']?(?:[\w.~${}-]*/)*(?:(?:conda|mamba|micromamba)|\$\{?(?:CONDA|MAMBA)_EXE\}?)[\"']? +"
    r"(?:[\"']?shell\.(?:bash|posix|zsh)[\"']? +[\"']?hook[\"']?"
    r"|shell +hook(?: +(?:--shell|-s)[ =](?:bash|posix|zsh))?)(?: +2> ?/dev/null)?\)\"?"
)
_CONDA_QUERIES = ("run", "info", "list", "--version")  # commands that change nothing in the shell


def set_up_of(script: BatchScript, values: Mapping[str, str | None]) -> tuple[list[Command], tuple[int, ...]]:
    """The commands that set up the environment, and the lines left out that may do so, too."""
    run: list[Command] = []
    left_out: list[int] = []
    unknown: set[str] = set()  # variables that the short job does not have
    for command in script.commands:
        if not command.within and _is_safe(command, values) and unknown.isdisjoint(_used(command)):
            run.append(command)
            continue
        unknown |= _assigned(command)
        if _may_matter(command):
            left_out.append(command.line)
    return run, tuple(dict.fromkeys(left_out))


def _is_safe(command: Command, values: Mapping[str, str | None]) -> bool:
    if not _has_harmless_redirections(command) or not all(
        expands_safely(value) for _, value in command.assignments
    ):
        return False
    if not command.words:
        return True
    first, rest = command.words[0].raw, command.words[1:]
    if first in _SOURCE:
        return bool(rest) and _only_sets_up(rest[0], rest[1:], values)
    if first == "eval":
        return len(rest) == 1 and _HOOK.fullmatch(rest[0].raw) is not None
    return all(map(expands_safely, rest)) and _sets_up(first, rest)


def _sets_up(name: str, words: tuple[Word, ...]) -> bool:
    if name in _CONDA:
        return bool(words) and words[0].raw in ("activate", "deactivate")
    if name in ("module", "ml"):
        return _sets_up_modules(name, words)
    return name in _BUILTINS


def _only_sets_up(path: Word, arguments: tuple[Word, ...], values: Mapping[str, str | None]) -> bool:
    written = re.sub("[\"']", "", path.raw)
    text = _CONDA_BASE.sub("", written, count=1) if _CONDA_BASE.match(written) else written
    if (text == written and not expands_safely(path)) or re.search(r"[`()<>\s]", text):
        return False
    texts = (text, path.value(values) or "")
    if any(_ACTIVATE.fullmatch(each) for each in texts):
        return len(arguments) <= 1 and all(map(expands_safely, arguments))
    return not arguments and any(_INIT_FILE.fullmatch(each) for each in texts)


def _sets_up_modules(name: str, words: tuple[Word, ...]) -> bool:
    subject = next((word.raw for word in words if not word.raw.startswith("-")), "")
    return subject in _MODULE_CHANGES or (
        name == "ml" and subject != "" and subject not in _OTHER_MODULE_COMMANDS
    )


def _has_harmless_redirections(command: Command) -> bool:
    """They only discard or join outputs; the short job leaves redirections out."""
    return all(
        (">" in operator and target.literal == "/dev/null")
        or (operator == ">&" and target.literal in ("1", "2"))
        for operator, target in command.redirections
    )


def expands_safely(word: Word) -> bool:
    """Whether the shell runs no command to expand a word."""
    return _expand_safely(word.parts)


def _expand_safely(parts: tuple[Part, ...]) -> bool:
    return all(
        part.kind is not PartKind.OTHER and not part.runs_command and _expand_safely(part.default or ())
        for part in parts
    )


def _used(command: Command) -> Iterator[str]:
    return (part.text for word in command.every_word() for part in word.uses())


def _assigned(command: Command) -> set[str]:
    exported = [word.raw.partition("=")[0] for word in command.words[1:]] if command.name == "export" else []
    return {*(name for name, _ in command.assignments), *exported}


def _may_matter(command: Command) -> bool:
    first = ""
    if command.words:
        first = command.words[0].raw
    if command.in_function:
        return False
    if first in _CONDA:
        return not any(word.raw in _CONDA_QUERIES for word in command.words[1:2])
    if first in ("module", "ml"):
        return not any(word.raw in _OTHER_MODULE_COMMANDS for word in command.words[1:])
    return first in (*_SOURCE, "eval") or (first == "export" and not command.within)
