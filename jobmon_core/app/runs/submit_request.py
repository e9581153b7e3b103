"""What the user asks to be submitted. The user waits, so this module imports little."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Callable

    from jobmon_core.domain.job.job_settings import ChainStage, JobSettings, RunOptions


class SubmitRequest(NamedTuple):
    """One submission: what is submitted, and what the user wants of jobmon about it."""

    backend: str  # empty: the configured one
    arguments: tuple[str, ...]  # of sbatch, or the command of `jobmon run`
    job_config: str = ""  # the path of the job configuration; if empty, one beside the script is used
    script_path: str = ""  # the file that the text of the script came from, if that is not the one submitted
    group: str = ""  # that it joins
    group_run: str = ""  # the run of a group that the job is: ``GROUP/RUN``
    sentinel: bool = False  # submit a sentinel, too
    no_agent: bool = False
    chain: ChainStage | None = None
    dependency: tuple[str, ...] = ()  # options that make the job wait; not recorded, as a rerun has none
    # changes what the job configuration says as the user's options about restarts do
    restart: Callable[[JobSettings], JobSettings] | None = None
    run: RunOptions | None = None  # of a command
