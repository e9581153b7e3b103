"""The options about restarts that the commands share which start a job."""

from __future__ import annotations

import json
import os
from typing import TYPE_CHECKING

from jobmon.errors import UsageError

if TYPE_CHECKING:
    import argparse
    from collections.abc import Callable, Collection, Mapping

    from jobmon.views.model import Json
    from jobmon_core.domain.job.job_settings import JobSettings, RestartSettings


RESTART = "--restart"  # its value, if any, follows an equals sign
SET_ASIDE = "--set-aside"
CHECKPOINT_DIR = "--checkpoint-dir"
TAKES = {
    "--restart-on": "names of causes, separated by commas",
    "--max-restarts": "a number",
    "--resume-arg": "words for the script",
    CHECKPOINT_DIR: "the path of a folder",
}
_MODES = ("on", "observe", "off")


def add_restart_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the options for the help, the completion and the manual."""
    parser.add_argument(
        RESTART,
        nargs="?",
        const="on",
        metavar="MODE",
        help="submit the job again from its newest complete checkpoint if it fails by no fault of its own, "
        'see docs/restarts.md; "observe" only says after the end what would be done, "off" overrides the job '
        "configuration, and a JSON object takes the place of its section `restart` (default: as that says, "
        "else off)",
    )
    parser.add_argument(
        "--restart-on",
        metavar="CAUSES",
        help="restart only after these ends, e.g. preempted,node (default: all that are no fault of the job)",
    )
    parser.add_argument("--max-restarts", metavar="N", help="restart at most N times in all")
    parser.add_argument(
        "--resume-arg",
        metavar="WORDS",
        help="words that are added to the arguments of the script when it resumes, e.g. '--resume {path}'; "
        "the script can also read the variable JOBMON_RESUME_FROM",
    )
    parser.add_argument(
        SET_ASIDE,
        action="store_true",
        help="rename an incomplete newest checkpoint before a restart, for a program that insists on the "
        "highest number",
    )


def given_values(options: argparse.Namespace) -> dict[str, str]:
    """Return the values of the options that are given."""
    values = {name: getattr(options, name[2:].replace("-", "_"), None) for name in (*TAKES, SET_ASIDE)}
    return {name: value for name, value in values.items() if value and name != CHECKPOINT_DIR}


def leading_options(arguments: list[str], flags: Collection[str], valued: Collection[str]) -> dict[str, str]:
    """Remove and return jobmon's options in front of those of sbatch; a flag has the value ``on``.

    They are never abbreviated: sbatch accepts abbreviations of its own.
    """
    found: dict[str, str] = {}
    while arguments:
        name, equals, value = arguments[0].partition("=")
        if arguments[0] in flags:
            found[name] = "on"
        elif name in valued:
            if not equals:
                value = arguments.pop(1) if arguments[1:] else ""
            found[name] = value
        else:
            break
        del arguments[0]
    return found


def restart_change(
    mode: str | None, values: Mapping[str, str]
) -> Callable[[JobSettings], JobSettings] | None:
    """Return what the options change in the settings of a job; None if none of them is given.

    ``mode`` is the value of ``--restart``, ``values`` those of the others, by name.

    Raises:
        UsageError: a value is invalid.
    """
    if mode is None and not values:
        return None
    from dataclasses import replace  # here, because most jobs have no restarts, and the user waits

    from jobmon_core.domain.job.job_settings import RestartMode, RestartSettings

    whole = None
    if mode and mode.startswith("{"):
        whole = _section(mode)
    if mode is not None and not whole and mode not in _MODES:
        raise UsageError(f"{RESTART} takes {', '.join(_MODES)} or nothing, not {mode!r}")
    changes = _changes(values)
    if mode and not whole:
        changes["mode"] = RestartMode(mode)
    folder = values.get(CHECKPOINT_DIR)

    def change(settings: JobSettings) -> JobSettings:
        restart = replace(whole or settings.restart or RestartSettings(), **changes)
        where = os.path.abspath(folder) if folder else settings.checkpoint_dir  # noqa: PTH100 - a text
        return replace(settings, restart=restart, checkpoint_dir=where)

    return change


def _changes(values: Mapping[str, str]) -> Json:
    from jobmon_core.domain.job.restart.config import BUDGETS, checked_resume_arg, fault_of_cause

    changes: Json = {"set_aside": True} if SET_ASIDE in values else {}
    if causes := values.get("--restart-on"):
        changes["on"] = tuple(filter(None, (each.strip() for each in causes.split(","))))
        if fault := next(filter(None, map(fault_of_cause, changes["on"])), None):
            raise UsageError(f"--restart-on: {fault}")
        if unknown := _unknown_causes(set(changes["on"]).difference(BUDGETS)):
            raise UsageError(
                f"--restart-on: there is no cause {', '.join(unknown)}: it takes {', '.join(BUDGETS)}, "
                "or the id of a cause, e.g. one of `jobmon patterns list`"
            )
    if most := values.get("--max-restarts"):
        if not (most.isascii() and most.isdigit()):
            raise UsageError(f"--max-restarts takes a whole number, not {most!r}")
        changes["max_restarts"] = int(most)
    if words := values.get("--resume-arg"):
        try:
            changes["resume_arg"] = checked_resume_arg(words)
        except ValueError as error:
            raise UsageError(f"--resume-arg {words!r}: {error}") from error
    return changes


def _unknown_causes(names: set[str]) -> list[str]:
    if not names:
        return []
    from jobmon.commands.common import open_context
    from jobmon_core.app.patterns import restart_causes  # reads all patterns

    return sorted(map(repr, names - restart_causes(open_context())))


def _section(text: str) -> RestartSettings:
    """Return what a section ``restart`` says in JSON; it takes the place of the job configuration's.

    Raises:
        ConfigInvalid: names all its faults.
    """
    from jobmon_core.domain.config_section import SecretSources, Section
    from jobmon_core.domain.errors import ConfigInvalid
    from jobmon_core.domain.job.restart.config import read_restart

    faults = list[str]()
    try:
        section = Section(json.loads(text), "restart", faults, SecretSources({}, lambda _path: None))
    except ValueError as error:
        raise UsageError(f"{RESTART} {text!r}: not valid JSON: {error}") from error
    settings = read_restart(section)
    if faults:
        raise ConfigInvalid("submit", faults)
    return settings
