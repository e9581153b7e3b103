"""Start programs. No other file of jobmon does.

Arguments are a list, never a shell's line; what came of it is a value, the program's own words included.
A question has a time limit; a command of the user's (sbatch, which may ``--wait`` for days) has none.
"""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import time
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Protocol

from jobmon_core.system import child_env
from jobmon_core.system.relay import Relay

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence
    from types import FrameType

_REAP_S = 2.0  # a killed program ends at once, unless it hangs in the kernel (a dead file system)
_WORDS_LIMIT = 400  # characters of a program's complaint that fit in a message

# Ctrl-C and Ctrl-\ reach the program from the terminal itself: we only have to outlive it
_LEFT_TO_THE_TERMINAL = (signal.SIGINT, signal.SIGQUIT)
_HANDED_ON = (signal.SIGTERM, signal.SIGHUP)


@dataclass(frozen=True, slots=True)
class Ran:
    """A program that ran to its end."""

    argv: tuple[str, ...]
    exit_code: int  # negative: the number of the signal that ended it
    stdout: str
    stderr: str
    duration_s: float = 0.0

    @property
    def error_text(self) -> str:
        """What the program said of its failure, as one line that names the program."""
        said = self.stderr.strip() or self.stdout.strip() or f"failed with exit code {self.exit_code}"
        # Slurm's commands begin their complaints with their own name
        name = f"{self.argv[0]}: "
        lines = dict.fromkeys(line.strip().removeprefix(name) for line in said.splitlines() if line.strip())
        return f"{name}{'; '.join(lines)}"[:_WORDS_LIMIT]


@dataclass(frozen=True, slots=True)
class TimedOut:
    """A program that did not end in time and was killed; what it had said until then."""

    argv: tuple[str, ...]
    timeout_s: float
    stdout: str = ""
    stderr: str = ""

    @property
    def error_text(self) -> str:
        """What happened, as one line that names the program."""
        said = " ".join(self.stderr.split())
        return f"{self.argv[0]}: no answer within {self.timeout_s:g} s{said and f'; {said}'}"[:_WORDS_LIMIT]


@dataclass(frozen=True, slots=True)
class NotStarted:
    """A program that could not be started; most often it is not installed here."""

    argv: tuple[str, ...]
    why: str

    @property
    def error_text(self) -> str:
        """What happened, as one line that names the program."""
        return f"{self.argv[0]}: {self.why}"


class Runner(Protocol):
    """What can start programs: `Programs`, or a script of replies in the tests."""

    def capture(self, argv: Sequence[str], timeout_s: float) -> Ran | TimedOut | NotStarted:
        """Put a question to a program and wait for its whole answer, ``timeout_s`` seconds at most."""
        ...

    def run_attached(self, argv: Sequence[str], on_line: Callable[[str], None]) -> Ran | NotStarted:
        """Run a program in the user's name, on the user's terminal, as if jobmon were not there.

        Its output is copied byte for byte as it comes; ``on_line`` gets each line of its stdout, without
        the newline. An exception of ``on_line`` is raised again when the program has ended. The text kept
        in the result is bounded: the end of what was said.
        """
        ...


class ProgramRunner:
    """The real thing: starts programs on this machine."""

    def __init__(self, *, stdout_fd: int = 1, stderr_fd: int = 2, umask: int | None = None) -> None:
        """Set where the output of programs run for the user goes, and with which umask they run.

        A daemon has another umask than its user, and sbatch hands the umask on to the job.
        """
        self._stdout_fd = stdout_fd
        self._stderr_fd = stderr_fd
        self._umask = -1 if umask is None else umask

    def capture(self, argv: Sequence[str], timeout_s: float) -> Ran | TimedOut | NotStarted:
        """Put a question; see `Runner`. The program gets no input and no setting that changes its answer."""
        began = time.monotonic()
        try:
            process = subprocess.Popen(
                argv,
                stdin=subprocess.DEVNULL,
                stdout=subprocess.PIPE,
                stderr=subprocess.PIPE,
                env=child_env.for_questions(os.environ),
                process_group=0,  # so that a wrapper script can be killed with all that it started
            )
        except OSError as error:
            return NotStarted(tuple(argv), _reason(error))
        try:
            out, err = process.communicate(timeout=timeout_s)
        except subprocess.TimeoutExpired as expired:
            _kill(process)
            return TimedOut(tuple(argv), timeout_s, _text(expired.stdout), _text(expired.stderr))
        except BaseException:  # Ctrl-C: our own group got it, the program's did not
            _kill(process)
            raise
        return Ran(tuple(argv), process.returncode, _text(out), _text(err), time.monotonic() - began)

    def run_attached(self, argv: Sequence[str], on_line: Callable[[str], None]) -> Ran | NotStarted:
        """Run a program for the user; see `Runner`. From the main thread only: it handles signals."""
        began = time.monotonic()
        with _signals_left_to_a_program() as hand_signals_to:
            try:
                process = subprocess.Popen(
                    argv,
                    stdout=subprocess.PIPE,
                    stderr=subprocess.PIPE,
                    env=child_env.for_the_user(os.environ, _made_up_by_python()),
                    umask=self._umask,
                    close_fds=False,  # `sbatch <(generate)` names an inherited descriptor
                )
            except OSError as error:
                return NotStarted(tuple(argv), _reason(error))
            hand_signals_to(process)
            with process:
                relay = Relay(process, self._stdout_fd, self._stderr_fd)
                try:
                    relay.copy(on_line)
                finally:  # whatever befell on_line, the program goes on and the user reads it
                    relay.copy(lambda _line: None)
        return Ran(tuple(argv), process.returncode, relay.stdout, relay.stderr, time.monotonic() - began)


def start_detached(
    argv: Sequence[str],
    environ: Mapping[str, str],
    streams: tuple[int, int, int],
    *,
    folder: str | None = None,
) -> subprocess.Popen[bytes]:
    """Start a program in a session of its own, with our umask; the caller reaps it.

    Args:
        argv: the program and its arguments.
        environ: its whole environment.
        streams: descriptors for its stdin, stdout and stderr.
        folder: where it starts; None for where we are.

    For programs with one thread: it undoes, in the child, that the caller holds signals back.

    Raises:
        OSError: it can't be started.
    """
    return subprocess.Popen(
        argv,
        stdin=streams[0],
        stdout=streams[1],
        stderr=streams[2],
        cwd=folder,
        env=environ,
        start_new_session=True,
        preexec_fn=_release_signals,  # noqa: PLW1509 - no other thread holds a lock at the fork
    )


def exit_code_within(process: subprocess.Popen[bytes], timeout_s: float) -> int | None:
    """Wait for a program that was started; None where it was not in time and is killed, its group with it."""
    try:
        return process.wait(timeout_s)
    except subprocess.TimeoutExpired:
        _kill(process)
        return None


def _release_signals() -> None:
    signal.pthread_sigmask(signal.SIG_SETMASK, ())


@contextlib.contextmanager
def _signals_left_to_a_program() -> Iterator[Callable[[subprocess.Popen[bytes]], None]]:
    """Outlive a program that gets our signals; yields what to call with the program once it runs.

    Signals that are ignored (nohup, a background job of a script) stay ignored, for the program too.
    """
    running: list[subprocess.Popen[bytes]] = []
    early: list[int] = []

    def handle(number: int, _frame: FrameType | None) -> None:
        if not running:
            early.append(number)
        elif number in _HANDED_ON:
            running[0].send_signal(number)

    def hand_signals_to(process: subprocess.Popen[bytes]) -> None:
        running.append(process)
        for number in early:
            process.send_signal(number)

    before = {
        number: signal.signal(number, handle)
        for number in (*_LEFT_TO_THE_TERMINAL, *_HANDED_ON)
        if signal.getsignal(number) != signal.SIG_IGN
    }
    try:
        yield hand_signals_to
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


def _made_up_by_python() -> frozenset[str]:
    """Return what Python itself put into our environment: in the C locale ``LC_CTYPE`` (PEP 538).

    A node that lacks that locale would complain of it in the user's log.
    """
    try:
        started_with = Path("/proc/self/environ").read_bytes()
    except OSError:
        return frozenset()  # it can't be told: the user's own setting must not be dropped
    return frozenset() if b"LC_CTYPE=" in started_with else frozenset({"LC_CTYPE"})


def _kill(process: subprocess.Popen[bytes]) -> None:
    """Kill a program with all of its process group, and let go of it."""
    with contextlib.suppress(ProcessLookupError):  # it ended by itself just now
        os.killpg(process.pid, signal.SIGKILL)
    for pipe in (process.stdout, process.stderr):
        if pipe is not None:
            pipe.close()
    with contextlib.suppress(subprocess.TimeoutExpired):  # it hangs in the kernel: leave it there
        process.wait(_REAP_S)


def _text(raw: bytes | None) -> str:
    return (raw or b"").decode(errors="replace")


def _reason(error: OSError) -> str:
    return "not found on PATH" if isinstance(error, FileNotFoundError) else str(error.strerror)
