"""The log of a command: what it runs, says and returns, with timestamps, on stderr or in a file.

At INFO, the logger ``jobmon`` gets the command line, what the command says on stderr, and its exit code; at
DEBUG, also each program and HTTP request. Secrets are hidden. Monitors have logs of their own.
"""

from __future__ import annotations

import logging
import os
import sys
from functools import cache
from typing import TYPE_CHECKING

from jobmon.errors import UsageError, say
from jobmon_core import __version__
from jobmon_core.domain.redaction import redacted

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from typing import TextIO

LEVELS = {
    "debug": logging.DEBUG,
    "info": logging.INFO,
    "warning": logging.WARNING,
    "error": logging.ERROR,
}
_OPTIONS = {"--log-level": f"one of {', '.join(LEVELS)}", "--log-file": "the path of a file"}
_ON_STDERR = "stderr"
# the second name of each is that of another monitor of trainings, whose users need not change their scripts
_LEVEL_VARIABLES = ("JOBMON_LOG_LEVEL", "TRAINING_MONITOR_LOG_LEVEL")
_FILE_VARIABLES = ("JOBMON_LOG_FILE", "TRAINING_MONITOR_LOG_FILE")
_FORMAT = "%(asctime)s %(levelname)s jobmon[%(process)d]: %(message)s"
_LOG = logging.getLogger("jobmon")


def set_up(arguments: list[str], environment: Mapping[str, str]) -> list[str]:
    """Begin a log if options before the command, or else variables, ask for it; return the other arguments.

    Raises:
        UsageError: there are options, and one of them or a variable is wrong. A wrong variable alone must not
            stop a submission.
    """
    options, rest = leading_options(arguments, _OPTIONS)
    level = options.get("--log-level") or _first(_LEVEL_VARIABLES, environment)
    file = options.get("--log-file") or _first(_FILE_VARIABLES, environment)
    try:
        _begin(level, file)
    except UsageError as error:
        if options:
            raise
        say(f"{error}; nothing is logged")
    _LOG.info("jobmon %s: %s", __version__, redacted(" ".join(rest)))
    return rest


def set_up_in_python(environment: Mapping[str, str]) -> None:
    """Begin the log that the variables of the other monitor ask for; without a file, on stdout, as there."""
    level, file = (environment.get(names[1], "").strip() for names in (_LEVEL_VARIABLES, _FILE_VARIABLES))
    _begin_in_python(level, file)


@cache
def _begin_in_python(level: str, file: str) -> None:
    try:
        _begin(level, file, sys.stdout)
    except UsageError as error:
        say(f"{error}; nothing is logged")


def said(text: str) -> None:
    """Log what the command says on stderr, unless the log is there, too."""
    if not any(handler.get_name() == _ON_STDERR for handler in _LOG.handlers):
        _LOG.info("%s", redacted(text))


def ended(exit_code: int) -> None:
    """Log how the command ended."""
    _LOG.info("exit code %d", exit_code)


def leading_options(arguments: Sequence[str], known: Mapping[str, str]) -> tuple[dict[str, str], list[str]]:
    """Return the options before the command, and the other words.

    ``known`` says of each what it takes. UsageError if one has no value.
    """
    options: dict[str, str] = {}
    rest = list(arguments)
    while rest and rest[0].partition("=")[0] in known:
        name, equals, value = rest.pop(0).partition("=")
        if not equals and rest:
            value = rest.pop(0)
        if not value:
            raise UsageError(f"{name} takes {known[name]}")
        options[name] = value
    return options, rest


def _first(names: tuple[str, ...], environment: Mapping[str, str]) -> str:
    return next((value for name in names if (value := environment.get(name, "").strip())), "")


def _begin(level: str, file: str, stream: TextIO | None = None) -> None:
    """Log from ``level`` on (empty: info) to ``file``, else to ``stream`` (stderr); if both are empty, not.

    Raises:
        UsageError: there is no such level, or the file cannot be written.
    """
    if not (level or file):
        return
    number = LEVELS.get(level.lower() or "info")
    if number is None:
        raise UsageError(f"the log level is one of {', '.join(LEVELS)}, not {level!r}")
    handler: logging.Handler
    if file:
        try:
            handler = logging.StreamHandler(open(file, "a", encoding="utf-8", opener=_private))  # noqa: SIM115 - until the command ends
        except OSError as error:
            raise UsageError(f"the log {file} cannot be written: {error.strerror}") from error
    else:
        handler = logging.StreamHandler(stream or sys.stderr)
        handler.set_name(_ON_STDERR if stream is None else "")
    handler.setFormatter(logging.Formatter(_FORMAT))
    _LOG.addHandler(handler)
    _LOG.setLevel(number)
    _LOG.propagate = False


def _private(path: str, flags: int) -> int:
    return os.open(path, flags, 0o600)
