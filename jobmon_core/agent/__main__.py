"""Run an agent: ``python -P -m jobmon_core.agent OPTION...``, see `agent_command`.

Options, each ``--NAME=VALUE``: ``folder`` (of the task's telemetry, required), ``job`` (the raw id of a Slurm
job) or ``pid``, ``node`` (name of the folder to write to), ``interval`` and ``lifetime`` (seconds), ``disk``
(a folder), ``log`` (a file), ``cloud`` and ``on-notice`` (see `AgentOptions`);
``pid``, ``disk`` and ``log`` may be repeated.

The agent ends with exit code 0

- when no process of the task is left (an agent that is a step of the job: after ten minutes without one),
- if no process appears within a minute (unless the agent is a step of the job),
- at SIGTERM, SIGINT, SIGHUP or SIGUSR1 (srun forwards SIGUSR1, but answers SIGTERM by killing its tasks),
- at the end of its lifetime,
- when its folder is removed, or a newer agent reports to it,
- when the slurmstepd or sshd that started it ends.

Wrong options give one line on stderr and exit code 64, a folder that cannot be created 73.
"""

from __future__ import annotations

import os
import resource
import signal
import sys
from contextlib import suppress
from pathlib import Path

from jobmon_core.agent.loop import Agent, AgentClock
from jobmon_core.domain.errors import StorageFailed
from jobmon_core.domain.node.telemetry.agent import parse_agent_options

_USAGE, _CANNOT_WRITE = 64, 73
_LOWEST_PRIORITY = 19


def main(arguments: tuple[str, ...]) -> int:
    """Run an agent."""
    try:
        options = parse_agent_options(arguments)
    except ValueError as error:
        print(f"jobmon agent: {error}", file=sys.stderr)
        return _USAGE
    clock = AgentClock()
    signal.pthread_sigmask(signal.SIG_BLOCK, clock.WAKING)
    _be_harmless()
    try:
        agent = Agent(options, clock)
    except (OSError, StorageFailed) as error:
        print(f"jobmon agent: cannot write to {options.folder}: {error}", file=sys.stderr)
        return _CANNOT_WRITE
    agent.run()
    return 0


def _be_harmless() -> None:
    os.nice(_LOWEST_PRIORITY)
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    with suppress(OSError):
        Path("/proc/self/oom_score_adj").write_text("1000", encoding="ascii")  # the OOM killer ends it first
    os.chdir("/")
    nothing = os.open(os.devnull, os.O_RDWR)
    for descriptor in (0, 1):
        os.dup2(nothing, descriptor)
    os.close(nothing)


if __name__ == "__main__":
    sys.exit(main(tuple(sys.argv[1:])))
