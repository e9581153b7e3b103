"""What the servers of trackers say about runs, from local servers that answer as documented."""

from __future__ import annotations

import json
from base64 import b64encode
from collections.abc import Mapping
from pathlib import Path

import pytest

from jobmon_core.domain.logs.tracker import RunStatus, Tracker, TrackerRun
from jobmon_core.observe.trackers.online import Keys, ask_servers
from tests.support.discord_answers import Scripted
from tests.support.receiver import Receiver

KEY = "0123456789abcdef0123456789abcdef01234567"
WANDB_RUN = {
    "name": "abc",
    "displayName": "nice run",
    "state": "crashed",
    "config": json.dumps({"max_steps": {"value": 900, "desc": None}, "lr": {"value": 0.1}}),
    "createdAt": "2027-01-15T08:00:00Z",
    "heartbeatAt": "2027-01-15T08:10:00Z",
    "summaryMetrics": json.dumps(
        {"train/loss": 0.25, "_step": 420, "_timestamp": 1.8e9, "eval": {"acc": 0.5}, "t": "x"}
    ),
}
MLFLOW_RUN = {
    "info": {
        "run_id": "r1", "run_name": "one", "experiment_id": "7", "status": "KILLED",
        "start_time": 1_800_000_000_000, "end_time": "1800000009000",
    },
    "data": {
        "metrics": [{"key": "loss", "value": 0.5, "timestamp": 1_800_000_005_000, "step": "77"}],
        "params": [{"key": "max_steps", "value": "900"}],
    },
}  # fmt: skip
MLFLOW_ANSWER = {"runs": [MLFLOW_RUN]}


def keys(folder: Path, environment: Mapping[str, str] | None = None) -> Keys:
    return Keys(environment or {}, folder)


def of_wandb(run: str = "abc", place: str = "me/p") -> TrackerRun:
    return TrackerRun(Tracker.WANDB, run, url=f"https://wandb.example/{place}/runs/{run}")


def of_mlflow(run: str = "r1", experiment: str = "7") -> TrackerRun:
    url = f"https://mlflow.example/#/experiments/{experiment}/runs/{run}"
    return TrackerRun(Tracker.MLFLOW, run, url=url)


def asked(server: Receiver, keys: Keys, *runs: TrackerRun) -> list[TrackerRun]:
    return ask_servers(runs, dict.fromkeys(Tracker, server.url), keys)


def answering(content: object, status: int = 200) -> Receiver:
    return Receiver(Scripted(status, body=json.dumps(content).encode()))


def basic(user: str, password: str) -> str:
    return f"Basic {b64encode(f'{user}:{password}'.encode()).decode()}"


def test_one_query_asks_wandb_about_all_runs(tmp_path: Path) -> None:
    content = {"data": {"r0": {"run": WANDB_RUN}, "r1": None}}
    with answering(content) as server:
        known, unknown = asked(server, keys(tmp_path), of_wandb(place="me/p%20q"), of_wandb("x"))
    (request,) = server.requests
    assert (request.method, request.path) == ("POST", "/graphql")
    assert request.payload["variables"]["p0"] == "p q"
    assert request.payload["query"].count("summaryMetrics") == 2
    assert (known.name, known.status, known.step, known.total_steps) == (
        "nice run",
        RunStatus.CRASHED,
        420,
        900,
    )
    assert {name: metric.value for name, metric in known.metrics.items()} == {
        "train/loss": 0.25,
        "eval.acc": 0.5,
    }
    assert known.url == of_wandb(place="me/p%20q").url
    assert known.started_s is not None
    # the heartbeat goes on while the program hangs
    assert (known.updated_s, known.metrics["train/loss"].time_s) == (known.started_s + 600, 1.8e9)
    assert "does not know this run" in unknown.partial


def test_the_key_of_wandb_comes_from_its_variable_or_from_netrc(tmp_path: Path) -> None:
    (tmp_path / ".netrc").write_text(f"machine 127.0.0.1 login user password {KEY[::-1]}\n")
    with answering({"data": {}}) as server:
        for environment in ({"WANDB_API_KEY": KEY, "WANDB_BASE_URL": server.url}, {"WANDB_API_KEY": KEY}):
            asked(server, keys(tmp_path, environment), of_wandb())
    # the second variable is for W&B's own server
    assert [each.headers["authorization"] for each in server.requests] == [
        basic("api", KEY),
        basic("api", KEY[::-1]),
    ]


def test_one_query_asks_mlflow_about_all_runs(tmp_path: Path) -> None:
    environment = {"MLFLOW_TRACKING_TOKEN": KEY}
    with answering(MLFLOW_ANSWER) as server:
        run, unknown = asked(server, keys(tmp_path, environment), of_mlflow(), of_mlflow("r2", "8"))
    (request,) = server.requests
    assert (request.method, request.path) == ("POST", "/api/2.0/mlflow/runs/search")
    assert request.payload == {
        "experiment_ids": ["7", "8"],
        "filter": "attributes.run_id IN ('r1', 'r2')",
    }
    assert request.headers["authorization"] == f"Bearer {KEY}"
    assert (run.name, run.status, run.step, run.total_steps) == ("one", RunStatus.KILLED, 77, 900)
    assert run.started_s == 1.8e9
    assert "does not know this run" in unknown.partial


def test_the_password_of_mlflow_comes_from_its_file(tmp_path: Path) -> None:
    (tmp_path / ".mlflow").mkdir()
    text = "[mlflow]\nmlflow_tracking_username = ada\nmlflow_tracking_password = a%b\n"
    (tmp_path / ".mlflow" / "credentials").write_text(text)
    with answering(MLFLOW_ANSWER) as server:
        asked(server, keys(tmp_path), of_mlflow())
        asked(server, keys(tmp_path, {"MLFLOW_TRACKING_URI": "https://other.example"}), of_mlflow())
    assert [each.headers.get("authorization") for each in server.requests] == [basic("ada", "a%b"), None]


@pytest.mark.parametrize(
    ("status", "content", "why"),
    [
        (401, {}, "refuses the key"),
        (500, {"error": KEY}, "HTTP status 500"),
        (200, [], "nothing about the run"),
        (302, {}, "HTTP status 302"),
    ],
)
def test_a_server_that_does_not_help_is_named_without_the_key(
    tmp_path: Path, status: int, content: object, why: str
) -> None:
    with answering(content, status) as server:
        environment = {"WANDB_API_KEY": KEY, "WANDB_BASE_URL": server.url}
        (run,) = asked(server, keys(tmp_path, environment), of_wandb())
    assert why in run.partial
    assert KEY not in str(run)
    assert run.status is RunStatus.UNKNOWN


def test_without_a_key_the_answer_says_so(tmp_path: Path) -> None:
    with answering({}, 403) as server:
        (run,) = asked(server, keys(tmp_path), of_mlflow())
    assert run.partial == "127.0.0.1 needs a key, and there is none"


def test_an_answer_of_another_shape_is_a_run_of_which_nothing_is_known(tmp_path: Path) -> None:
    shapes: list[object] = [
        {"runs": 7},
        {"runs": [{"info": {"run_id": "r1"}, "data": {"metrics": 7, "params": [7]}}]},
        {"data": {"r0": {"run": {"config": "["}}}},
    ]
    for shape in shapes:
        with answering(shape) as server:
            assert [run.step for run in asked(server, keys(tmp_path), of_mlflow(), of_wandb())] == [None] * 2
