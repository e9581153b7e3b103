"""The shepherd's own troubles: its stderr, which is the job's ``shepherd.log``."""

from __future__ import annotations

import os
import time

_STDERR = 2


def complain(words: str) -> None:
    """Write down a trouble that must not end the supervision of the job."""
    stamp = time.strftime("%Y-%m-%dT%H:%M:%S")
    try:
        os.write(_STDERR, os.fsencode(f"{stamp} {words}\n"))
    except OSError:
        return  # the log lies on the disk that refuses: there is nowhere left to tell it
