"""A real server of MLflow, a program that logs to it by the real library, and what jobmon says of both."""

from __future__ import annotations

import os
import socket
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.support.real_trackers import PROGRAMS, VENV, install_trackers
from tests.support.shell import Shell
from tests.support.tracked_run import configure, tracked_run, trackers_shown
from tests.support.waiting import eventually

pytestmark = pytest.mark.xdist_group("tracker servers")


@pytest.fixture
def shell(tmp_path: Path) -> Shell:
    return Shell(tmp_path, os.environ)


@pytest.fixture
def server(tmp_path: Path) -> Iterator[str]:
    """The address of a server of MLflow with its own database."""
    if why := install_trackers():
        pytest.skip(why)
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    log, store = tmp_path / "server.log", f"sqlite:///{tmp_path}/server.db"
    # its `mlflow server` needs the whole library, and starts this program
    command = [f"{VENV}/bin/flask", "--app", "mlflow.server:app", "run", "--port", str(port)]
    variables = {
        "_MLFLOW_SERVER_FILE_STORE": store,
        "_MLFLOW_SERVER_ARTIFACT_ROOT": str(tmp_path / "artifacts"),
    }
    environment = {**os.environ, **variables, "GIT_PYTHON_REFRESH": "quiet"}
    with log.open("wb") as output:
        process = subprocess.Popen(command, cwd=tmp_path, stdout=output, stderr=output, env=environment)
    try:
        eventually(lambda: "Running on" in log.read_text())
        yield f"http://127.0.0.1:{port}"
    finally:
        process.kill()
        process.wait()


def command(server: str, folder: Path) -> tuple[str, ...]:
    return (f"{VENV}/bin/python", f"{PROGRAMS}/mlflow_server.py", server, str(folder))


def test_the_server_of_mlflow_tells_the_progress_and_that_a_killed_run_still_runs(
    shell: Shell, server: str
) -> None:
    configure(shell, mlflow=server)
    (shell.work / "die").touch()
    with tracked_run(shell, *command(server, shell.work)) as process:
        eventually(lambda: [run["step"] for run in trackers_shown(shell)] == [29])
        (run,) = trackers_shown(shell)
        assert (run["name"], run["status"], run["loss"]) == ("nice run", "running", pytest.approx(1 / 30))
        assert "(29/60 steps)" in shell.jobmon("show", "1").stdout
        (shell.work / "go").touch()
        process.wait()
        eventually(lambda: "MLflow still says running" in shell.jobmon("show", "1").stdout)
        assert [run["step"] for run in trackers_shown(shell)] == [59]
        assert "set_terminated" in shell.jobmon("show", "1").stdout


def test_a_run_that_its_server_calls_finished_contradicts_nothing(shell: Shell, server: str) -> None:
    configure(shell, mlflow=server)
    with tracked_run(shell, *command(server, shell.work)) as process:
        eventually(lambda: [run["step"] for run in trackers_shown(shell)] == [29])
        (shell.work / "go").touch()
        assert process.wait() == 0
        eventually(lambda: [run["status"] for run in trackers_shown(shell)] == ["finished"])
        said = shell.jobmon("show", "1").stdout
    assert "100% (60/60" in said or "59/60" in said
    assert "says" not in said
