"""Does what a saved poll of a group decided: appends to the log, hands over messages, starts programs.

The lock of the group is held. If this process is killed, the next one does the rest: only a hold may be
repeated, and the user's program is started at most once, perhaps not at all.
"""

from __future__ import annotations

import json
import os
import sys
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from jobmon_core.domain.errors import StorageFailed
from jobmon_core.domain.many.groups.digest import summary
from jobmon_core.domain.many.groups.poll import to_append
from jobmon_core.store.home import HOME_VARIABLE
from jobmon_core.system.environment import user_environment
from jobmon_core.system.files import failure_reason, open_private, write_atomically
from jobmon_core.system.runner import start_beside

if TYPE_CHECKING:
    from collections.abc import Mapping

    from jobmon_core.context import Context
    from jobmon_core.domain.many.groups.member_view import MemberView
    from jobmon_core.domain.many.groups.model import Group, GroupLog


def perform_saved(ctx: Context, group: Group, views: Mapping[str, MemberView]) -> Group:
    """Do what is still to be done for a group, and save that it was done; return the group.

    After StorageFailed, the next call does the rest, but does not start the user's program again.
    """
    if group.log.pending:
        group = _with_log(ctx, group)
    if group.unsent:
        if group.complete_s is not None:
            content = json.dumps(summary(group, views), indent=1)
            write_atomically(ctx.groups.summary_path(group.name), content.encode("ascii"))
        for message in group.unsent:
            ctx.messages.create(message)  # nothing happens if the message exists already
        group = _saved(ctx, replace(group, unsent=()))
    if group.hold:
        _start_beside(ctx, group, "-m", "jobmon", "group", "hold", group.name, "--yes")
        group = _saved(ctx, replace(group, hold=False))  # to hold a job twice is harmless
    if group.then_is_due:
        group = _saved(ctx, replace(group, then_since_s=ctx.clock.now()))
        try:
            _start_beside(ctx, group, "-m", "jobmon_core.monitor.groups.then", str(ctx.home.root), group.name)
        except StorageFailed as error:
            _saved(ctx, replace(group, then_result=f"not started: {error}"))
            raise
    return group


def _with_log(ctx: Context, group: Group) -> Group:
    """Append to the log; if that fails, the text waits for the next poll, and the messages do not."""
    try:
        size = append_pending(group.log)
    except StorageFailed as error:
        ctx.monitor_log(f"group-{group.name}").write(str(error))
        return group
    return _saved(ctx, replace(group, log=replace(group.log, size=size, pending="")))


def _saved(ctx: Context, group: Group) -> Group:
    ctx.groups.save(group)
    return group


def _start_beside(ctx: Context, group: Group, *arguments: str) -> None:
    # it starts in another folder, in which a relative $JOBMON_HOME would name another home
    environment = {**user_environment(ctx.environment), HOME_VARIABLE: str(ctx.home.root)}
    try:
        start_beside(
            (sys.executable, "-P", *arguments), ctx.home.logs / f"group-{group.name}.err", environment
        )
    except OSError as error:
        raise StorageFailed(f"{sys.executable} cannot be started: {os.strerror(error.errno or 0)}") from error


def append_pending(log: GroupLog) -> int:
    """Append the pending text of a log, which was saved before; return the size of the file afterwards."""
    path = Path(log.path)
    try:
        descriptor = open_private(path, os.O_RDWR | os.O_APPEND)
        with open(descriptor, "r+b", buffering=0) as file:
            size = os.fstat(descriptor).st_size
            start = log.size if log.size <= size else 0  # else the user has emptied or replaced it
            written = os.pread(descriptor, size - start, start)
            rest = to_append(log.pending, written)
            while rest:
                rest = rest[file.write(rest) or 0 :]
            os.fsync(descriptor)
            return os.fstat(descriptor).st_size
    except OSError as error:
        raise StorageFailed(f"{path} cannot be written: {failure_reason(path, error)}") from error
