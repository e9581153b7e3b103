"""The options that describe one job, which `jobmon run` and `jobmon watch` share."""

from __future__ import annotations

import argparse
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from jobmon.commands.common import Options, Parser, absolute, add_flags, positive
from jobmon.errors import say
from jobmon_core.app.jobs.job_config import read_settings, settings_beside
from jobmon_core.domain.humanize import seconds_of
from jobmon_core.domain.job.job_settings import JobSettings

if TYPE_CHECKING:
    from collections.abc import Callable

HOST_HELP = "one of `hosts` in config.json, or any name that ssh knows"
_AS_GIVEN = (
    *("num_workers", "total_items", "no_agent"),
    *("output_pattern", "log_pattern", "checkpoint_pattern"),
)
_TIMES = ("check_interval", "launch_timeout", "stall_timeout", "progress_every")


def add_job_options(parser: Parser) -> None:
    """Declare the options, in a group of their own."""
    group = parser.add_argument_group("about the job, all optional")
    for name, kind, metavar, text in _OPTIONS:
        group.add_argument(name, type=kind, metavar=metavar, help=text)
    add_flags(group, no_agent="start nothing beside it: no figures of its GPUs, memory and processes")
    group.add_argument(
        "--launch-timeout",
        type=seconds,
        metavar="SECONDS",
        help="warn if a worker, a GPU or its first output is missing this long after its start",
    )


def job_settings(options: Options, script: str = "") -> JobSettings | None:
    """Return what the user says about the job, by options or in a job configuration; None if nothing.

    The configuration is the file that ``--job-config`` names, else one beside the ``script`` of a local job.

    Raises:
        ConfigInvalid: the file that ``--job-config`` names has faults or cannot be read.
    """
    if options.job_config:
        configured = read_settings(options.job_config, say)
    else:
        configured = settings_beside(script, say, "local") or JobSettings()
    is_here = not getattr(options, "host", "")  # else a folder there
    given = {name: getattr(options, name) for name in _AS_GIVEN}
    given |= {f"{name}_s": getattr(options, name) for name in _TIMES}
    given |= {name: absolute(getattr(options, name)) for name in ("output_dir", "log_dir")}
    folder = options.checkpoint_dir
    given |= {
        "name": options.job_name,
        "gpu_ids": tuple(options.gpu_ids or ()),
        "checkpoint_dir": absolute(folder) if is_here else str(folder or ""),
    }
    settings = replace(configured, **{name: value for name, value in given.items() if value})
    if settings == JobSettings():
        return None
    return settings


def seconds(text: str) -> float:
    """Parse a time of up to 30 days, e.g. ``300`` (seconds), ``5m`` or ``2h``, for argparse."""
    try:
        value = seconds_of(text)
    except ValueError as error:
        raise argparse.ArgumentTypeError(str(error)) from error
    if not value:
        raise argparse.ArgumentTypeError("must be more than 0")
    return value


def gpu_id(text: str) -> int:
    """Parse the number of a GPU, for argparse."""
    if not (text.isascii() and text.isdecimal()):
        raise argparse.ArgumentTypeError(
            f"{text!r} is not the number of a GPU; a command of `jobmon run` follows after --"
        )
    return int(text)


_OPTIONS: tuple[tuple[str, Callable[[str], object], str, str], ...] = (
    (
        "--job-config",
        Path,
        "FILE",
        "a YAML file about the job, see docs/configuration.md; the other options override it",
    ),
    ("--num-workers", positive, "N", "its number of worker processes"),
    ("--total-items", positive, "N", "the items that all workers together process"),
    ("--log-dir", Path, "DIR", "the folder of further logs to read its progress from"),
    ("--log-pattern", str, "GLOB", "which files of that folder are its logs"),
    ("--output-dir", Path, "DIR", "the folder of its results, to see whether they grow"),
    ("--output-pattern", str, "GLOB", "which files of that folder are its results"),
    ("--checkpoint-dir", Path, "DIR", "the folder of its checkpoints (default: --output-dir)"),
    ("--checkpoint-pattern", str, "GLOB", "which files or folders are its checkpoints"),
    ("--stall-timeout", seconds, "SECONDS", "warn after this time without progress and without output"),
    (
        "--check-interval",
        seconds,
        "SECONDS",
        "look at its progress this often, at most every 5 seconds (default: poll.running_s, 30)",
    ),
    (
        "--progress-every",
        seconds,
        "TIME",
        "send a message about how far it is this often, e.g. 2h, at most every 10 minutes (default: none)",
    ),
)
