"""Requests to the dashboard of a Ray cluster. They load the HTTP library, so a monitor runs them in a helper.

A dashboard that only its head pod reaches is asked there, through kubectl. Source: Ray's REST API and its
state API, 2.9 to 2.60.
"""

from __future__ import annotations

import json
import re
from base64 import b64encode
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import quote, urlencode

from jobmon_core import __version__
from jobmon_core.domain.backends import url_of
from jobmon_core.domain.errors import JobmonError
from jobmon_core.domain.node.health.pods import read_ray_status
from jobmon_core.scheduler.json_values import at, dicts, text
from jobmon_core.scheduler.ray.ray_job import RayFailed, RayJob, parse_job, parse_jobs
from jobmon_core.system.http import HttpRequest, HttpResponse, NotSent, send
from jobmon_core.system.runner import MAX_POD_BYTES, NotStarted, Ran, Runner

if TYPE_CHECKING:
    from collections.abc import Mapping

    from jobmon_core.domain.node.health.model import ClusterResources

# Source: Ray's documentation on token authentication (since 2.52), and `RAY_JOB_HEADERS` of its job client.
HINT = (
    "set RAY_AUTH_TOKEN or RAY_AUTH_TOKEN_PATH, or write the token into ~/.ray/auth_token; then run "
    "`jobmon recover`"
)
_MAX_BYTES = 65_536

TIMEOUT_S = 10.0
_SHORT_S = 5.0
_LIST_BYTES = 64 << 20
MAX_TAIL_BYTES = 4 << 20
_FEW_LINES = 40
_OLD_LOG_STREAM = (2, 46)  # before, each chunk of a log begins with the character 1
_CHUNK_BYTES = 1 << 16
_NOT_FOUND = 404
_UNAUTHORIZED = (401, 403)
_LIMIT = 100
_MAX_SHOWN = 300


@dataclass(frozen=True, slots=True)
class Version:
    """Which Ray answers, and which start of its head."""

    release: tuple[int, int]
    session: str  # empty before 2.38


@dataclass(frozen=True, slots=True)
class RayApi:
    """The dashboard of one cluster. Each question raises `RayFailed` without a usable answer."""

    service: str
    environment: Mapping[str, str]

    def version(self) -> Version:
        """Which Ray this is."""
        data = self._json("/api/version", _SHORT_S)
        if not text(data, "ray_version"):
            raise RayFailed(
                f"{self.service} answers, but it is not a Ray dashboard (its port is usually 8265)"
            )
        return Version(_release(text(data, "ray_version")), text(data, "session_name"))

    def gcs_is_down(self) -> bool:
        """Whether the dashboard says that the GCS, which knows all jobs, does not answer."""
        try:
            self._send("GET", "/api/gcs_healthz", _SHORT_S)
        except RayFailed as error:
            return error.status is not None
        return False

    def jobs(self) -> list[RayJob]:
        """All jobs of the cluster."""
        return parse_jobs(self.descriptions())

    def descriptions(self) -> list[Any]:
        """All that Ray shows of all jobs, see `description`."""
        data = self._json("/api/jobs/", TIMEOUT_S, _LIST_BYTES)
        if not isinstance(data, list):
            raise RayFailed("the dashboard sent no list of jobs")
        return data

    def job(self, name: str) -> RayJob | None:
        """None if Ray answers that it has no such job."""
        data = self.description(name)
        if data is None:
            return None
        job = parse_job(data)
        if job is None:
            raise RayFailed(f"the dashboard sent no description of {name}")
        return job

    def description(self, name: str) -> dict[str, Any] | None:
        """All that Ray shows of a job, e.g. its environment, which may hold secrets."""
        try:
            data = self._json(f"/api/jobs/{quote(name, safe='')}", TIMEOUT_S)
        except RayFailed as error:
            if error.status == _NOT_FOUND and "does not exist" in str(error):  # else perhaps of a proxy
                return None
            raise
        return data if isinstance(data, dict) else {}

    def stop(self, name: str) -> None:
        """Its processes may live on for seconds."""
        self._send("POST", f"/api/jobs/{quote(name, safe='')}/stop", TIMEOUT_S)

    def log_tail(self, job: RayJob, lines: int, release: tuple[int, int]) -> tuple[bytes, int]:
        """The last lines of a driver's log, or few if these are too long for one answer."""
        tail = self._last_lines(job, lines, release)
        if len(tail) < MAX_TAIL_BYTES:
            return tail, lines
        return self._last_lines(
            job, _FEW_LINES, release
        ), _FEW_LINES  # else the end of the log would be missing

    def _last_lines(self, job: RayJob, lines: int, release: tuple[int, int]) -> bytes:
        query = urlencode({"node_id": job.node_id, "filename": job.log_name, "lines": lines})
        answer = self._send("GET", f"/api/v0/logs/file?{query}", TIMEOUT_S, MAX_TAIL_BYTES)
        if release < _OLD_LOG_STREAM:
            return without_marks(answer.body)
        return answer.body

    def state(self, kind: str, **equal: str) -> list[dict[str, Any]]:
        """Entries of the state API with these values."""
        filters = [
            pair
            for key, value in equal.items()
            for pair in (("filter_keys", key), ("filter_predicates", "="), ("filter_values", value))
        ]
        query = urlencode([("detail", "1"), ("limit", str(_LIMIT)), *filters])
        data = self._json(f"/api/v0/{kind}?{query}", TIMEOUT_S, _LIST_BYTES)
        if at(data, "data", "result", "result") is None:
            raise RayFailed(f"the dashboard sent no list of {kind}")
        return dicts(data, "data", "result", "result")

    def has_pending_nodes(self) -> bool:
        """Whether the autoscaler adds nodes; also if that is not known."""
        try:
            return "(no pending nodes)" not in self.cluster_status()
        except RayFailed:
            return True

    def cluster_status(self) -> str:
        """The text of ``ray status``."""
        status = text(self._json("/api/cluster_status?format=1", TIMEOUT_S), "data", "clusterStatus")
        if not status:
            raise RayFailed("the dashboard sent no status of the cluster")
        return status

    def resources(self) -> ClusterResources:
        """What the cluster has and what its tasks and actors hold."""
        found = read_ray_status(self.cluster_status())
        if found is None:
            raise RayFailed("the dashboard shows no resources of the cluster")
        return found

    def gpus(self) -> list[dict[str, Any]]:
        """Those of all nodes."""
        data = self._json("/nodes?view=summary", TIMEOUT_S, _LIST_BYTES)
        if not isinstance(at(data, "data", "summary"), list):
            raise RayFailed("the dashboard sent no list of nodes")
        return [gpu for node in dicts(data, "data", "summary") for gpu in dicts(node, "gpus")]

    def submit(self, description: Mapping[str, object]) -> None:
        """Submit a job."""
        body = json.dumps(description).encode()
        data = self._decoded(self._send("POST", "/api/jobs/", TIMEOUT_S, body=body))
        if not (text(data, "submission_id") or text(data, "job_id")):
            raise RayFailed("the dashboard sent no id of the job")

    def has_package(self, name: str) -> bool:
        """Whether the cluster has a package of files."""
        try:
            self._send("GET", f"/api/packages/gcs/{name}", TIMEOUT_S)
        except RayFailed:
            return False
        return True

    def upload_package(self, name: str, content: bytes, timeout_s: float) -> None:
        """A zip archive."""
        self._send("PUT", f"/api/packages/gcs/{name}", timeout_s, body=content)

    def _json(self, path: str, timeout_s: float, max_bytes: int = 1 << 20) -> Any:  # noqa: ANN401 - of JSON
        return self._decoded(self._send("GET", path, timeout_s, max_bytes))

    def _decoded(self, answer: HttpResponse) -> Any:  # noqa: ANN401 - of JSON
        try:
            return json.loads(answer.body)
        except (ValueError, RecursionError) as error:
            raise RayFailed(
                f"the answer of {self.service} cannot be read: it is not JSON, or longer than expected"
            ) from error

    def _send(
        self, method: str, path: str, timeout_s: float, max_bytes: int = 1 << 20, body: bytes = b""
    ) -> HttpResponse:
        request = HttpRequest(
            url=url_of(self.service) + path,
            receiver=f"the Ray dashboard {self.service}",
            body=body,
            user_agent=f"jobmon/{__version__}",  # Ray refuses a POST from what looks like a browser
            headers=auth_headers(self.environment),
            max_bytes=max_bytes,
        )
        answer = send(method, request, timeout_s)
        if not isinstance(answer, HttpResponse):
            raise RayFailed(answer.why, is_sent=not isinstance(answer, NotSent))
        return self._successful(answer)

    def _successful(self, answer: HttpResponse) -> HttpResponse:
        if answer.is_success:
            return answer
        if answer.status in _UNAUTHORIZED:
            what = "no token" if answer.status == _UNAUTHORIZED[0] else "a wrong token"
            why = f"the Ray dashboard {self.service} got {what} (HTTP {answer.status}); {HINT}"
            raise RayFailed(why, answer.status)
        said = " ".join(answer.body[:20_000].decode("utf-8", "replace").split())
        if len(said) > _MAX_SHOWN:
            said = f"... {said[-_MAX_SHOWN:]}"
        why = f"the Ray dashboard {self.service} answered HTTP {answer.status}: {said}"
        raise RayFailed(why.rstrip(": "), answer.status)


def without_marks(body: bytes) -> bytes:
    """Before 2.46, Ray puts the character 1 before each chunk of a log."""
    chunks = (body[start : start + 1 + _CHUNK_BYTES] for start in range(0, len(body), 1 + _CHUNK_BYTES))
    return b"".join(chunk.removeprefix(b"1") for chunk in chunks)


def _release(version: str) -> tuple[int, int]:
    parts = [int(part) if part.isdecimal() else 0 for part in version.split(".")[:2]]
    if len(parts) > 1:
        return (parts[0], parts[1])
    return (0, 0)


def auth_headers(environment: Mapping[str, str]) -> dict[str, str]:
    """With the user's token, and those that the user has for a proxy."""
    headers = _proxy_headers(environment.get("RAY_JOB_HEADERS", ""))
    token = environment.get("RAY_AUTH_TOKEN", "").strip() or _token_of_file(environment)
    if token:
        return {**headers, "Authorization": f"Bearer {token}"}
    return headers


def _token_of_file(environment: Mapping[str, str]) -> str:
    named = environment.get("RAY_AUTH_TOKEN_PATH", "").strip()
    home = environment.get("HOME", "")
    path = Path(named) if named else Path(home) / ".ray" / "auth_token"
    if not (named or home):
        return ""
    try:
        with path.open("rb") as file:
            return file.read(_MAX_BYTES).decode("ascii").strip()
    except (OSError, ValueError):
        return ""  # Ray needs a token only if token authentication is on; then it answers 401


def _proxy_headers(text: str) -> dict[str, str]:
    try:
        data = json.loads(text) if text.strip() else {}
    except (ValueError, RecursionError):
        return {}
    if isinstance(data, dict):
        return {str(name): str(value) for name, value in data.items()}
    return {}


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
    """Raise JobmonError for a wrong name of a pod or namespace."""
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
        self, method: str, path: str, timeout_s: float, max_bytes: int = 1 << 20, body: bytes = b""
    ) -> HttpResponse:
        check_names(self.pod, self.namespace)
        sent, stdin = ("", ()) if method == "GET" else (f"{b64encode(body).decode()}\n", ("-i",))
        request = ("python3", "-c", _REQUEST, method, path, str(max_bytes), str(timeout_s))
        command = ("kubectl", "exec", "-n", self.namespace, self.pod, *stdin, "--", *request)
        ran = self.runner.feed(command, sent, timeout_s + _KUBECTL_S)
        if not isinstance(ran, Ran):
            raise RayFailed(ran.error_text, is_sent=not isinstance(ran, NotStarted))
        status, _, answered = ran.stdout.partition("\n")
        if ran.exit_code != 0 or not status.isdecimal():
            raise RayFailed(f"in the pod {self.pod}: {ran.error_text}")
        return self._successful(HttpResponse(int(status), {}, answered.encode()))
