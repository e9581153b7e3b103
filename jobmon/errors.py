"""The one boundary: what goes wrong becomes a message and an exit code here, and nowhere else."""

from __future__ import annotations

import os
import sys
import tempfile
import traceback
from collections.abc import Callable

from jobmon_core.domain.errors import JobmonError
from jobmon_core.domain.webhook import mask_webhooks

_BUG = 70  # EX_SOFTWARE of sysexits.h
_INTERRUPTED = 130  # what a shell answers for SIGINT
_CLOSED_PIPE = 141  # likewise for SIGPIPE


def say(words: str) -> None:
    """Speak to the user, on stderr: stdout belongs to results."""
    print(f"jobmon: {words}", file=sys.stderr, flush=True)


def guarded(command: Callable[[], int]) -> int:
    """Run a command; turn every failure into a message and an exit code."""
    try:
        code = command()
        sys.stdout.flush()
    except JobmonError as error:
        say(mask_webhooks(str(error)))
        return error.exit_code
    except KeyboardInterrupt:
        say("interrupted")
        return _INTERRUPTED
    except BrokenPipeError:
        # whoever read our output has gone; nothing may be written any more, at exit neither
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return _CLOSED_PIPE
    except Exception:  # noqa: BLE001 - a fault of ours: the user gets a file to send us, no traceback
        say(f"this is a fault of jobmon itself; please report it with {_report()}")
        return _BUG
    return code


def _report() -> str:
    with tempfile.NamedTemporaryFile("w", prefix="jobmon-fault-", suffix=".txt", delete=False) as file:
        file.write(mask_webhooks(traceback.format_exc()))
    return file.name
