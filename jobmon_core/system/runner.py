"""Starts programs; other files of jobmon start only jobmon itself.

A query has a time limit; a command run for the user (sbatch, which may ``--wait`` for days) has none.
"""

from __future__ import annotations

import contextlib
import os
import re
import signal
import subprocess
import time
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple, TypeAlias, TypeGuard

from jobmon_core.system.environment import query_environment, user_environment
from jobmon_core.system.events import log_program
from jobmon_core.system.relay import Collector, Relay
from jobmon_core.system.signals import forward_signals

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

MAX_POD_BYTES = 16 << 20  # of what kubectl prints, for ``max_bytes``: a pod may print without end
_MARK_S = 60.0  # a login shell that asks something would wait for ever
_REAP_S = 2.0  # a killed program ends at once, unless it hangs in the kernel (a dead file system)
# the last of the four errors of a Slurm command without its configuration
_NO_SLURM_CONF = "Could not establish a configuration source"
_LOG_OF_KUBECTL = re.compile(r"^[EWI]\d{4} .*$", re.MULTILINE)
_ERROR_CHARS = 400  # characters of a program's error that fit in a message


class Ran(NamedTuple):
    """A program that ran to its end."""

    argv: tuple[str, ...]
    exit_code: int  # negative: the number of the signal that ended it
    stdout: str
    stderr: str

    @property
    def error_text(self) -> str:
        """The program's error output as one line that starts with the program's name."""
        code = self.exit_code
        end = f"killed by signal {-code}" if code < 0 else f"failed with exit code {code}"
        errors = _LOG_OF_KUBECTL.sub("", self.stderr).strip() or self.stderr.strip()
        output = errors or self.stdout.strip() or end
        # Slurm's commands start their errors with their own name
        prefix = f"{self.argv[0]}: "
        if _NO_SLURM_CONF in output:
            return f"{prefix}found no slurm.conf"
        lines = dict.fromkeys(
            line.strip().removeprefix(prefix) for line in output.splitlines() if line.strip()
        )
        return f"{prefix}{'; '.join(lines)}"[:_ERROR_CHARS]


class TimedOut(NamedTuple):
    """A program that did not end in time and was killed, with its error output until then."""

    argv: tuple[str, ...]
    timeout_s: float
    stderr: str = ""

    @property
    def error_text(self) -> str:
        """The failure as such a line."""
        output = " ".join(self.stderr.split())
        text = f"{self.argv[0]}: no answer within {self.timeout_s:g} s{output and f'; {output}'}"
        return text[:_ERROR_CHARS]


class NotStarted(NamedTuple):
    """A program that could not be started; usually it is not installed on this machine."""

    argv: tuple[str, ...]
    why: str

    @property
    def error_text(self) -> str:
        """The failure as such a line."""
        return f"{self.argv[0]}: {self.why}"


class TooLong(NamedTuple):
    """A program that printed more than its caller takes, and was killed."""

    argv: tuple[str, ...]
    max_bytes: int

    @property
    def error_text(self) -> str:
        """The failure as such a line."""
        return f"{self.argv[0]}: stopped, since its answer is longer than {self.max_bytes >> 20} MiB"


Result = Ran | TimedOut | TooLong | NotStarted
Program: TypeAlias = subprocess.Popen[bytes]  # one that runs


def succeeded(result: Result) -> TypeGuard[Ran]:
    """Whether a program ran and ended with exit code 0."""
    return isinstance(result, Ran) and result.exit_code == 0


class Runner:
    """Starts programs on this machine; tests replace it by scripted results."""

    def __init__(self, *, stdout_fd: int = 1, stderr_fd: int = 2, max_bytes: int | None = None) -> None:
        """Set where output for the user goes, and the size of output beyond which a query is killed."""
        self._stdout_fd = stdout_fd
        self._stderr_fd = stderr_fd
        self._max_bytes = max_bytes

    def capture(self, argv: Sequence[str], timeout_s: float) -> Result:
        """Run a query and return its whole output; it is killed after ``timeout_s`` seconds.

        It gets no input, and the environment of `query_environment`.
        """
        return self.capture_with({}, argv, timeout_s)

    def capture_with(self, variables: Mapping[str, str], argv: Sequence[str], timeout_s: float) -> Result:
        """Run a query with more environment variables, which other users cannot read, unlike arguments."""
        return self._captured(variables, argv, timeout_s, "")

    def feed(self, argv: Sequence[str], text: str, timeout_s: float) -> Result:
        """Run a program as `capture` does, with ``text`` as its input."""
        return self._captured({}, argv, timeout_s, text)

    def _captured(
        self, variables: Mapping[str, str], argv: Sequence[str], timeout_s: float, stdin: str
    ) -> Result:
        started_s = time.monotonic()
        result = _run(variables, argv, timeout_s, stdin, self._max_bytes)
        _log(result, started_s)
        return result

    def run_attached(
        self,
        argv: Sequence[str],
        on_line: Callable[[str], None],
        on_start: Callable[[], None] | None = None,
        on_pause: Callable[[], object] | None = None,
    ) -> Ran | NotStarted:
        """Run a program for the user, on the user's terminal, as if jobmon were not there.

        Its output is copied byte for byte as it arrives; ``on_line`` gets each line of its stdout, without
        the newline. ``on_pause`` is called when nothing has arrived for half a second, and after the last
        line. An exception of a callback is raised again when the program has ended. The result holds only the
        end of each stream. Only for the main thread, since it handles signals.
        """
        started_s = time.monotonic()
        with forward_signals() as forward_to:
            try:
                process = subprocess.Popen(
                    argv,
                    stdout=subprocess.PIPE,
                    stderr=subprocess.PIPE,
                    env=user_environment(os.environ),
                    close_fds=False,  # `sbatch <(generate)` names an inherited descriptor
                )
            except OSError as error:
                return NotStarted(tuple(argv), _reason(error))
            forward_to(process.send_signal)
            with process:
                relay = Relay(process, self._stdout_fd, self._stderr_fd)
                try:
                    if on_start:
                        on_start()
                    relay.copy(on_line, on_pause)
                    if on_pause:
                        on_pause()
                finally:  # if a callback raised, the program continues and the user sees its output
                    relay.copy(lambda _line: None)
        ran = Ran(tuple(argv), process.returncode, *relay.output)
        _log(ran, started_s)
        return ran

    def run_marked(self, argv: Sequence[str], mark: bytes, stdin: bytes | None) -> tuple[int, str | None]:
        """Run a program for the user, and copy what follows a mark on its stdout and its stderr.

        It gets ``stdin``, and no end of it until it has ended; with None, the user's stdin. It is ended
        without a mark after a minute, if nobody reads its output (BrokenPipeError), or with an exception such
        as that of Ctrl-C. Return its exit code, and if there was no mark on stdout, its errors; OSError.
        """
        started_s, pipe = time.monotonic(), subprocess.PIPE
        given = None if stdin is None else pipe
        process = subprocess.Popen(
            argv, stdin=given, stdout=pipe, stderr=pipe, env=user_environment(os.environ)
        )
        relay = Relay(process, self._stdout_fd, self._stderr_fd, mark)

        def end_in_vain() -> None:
            is_late = relay.noise is not None and time.monotonic() > started_s + _MARK_S
            if is_late or relay.is_unread:
                process.terminate()

        with process:
            try:
                if process.stdin and stdin:
                    with contextlib.suppress(BrokenPipeError):  # it has ended; its exit code tells why
                        process.stdin.write(stdin)
                        process.stdin.flush()
                relay.copy(lambda _line: end_in_vain(), end_in_vain)
            except BaseException:
                process.terminate()
                raise
        if relay.is_unread:
            raise BrokenPipeError
        _log(Ran(tuple(argv), process.returncode, "", ""), started_s)
        return process.returncode, relay.noise


def run_in_foreground(argv: Sequence[str]) -> int:
    """Run a program with the user's own terminal and streams, e.g. one that asks for a password.

    Return its exit code, negative for a signal; OSError. Ctrl-C is for the program.
    """
    with forward_signals() as forward_to:
        process = subprocess.Popen(argv, env=user_environment(os.environ))
        forward_to(process.send_signal)
        return process.wait()


def _run(
    variables: Mapping[str, str], argv: Sequence[str], timeout_s: float, stdin: str, max_bytes: int | None
) -> Result:
    try:
        process = subprocess.Popen(
            argv,
            stdin=subprocess.PIPE if stdin else subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            env={**query_environment(os.environ), **variables},
            process_group=0,  # so that a wrapper script can be killed with all its children
        )
    except OSError as error:
        return NotStarted(tuple(argv), _reason(error))
    try:
        if max_bytes is None:
            out, err = process.communicate(stdin.encode() if stdin else None, timeout=timeout_s)
        else:
            out, err = _communicate(process, stdin.encode(), timeout_s, max_bytes)
    except OverflowError:
        _kill(process)
        return TooLong(tuple(argv), max_bytes or 0)
    except subprocess.TimeoutExpired as expired:
        _kill(process)
        return TimedOut(tuple(argv), timeout_s, _text(expired.stderr))
    except BaseException:  # Ctrl-C reaches this process group, not the program's
        _kill(process)
        raise
    return Ran(tuple(argv), process.returncode, _text(out), _text(err))


def _log(result: Result, started_s: float) -> None:
    """Log a program that was started at ``started_s`` (of the monotonic clock)."""
    how = f"exit code {result.exit_code}" if isinstance(result, Ran) else result.error_text
    log_program(result.argv, how, time.monotonic() - started_s)


def start_detached(
    argv: Sequence[str],
    environ: Mapping[str, str],
    streams: tuple[int, int, int],
    *,
    folder: str | None = None,
) -> subprocess.Popen[bytes]:
    """Start a program in a session of its own, with the caller's umask; the caller reaps it.

    ``streams`` are descriptors for its stdin, stdout and stderr. OSError. Only for callers with one thread:
    the child unblocks the signals that the caller blocks.
    """
    return subprocess.Popen(
        argv,
        stdin=streams[0],
        stdout=streams[1],
        stderr=streams[2],
        cwd=folder,
        env=environ,
        start_new_session=True,
        preexec_fn=lambda: signal.pthread_sigmask(signal.SIG_SETMASK, ()),  # noqa: PLW1509 - no other thread can hold a lock at the fork
    )


def start_asked(argv: Sequence[str]) -> Program:
    """Start a program in the user's own environment that answers on its stdout what it is asked; OSError.

    It keeps the terminal, e.g. to ask for a password, and its errors go there. The caller reaps it.
    """
    return subprocess.Popen(argv, stdin=subprocess.PIPE, stdout=subprocess.PIPE, bufsize=0)


def run_with_input(argv: Sequence[str], text: str) -> Ran | NotStarted:
    """Run a program in the user's own environment with ``text`` as its input; return its whole output.

    It has no time limit, and an exception such as that of Ctrl-C leaves it running: it submits a job.
    """
    try:
        process = subprocess.Popen(
            argv,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            process_group=0,  # Ctrl-C is for the caller
        )
    except OSError as error:
        return NotStarted(tuple(argv), _reason(error))
    out, err = process.communicate(text.encode())
    return Ran(tuple(argv), process.returncode, _text(out), _text(err))


def wait_or_kill(process: subprocess.Popen[bytes], timeout_s: float) -> int | None:
    """Wait for a program of `start_detached`; return its exit code, None if it was killed in the end."""
    try:
        return process.wait(timeout_s)
    except subprocess.TimeoutExpired:
        _kill(process)
        return None


def start_beside(argv: Sequence[str], error_file: Path, environment: Mapping[str, str] | None = None) -> int:
    """Start a program that outlives this process, in a session of its own; return its PID; OSError.

    It gets ``environment``, by default that of a query, no input, and ``error_file`` as its stderr; its
    stdout is discarded. The caller reaps it by its PID if it ends first.
    """
    with Path(os.devnull).open("r+b", buffering=0) as null, error_file.open("wb", buffering=0) as errors:
        streams = (null.fileno(), null.fileno(), errors.fileno())
        process = start_detached(
            argv, query_environment(os.environ) if environment is None else environment, streams, folder="/"
        )
    process.returncode = 0  # it goes on: subprocess must not wait for it
    return process.pid


def _kill(process: subprocess.Popen[bytes]) -> None:
    """Kill a program with its process group and close its pipes."""
    with contextlib.suppress(ProcessLookupError):  # it has just ended
        os.killpg(process.pid, signal.SIGKILL)
    for pipe in (process.stdin, process.stdout, process.stderr):
        if pipe is not None:
            pipe.close()
    with contextlib.suppress(subprocess.TimeoutExpired):  # it hangs in the kernel: leave it there
        process.wait(_REAP_S)


def _communicate(
    process: subprocess.Popen[bytes], stdin: bytes, timeout_s: float, max_bytes: int
) -> tuple[bytes, bytes]:
    """Do what ``process.communicate`` does; raise OverflowError if the program prints too much."""
    deadline_s = time.monotonic() + timeout_s
    collector = Collector(process, stdin, max_bytes)
    if not collector.collect(deadline_s):
        raise subprocess.TimeoutExpired(process.args, timeout_s, stderr=bytes(collector.err))
    process.wait(max(0.0, deadline_s - time.monotonic()))
    return bytes(collector.out), bytes(collector.err)


def _text(raw: bytes | None) -> str:
    return (raw or b"").decode(errors="replace")


def _reason(error: OSError) -> str:
    return "not found on PATH" if isinstance(error, FileNotFoundError) else str(error.strerror)
