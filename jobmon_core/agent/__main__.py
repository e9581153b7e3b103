"""Run an agent: ``python -P -m jobmon_core.agent OPTION...``, see `agent_command`.

Options, each ``--NAME=VALUE``: ``folder`` (of the task's telemetry, required), ``job`` (the raw id of a Slurm
job) or ``pid`` (a process; may be repeated), ``node`` (name of the folder to write to), ``interval`` (seconds
between reports), ``lifetime`` (seconds), ``disk`` (a folder; may be repeated), ``log`` (a file; may be repeated).

The agent ends with exit code 0 when no process of the task is left, at SIGTERM, SIGINT or SIGHUP, at the end
of its lifetime, when its folder is removed, when its parent ends, and when a newer agent reports to its
folder. It writes nothing to stdout; wrong options give one line on stderr and exit code 64.
"""

from __future__ import annotations
