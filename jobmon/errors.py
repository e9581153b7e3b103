"""The error boundary: each exception that no command handles becomes a message and an exit code."""

from __future__ import annotations

import errno
import os
import sys
from typing import TYPE_CHECKING

from jobmon import streams
from jobmon_core.app.outcome import ERRORS
from jobmon_core.domain.errors import JobmonError, StorageFailed, UsageError
from jobmon_core.domain.visible_text import visible

if TYPE_CHECKING:
    from collections.abc import Callable

__all__ = ["UsageError", "interrupted", "report", "run_guarded", "say"]
_BUG = 70  # EX_SOFTWARE of sysexits.h
_HUNG_UP = 129  # as the shell reports SIGHUP
_INTERRUPTED = 130  # the exit code that a shell reports for SIGINT
_CLOSED_PIPE = 141  # the one for SIGPIPE
_NOT_USABLE = {
    **dict.fromkeys((errno.ENOSPC, errno.EDQUOT), "written"),
    **dict.fromkeys((errno.EACCES, errno.EPERM, errno.ENOTDIR, errno.EROFS, errno.ESTALE), "used"),
}
_MIN_COLUMNS = 20  # a terminal without a size has 0
_MISSING_PACKAGE = 78  # EX_CONFIG
# module -> its package on PyPI, where the names differ
_PACKAGES = {
    "ahocorasick_rs": "ahocorasick-rs",
    "daemon": "python-daemon",
    "re2": "google-re2",
    "yaml": "pyyaml",
}


def say(text: str) -> None:
    """Print a message on stderr, since stdout is for results; ignore a closed stderr.

    What is not visible becomes a space: names, even of other users, must not control the terminal.
    """
    _print(f"jobmon: {visible(text)}")
    if log := sys.modules.get("jobmon.log"):  # loaded only if the user asks for a log
        log.said(text)


def interrupted(text: str = "interrupted", exit_code: int = _INTERRUPTED) -> int:
    """Print a message after Ctrl-C, on a terminal below its ``^C``, and return the exit code."""
    start = ""
    if sys.stderr.isatty():
        start = "\n"
    _print(f"{start}jobmon: {text}")
    return exit_code


def _print(text: str) -> None:
    try:
        print(_wrapped(text), file=sys.stderr, flush=True)
    except OSError:
        streams.abandon(sys.stderr)


def _wrapped(text: str) -> str:
    """Return ``text`` with lines that exceed the terminal's width broken at spaces."""
    if not sys.stderr.isatty():
        return text
    columns = os.get_terminal_size(sys.stderr.fileno()).columns
    if columns < _MIN_COLUMNS or max(map(len, text.split("\n"))) <= columns:
        return text
    import textwrap  # rarely needed, and the user of `jobmon submit` waits

    return "\n".join(
        textwrap.fill(line, columns, subsequent_indent="  ", break_long_words=False, break_on_hyphens=False)
        for line in text.split("\n")
    )


def report(error: JobmonError, prefix: str = "") -> int:
    """Print an error, without the tokens of webhook URLs, and return its exit code."""
    ERRORS.append(error)
    say(_masked(f"{prefix}{error}"))
    return error.exit_code


def run_guarded(command: Callable[[], int]) -> int:
    """Run a command; report what it raises. stdout is flushed in any case: `cli.program` skips that."""
    try:
        try:
            code = command()
        except SystemExit as stop:  # argparse raises it, after ``--help`` for example
            code = 0
            if isinstance(stop.code, int):
                code = stop.code
        sys.stdout.flush()
    except JobmonError as error:
        streams.flush_stdout()
        return report(error)
    except KeyboardInterrupt:
        streams.flush_stdout()
        return interrupted()
    except BrokenPipeError:
        streams.abandon(sys.stdout)
        return _CLOSED_PIPE
    except Exception as error:  # noqa: BLE001 - the user gets no traceback
        return _report_unexpected(error)
    return code


def _report_unexpected(error: Exception) -> int:
    streams.flush_stdout()
    if _has_lost_terminal():  # whatever else fails then, also within curses, follows from it
        return _HUNG_UP
    if isinstance(error, ModuleNotFoundError) and error.name and not error.name.startswith("jobmon"):
        module = error.name.partition(".")[0]
        say(f"the Python package {_PACKAGES.get(module, module)} is missing; {_how_to_install()}")
        return _MISSING_PACKAGE
    if isinstance(error, OSError) and error.errno in _NOT_USABLE:
        say(f"{error.filename or 'the output'} cannot be {_NOT_USABLE[error.errno]}: {error.strerror}")
        return StorageFailed.exit_code
    if isinstance(error, FileNotFoundError) and not _has_folder():
        say("the current folder has been removed: change to another, e.g. `cd`")
        return StorageFailed.exit_code
    say(f"internal error; please report it with {_write_report()}")
    return _BUG


def _has_lost_terminal() -> bool:
    """Whether stdin is a terminal that was closed: to whatever it is asked, it answers with an I/O error."""
    import termios  # rarely needed, and the user waits

    try:
        termios.tcgetattr(0)
    except termios.error as error:
        return bool(error.args[0] == errno.EIO)
    return False


def _has_folder() -> bool:
    try:
        return bool(os.getcwd())  # noqa: PTH109 - only whether it works
    except FileNotFoundError:
        return False


def _how_to_install() -> str:
    from pathlib import Path

    script = Path(__file__).resolve().parents[1] / "dev" / "setup-venv"
    if script.is_file():
        return f"`{script}` installs it"
    return "install jobmon again"


def _write_report() -> str:
    """Write the traceback to a file and return its path, else the traceback's last lines."""
    import tempfile  # slow to import
    import traceback

    report = _masked(traceback.format_exc())
    try:
        with tempfile.NamedTemporaryFile(
            "w", prefix="jobmon-fault-", suffix=".txt", errors="backslashreplace", delete=False
        ) as file:
            file.write(report)
    except OSError:
        return " / ".join(report.split("\n")[-4:-1])
    return file.name


def _masked(text: str) -> str:
    """Return the text with the tokens of webhook URLs hidden."""
    from jobmon_core.domain.webhook import mask_webhooks

    return mask_webhooks(text)
