"""The options that describe one job, which `jobmon run` and `jobmon watch` share."""

from __future__ import annotations

import argparse
from dataclasses import replace
from pathlib import Path

from jobmon.commands.common import absolute, positive
from jobmon.errors import say
from jobmon_core.app.jobs.job_config import read_settings, settings_beside
from jobmon_core.domain.job.job_settings import JobSettings

HOST_HELP = "one of `hosts` in config.json, or any name that ssh knows"
_SUFFIXES = {"s": 1.0, "m": 60.0, "h": 3600.0, "d": 86_400.0}
_MAX_S = 30 * 86_400.0


def add_job_options(parser: argparse.ArgumentParser) -> None:
    """Declare the options, in a group of their own."""
    group = parser.add_argument_group("about the job, all optional")
    group.add_argument(
        "--job-config",
        type=Path,
        metavar="FILE",
        help="a YAML file about the job, see docs/configuration.md; the other options override it",
    )
    group.add_argument("--num-workers", type=positive, metavar="N", help="its number of worker processes")
    group.add_argument(
        "--total-items", type=positive, metavar="N", help="the items that all workers together process"
    )
    group.add_argument(
        "--log-dir", type=Path, metavar="DIR", help="the folder of further logs to read its progress from"
    )
    group.add_argument("--log-pattern", metavar="GLOB", help="which files of that folder are its logs")
    group.add_argument(
        "--output-dir", type=Path, metavar="DIR", help="the folder of its results, to see whether they grow"
    )
    group.add_argument("--output-pattern", metavar="GLOB", help="which files of that folder are its results")
    group.add_argument(
        "--checkpoint-dir",
        type=Path,
        metavar="DIR",
        help="the folder of its checkpoints (default: --output-dir)",
    )
    group.add_argument(
        "--checkpoint-pattern", metavar="GLOB", help="which files or folders are its checkpoints"
    )
    group.add_argument(
        "--stall-timeout",
        type=seconds,
        metavar="SECONDS",
        help="warn after this time without progress and without output",
    )
    group.add_argument(
        "--check-interval",
        type=seconds,
        metavar="SECONDS",
        help="look at its progress this often, at most every 5 seconds (default: poll.running_s, 30)",
    )
    group.add_argument(
        "--no-agent",
        action="store_true",
        help="start nothing beside it: no figures of its GPUs, memory and processes",
    )
    group.add_argument(
        "--launch-timeout",
        type=seconds,
        metavar="SECONDS",
        help="warn if a worker, a GPU or its first output is missing this long after its start",
    )


def job_settings(options: argparse.Namespace, script: str = "") -> JobSettings | None:
    """Return what the user says about the job, by options or in a job configuration; None if nothing.

    The configuration is the file that ``--job-config`` names, else one beside the ``script`` of a local job;
    options override it. Folders that options name are relative to the current one.

    Raises:
        ConfigInvalid: the file that ``--job-config`` names has faults or cannot be read.
    """
    if options.job_config:
        configured = read_settings(options.job_config, say)
    else:
        configured = settings_beside(script, say, "local") or JobSettings()
    is_here = not getattr(options, "host", "")  # else a folder there
    given = {
        "name": options.job_name,
        "num_workers": options.num_workers,
        "gpu_ids": tuple(options.gpu_ids or ()),
        "total_items": options.total_items,
        "output_dir": absolute(options.output_dir),
        "log_dir": absolute(options.log_dir),
        "checkpoint_dir": absolute(options.checkpoint_dir) if is_here else str(options.checkpoint_dir or ""),
        "output_pattern": options.output_pattern,
        "log_pattern": options.log_pattern,
        "checkpoint_pattern": options.checkpoint_pattern,
        "check_interval_s": options.check_interval,
        "launch_timeout_s": options.launch_timeout,
        "stall_timeout_s": options.stall_timeout,
        "no_agent": options.no_agent,
    }
    settings = replace(configured, **{name: value for name, value in given.items() if value})
    if settings == JobSettings():
        return None
    return settings


def seconds(text: str) -> float:
    """Parse a time of up to 30 days, e.g. ``300`` (seconds), ``5m`` or ``2h``.

    Raises:
        ArgumentTypeError: the text is no such time.
    """
    number = text.strip()
    factor = _SUFFIXES.get(number[-1:], 0.0)
    try:
        value = float(number[:-1] if factor else number) * (factor or 1.0)
    except ValueError:
        value = 0.0
    if not (text.isascii() and 0 < value <= _MAX_S):
        raise argparse.ArgumentTypeError(
            f"{text!r} is not a time of up to 30 days; expected seconds, or e.g. 90s, 5m or 2h"
        )
    return value


def gpu_id(text: str) -> int:
    """Parse the number of a GPU; raise ArgumentTypeError if it is not one."""
    if not (text.isascii() and text.isdecimal()):
        raise argparse.ArgumentTypeError(
            f"{text!r} is not the number of a GPU; a command of `jobmon run` follows after --"
        )
    return int(text)
