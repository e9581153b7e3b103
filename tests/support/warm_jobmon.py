"""jobmon in a process of its own that starts quickly: a fork of a Python that has imported all of jobmon.

A new Python takes 40 to 400 ms of CPU time to import what a command needs, and the tests run thousands of
commands. The fork has the arguments, the environment, the working folder and the standard streams that the
command would have, and no other open file. It differs in its command line in /proc, and in what is imported.
Programs that need a heavy library of another environment start in the same way.
"""

from __future__ import annotations

import atexit
import fcntl
import functools
import gc
import json
import os
import pkgutil
import runpy
import select
import selectors
import signal
import socket
import subprocess
import sys
import tempfile
import termios
import time
from collections.abc import Mapping, Sequence
from contextlib import suppress
from importlib import import_module
from pathlib import Path
from typing import NoReturn

_READ_AT_START = ("PYTHON", "LC_", "LANG")  # Python reads these variables only when it starts
_MAX_STDIN = 2**15  # bytes that surely fit into a pipe
_MAX_REQUEST = 2**17
_IMPORTED_LATER = ("daemon", "requests", "tabulate", "yaml")  # within functions
_SETSID = ("setsid", "--wait")
# makes stdin the controlling terminal, which sends SIGINT for Ctrl-C
_ON_TERMINAL = (
    "import fcntl, os, sys, termios; os.setsid(); fcntl.ioctl(0, termios.TIOCSCTTY, 0); "
    "os.execv(sys.executable, [sys.executable, '-m', 'jobmon', *sys.argv[1:]])"
)


def run_program(
    argv: Sequence[str], cwd: Path, env: Mapping[str, str], stdin: str, timeout_s: float
) -> subprocess.CompletedProcess[str]:
    """Run a program and return its output, whether it fails or not."""
    return subprocess.run(
        argv, cwd=cwd, env=env, input=stdin, capture_output=True, text=True, timeout=timeout_s, check=False
    )


def run_jobmon(
    arguments: Sequence[str],
    cwd: Path,
    env: Mapping[str, str],
    stdin: str,
    timeout_s: float,
    *,
    new_session: bool = False,
) -> subprocess.CompletedProcess[str]:
    """Run jobmon as `run_program` would, if asked to in a session of its own, as with ``setsid --wait``.

    Raises:
        subprocess.TimeoutExpired: it, or a process that it has left, did not close its output in time.
    """
    argv, given = [sys.executable, "-m", "jobmon", *arguments], stdin.encode()
    request = _jobmon_request(arguments, cwd, env, new_session=new_session)
    if len(given) > _MAX_STDIN or not request:
        return run_program((*_SETSID, *argv) if new_session else argv, cwd, env, stdin, timeout_s)
    (stdin_end, write_end), *outputs = [os.pipe() for _ in range(3)]
    read_ends = [read_end for read_end, _ in outputs]
    try:
        os.write(write_end, given)
    finally:
        os.close(write_end)
    try:
        read_ends.append(_ask(_server(), request, (stdin_end, *(end for _, end in outputs))))
    finally:
        for end in (stdin_end, *(end for _, end in outputs)):
            os.close(end)
    try:
        out, err, status = _read_all(read_ends, argv, timeout_s)
    finally:
        for end in read_ends:
            os.close(end)
    code = os.waitstatus_to_exitcode(int(status.split()[1]))
    return subprocess.CompletedProcess(argv, code, out.decode(), err.decode())


def start_jobmon(
    arguments: Sequence[str], cwd: Path, env: Mapping[str, str], terminal: int
) -> subprocess.Popen[bytes] | Started:
    """Start jobmon on a terminal, given by its descriptor, which becomes its controlling terminal."""
    if request := _jobmon_request(arguments, cwd, env, new_session=True):
        return Started(_ask(_server(), request, (terminal,) * 3))
    argv = [sys.executable, "-c", _ON_TERMINAL, *arguments]
    return subprocess.Popen(argv, stdin=terminal, stdout=terminal, stderr=terminal, cwd=cwd, env=env)


def start_program(
    python: tuple[str, ...], argv: Sequence[str], cwd: Path, env: Mapping[str, str], streams: Sequence[int]
) -> Started:
    """Start a program, given by its file, of ``python``: its path, and the modules that it has imported."""
    return Started(_ask(_server(python), _request(argv[0], argv[1:], cwd, env, new_session=False), streams))


class Started:
    """A program that runs, with those methods of `subprocess.Popen` that the tests need."""

    def __init__(self, status_end: int) -> None:
        """``status_end`` is what the process id, and at the end the wait status, is read from."""
        self._status = open(status_end, "rb", buffering=0)  # noqa: SIM115 - until the process has ended
        self._read = b""
        while b" " not in self._read:
            byte = self._status.read(1)
            assert byte, "the Python that is forked has ended"
            self._read += byte
        self.pid = int(self._read)
        self._code: int | None = None

    def poll(self) -> int | None:
        """Return the exit code, as `subprocess.Popen` does; None if it runs."""
        return self._code_within(0.0)

    def wait(self, timeout_s: float | None = None) -> int:
        """Wait until it has ended; return the exit code."""
        code = self._code_within(timeout_s)
        assert code is not None, f"jobmon runs for longer than {timeout_s} s"
        return code

    def send_signal(self, number: int) -> None:
        """Send a signal, unless it has ended."""
        if self.poll() is None:
            os.kill(self.pid, number)

    def terminate(self) -> None:
        """Send SIGTERM."""
        self.send_signal(signal.SIGTERM)

    def kill(self) -> None:
        """Send SIGKILL."""
        self.send_signal(signal.SIGKILL)

    def _code_within(self, timeout_s: float | None) -> int | None:
        if self._code is None and select.select([self._status], [], [], timeout_s)[0]:
            self._code = os.waitstatus_to_exitcode(int(self._status.read()))
            self._status.close()
        return self._code


def _request(
    program: str, arguments: Sequence[str], cwd: Path, env: Mapping[str, str], *, new_session: bool
) -> bytes:
    """Return the request for a fork that runs a program, or jobmon if that is empty."""
    return json.dumps([program, list(arguments), str(cwd), dict(env), new_session]).encode()


def _jobmon_request(
    arguments: Sequence[str], cwd: Path, env: Mapping[str, str], *, new_session: bool
) -> bytes:
    """Return the request for a fork; empty if only a new Python can run jobmon with such an environment."""
    request = _request("", arguments, cwd, env, new_session=new_session)
    fits = len(request) <= _MAX_REQUEST and _read_at_start(env) == _read_at_start(_environment())
    return request if fits else b""


def _ask(server: socket.socket, request: bytes, streams: Sequence[int]) -> int:
    """Have a program run with these streams; return the end of a pipe that its status is read from."""
    status_end, write_end = os.pipe()
    try:
        socket.send_fds(server, [request], [*streams, write_end])
    finally:
        os.close(write_end)
    return status_end


def _read_all(ends: list[int], argv: list[str], timeout_s: float) -> list[bytes]:
    """Read to the end of stdout, stderr and the status, which is the process id, then its wait status."""
    found = dict.fromkeys(ends, b"")
    deadline_s = time.monotonic() + timeout_s
    with selectors.DefaultSelector() as selector:
        for end in ends:
            selector.register(end, selectors.EVENT_READ)
        while selector.get_map():
            if time.monotonic() >= deadline_s:
                if len(status := found[ends[-1]].split()) == 1:
                    os.kill(int(status[0]), signal.SIGKILL)
                raise subprocess.TimeoutExpired(argv, timeout_s, *list(found.values())[:2])
            for key, _ in selector.select(deadline_s - time.monotonic()):
                if data := os.read(key.fd, 2**16):
                    found[key.fd] += data
                else:
                    selector.unregister(key.fd)
    return list(found.values())


def _read_at_start(env: Mapping[str, str]) -> dict[str, str]:
    return {name: value for name, value in env.items() if name.startswith(_READ_AT_START)}


@functools.cache
def _environment() -> dict[str, str]:
    """Return the environment of the Python that is forked for jobmon."""
    return dict(os.environ)


@functools.cache
def _server(python: tuple[str, ...] = ()) -> socket.socket:
    """Start a Python that is forked, that of jobmon or another; return its socket."""
    ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    program, *imported = python or (sys.executable,)
    with theirs:
        process = subprocess.Popen(
            [program, "-P", __file__, str(theirs.fileno()), *imported],
            pass_fds=[theirs.fileno()],
            stdin=subprocess.PIPE,  # streams without a position
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            env={"PATH": os.defpath, "HOME": tempfile.gettempdir()} if python else _environment(),
        )

    def stop() -> None:
        ours.close()
        process.wait()

    atexit.register(stop)
    return ours


def _serve(requests: socket.socket) -> None:
    """Fork for each request, and tell how each fork has ended, until the other end is closed."""
    with selectors.DefaultSelector() as selector:
        selector.register(requests, selectors.EVENT_READ)
        while True:
            for key, _ in selector.select():
                if key.fd != requests.fileno():
                    pid, status = key.data
                    selector.unregister(key.fd)
                    os.close(key.fd)
                    _write_status(status, b"%d" % os.waitpid(pid, 0)[1])
                    os.close(status)
                    continue
                request, descriptors, _, _ = socket.recv_fds(requests, _MAX_REQUEST, 4)
                if not request:
                    return
                *streams, status = descriptors
                if not (pid := os.fork()):
                    selector.close()
                    requests.detach()
                    _run(request, streams)
                for descriptor in streams:
                    os.close(descriptor)
                _write_status(status, b"%d " % pid)
                selector.register(os.pidfd_open(pid), selectors.EVENT_READ, (pid, status))


def _write_status(status: int, text: bytes) -> None:
    with suppress(BrokenPipeError):  # who asked has ended
        os.write(status, text)


def _run(request: bytes, streams: list[int]) -> NoReturn:
    """Run jobmon, or the program."""
    program, arguments, cwd, env, new_session = json.loads(request)
    for number, descriptor in enumerate(streams):
        os.dup2(descriptor, number)
    os.closerange(len(streams), os.sysconf("SC_OPEN_MAX"))
    if new_session:
        os.setsid()
    if new_session and os.isatty(0):
        fcntl.ioctl(0, termios.TIOCSCTTY, 0)
        sys.stdout.reconfigure(line_buffering=True)  # type: ignore[union-attr] # as Python does on a terminal
    os.chdir(cwd)
    os.environ.clear()
    os.environ.update(env)
    time.tzset()
    sys.argv[1:] = arguments
    if program:
        sys.argv[0] = program
        sys.path.insert(0, str(Path(program).parent))
        runpy.run_path(program, run_name="__main__")
        sys.exit()
    sys.path.insert(0, cwd)
    runpy.run_module("jobmon", run_name="__main__", alter_sys=True)
    raise AssertionError("jobmon ends its process")


def _import_all(names: Sequence[str]) -> None:
    """Import these modules, if there are none all of jobmon."""
    for name in () if names else ("jobmon", "jobmon_core"):
        package = import_module(name)
        for module in pkgutil.walk_packages(package.__path__, f"{name}."):
            if not module.name.endswith("__main__"):
                import_module(module.name)
    for name in names or _IMPORTED_LATER:
        import_module(name)
    gc.collect()
    gc.freeze()  # or each collection would copy the memory


if __name__ == "__main__":
    _import_all(sys.argv[2:])
    _serve(socket.socket(fileno=int(sys.argv[1])))
