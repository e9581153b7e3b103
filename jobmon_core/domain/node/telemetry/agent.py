"""The settings and the command line of an agent."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple


class AgentSettings(NamedTuple):
    """The section ``agent`` of the configuration.

    A site may take logging in to a job's nodes for an attack; so ``ssh`` is off unless the user asks for it.
    """

    enabled: bool = True
    interval_s: float = 5.0  # between two reports
    at_most: int = 16  # tasks with an agent, of one monitor; each takes memory of the login node
    ssh: bool = False  # whether to log in where Slurm starts no step
    cloud: str = "off"  # one of `CLOUDS`: whose metadata service is asked whether it will end the node


CLOUDS = ("off", "auto", "aws", "gcp", "azure")
# of those, a program that catches one may go on; SIGINT ends each Python program that does nothing about it
NOTICE_SIGNALS = ("SIGUSR1", "SIGUSR2", "SIGTERM", "SIGHUP")
AGENT_MODULE = "jobmon_core.agent"
# set before Python starts: if memory runs out, the kernel kills this process and not the job beside it
_KILLED_FIRST = '{ echo 1000 >/proc/self/oom_score_adj; } 2>/dev/null; exec "$0" "$@"'
_LONGEST_S = 40 * 86400.0
_SHORTEST_INTERVAL_S, _LONGEST_INTERVAL_S = 0.1, 3600.0


class AgentOptions(NamedTuple):
    """What an agent measures, and where it reports; one of ``job_id`` and ``pids`` is needed."""

    folder: str  # of the task's telemetry; the agent writes to a folder NODE in it
    job_id: str = ""  # SLURM_JOB_ID of the processes: of an array task, its raw id
    pids: tuple[int, ...] = ()  # the first processes of a task outside Slurm
    node: str = ""  # empty: SLURMD_NODENAME, else the name of the host
    interval_s: float = 5.0  # between two reports
    lifetime_s: float = _LONGEST_S  # after which the agent ends, whatever the task does
    disks: tuple[str, ...] = ()  # folders on the file systems to watch
    logs: tuple[str, ...] = ()  # to search for words like "error"
    cloud: str = "off"  # one of `CLOUDS`
    # one of `NOTICE_SIGNALS`, for the processes once the cloud announces the end of the node
    on_notice: str = ""


def agent_command(options: AgentOptions) -> tuple[str, ...]:
    """Return the arguments of Python that start an agent."""
    values = [("folder", options.folder), ("job", options.job_id), ("node", options.node)]
    values += [("pid", str(pid)) for pid in options.pids]
    values += [("interval", f"{options.interval_s:g}"), ("lifetime", f"{options.lifetime_s:g}")]
    values += [("disk", path) for path in options.disks]
    values += [("log", path) for path in options.logs]
    if options.cloud != CLOUDS[0]:
        values += [("cloud", options.cloud), ("on-notice", options.on_notice)]
    # -P: no module in the job's working directory replaces one of ours
    return ("-P", "-m", AGENT_MODULE, *(f"--{name}={value}" for name, value in values if value))


def killed_first(command: Sequence[str]) -> tuple[str, ...]:
    """Return ``command`` as what the kernel kills first if memory runs out."""
    return ("/bin/sh", "-c", _KILLED_FIRST, *command)


def parse_agent_options(arguments: tuple[str, ...]) -> AgentOptions:
    """Raise ValueError for an option that is unknown, wrong or missing."""
    values: dict[str, list[str]] = {name: [] for name in _NAMES}
    for argument in arguments:
        name, equals, value = argument.removeprefix("--").partition("=")
        if not argument.startswith("--") or name not in values or not equals:
            raise ValueError(f"unknown argument {argument!r}; expected --NAME=VALUE, NAME one of {_NAMES}")
        values[name].append(value)
    options = AgentOptions(
        folder=_last(values["folder"], ""),
        job_id=_last(values["job"], ""),
        pids=tuple(int(pid) for pid in values["pid"]),
        node=_last(values["node"], "").replace("/", "_"),
        interval_s=float(_last(values["interval"], "5")),
        lifetime_s=float(_last(values["lifetime"], str(_LONGEST_S))),
        disks=tuple(values["disk"]),
        logs=tuple(values["log"]),
        cloud=_last(values["cloud"], CLOUDS[0]),
        on_notice=_last(values["on-notice"], ""),
    )
    if fault := _fault(options):
        raise ValueError(fault)
    return options


_NAMES = ("folder", "job", "pid", "node", "interval", "lifetime", "disk", "log", "cloud", "on-notice")


def _last(values: list[str], default: str) -> str:
    if values:
        return values[-1]
    return default


def _fault(options: AgentOptions) -> str:
    if not options.folder.startswith("/"):
        return "--folder must be an absolute path"
    if not options.job_id and not options.pids:
        return "--job or --pid is missing"
    if options.cloud not in CLOUDS or options.on_notice not in ("", *NOTICE_SIGNALS):
        return f"--cloud is one of {CLOUDS}, --on-notice one of {NOTICE_SIGNALS}"
    if not _SHORTEST_INTERVAL_S <= options.interval_s <= _LONGEST_INTERVAL_S:
        return f"--interval must be {_SHORTEST_INTERVAL_S:g} to {_LONGEST_INTERVAL_S:g} seconds"
    if not 0 < options.lifetime_s <= _LONGEST_S:
        return f"--lifetime must be above 0 and at most {_LONGEST_S:g} seconds"
    return ""
