"""The one boundary: what goes wrong becomes a message and an exit code here, and nowhere else."""

from __future__ import annotations

import errno
import sys
from typing import TYPE_CHECKING

from jobmon import streams
from jobmon_core.domain.errors import JobmonError, StorageFailed

if TYPE_CHECKING:
    from collections.abc import Callable

_BUG = 70  # EX_SOFTWARE of sysexits.h
_INTERRUPTED = 130  # what a shell answers for SIGINT
_CLOSED_PIPE = 141  # likewise for SIGPIPE
_FULL = (errno.ENOSPC, errno.EDQUOT)


class UsageError(JobmonError):
    """The command line makes no sense; nothing was done."""

    exit_code = 2  # what argparse, and most commands, answer


def say(words: str) -> None:
    """Speak to the user, on stderr: stdout belongs to results. Where nobody listens, go on."""
    try:
        print(f"jobmon: {words}", file=sys.stderr, flush=True)
    except OSError:
        streams.abandon(sys.stderr)


def guarded(command: Callable[[], int]) -> int:
    """Run a command; turn every failure into a message and an exit code."""
    try:
        code = _exit_code(command)
        sys.stdout.flush()
    except JobmonError as error:
        say(_masked(str(error)))
        return error.exit_code
    except KeyboardInterrupt:
        say("interrupted")
        return _INTERRUPTED
    except BrokenPipeError:
        streams.abandon(sys.stdout)
        return _CLOSED_PIPE
    except Exception as error:  # noqa: BLE001 - the last line of defence: no traceback for the user
        return _unforeseen(error)
    return code


def _exit_code(command: Callable[[], int]) -> int:
    """Run a command; argparse leaves by an exception of its own, after ``--help`` for one."""
    try:
        return command()
    except SystemExit as leaving:
        return leaving.code if isinstance(leaving.code, int) else 0


def _unforeseen(error: Exception) -> int:
    """Tell of a failure that nobody foresaw: a full disk, or a fault of ours."""
    if isinstance(error, OSError) and error.errno in _FULL:
        streams.abandon(sys.stdout)  # it may be what is full
        say(f"{error.filename or 'the output'} can't be written: {error.strerror}")
        return StorageFailed.exit_code
    say(f"this is a fault of jobmon itself; please report it with {_report()}")
    return _BUG


def _report() -> str:
    """Write what happened into a file and return its name; the gist where no file can be written."""
    import tempfile  # needed only when something went wrong, and slow to import
    import traceback

    told = _masked(traceback.format_exc())
    try:
        with tempfile.NamedTemporaryFile(
            "w", prefix="jobmon-fault-", suffix=".txt", errors="backslashreplace", delete=False
        ) as file:
            file.write(told)
    except OSError:
        return " / ".join(told.split("\n")[-4:-1])
    return file.name


def _masked(told: str) -> str:
    """Take webhooks, which are passwords, out of a text."""
    from jobmon_core.domain.webhook import mask_webhooks

    return mask_webhooks(told)
