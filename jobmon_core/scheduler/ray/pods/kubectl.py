"""The dashboard of a Ray cluster that only its head pod reaches: kubectl runs each request in the pod."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from jobmon_core.domain.errors import JobmonError
from jobmon_core.scheduler.ray.api import Failed, RayApi
from jobmon_core.system.http import HttpResponse
from jobmon_core.system.runner import MAX_POD_BYTES, Ran, Runner

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from jobmon_core.system.http import HttpRequest, PostResult

# RFC 1123, as Kubernetes demands of the names of pods and namespaces
_NAME = re.compile(r"[a-z0-9](?:[a-z0-9.-]{0,251}[a-z0-9])?")
_KUBECTL_S = 10.0  # to reach the API server, besides the time of what runs in the pod
# it prints the status, then the body; Ray's images have Python
_GET = """
import os, sys, urllib.error, urllib.request
path, size, timeout = sys.argv[1], int(sys.argv[2]), float(sys.argv[3])
url = os.environ.get("RAY_API_SERVER_ADDRESS") or "http://127.0.0.1:8265"
token = os.environ.get("RAY_AUTH_TOKEN", "")
request = urllib.request.Request(url.rstrip("/") + path)
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


def pod_command(
    runner: Runner, pod: str, namespace: str, argv: Sequence[str], timeout_s: float
) -> Ran | Failed:
    """Run a command in a pod; return how it ended, or why it did not run to its end.

    Raises:
        JobmonError: no pod or namespace can have this name.
    """
    check_names(pod, namespace)
    ran = runner.capture(["kubectl", "exec", "-n", namespace, pod, "--", *argv], timeout_s + _KUBECTL_S)
    if isinstance(ran, Ran):
        return ran
    return Failed(ran.error_text)


@dataclass(frozen=True, slots=True)
class PodApi(RayApi):
    """The dashboard as its head pod sees it; it can only be read."""

    pod: str = ""
    namespace: str = "default"
    runner: Runner = field(default_factory=lambda: Runner(max_bytes=MAX_POD_BYTES))

    def _send(
        self,
        send: Callable[[HttpRequest, float], PostResult],  # noqa: ARG002 - every request is a GET
        path: str,
        timeout_s: float,
        max_bytes: int = 1 << 20,
        body: bytes = b"",  # noqa: ARG002 - see above
    ) -> HttpResponse | Failed:
        argv = ["python3", "-c", _GET, path, str(max_bytes), str(timeout_s)]
        ran = pod_command(self.runner, self.pod, self.namespace, argv, timeout_s)
        if isinstance(ran, Failed):
            return ran
        status, _, text = ran.stdout.partition("\n")
        if ran.exit_code != 0 or not status.isdecimal():
            return Failed(f"in the pod {self.pod}: {ran.error_text}")
        answer = HttpResponse(int(status), {}, text.encode())
        return answer if answer.is_success else Failed(self._refusal(answer), answer.status)
