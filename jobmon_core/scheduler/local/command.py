"""A local job that runs one command in the user's own environment."""

from __future__ import annotations

import os
import shlex
import shutil
import stat
import time
from contextlib import suppress
from dataclasses import dataclass, field
from functools import partial
from typing import TYPE_CHECKING

from jobmon_core.domain.errors import CommandMissing, CommandNotExecutable
from jobmon_core.domain.slurm.log_paths import literal, templates_from_record
from jobmon_core.scheduler.local.client import LocalScheduler
from jobmon_core.scheduler.local.job_dir import JobSpec
from jobmon_core.scheduler.local.submit import LocalRequest, current_folder
from jobmon_core.scheduler.this_host import command_name
from jobmon_core.system.users import user_name

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from pathlib import Path

    from jobmon_core.scheduler.base import Submission, Submitted

DEFAULT_OUTPUT = "jobmon-%j.out"  # not Slurm's name: a job of Slurm may have the same id
_DEV_NULL = "/dev/null"
_SCRIPT = '#!/bin/sh\nexec {} "$@"\n'


@dataclass(frozen=True, slots=True)
class CommandSubmitter:
    """Starts one command as a local job. File names may contain Slurm's ``%`` patterns."""

    root: Path  # of all local jobs
    name: str = ""  # of the job; empty: from the command
    output: str = ""  # the log file; empty: `DEFAULT_OUTPUT`; /dev/null: a file of jobmon instead
    error: str = ""  # the log file of stderr; empty: that of stdout
    variables: Mapping[str, str] = field(default_factory=dict)  # besides the user's own
    append: bool = False  # to the log files, if they exist

    def submit(
        self,
        arguments: Sequence[str],
        on_job: Callable[[Submitted], None],
        on_start: Callable[[], None] | None = None,
    ) -> Submission:
        """Start ``arguments``, the program first; print nothing but errors."""
        return LocalScheduler(self.root).start(partial(self._request, arguments), on_job, on_start)

    def _request(self, argv: Sequence[str]) -> LocalRequest:
        _check_executable(argv[0])
        folder = current_folder()
        stdout = _log(self.output or DEFAULT_OUTPUT, self.root, "output")
        stderr = _log(self.error, self.root, "error")
        logs = templates_from_record(stdout, stderr, folder, is_array=False)
        spec = JobSpec(
            name=self.name or command_name(argv, folder),
            command=argv[0],
            arguments=tuple(argv[1:]),
            workdir=folder,
            stdout=logs.stdout,
            stderr=logs.stderr,
            stdin=_stdin(),
            append=self.append,
            submit_s=int(time.time()),
            submit_dir=folder,
            user=user_name(),
            uid=os.getuid(),
            keeps_environment=True,
        )
        script = os.fsencode(_SCRIPT.format(shlex.quote(argv[0])))
        return LocalRequest(spec, script, {"quiet": ""}, self.variables)


def _log(template: str, root: Path, name: str) -> str:
    if template == _DEV_NULL:
        return literal(str(root)) + f"/%j/{name}"
    return template


def _check_executable(program: str) -> None:
    if shutil.which(program) is not None:
        return
    if "/" in program and os.path.isdir(program):  # noqa: PTH112 - a text, as in the shell
        raise CommandNotExecutable(f"{program}: is a directory")
    if shutil.which(program, os.F_OK) is None:
        raise CommandMissing(f"{program}: command not found")
    raise CommandNotExecutable(f"{program}: not executable; `chmod +x` makes it so")


def _stdin() -> str:
    path = f"/proc/{os.getpid()}/fd/0"
    with suppress(OSError):
        mode = os.fstat(0).st_mode
        if stat.S_ISREG(mode) or stat.S_ISFIFO(mode):
            os.close(os.open(path, os.O_RDONLY | os.O_NONBLOCK))
            return path
    return _DEV_NULL
