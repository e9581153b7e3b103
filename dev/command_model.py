"""The commands with their options and arguments, read from the parsers, for completion and the manual."""

from __future__ import annotations

import argparse
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Iterator


class Kind(StrEnum):
    """What a value is, as far as a shell can complete it."""

    JOB = "job"
    FILE = "file"
    JOB_OR_FILE = "job or file"
    COMMAND = "command"  # of jobmon
    CHOICE = "choice"
    TEXT = "text"


class Value(NamedTuple):
    """A positional argument, or the argument of an option."""

    name: str  # its metavar, else the name of the argument in capitals
    kind: Kind
    choices: tuple[str, ...]  # empty unless the kind is CHOICE
    is_optional: bool
    is_repeatable: bool
    summary: str


class Option(NamedTuple):
    """An option; ``value`` is None if it takes no argument."""

    names: tuple[str, ...]
    summary: str
    value: Value | None


class CommandModel(NamedTuple):
    """A command, or a subcommand such as ``patterns list``."""

    name: str  # without "jobmon"
    summary: str
    description: str
    epilog: str
    options: tuple[Option, ...]
    values: tuple[Value, ...]
    subcommands: tuple[CommandModel, ...]


def command_model(parser: argparse.ArgumentParser, summary: str) -> CommandModel:
    """Return the model of a command from its parser."""
    actions = parser._actions  # noqa: SLF001 - argparse has no public list, and shtab and others rely on it
    return CommandModel(
        name=parser.prog.partition(" ")[2],
        summary=summary,
        description=parser.description or "",
        epilog=parser.epilog or "",
        options=tuple(
            _option(action)
            for action in actions
            if action.option_strings and action.help is not argparse.SUPPRESS
        ),
        values=tuple(
            _value(action)
            for action in actions
            if not action.option_strings and not isinstance(action, argparse._SubParsersAction)  # noqa: SLF001 - see above
        ),
        subcommands=tuple(sub for action in actions for sub in _subcommands(action)),
    )


def _subcommands(action: argparse.Action) -> Iterator[CommandModel]:
    if isinstance(action, argparse._SubParsersAction):  # noqa: SLF001 - see above
        summaries = {choice.dest: choice.help or "" for choice in action._get_subactions()}  # noqa: SLF001 - see above
        for name, parser in action.choices.items():
            yield command_model(parser, summaries[name])


def _option(action: argparse.Action) -> Option:
    value = None if action.nargs == 0 else _value(action)
    return Option(tuple(action.option_strings), _summary(action), value)


def _value(action: argparse.Action) -> Value:
    name = str(action.metavar or action.dest.upper())
    return Value(
        name=name,
        kind=_kind(name, action),
        choices=tuple(map(str, action.choices or ())),
        is_optional=action.nargs in ("?", "*"),
        is_repeatable=action.nargs in ("+", "*", argparse.REMAINDER),
        summary=_summary(action),
    )


def _summary(action: argparse.Action) -> str:
    return (action.help or "") % vars(action)  # as argparse does


def _kind(name: str, action: argparse.Action) -> Kind:
    if action.choices:
        return Kind.CHOICE
    if action.nargs == argparse.REMAINDER:  # a program and its arguments, not a command of jobmon
        return Kind.FILE
    is_job = "JOB" in name
    if "FILE" in name or action.type is Path:
        return Kind.JOB_OR_FILE if is_job else Kind.FILE
    if is_job:
        return Kind.JOB
    return Kind.COMMAND if name == "COMMAND" else Kind.TEXT
