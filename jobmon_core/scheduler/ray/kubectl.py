"""The dashboard of a Ray cluster that only its head pod reaches: kubectl runs each request in the pod."""

from __future__ import annotations

import re
from base64 import b64encode
from dataclasses import dataclass, field

from jobmon_core.domain.errors import JobmonError
from jobmon_core.scheduler.ray.api import Failed, RayApi
from jobmon_core.system.http import HttpResponse
from jobmon_core.system.runner import MAX_POD_BYTES, NotStarted, Ran, Runner

# RFC 1123, as Kubernetes demands of the names of pods and namespaces
_NAME = re.compile(r"[a-z0-9](?:[a-z0-9.-]{0,251}[a-z0-9])?")
_KUBECTL_S = 10.0  # to reach the API server, besides the time of what runs in the pod
# it prints the status, then the body; Ray's images have Python. What is sent comes as input, not as an
# argument, which others could read: it may hold secrets
_REQUEST = """
import base64, os, sys, urllib.error, urllib.request
method, path, size, timeout = sys.argv[1], sys.argv[2], int(sys.argv[3]), float(sys.argv[4])
body = None if method == "GET" else base64.b64decode(sys.stdin.read())
url = os.environ.get("RAY_API_SERVER_ADDRESS") or "http://127.0.0.1:8265"
token = os.environ.get("RAY_AUTH_TOKEN", "")
request = urllib.request.Request(url.rstrip("/") + path, data=body, method=method)
if token:
    request.add_header("Authorization", "Bearer " + token)
opener = urllib.request.build_opener(urllib.request.ProxyHandler({}))
try:
    answer = opener.open(request, timeout=timeout)
except urllib.error.HTTPError as error:
    answer = error
sys.stdout.buffer.write(b"%d\\n" % answer.getcode() + answer.read(size))
"""


def check_names(*names: str) -> None:
    """Raise JobmonError if no pod or namespace can have one of these names."""
    for name in names:
        if not _NAME.fullmatch(name):
            raise JobmonError(
                f"{name!r} is not a Kubernetes name: use only lower-case letters, digits, - and ."
            )


@dataclass(frozen=True, slots=True)
class PodApi(RayApi):
    """The dashboard as its head pod sees it."""

    pod: str = ""
    namespace: str = "default"
    runner: Runner = field(default_factory=lambda: Runner(max_bytes=MAX_POD_BYTES))

    def _send(
        self,
        method: str,
        path: str,
        timeout_s: float,
        max_bytes: int = 1 << 20,
        body: bytes = b"",
    ) -> HttpResponse | Failed:
        check_names(self.pod, self.namespace)
        text, stdin = ("", ()) if method == "GET" else (f"{b64encode(body).decode()}\n", ("-i",))
        request = ("python3", "-c", _REQUEST, method, path, str(max_bytes), str(timeout_s))
        command = ("kubectl", "exec", "-n", self.namespace, self.pod, *stdin, "--", *request)
        ran = self.runner.feed(command, text, timeout_s + _KUBECTL_S)
        if not isinstance(ran, Ran):
            return Failed(ran.error_text, is_sent=not isinstance(ran, NotStarted))
        status, _, answered = ran.stdout.partition("\n")
        if ran.exit_code != 0 or not status.isdecimal():
            return Failed(f"in the pod {self.pod}: {ran.error_text}")
        answer = HttpResponse(int(status), {}, answered.encode())
        if answer.is_success:
            return answer
        return Failed(self._refusal(answer), answer.status)
