"""Requests to the dashboard of a Ray cluster. They load the HTTP library, so a monitor runs them in a helper.

Endpoints and answers: Ray's REST API and its state API, 2.9 to 2.60.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple
from urllib.parse import quote, urlencode

from jobmon_core import __version__
from jobmon_core.domain.backends import url_of
from jobmon_core.domain.node.health.pods import read_ray_status
from jobmon_core.scheduler.ray.ray_job import RayJob, parse_job, parse_jobs
from jobmon_core.system.http import HttpRequest, HttpResponse, NotSent, send

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
_LIST_BYTES = 64 << 20  # Ray keeps all jobs, each with up to 20,000 characters of its log
MAX_TAIL_BYTES = 4 << 20  # of the end of a log
_FEW_LINES = 40
_OLD_LOG_STREAM = (2, 46)  # before, each chunk of a log begins with the character 1
_CHUNK_BYTES = 1 << 16  # of such a log
_NOT_FOUND = 404
_UNAUTHORIZED = (401, 403)
_LIMIT = 100  # entries of the state API
_MAX_SHOWN = 300  # characters of an answer that an error shows


@dataclass(frozen=True, slots=True)
class Failed:
    """A request without a usable answer; ``status`` is that of an HTTP error, else None."""

    why: str
    status: int | None = None
    is_sent: bool = True  # of a POST: whether it may have arrived


class LogEnd(NamedTuple):
    """The end of a driver's log."""

    text: bytes
    lines: int  # that were asked for


@dataclass(frozen=True, slots=True)
class Version:
    """Which Ray answers, and which start of its head."""

    release: tuple[int, int]
    session: str  # empty before 2.38


@dataclass(frozen=True, slots=True)
class RayApi:
    """The dashboard of one cluster."""

    service: str
    environment: Mapping[str, str]

    def version(self) -> Version | Failed:
        """Ask which Ray this is."""
        data = self._json("/api/version", _SHORT_S)
        if isinstance(data, Failed):
            return data
        if not isinstance(data, dict) or not isinstance(data.get("ray_version"), str):
            return Failed(f"{self.service} answers, but it is not a Ray dashboard (its port is usually 8265)")
        session = data.get("session_name")
        return Version(_release(data["ray_version"]), session if isinstance(session, str) else "")

    def gcs_is_down(self) -> bool:
        """Whether the dashboard says that the GCS, which knows all jobs, does not answer."""
        answer = self._send("GET", "/api/gcs_healthz", _SHORT_S)
        return isinstance(answer, Failed) and answer.status is not None

    def jobs(self) -> list[RayJob] | Failed:
        """Ask for all jobs of the cluster."""
        data = self.descriptions()
        if isinstance(data, Failed):
            return data
        return parse_jobs(data) or []

    def descriptions(self) -> list[Any] | Failed:
        """Ask for all that Ray shows of all jobs of the cluster; see `description`."""
        data = self._json("/api/jobs/", TIMEOUT_S, _LIST_BYTES)
        is_list = isinstance(data, list | Failed)
        if is_list:
            return data
        return Failed("the dashboard sent no list of jobs")

    def job(self, name: str) -> RayJob | Failed | None:
        """Ask for one job; None if Ray answers that it has no such job."""
        data = self.description(name)
        if data is None or isinstance(data, Failed):
            return data
        return parse_job(data) or Failed(f"the dashboard sent no description of {name}")

    def description(self, name: str) -> dict[str, Any] | Failed | None:
        """Ask for all that Ray shows of one job, e.g. its environment, which may hold secrets; as `job`."""
        data = self._json(f"/api/jobs/{quote(name, safe='')}", TIMEOUT_S)
        if isinstance(data, Failed):
            is_answer = data.status == _NOT_FOUND and "does not exist" in data.why  # else perhaps of a proxy
            if is_answer:
                return None
            return data
        if isinstance(data, dict):
            return data
        return {}

    def stop(self, name: str) -> Failed | None:
        """Order Ray to stop a job; None if it took the order. Its processes may live on for seconds."""
        answer = self._send("POST", f"/api/jobs/{quote(name, safe='')}/stop", TIMEOUT_S)
        if isinstance(answer, Failed):
            return answer
        return None

    def log_tail(self, job: RayJob, lines: int, release: tuple[int, int]) -> LogEnd | Failed:
        """Ask for the last lines of a driver's log, or for few if these are too long for one answer."""
        tail = self._last_lines(job, lines, release)
        if isinstance(tail, Failed) or len(tail.text) < MAX_TAIL_BYTES:
            return tail
        return self._last_lines(job, _FEW_LINES, release)  # else the end of the log would be missing

    def _last_lines(self, job: RayJob, lines: int, release: tuple[int, int]) -> LogEnd | Failed:
        query = urlencode({"node_id": job.node_id, "filename": job.log_name, "lines": lines})
        answer = self._send("GET", f"/api/v0/logs/file?{query}", TIMEOUT_S, MAX_TAIL_BYTES)
        if isinstance(answer, Failed):
            return answer
        text = without_marks(answer.body) if release < _OLD_LOG_STREAM else answer.body
        return LogEnd(text, lines)

    def state(self, kind: str, **equal: str) -> list[dict[str, Any]] | Failed:
        """Ask for ``nodes``, ``actors``, ``tasks``, ``workers`` or ``placement_groups`` with these values."""
        filters = [
            pair
            for key, value in equal.items()
            for pair in (("filter_keys", key), ("filter_predicates", "="), ("filter_values", value))
        ]
        query = urlencode([("detail", "1"), ("limit", str(_LIMIT)), *filters])
        data = self._json(f"/api/v0/{kind}?{query}", TIMEOUT_S, _LIST_BYTES)
        if isinstance(data, Failed):
            return data
        try:
            found = data["data"]["result"]["result"]
        except (TypeError, KeyError):
            return Failed(f"the dashboard sent no list of {kind}")
        if isinstance(found, list):
            return [each for each in found if isinstance(each, dict)]
        return []

    def has_pending_nodes(self) -> bool:
        """Whether the autoscaler is adding nodes; also if that is not known."""
        status = self.cluster_status()
        return isinstance(status, Failed) or "(no pending nodes)" not in status

    def cluster_status(self) -> str | Failed:
        """Ask for the text that ``ray status`` prints."""
        data = self._json("/api/cluster_status?format=1", TIMEOUT_S)
        if isinstance(data, Failed):
            return data
        text = data.get("data") if isinstance(data, dict) else None
        status = text.get("clusterStatus") if isinstance(text, dict) else None
        if isinstance(status, str):
            return status
        return Failed("the dashboard sent no status of the cluster")

    def resources(self) -> ClusterResources | Failed:
        """Ask what the cluster has and what its tasks and actors hold."""
        text = self.cluster_status()
        if isinstance(text, Failed):
            return text
        return read_ray_status(text) or Failed("the dashboard shows no resources of the cluster")

    def gpus(self) -> list[dict[str, Any]] | Failed:
        """Ask for the GPUs of all nodes, as Ray's own agents there measure them."""
        data = self._json("/nodes?view=summary", TIMEOUT_S, _LIST_BYTES)
        if isinstance(data, Failed):
            return data
        inner = data.get("data") if isinstance(data, dict) else None
        nodes = inner.get("summary") if isinstance(inner, dict) else None
        if not isinstance(nodes, list):
            return Failed("the dashboard sent no list of nodes")
        gpus = [node.get("gpus") for node in nodes if isinstance(node, dict)]
        return [each for found in gpus if isinstance(found, list) for each in found if isinstance(each, dict)]

    def submit(self, description: Mapping[str, object]) -> str | Failed:
        """Submit a job; return its submission id."""
        data = self._decoded(
            self._send("POST", "/api/jobs/", TIMEOUT_S, body=json.dumps(description).encode())
        )
        if isinstance(data, Failed):
            return data
        name = data.get("submission_id") or data.get("job_id") if isinstance(data, dict) else None
        if isinstance(name, str):
            return name
        return Failed("the dashboard sent no id of the job")

    def has_package(self, name: str) -> bool:
        """Whether the cluster has a package of files."""
        return not isinstance(self._send("GET", f"/api/packages/gcs/{name}", TIMEOUT_S), Failed)

    def upload_package(self, name: str, content: bytes, timeout_s: float) -> Failed | None:
        """Send a package of files, a zip archive; None if the cluster has it then."""
        answer = self._send("PUT", f"/api/packages/gcs/{name}", timeout_s, body=content)
        if isinstance(answer, Failed):
            return answer
        return None

    def _json(self, path: str, timeout_s: float, max_bytes: int = 1 << 20) -> Any | Failed:  # noqa: ANN401 - of JSON
        return self._decoded(self._send("GET", path, timeout_s, max_bytes))

    def _decoded(self, answer: HttpResponse | Failed) -> Any | Failed:  # noqa: ANN401 - of JSON
        if isinstance(answer, Failed):
            return answer
        try:
            return json.loads(answer.body)
        except (ValueError, RecursionError):
            return Failed(
                f"the answer of {self.service} cannot be read: it is not JSON, or longer than expected"
            )

    def _send(
        self,
        method: str,
        path: str,
        timeout_s: float,
        max_bytes: int = 1 << 20,
        body: bytes = b"",
    ) -> HttpResponse | Failed:
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
            return Failed(answer.why, is_sent=not isinstance(answer, NotSent))
        if answer.is_success:
            return answer
        return Failed(self._refusal(answer), answer.status)

    def _refusal(self, answer: HttpResponse) -> str:
        if answer.status in _UNAUTHORIZED:
            what = "a wrong token"
            if answer.status == _UNAUTHORIZED[0]:
                what = "no token"
            return f"the Ray dashboard {self.service} got {what} (HTTP {answer.status}); {HINT}"
        text = " ".join(answer.body[:20_000].decode("utf-8", "replace").split())
        shown = text if len(text) <= _MAX_SHOWN else f"... {text[-_MAX_SHOWN:]}"  # of a traceback, the end
        return f"the Ray dashboard {self.service} answered HTTP {answer.status}: {shown}".rstrip(": ")


def without_marks(body: bytes) -> bytes:
    """Return a log without the character 1 that Ray before 2.46 puts before each chunk of it."""
    chunks = (body[start : start + 1 + _CHUNK_BYTES] for start in range(0, len(body), 1 + _CHUNK_BYTES))
    return b"".join(chunk.removeprefix(b"1") for chunk in chunks)


def _release(version: str) -> tuple[int, int]:
    parts = [int(part) if part.isdecimal() else 0 for part in version.split(".")[:2]]
    if len(parts) > 1:
        return (parts[0], parts[1])
    return (0, 0)


def auth_headers(environment: Mapping[str, str]) -> dict[str, str]:
    """Return the headers with the user's token, and those that the user has for a proxy."""
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
