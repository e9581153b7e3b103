"""`jobmon web` in a process of its own, and a client that sends whatever it likes."""

from __future__ import annotations

import os
import re
import signal
import socket
import subprocess
import sys
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from typing import NamedTuple, Self
from urllib.parse import urlsplit

from tests.support.waiting import PATIENCE_S


class Answer(NamedTuple):
    """What a server answered; all empty if it closed the connection."""

    status: int = 0
    headers: Mapping[str, str] = {}
    body: str = ""


def read_answer(raw: bytes) -> Answer:
    """Read the bytes of an answer."""
    if not raw:
        return Answer()
    head, _, body = raw.partition(b"\r\n\r\n")
    first, *lines = head.decode("latin-1").split("\r\n")
    headers = {name.lower(): value.strip() for name, _, value in (line.partition(":") for line in lines)}
    return Answer(int(first.split()[1]), headers, body.decode())


def sent(connection: socket.socket, data: bytes) -> Answer:
    """Send bytes and return the answer."""
    with connection:
        connection.settimeout(PATIENCE_S)
        with suppress(BrokenPipeError, ConnectionResetError):  # it may have answered before it was asked
            connection.sendall(data)
        pieces = []
        with suppress(ConnectionResetError):
            while piece := connection.recv(65_536):
                pieces.append(piece)
    return read_answer(b"".join(pieces))


class Web:
    """A running server; ``folder`` is the user's temporary folder."""

    def __init__(self, home: Path, folder: Path, *arguments: str) -> None:
        """Start it and wait until it has printed its address."""
        environment = {key: value for key, value in os.environ.items() if key != "XDG_RUNTIME_DIR"}
        self.process = subprocess.Popen(
            [sys.executable, "-m", "jobmon", "web", *arguments],
            env={**environment, "JOBMON_HOME": str(home), "TMPDIR": str(folder)},
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        assert self.process.stdout
        self.printed = ""
        while "token=" not in self.printed:
            line = self.process.stdout.readline()
            assert line, (self.printed, self.process.communicate())
            self.printed += line
        self.address = re.findall(r"http\S+", self.printed)[-1]
        self.token = self.address.rpartition("=")[2]
        self.port = urlsplit(self.address).port or 0
        found = re.search(r":(/\S*web\.sock)", self.printed)
        self.socket = found[1] if found else ""
        self.cookie = ""

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.stop()

    def stop(self) -> str:
        """End it as Ctrl-C does; return what it printed on stderr."""
        if self.process.poll() is None:
            self.process.send_signal(signal.SIGINT)
        return self.process.communicate(timeout=PATIENCE_S)[1]

    def connection(self) -> socket.socket:
        """Connect to it."""
        if self.socket:
            connection = socket.socket(socket.AF_UNIX)
            connection.settimeout(PATIENCE_S)
            connection.connect(self.socket)
            return connection
        return self.connection_to(self.port)

    @staticmethod
    def connection_to(port: int) -> socket.socket:
        """Connect to a port of this machine."""
        return socket.create_connection(("127.0.0.1", port), PATIENCE_S)

    @staticmethod
    def is_open(port: int) -> bool:
        """Whether something listens on a port of this machine."""
        with socket.socket() as probe:
            return probe.connect_ex(("127.0.0.1", port)) == 0

    @property
    def host(self) -> str:
        """What a browser sends as the host."""
        return f"127.0.0.1:{self.port}"

    def ask(self, path: str = "/", method: str = "GET", body: str = "", **headers: str) -> Answer:
        """Ask as a browser does that has been let in; a header without a value is left out."""
        named = {"host": self.host, "cookie": self.cookie, **headers}
        lines = [f"{name.replace('_', '-')}: {value}" for name, value in named.items() if value]
        if body:
            lines.append(f"Content-Length: {len(body)}")
        head = "\r\n".join((f"{method} {path} HTTP/1.1", *lines, "", ""))
        return sent(self.connection(), f"{head}{body}".encode())

    def enter(self) -> Answer:
        """Open the printed address, as the user does; keep the cookie."""
        answer = self.ask(f"/?token={self.token}")
        self.cookie = answer.headers["set-cookie"].partition(";")[0]
        return answer
