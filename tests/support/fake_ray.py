"""A local server that answers as the dashboard of a Ray cluster does: Ray's REST API and its state API.

The shapes of the answers are those of recordings of Ray 2.60 and of the documentation of 2.9 to 2.60.
"""

from __future__ import annotations

import json
from typing import Any
from urllib.parse import parse_qs, unquote, urlsplit

from jobmon_core.scheduler.base import BackendResources
from jobmon_core.scheduler.ray.client import service_name
from jobmon_core.system.lock import command_lock
from tests.support.loopback import Loopback, QuietHandler

Entry = dict[str, Any]
NODE = "4b52ceb945a0fc384cf07a71e1220da5f5f63cbd86668a4edb456ba0"


def ray_job(name: str, status: str = "RUNNING", **changes: Any) -> Entry:  # noqa: ANN401 - values of JSON
    """Return the entry of a submitted job, as Ray 2.60 shows it; it has connected unless it is PENDING."""
    is_connected = status != "PENDING"
    return {
        "type": "SUBMISSION",
        "job_id": "05000000" if is_connected else None,
        "submission_id": name,
        "driver_info": {"id": "05000000", "node_ip_address": "192.0.2.2", "pid": "30137"}
        if is_connected
        else None,
        "status": status,
        "entrypoint": "python train.py",
        "message": "Job is currently running.",
        "error_type": None,
        "start_time": 1795330638725,
        "end_time": None if status in ("PENDING", "RUNNING") else 1795330649453,
        "metadata": None,
        "runtime_env": {},
        "driver_agent_http_address": "http://192.0.2.2:52365" if is_connected else None,
        "driver_node_id": NODE if is_connected else None,
        "driver_exit_code": None,
        **changes,
    }


def ray_node(**resources: float) -> Entry:
    """Return the entry of a node that lives."""
    return {"node_id": NODE, "state": "ALIVE", "resources_total": resources}


class FakeRay(Loopback):
    """The server; a test sets what it shows."""

    def __init__(self) -> None:
        super().__init__(_Handler)
        self.version: Entry = {
            "version": "4",
            "ray_version": "2.60.0",
            "session_name": "session_2026-11-22_06-55-03_988988_18556",
        }
        self.jobs: list[Entry] = []
        self.is_listing = True  # else the list is empty, and each job is shown only by its id
        self.logs: dict[str, bytes] = {}  # by submission id
        self.state: dict[str, list[Entry]] = {}  # of the state API, by kind
        self.cluster_status = "Pending:\n (no pending nodes)\n"
        self.refusals: dict[str, tuple[int, str]] = {}  # by the start of the path: status and text
        self.dropped_posts = 0  # so many submissions arrive, but their answers do not
        self.ignored_posts = 0  # so many are cut off before they arrive
        self.rivals: list[Entry] = []  # submitted by others just before our next submission arrives
        self.token = ""  # that requests must show
        self.requests: list[str] = []  # method and path of each
        self.headers: list[dict[str, str]] = []
        self.started: list[str] = []  # the submission ids of the jobs that were started, in order
        self.packages: dict[str, bytes] = {}

    @property
    def url(self) -> str:
        """The address of the dashboard."""
        return f"http://127.0.0.1:{self.server_port}"

    @property
    def service(self) -> str:
        """The name of the cluster."""
        return service_name(self.url)

    def count(self, request: str) -> int:
        """Return the number of requests that begin like this, e.g. ``GET /api/jobs/``."""
        return sum(each.startswith(request) for each in self.requests)


class _Handler(QuietHandler):
    server: FakeRay

    def answer_get(self) -> None:
        ray, parts = self.server, urlsplit(self.path)
        if self._refused():
            return
        path, query = parts.path, parse_qs(parts.query)
        if path == "/api/version":
            self._json(ray.version)
        elif path == "/api/gcs_healthz":
            self._send(200, b"success")
        elif path == "/api/jobs/":
            self._json(ray.jobs if ray.is_listing else [])
        elif path.startswith("/api/jobs/"):
            self._job(unquote(path.removeprefix("/api/jobs/")))
        elif path == "/api/v0/logs/file":
            self._log(query)
        elif path.startswith("/api/v0/"):
            self._state(path.removeprefix("/api/v0/"), query)
        elif path == "/api/cluster_status":
            self._json({"result": True, "data": {"clusterStatus": ray.cluster_status}})
        elif path.removeprefix("/api/packages/gcs/") in ray.packages:
            self._json({})
        else:
            self._send(404, b"404: Not Found")

    def answer(self) -> None:
        ray, body = self.server, self.body()
        if self._refused():
            return
        if self.path.startswith("/api/packages/gcs/"):
            ray.packages[self.path.removeprefix("/api/packages/gcs/")] = body
            self._json({})
            return
        if ray.ignored_posts:
            ray.ignored_posts -= 1
            self.close_connection = True
            return
        if self.path.endswith("/stop"):
            entry = self._entry(unquote(self.path.removesuffix("/stop").removeprefix("/api/jobs/")))
            entry.update(status="STOPPED")
            self._json({"stopped": True})
            return
        ray.jobs += ray.rivals
        ray.started += [each["submission_id"] for each in ray.rivals]
        ray.rivals = []
        name = json.loads(body)["submission_id"]
        if name in ray.started:
            text = f"ValueError: Job with submission_id {name} already exists. Please use a different one."
            self._send(500, text.encode())
            return
        ray.jobs.append(ray_job(name, "PENDING", **json.loads(body)))
        ray.started.append(name)  # last: a test that sees it looks for the job
        if ray.dropped_posts:
            ray.dropped_posts -= 1
            self.close_connection = True
            return
        self._json({"job_id": name, "submission_id": name})

    def _refused(self) -> bool:
        ray = self.server
        ray.requests.append(f"{self.command} {self.path}")
        ray.headers.append({name.lower(): value for name, value in self.headers.items()})
        refusal = next((each for path, each in ray.refusals.items() if self.path.startswith(path)), None)
        if refusal is None and ray.token and self.path != "/api/gcs_healthz":
            given = self.headers.get("Authorization", "")
            if given != f"Bearer {ray.token}":
                refusal = (403 if given else 401, "Unauthorized")
        if refusal:
            self._send(refusal[0], refusal[1].encode())
        return refusal is not None

    def _entry(self, name: str) -> Entry:
        found = (job for job in self.server.jobs if name in (job["submission_id"], job["job_id"]))
        return next(found, {})

    def _job(self, name: str) -> None:
        if entry := self._entry(name):
            self._json(entry)
        else:
            self._send(404, f"Job {name} does not exist".encode())

    def _log(self, query: dict[str, list[str]]) -> None:
        name = query["filename"][0].removeprefix("job-driver-").removesuffix(".log")
        if name not in self.server.logs:
            self._send(500, b"Given node id or file does not exist")
            return
        lines = self.server.logs[name].splitlines(keepends=True)
        tail = b"".join(lines[-int(query["lines"][0]) :])
        is_old = self.server.version["ray_version"].startswith("2.9.")
        self._send(200, (b"1" if is_old else b"") + tail)

    def _state(self, kind: str, query: dict[str, list[str]]) -> None:
        wanted = list(zip(query.get("filter_keys", []), query.get("filter_values", []), strict=True))
        found = [
            entry
            for entry in self.server.state.get(kind, [])
            if all(str(entry.get(key)) == value for key, value in wanted)
        ]
        self._json({"result": True, "data": {"result": {"total": len(found), "result": found}}})

    def _json(self, value: object) -> None:
        self._send(200, json.dumps(value).encode())

    def _send(self, status: int, body: bytes) -> None:
        self.send_response(status)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)


def ray_resources(folder: Any) -> BackendResources:  # noqa: ANN401 - a path
    """Return what a Ray backend may use of a home in ``folder``; jobmon follows all of its jobs."""
    return BackendResources(
        folder=lambda: folder,
        is_known=lambda ref: (folder / str(ref.job_id)).exists(),
        search_lock=lambda: command_lock(folder / "search.lock", "a test", 5.0),
    )
