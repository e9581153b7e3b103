"""Log the programs and HTTP requests of this process, at the level DEBUG of the logger ``jobmon``.

`logging` is not imported for this: a process whose user wants a log has loaded it.
"""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence

LOGGER = "jobmon"
_MAX_CHARS = 300


def log_program(argv: Sequence[str], result: str, duration_s: float) -> None:
    """Log that a program ran: its command line, its exit code or what went wrong, and the seconds it took."""
    _log(f"{' '.join(argv)[:_MAX_CHARS]}: {result} after {duration_s:.2f} s")


def log_request(method: str, receiver: str, result: str, duration_s: float) -> None:
    """Log an HTTP request; ``receiver`` names the destination without its secret."""
    _log(f"{method} to {receiver}: {result} after {duration_s:.2f} s")


def _log(text: str) -> None:
    logging = sys.modules.get("logging")
    if logging is None or not hasattr(logging, "getLogger"):  # it may be half imported, in another thread
        return
    logger = logging.getLogger(LOGGER)
    if logger.isEnabledFor(logging.DEBUG):
        from jobmon_core.domain.redaction import redacted

        logger.debug("%s", redacted(text))
