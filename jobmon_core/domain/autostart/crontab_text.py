"""Adds jobmon's lines to the text of a crontab and removes them; all other lines stay byte for byte. Pure."""

from __future__ import annotations

from collections.abc import Sequence

from jobmon_core.domain.autostart.command import AutostartCommand


def cron_lines(command: AutostartCommand) -> tuple[str, ...]:
    """Return the lines for cron: run at the times of the command, and at boot if it starts monitors.

    Raises:
        AutostartUnavailable: an argument has a character that a crontab cannot hold.
    """
    line = command.line().replace("%", r"\%")  # cron reads an unescaped % as a newline
    times = (*(("@reboot",) if command.regular.starts_monitors else ()), command.regular.cron)
    return tuple(f"{when} {line} # {command.marker}" for when in times)


def scrontab_lines(command: AutostartCommand) -> tuple[str, ...]:
    """Return the lines for Slurm's crontab.

    Raises:
        AutostartUnavailable: an argument has a character that a crontab cannot hold.
    """
    return (
        f"{_options_prefix(command.marker)} --output=/dev/null",
        f"{command.regular.cron} {command.line(*command.regular.slurm_arguments)} # {command.marker}",
    )


def with_lines(text: str, lines: Sequence[str], marker: str) -> str:
    """Return the crontab with ``lines`` in place of those with ``marker``; unchanged if it has them already.

    They come first, because settings in a crontab (``SHELL=``, ``PATH=``) apply to the lines below them.
    """
    if our_lines(text, marker) == list(lines):
        return text
    return "".join(f"{line}\n" for line in lines) + without_lines(text, marker)


def without_lines(text: str, marker: str) -> str:
    """Return the crontab without the lines that have ``marker``."""
    return "\n".join(line for line in text.split("\n") if not _is_ours(line, marker))


def our_lines(text: str, marker: str) -> list[str]:
    """Return the lines of a crontab that have ``marker``."""
    return [line for line in text.split("\n") if _is_ours(line, marker)]


def _is_ours(line: str, marker: str) -> bool:
    return line.endswith(f" # {marker}") or line.startswith(f"{_options_prefix(marker)} ")


def _options_prefix(marker: str) -> str:
    """Return the start of the line with Slurm's options. It can hold no comment, so the job name marks it."""
    return f"#SCRON --job-name={marker}"
