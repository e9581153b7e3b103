"""A process beside `jobmon submit` that records what is submitted, while nobody waits for it.

It starts while sbatch is running, since the user may edit the script right afterwards, and has the lowest
priority. It exits when its work is done, or if no job is submitted.
"""

from __future__ import annotations

import os
import signal
from collections.abc import Callable, Sequence
from contextlib import suppress

WaitForJobs = Callable[[], Sequence[str]]  # returns the state ids of the submitted jobs; none: no job
Recorder = Callable[[WaitForJobs], None]

_LOWEST_PRIORITY = 19
_FIRST_DESCRIPTOR = 3  # above the standard streams
_MAX_REQUEST_BYTES = 65536
_TIMEOUT_S = 120  # a file server that does not respond must not keep the process for ever


def start_recorder(record: Recorder, keep_out: Sequence[int]) -> int | None:
    """Fork the recorder; return a pipe for the state ids, separated by spaces; None if that fails.

    The caller writes to the pipe once, or closes it without a job. The recorder closes ``keep_out``.
    """
    try:
        reader, writer = os.pipe()
        pid = os.fork()
    except OSError:
        return None  # the job matters more than the record
    if pid:
        os.close(reader)
        return writer
    try:
        for descriptor in (writer, *keep_out):
            os.close(descriptor)
        _step_aside()
        record(lambda: _read_request(reader))
    finally:  # whatever the work raised: nobody reads a traceback here
        os._exit(0)


def announce(pipe: int | None, state_ids: Sequence[str]) -> None:
    """Tell the recorder which jobs were submitted."""
    if pipe is not None:
        with suppress(BrokenPipeError):  # it is dead: there is no record
            os.write(pipe, " ".join(state_ids).encode())
        os.close(pipe)


def _step_aside() -> None:
    """Leave the terminal's session and its output to the command, and the processor to all others."""
    os.setsid()
    null = os.open(os.devnull, os.O_RDWR)
    for stream in (1, 2):  # a reader of the command's output must not wait for this process
        os.dup2(null, stream)
    os.nice(_LOWEST_PRIORITY)


def _read_request(reader: int) -> Sequence[str]:
    """Wait for the state ids; then close all other files that the command had opened, stdin too."""
    ids = os.read(reader, _MAX_REQUEST_BYTES).decode().split()
    signal.alarm(_TIMEOUT_S)  # SIGALRM ends the process
    null = os.open(os.devnull, os.O_RDWR)
    os.dup2(null, 0)
    # the limit of open files says little: it may be none, a billion, or lower than an open descriptor
    for descriptor in map(int, os.listdir("/proc/self/fd")):  # noqa: PTH208 - numbers, not paths
        if descriptor >= _FIRST_DESCRIPTOR:
            with suppress(OSError):  # the one that listed the folder is closed already
                os.close(descriptor)
    return ids
