"""Runs the program that the user wants started when all members of a group have ended."""

from __future__ import annotations

import os
import sys
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from jobmon_core.context import Context
from jobmon_core.domain.slurm.states import exit_phrase
from jobmon_core.store.home import Home
from jobmon_core.system.environment import user_environment
from jobmon_core.system.runner import start_detached, wait_or_kill

if TYPE_CHECKING:
    from jobmon_core.domain.many.groups.model import Group

_TIMEOUT_S = 3600.0


def main() -> None:
    """Run the program of a group: ``HOME NAME``."""
    home, name = sys.argv[1:]
    ctx = Context(Home(Path(home)), os.environ)
    group = ctx.groups.load(name)
    result = _run(ctx, group)
    with ctx.groups.locked(name) as group:
        ctx.groups.save(replace(group, then_result=result))


def _run(ctx: Context, group: Group) -> str:
    argv, name = group.settings.then, group.name
    output = ctx.home.logs / f"group-{name}.then.log"
    summary = ctx.groups.summary_path(name)
    environment = {**user_environment(os.environ), "JOBMON_GROUP": name, "JOBMON_SUMMARY": str(summary)}
    with summary.open("rb") as given, output.open("ab") as out:
        try:
            streams = given.fileno(), out.fileno(), out.fileno()
            process = start_detached(argv, environment, streams, folder=group.settings.then_folder or None)
        except OSError as error:
            return f"{argv[0]} cannot be started: {error.strerror}"
        code = wait_or_kill(process, _TIMEOUT_S)
    if code is None:
        return f"killed after {_TIMEOUT_S:.0f} s"
    if code >= 0:
        return f"exit code {code}"
    return exit_phrase(None, -code)


if __name__ == "__main__":
    main()
