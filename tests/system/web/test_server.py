"""One server with few threads: slow, many and broken clients neither stop it nor make it grow."""

from __future__ import annotations

import os
import socket
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, suppress
from http import HTTPStatus
from pathlib import Path

import pytest

from jobmon_core.system.web.listening import listen_at
from jobmon_core.system.web.request import BadRequest, Request, Response
from jobmon_core.system.web.server import THREADS, Server
from tests.support.waiting import eventually
from tests.support.web import Answer, sent

_NOBODY = 65_534
_GET = b"GET / HTTP/1.1\r\nHost: localhost\r\n\r\n"


def _answer(request: Request) -> Response:
    if request.path == "/missing":
        raise BadRequest(HTTPStatus.NOT_FOUND)
    return Response(f"{request.method} {request.path} {dict(request.form)}", etag="e")


class _Running:
    """A server in a thread of the test."""

    def __init__(self, path: Path, *, idle_s: float = 600.0, client_s: float = 600.0) -> None:
        self.path = path
        refusal = lambda status: Response(status.phrase, status)  # noqa: E731 - one expression
        self.server = Server(listen_at(path), _answer, refusal, idle_s, client_s)
        self.thread = threading.Thread(target=self.server.serve, daemon=True)
        self.thread.start()

    def stop(self) -> None:
        self.server.idle_s = 0.0
        with suppress(OSError), self.connection():  # it looks at the time again
            self.thread.join(60)
        self.server.listener.close()

    @property
    def threads(self) -> int:
        """How many serve clients."""
        return THREADS - self.server._free._value  # noqa: SLF001 - there is no other way to see it

    def connection(self) -> socket.socket:
        connection = socket.socket(socket.AF_UNIX)
        connection.settimeout(60)
        while True:
            try:
                connection.connect(str(self.path))
            except BlockingIOError:  # as many wait as may wait
                time.sleep(0.005)
            else:
                return connection

    def ask(self, data: bytes) -> Answer:
        return sent(self.connection(), data)


@pytest.fixture
def start(tmp_path: Path) -> Iterator[Callable[..., _Running]]:
    """Starts servers that end with the test."""
    with ExitStack() as stack:

        def start(**limits_s: float) -> _Running:
            running = _Running(tmp_path / "web.sock", **limits_s)
            stack.callback(running.stop)
            return running

        yield start


@pytest.fixture
def running(start: Callable[..., _Running]) -> _Running:
    return start()


def test_requests_are_answered_and_the_connection_closed(running: _Running) -> None:
    answer = running.ask(_GET + _GET)
    assert (answer.status, answer.body) == (200, "GET / {}")
    assert answer.headers["connection"] == "close"


def test_a_form_is_read_in_pieces(running: _Running) -> None:
    with running.connection() as connection:
        for piece in (b"POST /act HT", b"TP/1.1\r\nContent-Length: 7\r\n\r", b"\na=1", b"&b=2"):
            connection.sendall(piece)
            time.sleep(0.01)
        connection.shutdown(socket.SHUT_WR)
        assert b"POST /act {'a': '1', 'b': '2'}" in b"".join(iter(lambda: connection.recv(10_000), b""))


def test_what_has_not_changed_is_not_sent_again(running: _Running) -> None:
    answer = running.ask(b'GET / HTTP/1.1\r\nIf-None-Match: "e"\r\n\r\n')
    assert (answer.status, answer.body) == (304, "")


def test_only_the_head_is_sent_if_only_that_is_asked_for(running: _Running) -> None:
    answer = running.ask(b"HEAD / HTTP/1.1\r\n\r\n")
    assert (answer.status, answer.body) == (200, "")
    assert int(answer.headers["content-length"]) > 0


@pytest.mark.parametrize(
    ("data", "status"),
    [
        (b"GET /missing HTTP/1.1\r\n\r\n", 404),
        (b"nonsense\r\n\r\n", 400),
        (b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03\r\n\r\n", 400),  # as TLS begins
        (b"GET / HTTP/1.1\r\nX: " + b"y" * 30_000 + b"\r\n\r\n", 431),
        (b"POST / HTTP/1.1\r\nContent-Length: 99999\r\n\r\n", 413),
    ],
)
def test_bad_requests_are_refused(running: _Running, data: bytes, status: int) -> None:
    assert running.ask(data).status == status
    assert running.ask(_GET).status == 200


def test_a_client_that_trickles_is_cut_off(start: Callable[..., _Running]) -> None:
    running = start(client_s=0.5)
    with running.connection() as connection:
        began_s = time.monotonic()
        connection.settimeout(60)
        cut = False
        while not cut and time.monotonic() - began_s < 60:
            try:
                connection.send(b"G")
                connection.settimeout(0.05)
                cut = connection.recv(1) == b""
            except TimeoutError:
                continue
            except OSError:
                cut = True
    assert cut


def test_a_client_that_reads_nothing_is_cut_off(start: Callable[..., _Running]) -> None:
    running = start(client_s=0.5)
    running.server.answer = lambda _: Response("x" * 5_000_000)
    with ExitStack() as stack:
        for _ in range(THREADS):
            stack.enter_context(running.connection()).sendall(_GET)
        eventually(lambda: running.ask(b"GET /missing HTTP/1.1\r\n\r\n").status == 200)


def test_of_a_thousand_connections_few_take_a_thread_and_the_others_are_told(running: _Running) -> None:
    refused = 0
    with ExitStack() as stack:
        open_connections = [stack.enter_context(running.connection()) for _ in range(1000)]
        eventually(lambda: running.threads == THREADS)
        for connection in open_connections[THREADS:]:
            refused += b" 503 " in connection.recv(1000)
        assert running.threads == THREADS
    assert refused == 1000 - THREADS
    eventually(lambda: running.ask(_GET).status == 200)


def test_clients_that_disconnect_at_once_do_no_harm(running: _Running) -> None:
    for data in (b"", b"GET /", _GET):
        for _ in range(20):
            with running.connection() as connection:
                connection.sendall(data)
    eventually(lambda: running.ask(_GET).status == 200)


def test_it_ends_when_nobody_asks(start: Callable[..., _Running]) -> None:
    running = start(idle_s=0.3)
    running.thread.join(60)
    assert not running.thread.is_alive()


def test_refused_requests_do_not_keep_it_alive(start: Callable[..., _Running]) -> None:
    running = start(idle_s=1.0)
    until_s = time.monotonic() + 60
    while running.thread.is_alive() and time.monotonic() < until_s:
        try:
            running.ask(b"GET /missing HTTP/1.1\r\n\r\n")
        except OSError:
            break  # it has ended
        time.sleep(0.05)
    running.thread.join(60)
    assert not running.thread.is_alive()


@pytest.mark.skipif(os.geteuid() != 0, reason="needs root to become another user")
def test_another_user_is_not_answered_even_if_the_socket_were_open_to_all(running: _Running) -> None:
    for folder in (running.path.parent, *running.path.parent.parents[:-2]):
        folder.chmod(folder.stat().st_mode | 0o011)
    running.path.chmod(0o666)
    reading, writing = os.pipe()
    if not (pid := os.fork()):
        try:
            os.setgid(_NOBODY)
            os.setuid(_NOBODY)
            os.write(writing, f"{running.ask(_GET).status}".encode())
        except BaseException as error:  # noqa: BLE001 - the parent reports it
            os.write(writing, repr(error).encode())
        finally:
            os._exit(0)
    os.waitpid(pid, 0)
    assert os.read(reading, 1000) == b"0"
    assert running.ask(_GET).status == 200
