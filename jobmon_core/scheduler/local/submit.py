"""From the user's arguments to a job that runs, tended by a process that nobody has to wait for."""

from __future__ import annotations

import os
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from jobmon_core.domain.errors import SchedulerRejected
from jobmon_core.domain.slurm.log_paths import templates_from_record
from jobmon_core.scheduler.local.options import SbatchOptions, read_command_line, read_options
from jobmon_core.scheduler.local.records import JobSpec
from jobmon_core.scheduler.local.script import Script, read_script
from jobmon_core.system.process import user_name
from jobmon_core.system.runner import exit_code_within, start_detached

if TYPE_CHECKING:
    from collections.abc import Sequence

    from jobmon_core.scheduler.local.job_dir import JobDir

_SHEPHERD = "jobmon_core.scheduler.local.supervisor"
_ROOT = Path(__file__).resolve().parents[3]  # what -m must find the package in
_START_TIMEOUT_S = 60.0  # a file system that is slow to load Python from
_NOWHERE = "/dev/null"


@dataclass(frozen=True, slots=True)
class Request:
    """A submission that makes sense."""

    options: SbatchOptions
    spec: JobSpec
    script: Script


def read_request(arguments: Sequence[str], now_s: float, kill_wait_s: float) -> Request:
    """Read what the user asks for, with this process's environment, folder and standard input.

    Raises:
        SchedulerRejected: it can't be done, in the words of sbatch.
    """
    command_line = read_command_line(arguments)
    script = read_script(command_line.script, command_line.wrap, os.environ.get("PATH", ""))
    options = read_options(script.directives(), os.environ, command_line)
    return Request(options, _spec(options, script, command_line.script[1:], now_s, kill_wait_s), script)


def _spec(
    options: SbatchOptions, script: Script, arguments: Sequence[str], now_s: float, kill_wait_s: float
) -> JobSpec:
    submit_dir = _current_folder()
    # joined as text: ../x is kept, as in Slurm
    workdir = os.path.join(submit_dir, options.chdir) if options.chdir else submit_dir  # noqa: PTH118 - pathlib would drop ../ and ./
    logs = templates_from_record(options.output, options.error, workdir, is_array=bool(options.array))
    wanted_input = "" if options.input.lower() == "none" else options.input
    return JobSpec(
        name=options.job_name or script.name,
        command=script.path,
        arguments=tuple(arguments),
        workdir=workdir,
        stdout=logs.stdout,
        stderr=logs.stderr,
        stdin=os.path.join(workdir, wanted_input) if wanted_input else _NOWHERE,  # noqa: PTH118 - pathlib would drop ../ and ./
        append=options.append,
        limit_s=options.limit_s,
        array=options.array,
        export=options.export,
        submit_s=int(now_s),
        submit_dir=submit_dir,
        user=user_name(),
        uid=os.getuid(),
        kill_wait_s=kill_wait_s,
    )


def _current_folder() -> str:
    try:
        return str(Path.cwd())
    except OSError as error:
        raise SchedulerRejected(f"the current folder can't be told: {error.strerror}") from error


def launch(folder: JobDir) -> None:
    """Start the job's shepherd and return when it is at work.

    Raises:
        SchedulerRejected: it does not get going; its own words are in the message.
        OSError: it can't be started.
    """
    utf8 = f"utf8={sys.flags.utf8_mode}"  # file names must be read as they were written
    # -E -S: neither PYTHON* variables, which are meant for the job, nor a site's start-up hooks
    argv = [sys.executable, "-E", "-S", "-X", utf8, "-m", _SHEPHERD, str(folder.path.absolute())]
    with Path(_NOWHERE).open("r+b", buffering=0) as nowhere, folder.log.open("ab") as log:
        streams = (nowhere.fileno(), log.fileno(), log.fileno())
        process = start_detached(argv, os.environ, streams, folder=str(_ROOT))
    exit_code = exit_code_within(process, _START_TIMEOUT_S)
    if exit_code is None:
        raise SchedulerRejected(f"its shepherd did not get going within {_START_TIMEOUT_S:g} s")
    if exit_code != 0:
        words = folder.log.read_text(encoding="utf-8", errors="replace").strip()
        raise SchedulerRejected(words or f"its shepherd ended with exit code {exit_code}")
