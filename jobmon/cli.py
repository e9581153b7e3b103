"""The entry point of the command line: lists the commands, and runs one."""

from __future__ import annotations

import gc
import os
import sys
from typing import TYPE_CHECKING

from jobmon import streams
from jobmon.errors import UsageError, run_guarded
from jobmon_core.late_modules import load_late

if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import NoReturn

# Group -> command -> its summary. A command's module in jobmon.commands has its name, with _ instead of -.
GROUPS = {
    "submit and watch jobs": {
        "submit": "submit a job as sbatch does and watch it",
        "chain": "submit jobs that run one after the other",
        "check": "look for what would make a job fail, before it is submitted",
        "run": "run a command here, or on a host reached by ssh, and watch it",
        "watch": "watch a job not submitted through jobmon",
        "rerun": "submit again what a job ran",
        "restart": "submit the next attempt of a job, from its newest complete checkpoint",
        "group": "make, follow and change groups of jobs, such as a sweep",
        "wait": "wait until jobs are over; the exit code says how they ended",
        "cancel": "stop watching a job; the job itself keeps running",
    },
    "look at jobs": {
        "status": "list the watched jobs",
        "top": "follow the progress of the running jobs on a screen",
        "show": "show everything known about jobs",
        "logs": "show or follow the output of a job",
        "progress": "show how far along a program is, from its logs",
        "diagnose": "say what is wrong with a job: pending, running or ended",
        "diff": "name what changed since a job last worked",
        "report": "show the whole run of a job on one page, also as HTML",
        "web": "show the jobs in a browser, to you alone",
        "history": "show ended runs, what they took, and why they failed",
        "digest": "show or send what the runs of a day or a week took, and what was forgotten",
        "nodes": "show what your runs took on each node, and which nodes kill them",
        "efficiency": "show what ended jobs used of what they requested",
        "checkpoints": "list the checkpoints of a job or folder, and which to resume from",
        "restarts": "list the jobs that are restarted, or the attempts of one",
        "patrol": "look once at everything watched: one line, and what has changed",
        "handover": "write a page for someone who takes over the jobs",
    },
    "messages and records": {
        "notify": "send a message, e.g. at the end of a script",
        "mute": "send no messages about a job, a group or everything for a while",
        "note": "note something about a job",
        "forget": "remove the records of jobs: of those you name, or of all old ones",
    },
    "set up": {
        "init": "connect jobmon to Discord or to a phone: write config.json",
        "connect": "log in to the cluster of a profile, from a laptop",
        "test": "send an example of each level to each channel",
        "test-discord": "post a test message to each Discord channel",
        "recover": "restart monitors that were killed or lost in a reboot",
        "help": "show the help of a command",
    },
}
# those that the list of commands only names
FURTHER = {
    "ack": "acknowledge what was reported about a job",
    "archive": "put everything about a job into one folder or file",
    "completion": "print the completion script of bash, zsh or fish",
    "health": "say whether a job is healthy: GPUs, network, checkpoints, errors",
    "inbox": "try jobmon without Discord: print its messages here",
    "mark": "write a marker, which shows that a stage is done",
    "mcp": "let an AI agent look at your jobs, by the Model Context Protocol",
    "patterns": "list, check and test the failure patterns",
    "prune": "remove the records of all jobs that ended before a time you give",
    "replay": "send again the messages about a job that jobmon gave up sending",
    "test-alerts": "send an example of each level to each channel",
    "verify": "check that no file of a job or folder is missing or damaged",
    "where": "show files, versions and settings, for a bug report",
    "why": "explain why a job is pending",
}
_LOG_VARIABLES = (
    *("JOBMON_LOG_LEVEL", "JOBMON_LOG_FILE"),
    *("TRAINING_MONITOR_LOG_LEVEL", "TRAINING_MONITOR_LOG_FILE"),
)
# what only looks: with `--profile`, it ends there when the connection ends
LOOKS = (*GROUPS["look at jobs"], "wait", "health", "patterns", "verify", "where", "why")
# with texts that are not jobmon's to read; and `watch`, which would start a monitor for each task
_NO_LISTS = ("run", "rerun", "chain", "mark", "group", "note", "notify", "watch")
_OF_OTHER_PROGRAMS = {
    **dict.fromkeys(("ls", "list", "ps", "jobs", "queue"), "status"),
    "tail": "logs -f JOB",
    "version": "--version",
}
COMMANDS = {name: summary for group in (*GROUPS.values(), FURTHER) for name, summary in group.items()}


def program() -> NoReturn:
    """Run jobmon as a program.

    To save 10 ms, it collects garbage rarely and skips Python's clean-up at the end.
    """
    gc.set_threshold(100_000)
    load_late()
    os._exit(main())  # `run_guarded` has flushed stdout; stderr is flushed at each line


def main(arguments: Sequence[str] | None = None) -> int:
    """Run jobmon with ``arguments`` (default: ``sys.argv``) and return the exit code."""
    streams.prepare()
    argv = list(sys.argv[1:] if arguments is None else arguments)
    code = run_guarded(lambda: _run(argv))
    if log := sys.modules.get("jobmon.log"):
        log.ended(code)
    return code


def _run(argv: list[str]) -> int:
    if (argv[:1] and argv[0].startswith("--log-")) or any(each in os.environ for each in _LOG_VARIABLES):
        from jobmon import log  # rarely wanted

        argv = log.set_up(argv, os.environ)
    return run(argv)


def run(argv: list[str]) -> int:
    """Run one command, here or on the cluster of a profile; return its exit code."""
    if "JOBMON_PROFILE" in os.environ or (argv and argv[0].partition("=")[0] == "--profile"):
        from jobmon import profile  # only on laptops

        return profile.run(argv, COMMANDS, LOOKS, run)
    name = ""
    if argv:
        name = argv[0]
    if name == "submit":
        from jobmon.commands import submit

        return submit.run(argv[1:])
    if name == "check":  # its arguments too are those of sbatch
        from jobmon.commands import check

        return check.run(argv[1:])
    # only now, since `submit` is quicker without argparse
    from jobmon.parser import build_parser, command_parser, load_command
    from jobmon_core.domain.slurm.job_ids import each_task

    if name in COMMANDS:
        words = argv[1:]
        if name not in _NO_LISTS:
            words = [each for word in words for each in each_task(word)]
        return load_command(name).run(command_parser(name).parse_args(words))
    overview = build_parser(GROUPS, FURTHER)
    if not name:
        overview.print_help(sys.stderr)
        raise UsageError("no command given")
    if not name.startswith("-"):
        raise UsageError(_unknown_command(name))
    overview.parse_args(argv[:1])  # ends with the help, the version, or an error
    return 0


def _unknown_command(name: str) -> str:
    """Return the error text for an unknown command; it suggests a command with a similar name."""
    from difflib import get_close_matches

    if name in _OF_OTHER_PROGRAMS:
        return f"unknown command {name!r}; did you mean `jobmon {_OF_OTHER_PROGRAMS[name]}`?"
    similar = get_close_matches(name, COMMANDS, n=1, cutoff=0.7)
    hint = "`jobmon --help` lists the commands"
    if similar:
        hint = f"did you mean '{similar[0]}'?"
    return f"unknown command {name!r}; {hint}"
