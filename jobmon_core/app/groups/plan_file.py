"""Use case: plan the runs of a file in a group."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, NamedTuple

from jobmon_core.app.groups.edit import open_group, update
from jobmon_core.app.groups.submit_runs import Run
from jobmon_core.domain.groups.model import Member, PlannedRun
from jobmon_core.domain.slurm.job_ids import JobRef

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from pathlib import Path

    from jobmon_core.context import Context
    from jobmon_core.domain.groups.model import Group, GroupSettings


class PlannedFile(NamedTuple):
    """What a file of runs asks for, by the names of the runs."""

    to_submit: tuple[Run, ...]
    known: dict[str, JobRef]  # jobs that were submitted by other means


def plan_file(
    ctx: Context,
    name: str,
    path: Path,
    backend: str | None,
    settings: Callable[[GroupSettings], GroupSettings],
) -> PlannedFile:
    """Read a file of runs, and note in the group what is to be submitted; the group is made if there is none.

    ``backend`` is that of all runs; None for the configured one.

    Raises:
        ConfigInvalid: lists every fault of the file, or of the configuration.
        Invalid: no group can have this name.
        StateUnreadable, StorageFailed: the file of the group cannot be read or written.
    """
    from jobmon_core.observe.runs_file import read_runs

    runs = read_runs(path)
    backend = backend or ctx.configuration().backend
    open_group(ctx, name, settings)
    update(ctx, name, lambda group: _planned(group, runs))
    folder = str(path.absolute().parent)
    return PlannedFile(
        tuple(
            Run(each, folder, (*run.options, *filter(None, (run.script,)), *run.arguments), backend)
            for each, run in runs.items()
            if isinstance(run, PlannedRun)
        ),
        {each: run for each, run in runs.items() if isinstance(run, JobRef)},
    )


def _planned(group: Group, runs: Mapping[str, PlannedRun | JobRef]) -> Group:
    """Return the group with the runs of a file that are not submitted yet."""
    members = {}
    for name, run in runs.items():
        member = group.members.get(name, Member())
        if isinstance(run, PlannedRun) and not member.state_id:
            members[name] = replace(member, planned=run)
    return group.with_members(members)
