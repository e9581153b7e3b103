"""The text of a crontab with our lines in it, and without them. Pure; all other lines stay byte for byte."""

from __future__ import annotations

from typing import TYPE_CHECKING

from jobmon_core.domain.autostart.command import EVERY_MINUTES, AutostartCommand

if TYPE_CHECKING:
    from collections.abc import Sequence


def cron_lines(command: AutostartCommand) -> tuple[str, ...]:
    """Return the lines for cron: at the start of the machine, and every few minutes.

    Raises:
        AutostartUnavailable: a path can't stand in a crontab.
    """
    line = command.line().replace("%", r"\%")  # a bare one is a line break to cron
    return tuple(f"{when} {line} # {command.marker}" for when in ("@reboot", f"*/{EVERY_MINUTES} * * * *"))


def scrontab_lines(command: AutostartCommand) -> tuple[str, ...]:
    """Return the lines for Slurm's own crontab.

    A job takes all that it started with it when it ends: here ``recover`` stays as long as its monitors.

    Raises:
        AutostartUnavailable: a path can't stand in a crontab.
    """
    return (
        f"{_option(command.marker)} --output=/dev/null",
        f"*/{EVERY_MINUTES} * * * * {command.line('--stay')} # {command.marker}",
    )


def with_lines(text: str, lines: Sequence[str], mark: str) -> str:
    """Return a crontab that holds ``lines`` once; one that has them already stays as it is.

    They come first: what a crontab sets (``SHELL=``, ``PATH=``) holds for the lines below it.
    """
    if our_lines(text, mark) == list(lines):
        return text
    return "".join(f"{line}\n" for line in lines) + without_lines(text, mark)


def without_lines(text: str, mark: str) -> str:
    """Return a crontab without the lines that carry ``mark``."""
    kept = (line for line in text.split("\n") if not _is_ours(line, mark))
    return "\n".join(kept)


def our_lines(text: str, mark: str) -> list[str]:
    """Return the lines of a crontab that carry ``mark``."""
    return [line for line in text.split("\n") if _is_ours(line, mark)]


def _is_ours(line: str, mark: str) -> bool:
    return line.endswith(f" # {mark}") or line.startswith(f"{_option(mark)} ")


def _option(mark: str) -> str:
    """Return how the line of options for Slurm begins: what stands behind a # there may be no comment."""
    return f"#SCRON --job-name={mark}"
