"""Commands on this host: the script that one runs, its name, and an agent beside it."""

from __future__ import annotations

import os
import re
import signal
import sys
from pathlib import Path
from typing import TYPE_CHECKING

from jobmon_core.domain.node.telemetry.agent import agent_command, killed_first
from jobmon_core.scheduler.base import AgentLaunch

if TYPE_CHECKING:
    from collections.abc import Sequence

    from jobmon_core.domain.job.tracking.model import Task
    from jobmon_core.domain.node.telemetry.agent import AgentOptions

# the file names of interpreters, also with a version, or as a login shell
INTERPRETER = re.compile(r"-?(python|pypy|(ba|da|k|z)?sh|perl|ruby|Rscript|julia|node)[\d.]*")
SCRIPT_SUFFIXES = (".py", ".sh", ".R", ".jl", ".pl", ".rb", ".js", ".m")
LAUNCHERS = (
    *("torchrun", "accelerate", "deepspeed", "mpirun", "mpiexec", "srun"),
    *("env", "nice", "time", "nohup"),
)


def program_or_script(argv: Sequence[str], folder: str) -> str:
    """The script that a command runs, else its program."""
    program, *arguments = argv
    name = Path(program).name
    runs_script = "/" not in program or name in LAUNCHERS or INTERPRETER.fullmatch(name) is not None
    scripts = [word for word in arguments if word.endswith(SCRIPT_SUFFIXES) and _is_file(folder, word)]
    if runs_script and scripts:
        return scripts[0]
    return program


def command_name(argv: Sequence[str], folder: str) -> str:
    """The file name of the script that a command runs in ``folder``, else of its program."""
    return Path(program_or_script(argv, folder)).name


def _is_file(folder: str, word: str) -> bool:
    return os.path.isfile(os.path.join(folder, word))  # noqa: PTH113, PTH118 - Path raises for a word that is too long


def agent_on_host(task: Task, options: AgentOptions, *pids: int) -> tuple[AgentLaunch, ...]:
    """An agent for processes and their descendants."""
    if not pids:
        return ()
    options = options._replace(pids=pids, node=task.nodes)
    command = killed_first((sys.executable, *agent_command(options)))
    return (AgentLaunch((command,), signal.SIGTERM),)
