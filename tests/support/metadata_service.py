"""A metadata service that answers as those of AWS, GCP and Azure are documented to.

As a program, ``python metadata_service.py FOLDER COMMAND...`` runs a command in a network of its own, in
which the service has its real address. The answers are in ``FOLDER/answers.json``; without that file, nothing
answers.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import threading
from collections.abc import Callable
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

_IP, _MOUNT = shutil.which("ip") or "/sbin/ip", shutil.which("mount") or "/bin/mount"
ADDRESS = "169.254.169.254"
TOKEN = "AQAEAK-documented-token=="
AWS_TOKEN, AWS_ACTION = "/latest/api/token", "/latest/meta-data/spot/instance-action"
GCP_PREEMPTED = "/computeMetadata/v1/instance/preempted"
GCP_MAINTENANCE = "/computeMetadata/v1/instance/maintenance-event"
AZURE_EVENTS = "/metadata/scheduledevents?api-version=2020-07-01"
AZURE_NAME = "/metadata/instance/compute/name?api-version=2020-06-01&format=text"
# without a notice; a path that is missing is "not found", as AWS answers then
AWS: dict[str, Any] = {AWS_TOKEN: TOKEN}
GCP: dict[str, Any] = {GCP_PREEMPTED: "FALSE", GCP_MAINTENANCE: "NONE"}
AZURE: dict[str, Any] = {AZURE_EVENTS: {"DocumentIncarnation": 1, "Events": []}, AZURE_NAME: "FrontEnd_IN_0"}
SPOT = {"action": "terminate", "time": "2026-11-30T12:04:24Z"}
# as in the documentation of Azure
PREEMPT = {
    "EventId": "C7061BAC-AFDC-4513-B24B-AA5F13A16123",
    "EventType": "Preempt",
    "ResourceType": "VirtualMachine",
    "Resources": ["FrontEnd_IN_0", "BackEnd_IN_0"],
    "EventStatus": "Scheduled",
    "NotBefore": "Mon, 30 Nov 2026 12:04:24 GMT",
    "Description": "",
    "EventSource": "Platform",
    "DurationInSeconds": -1,
}


class Handler(BaseHTTPRequestHandler):
    """Answers by `Service.answer`; each service demands its header."""

    server: Service

    def answer(self) -> None:
        """Answer any request, and note it."""
        self.server.requests.append(f"{self.command} {self.path}")
        if self.command == "PUT":
            demanded = self.headers["X-aws-ec2-metadata-token-ttl-seconds"] == "21600"
        elif self.path.startswith("/latest/"):
            demanded = self.headers["X-aws-ec2-metadata-token"] == self.server.token
        else:
            demanded = "true" in (
                self.headers["Metadata"],
                str(self.headers["Metadata-Flavor"] == "Google").lower(),
            )
        answers = self.server.answers()
        found = answers.get(self.path) if demanded else 401
        if callable(found):
            found(self)
            return
        status = found if isinstance(found, int) else 404 if found is None else 200
        text = "" if status != 200 else found if isinstance(found, str) else json.dumps(found)
        self.reply(status, text.encode())

    do_GET = do_PUT = do_POST = answer  # noqa: N815 - the names in http.server

    def reply(self, status: int, body: bytes, length: int | None = None, **headers: str) -> None:
        """Answer with a body, of which the header may promise more."""
        self.send_response(status)
        self.send_header("Content-Length", str(len(body) if length is None else length))
        for name, value in headers.items():
            self.send_header(name, value)
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, format: str, *args: object) -> None:  # noqa: A002 - the name in http.server
        """Log nothing."""


class Service(ThreadingHTTPServer):
    """The service; ``answers`` is asked at each request: status, body or what replies, by path."""

    daemon_threads = True
    block_on_close = False  # a handler that hangs ends with the test

    def __init__(
        self, answers: Callable[[], dict[str, Any]], address: tuple[str, int] = ("127.0.0.1", 0)
    ) -> None:
        super().__init__(address, Handler)
        self.answers, self.token, self.requests = answers, TOKEN, list[str]()
        threading.Thread(target=self.serve_forever, args=(0.02,), daemon=True).start()

    def handle_error(self, request: object, client_address: object) -> None:
        """Log nothing: a client may have given up."""


def wrapped(folder: Path, *command: str) -> tuple[str, ...]:
    """Return the command line of this program, as root of a network and a file system of its own."""
    become_root = () if os.geteuid() == 0 else ("-r",)
    return ("unshare", "-n", "-m", *become_root, sys.executable, __file__, str(folder), *command)


def _main(folder: Path, *command: str) -> None:
    subprocess.run([_IP, "link", "set", "lo", "up"], check=True)
    subprocess.run([_IP, "addr", "add", f"{ADDRESS}/32", "dev", "lo"], check=True)
    dmi = Path("/sys/class/dmi/id")
    if dmi.is_dir():  # what this machine is says nothing about the node that the test plays
        subprocess.run([_MOUNT, "--bind", folder, dmi], check=True)
    command_pid = os.getpid()
    if os.fork():
        os.execv(command[0], command)  # noqa: S606 - the command is the test's
    service: Service | None = None
    answers = folder / "answers.json"
    while os.getppid() == command_pid:  # it ends with the command
        if service is None and answers.exists():
            service = Service(lambda: json.loads(answers.read_text()), (ADDRESS, 80))
        threading.Event().wait(0.1)
        if service:
            (folder / "requests.new").write_text("\n".join(service.requests))
            (folder / "requests.new").replace(folder / "requests.txt")


if __name__ == "__main__":
    _main(Path(sys.argv[1]), *sys.argv[2:])
