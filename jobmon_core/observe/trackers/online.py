"""Ask W&B's server and a server of MLflow about runs, for users who want that: one request for all runs.

The user names the server, and only runs whose pages are of that server are asked for: never an address that
only a log names. A key is read at the moment of use, from where the tracker's own tools keep it.
Sources: runs.py of https://github.com/wandb/wandb (GraphQL); https://mlflow.org/docs/latest/rest-api.html
"""

from __future__ import annotations

import configparser
import json
import netrc
from base64 import b64encode
from dataclasses import replace
from typing import TYPE_CHECKING, NamedTuple
from urllib.parse import unquote, urlsplit

from jobmon_core import __version__
from jobmon_core.domain.logs.tracker import Tracker, TrackerRun
from jobmon_core.observe.trackers import mlflow
from jobmon_core.observe.trackers.values import (
    add,
    add_record,
    flat,
    items_of,
    object_of,
    short,
    status_of,
    time_of,
    total_in,
    within,
)
from jobmon_core.system.http import HttpRequest, HttpResponse, send

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from pathlib import Path

_TIMEOUT_S = 4.0
_MAX_BYTES = 4 * 2**20
_REFUSED = (401, 403)
_WANDB = "https://api.wandb.ai"
_FIELDS = "name displayName state config createdAt heartbeatAt summaryMetrics"


class Keys(NamedTuple):
    """Where the user's keys are looked for."""

    environment: Mapping[str, str]
    home: Path


def ask_servers(pages: Sequence[TrackerRun], servers: Mapping[str, str], keys: Keys) -> list[TrackerRun]:
    """Return what ``servers`` say about the runs with these pages; ``partial`` says why it is nothing."""
    found: list[TrackerRun] = []
    for tracker, ask in ((Tracker.WANDB, _ask_wandb), (Tracker.MLFLOW, _ask_mlflow)):
        runs = [run for run in pages if run.tracker is tracker]
        try:
            found += ask(runs, servers[tracker], keys) if runs and tracker in servers else ()
        except _Unanswered as error:
            found += (replace(run, partial=str(error)) for run in runs)
    return found


def _ask_wandb(runs: Sequence[TrackerRun], server: str, keys: Keys) -> list[TrackerRun]:
    names: dict[str, str] = {}
    parts = []
    for number, run in enumerate(runs):
        entity, project, _, run_id = map(unquote, run.url.split("/")[-4:])
        names |= {f"e{number}": entity, f"p{number}": project, f"i{number}": run_id}
        project_of = f"project(entityName: $e{number}, name: $p{number})"
        parts.append(f"r{number}: {project_of} {{ run(name: $i{number}) {{ {_FIELDS} }} }}")
    variables = ", ".join(f"${name}: String!" for name in names)
    query = {"query": f"query({variables}) {{ {' '.join(parts)} }}", "variables": names}
    answer = _answer(server, "/graphql", query, _wandb_authorization(keys, server))
    contents = (within(answer, "data", f"r{number}", "run") for number in range(len(runs)))
    return [_of_wandb(run, each, server) for run, each in zip(runs, contents, strict=True)]


def _of_wandb(run: TrackerRun, content: object, server: str) -> TrackerRun:
    if not isinstance(content, dict):
        return _unknown(run, server)
    config, summary = object_of(content.get("config")), flat(object_of(content.get("summaryMetrics")))
    run.name, run.status = short(content.get("displayName")), status_of(content.get("state"))
    run.started_s = time_of(content.get("createdAt"))
    run.total_steps = total_in({name: within(value, "value") for name, value in config.items()})
    add_record(run, summary, summary.get("_step"), summary.get("_timestamp"))
    run.reach(None, time_of(content.get("heartbeatAt")))
    return run


def _ask_mlflow(runs: Sequence[TrackerRun], server: str, keys: Keys) -> list[TrackerRun]:
    names = ", ".join(f"'{run.run_id}'" for run in runs)
    experiments = sorted({run.url.split("/")[-3] for run in runs})
    query = {"experiment_ids": experiments, "filter": f"attributes.run_id IN ({names})"}
    answer = _answer(server, "/api/2.0/mlflow/runs/search", query, _mlflow_authorization(keys, server))
    by_id = {str(within(each, "info", "run_id")): each for each in items_of(answer.get("runs"))}
    return [_of_mlflow(run, by_id.get(run.run_id), server) for run in runs]


def _of_mlflow(run: TrackerRun, content: object, server: str) -> TrackerRun:
    if content is None:
        return _unknown(run, server)
    info, data = within(content, "info"), within(content, "data")
    mlflow.describe(run, *(within(info, name) for name in ("run_name", "status", "start_time")))
    params = items_of(within(data, "params"))
    run.total_steps = total_in({str(within(each, "key")): within(each, "value") for each in params})
    for each in items_of(within(data, "metrics")):
        name, value, step = (within(each, part) for part in ("key", "value", "step"))
        add(run, str(name), value, step, mlflow.seconds(within(each, "timestamp")))
    return run


def _unknown(run: TrackerRun, server: str) -> TrackerRun:
    return replace(run, partial=f"{_host(server)} does not know this run, or the key may not read it")


class _Unanswered(Exception):
    """A server that says nothing about a run. The text is a sentence without any key."""


def _answer(server: str, path: str, query: Mapping[str, object], authorization: str) -> dict[str, object]:
    """Return the JSON object that a server answers.

    Raises:
        _Unanswered: there is none.
    """
    host, agent = _host(server), f"jobmon/{__version__}"
    headers = {"Authorization": authorization} if authorization else {}
    body = json.dumps(query).encode()
    request = HttpRequest(f"{server}{path}", host, body, agent, headers=headers, max_bytes=_MAX_BYTES)
    answer = send("POST", request, _TIMEOUT_S)
    if not isinstance(answer, HttpResponse):
        raise _Unanswered(f"{host} does not answer")
    if answer.status in _REFUSED:
        raise _Unanswered(f"{host} refuses the key" if headers else f"{host} needs a key, and there is none")
    content = object_of(answer.body)
    if not answer.is_success or not content:
        raise _Unanswered(f"{host} answers with HTTP status {answer.status}, and nothing about the run")
    return content


def _host(server: str) -> str:
    return urlsplit(server).hostname or ""


def _wandb_authorization(keys: Keys, server: str) -> str:
    """Return the header with the user's key for a server: as wandb has it, a variable, else ~/.netrc."""
    own = keys.environment.get("WANDB_BASE_URL", _WANDB)
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
    if _host(environment.get("MLFLOW_TRACKING_URI", server)) not in ("", _host(server)):
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
