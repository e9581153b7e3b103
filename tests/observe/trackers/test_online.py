"""What the servers of trackers say about runs, from local servers that answer as documented."""

from __future__ import annotations

import json
from base64 import b64encode
from collections.abc import Mapping
from pathlib import Path

import pytest

from jobmon_core.domain.logs.tracker import RunStatus
from jobmon_core.observe.trackers.online import Keys, OnlineRun, ask_mlflow, ask_wandb
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
    "run": {
        "info": {
            "run_id": "r1", "run_name": "one", "experiment_id": "7", "status": "KILLED",
            "start_time": 1_800_000_000_000, "end_time": "1800000009000",
        },
        "data": {
            "metrics": [{"key": "loss", "value": 0.5, "timestamp": 1_800_000_005_000, "step": "77"}],
            "params": [{"key": "max_steps", "value": "900"}],
        },
    }
}  # fmt: skip


def keys(folder: Path, environment: Mapping[str, str] | None = None) -> Keys:
    return Keys(environment or {}, folder)


def answering(content: object, status: int = 200) -> Receiver:
    return Receiver(Scripted(status, body=json.dumps(content).encode()))


def basic(user: str, password: str) -> str:
    return f"Basic {b64encode(f'{user}:{password}'.encode()).decode()}"


def test_one_query_asks_wandb_about_all_runs(tmp_path: Path) -> None:
    content = {"data": {"r0": {"run": WANDB_RUN}, "r1": None}}
    with answering(content) as server:
        known, unknown = ask_wandb(
            [OnlineRun("abc", "me", "p q"), OnlineRun("x", "me", "p")], keys(tmp_path), server.url
        )
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
    assert known.url.endswith("/me/p%20q/runs/abc")
    assert known.started_s is not None
    assert known.updated_s == known.started_s + 600
    assert "does not know this run" in unknown.partial


def test_the_key_of_wandb_comes_from_its_variable_or_from_netrc(tmp_path: Path) -> None:
    (tmp_path / ".netrc").write_text(f"machine 127.0.0.1 login user password {KEY[::-1]}\n")
    with answering({"data": {}}) as server:
        for environment in ({"WANDB_API_KEY": KEY, "WANDB_BASE_URL": server.url}, {"WANDB_API_KEY": KEY}):
            ask_wandb([OnlineRun("abc", "me", "p")], keys(tmp_path, environment), server.url)
    # the second variable is for W&B's own server
    assert [each.headers["authorization"] for each in server.requests] == [
        basic("api", KEY),
        basic("api", KEY[::-1]),
    ]


def test_mlflow_is_asked_about_a_run(tmp_path: Path) -> None:
    with answering(MLFLOW_RUN) as server:
        run = ask_mlflow("r1&x", keys(tmp_path, {"MLFLOW_TRACKING_TOKEN": KEY}), server.url)
    (request,) = server.requests
    assert (request.method, request.path) == ("GET", "/api/2.0/mlflow/runs/get?run_id=r1%26x")
    assert request.headers["authorization"] == f"Bearer {KEY}"
    assert (run.name, run.status, run.step, run.total_steps) == ("one", RunStatus.KILLED, 77, 900)
    assert (run.started_s, run.ended_s) == (1.8e9, 1.8e9 + 9)
    assert run.url.endswith("/#/experiments/7/runs/r1%26x")


def test_the_password_of_mlflow_comes_from_its_file(tmp_path: Path) -> None:
    (tmp_path / ".mlflow").mkdir()
    text = "[mlflow]\nmlflow_tracking_username = ada\nmlflow_tracking_password = a%b\n"
    (tmp_path / ".mlflow" / "credentials").write_text(text)
    with answering(MLFLOW_RUN) as server:
        ask_mlflow("r1", keys(tmp_path), server.url)
        ask_mlflow("r1", keys(tmp_path, {"MLFLOW_TRACKING_URI": "https://other.example"}), server.url)
    assert [each.headers.get("authorization") for each in server.requests] == [basic("ada", "a%b"), None]


@pytest.mark.parametrize(
    "server", ["http://169.254.169.254", "http://wandb.example", "file:///etc", "nonsense"]
)
def test_no_key_goes_to_an_address_without_tls(tmp_path: Path, server: str) -> None:
    environment = {"WANDB_API_KEY": KEY, "WANDB_BASE_URL": server, "MLFLOW_TRACKING_TOKEN": KEY}
    (run,) = ask_wandb([OnlineRun("abc", "me", "p")], keys(tmp_path, environment), server)
    assert "only https:// keeps a key secret" in run.partial
    assert "only https://" in ask_mlflow("abc", keys(tmp_path, environment), server).partial


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
        (run,) = ask_wandb([OnlineRun("abc", "me", "p")], keys(tmp_path, environment), server.url)
    assert why in run.partial
    assert KEY not in str(run)
    assert run.status is RunStatus.UNKNOWN


def test_without_a_key_the_answer_says_so(tmp_path: Path) -> None:
    with answering({}, 403) as server:
        run = ask_mlflow("r1", keys(tmp_path), server.url)
    assert run.partial == "127.0.0.1 needs a key, and there is none"


def test_an_answer_of_another_shape_is_a_run_of_which_nothing_is_known(tmp_path: Path) -> None:
    shapes: list[object] = [
        {"run": 7},
        {"run": {"info": [], "data": {"metrics": 7, "params": [7]}}},
        {"data": {"r0": {"run": {"config": "["}}}},
    ]
    for shape in shapes:
        with answering(shape) as server:
            assert ask_mlflow("r1", keys(tmp_path), server.url).step is None
            (run,) = ask_wandb([OnlineRun("abc")], keys(tmp_path), server.url)
            assert run.step is None
