"""Ask W&B's server and a server of MLflow about runs, for users who want that.

The caller names the server: never one that only a log names. A key is read at the moment of use, from where
the tracker's own tools keep it, and is sent to the server that it is for, by TLS unless that is this machine.
Sources: runs.py of https://github.com/wandb/wandb (GraphQL); https://mlflow.org/docs/latest/rest-api.html
"""

from __future__ import annotations

import configparser
import json
import netrc
from base64 import b64encode
from dataclasses import replace
from typing import TYPE_CHECKING, NamedTuple
from urllib.parse import quote, urlsplit

from jobmon_core import __version__
from jobmon_core.domain.logs.tracker import RunStatus, Tracker, TrackerRun
from jobmon_core.domain.webhook import is_loopback
from jobmon_core.observe.trackers import mlflow
from jobmon_core.observe.trackers.building import (
    Limits,
    RunBuilder,
    real_of,
    short,
    sound_step,
    step_in,
    total_in,
)
from jobmon_core.observe.trackers.json_values import flat, object_of, time_of, within
from jobmon_core.system.http import HttpRequest, HttpResponse, send

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from pathlib import Path

WANDB = "https://api.wandb.ai"
_TIMEOUT_S = 10.0
_MAX_BYTES = 4 * 2**20
_MAX_RUNS = 50  # of one query
_REFUSED = (401, 403)
_FIELDS = "name displayName state config createdAt heartbeatAt summaryMetrics"
_STATUS = {
    "running": RunStatus.RUNNING,
    "finished": RunStatus.FINISHED,
    "failed": RunStatus.FAILED,
    "crashed": RunStatus.CRASHED,
    "killed": RunStatus.KILLED,
}


class OnlineRun(NamedTuple):
    """A run as a server knows it."""

    run_id: str
    entity: str = ""  # of W&B: the user or team, and the project
    project: str = ""


class Keys(NamedTuple):
    """Where the user's keys are looked for."""

    environment: Mapping[str, str]
    home: Path


def ask_wandb(runs: Sequence[OnlineRun], keys: Keys, server: str = WANDB) -> list[TrackerRun]:
    """Return what W&B says about ``runs``, up to 50, by one query; ``partial`` says why it says nothing."""
    runs, parts = runs[:_MAX_RUNS], list[str]()
    names: dict[str, str] = {}
    for number, run in enumerate(runs):
        names |= {f"e{number}": run.entity, f"p{number}": run.project, f"i{number}": run.run_id}
        part = (
            f"project(entityName: $e{number}, name: $p{number}) {{ run(name: $i{number}) {{ {_FIELDS} }} }}"
        )
        parts.append(f"r{number}: {part}")
    variables = ", ".join(f"${name}: String!" for name in names)
    query = json.dumps({"query": f"query({variables}) {{ {' '.join(parts)} }}", "variables": names})
    pages = server.replace("//api.", "//", 1)
    places = ("/".join(map(quote, (run.entity, run.project, "runs", run.run_id))) for run in runs)
    unread = [
        TrackerRun(Tracker.WANDB, run.run_id, url=f"{pages}/{place}")
        for run, place in zip(runs, places, strict=True)
    ]
    try:
        answer = _ask("POST", server, "/graphql", query, lambda: _wandb_authorization(keys, server))
    except _Unanswered as error:
        return [replace(run, partial=str(error)) for run in unread]
    contents = [within(answer, "data", f"r{number}", "run") for number in range(len(runs))]
    return [_of_wandb(run, content, server) for run, content in zip(unread, contents, strict=True)]


def _of_wandb(run: TrackerRun, content: object, server: str) -> TrackerRun:
    if not isinstance(content, dict):
        return replace(run, partial=f"{_host(server)} does not know this run, or the key may not read it")
    limits = Limits()
    config = object_of(content.get("config"))
    summary = flat(object_of(content.get("summaryMetrics")))
    updated_s = time_of(content.get("heartbeatAt"))
    run = replace(
        run,
        name=short(content.get("displayName"), limits.max_name),
        status=_STATUS.get(str(content.get("state")), RunStatus.UNKNOWN),
        started_s=time_of(content.get("createdAt")),
        total_steps=total_in({name: within(value, "value") for name, value in config.items()}),
    )
    builder = RunBuilder(run, limits)
    step = step_in(summary, sound_step(real_of(summary.get("_step"))))
    builder.reach(step, updated_s)
    for name, value in summary.items():
        if (
            not name.startswith("_")
            and isinstance(value, int | float)
            and (number := real_of(value)) is not None
        ):
            builder.add(short(name, limits.max_name), number, step, updated_s)
    return builder.built()


def ask_mlflow(run_id: str, keys: Keys, server: str) -> TrackerRun:
    """Return what a server of MLflow says about a run; its ``partial`` says why it says nothing."""
    run, limits = TrackerRun(Tracker.MLFLOW, run_id), Limits()
    path = f"/api/2.0/mlflow/runs/get?run_id={quote(run_id, safe='')}"
    try:
        answer = _ask("GET", server, path, "", lambda: _mlflow_authorization(keys, server))
    except _Unanswered as error:
        return replace(run, partial=str(error))
    info, data = within(answer, "run", "info"), within(answer, "run", "data")
    name = short(within(info, "run_name"), limits.max_name)
    times_ms = within(info, "start_time"), within(info, "end_time")
    run = mlflow.described(run, name, within(info, "status"), *times_ms)
    experiment = quote(str(within(info, "experiment_id")), safe="")
    params = {str(within(each, "key")): within(each, "value") for each in _items(within(data, "params"))}
    url = f"{server.rstrip('/')}/#/experiments/{experiment}/runs/{quote(run_id, safe='')}"
    builder = RunBuilder(replace(run, url=url, total_steps=total_in(params)), limits)
    for metric in _items(within(data, "metrics")):
        value, step = real_of(within(metric, "value")), sound_step(real_of(within(metric, "step")))
        if value is not None:
            time_s = mlflow.seconds(within(metric, "timestamp"))
            builder.add(short(within(metric, "key"), limits.max_name), value, step, time_s)
    return builder.built()


def _items(value: object) -> list[object]:
    return value if isinstance(value, list) else []


class _Unanswered(Exception):
    """A server that says nothing about a run. The text is a sentence without any key."""


def _ask(
    method: str, server: str, path: str, body: str, authorization: Callable[[], str]
) -> dict[str, object]:
    """Return the JSON object that a server answers.

    Raises:
        _Unanswered: there is none, or the address is not safe for a key.
    """
    parts, host = urlsplit(server), _host(server)
    if parts.scheme != "https" and not (parts.scheme == "http" and is_loopback(parts.hostname or "")):
        raise _Unanswered(f"{host} is not asked: only https:// keeps a key secret")
    headers = {"Authorization": found} if (found := authorization()) else {}
    agent = f"jobmon/{__version__}"
    url = f"{server.rstrip('/')}{path}"
    request = HttpRequest(url, host, body.encode(), agent, headers=headers, max_bytes=_MAX_BYTES)
    answer = send(method, request, _TIMEOUT_S)
    if not isinstance(answer, HttpResponse):
        raise _Unanswered(f"{host} does not answer")
    if answer.status in _REFUSED:
        raise _Unanswered(f"{host} refuses the key" if headers else f"{host} needs a key, and there is none")
    content = object_of(answer.body)
    if not answer.is_success or not content:
        raise _Unanswered(f"{host} answers with HTTP status {answer.status}, and nothing about the run")
    return content


def _host(server: str) -> str:
    return urlsplit(server).hostname or "the server"


def _wandb_authorization(keys: Keys, server: str) -> str:
    """Return the header with the user's key for a server: as wandb has it, a variable, else ~/.netrc."""
    own = keys.environment.get("WANDB_BASE_URL", WANDB)
    key = keys.environment.get("WANDB_API_KEY", "") if _host(own) == _host(server) else ""
    if not key:
        file = keys.environment.get("NETRC") or str(keys.home / ".netrc")
        try:
            entry = netrc.netrc(file).authenticators(_host(server))
        except (OSError, netrc.NetrcParseError, UnicodeDecodeError):
            entry = None
        key = (entry and entry[2]) or ""
    return _basic("api", key) if key else ""


def _mlflow_authorization(keys: Keys, server: str) -> str:
    """Return the header with the user's token or password: as MLflow has it, variables, else its file."""
    environment = keys.environment
    if _host(environment.get("MLFLOW_TRACKING_URI", server)) != _host(server):
        return ""
    if token := environment.get("MLFLOW_TRACKING_TOKEN"):
        return f"Bearer {token}"
    config = configparser.ConfigParser(interpolation=None)
    try:
        config.read(keys.home / ".mlflow" / "credentials", "utf-8")
    except (configparser.Error, UnicodeDecodeError):
        config.clear()
    names = ("mlflow_tracking_username", "mlflow_tracking_password")
    kept = {name: config.get("mlflow", name, fallback="") for name in names}
    user, password = (environment.get(name.upper()) or kept[name] for name in names)
    return _basic(user, password) if user and password else ""


def _basic(user: str, password: str) -> str:
    return f"Basic {b64encode(f'{user}:{password}'.encode()).decode()}"
