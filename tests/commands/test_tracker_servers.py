"""What W&B's server says about a run whose page the log names, through `jobmon run` and its monitor."""

from __future__ import annotations

import json
from functools import partial
from pathlib import Path

import pytest

from tests.support.discord_answers import Scripted
from tests.support.files import contents
from tests.support.receiver import Receiver
from tests.support.shell import Shell
from tests.support.tracked_run import configure, tracked_run, trackers_shown
from tests.support.waiting import eventually

KEY = "0123456789abcdef0123456789abcdef01234567"
RUN = {
    "displayName": "nice run",
    "state": "running",
    "config": json.dumps({"max_steps": {"value": 900}}),
    "createdAt": "2027-01-15T08:00:00Z",
    "heartbeatAt": "2027-01-15T08:10:00Z",
    "summaryMetrics": json.dumps({"train/loss": 0.25, "train/global_step": 420, "_timestamp": 1.8e9}),
}


def wandb(run: object = RUN) -> Receiver:
    return Receiver(Scripted(200, body=json.dumps({"data": {"r0": {"run": run}}}).encode()))


def command(page: str, *lines: str) -> tuple[str, ...]:
    """Return a program that names a page, prints ``lines`` again and again, and fails when it is told to."""
    texts = "; ".join(f"echo {line}" for line in lines) or ":"
    line = f"wandb: View run at {page}/me/p/runs/abc"
    loop = f"for i in {{1..9999}}; do {texts}; if [ -e go ]; then exit 3; fi; sleep 0.2; done"
    return ("bash", "-c", f"echo '{line}'; {loop}")


def looked_s(shell: Shell) -> float:
    """Return when the latest look that found something was."""
    (file,) = (shell.state / "progress").glob("*.json")
    return float(json.loads(file.read_bytes())["updated_s"])


def is_looked_at_after(shell: Shell, at_s: float) -> bool:
    return looked_s(shell) > at_s


@pytest.fixture(autouse=True)
def key(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Keep the user's key where W&B's own tools do."""
    netrc = tmp_path / "netrc"
    netrc.write_text(f"machine 127.0.0.1 login user password {KEY}\n")
    monkeypatch.setenv("NETRC", str(netrc))


def test_a_server_that_the_user_names_is_asked_once_and_again_at_the_end(shell: Shell) -> None:
    with wandb() as server:
        configure(shell, wandb=server.url)
        with tracked_run(shell, *command(server.url)) as process:
            eventually(lambda: [run["step"] for run in trackers_shown(shell)] == [420])
            (run,) = trackers_shown(shell)
            assert (run["name"], run["status"], run["loss"]) == ("nice run", "running", 0.25)
            assert "(420/900 steps)" in shell.jobmon("show", "1").stdout
            before = len(server.requests)
            (shell.work / "go").touch()
            process.wait()
            eventually(lambda: "still says running" in shell.jobmon("show", "1").stdout)
    assert (before, len(server.requests)) == (1, 2)
    assert {each.path for each in server.requests} == {"/graphql"}
    assert all("authorization" in each.headers for each in server.requests)
    assert KEY.encode() not in b"".join(contents(shell.home).values())


def test_without_the_users_word_nothing_is_asked(shell: Shell) -> None:
    with wandb() as server:
        configure(shell, mlflow="http://127.0.0.1:9")
        with tracked_run(shell, *command(server.url, "step $i/9999")) as process:
            eventually(lambda: [run["url"] for run in trackers_shown(shell)] != [])
            for _ in range(3):
                before_s = looked_s(shell)
                eventually(partial(is_looked_at_after, shell, before_s))
            (shell.work / "go").touch()
            process.wait()
        assert server.requests == []
