"""`jobmon digest` at a shell: its words, its entry in a crontab, and wrong command lines."""

from __future__ import annotations

import json
import time
from pathlib import Path

import pytest

from jobmon.cli import main
from jobmon_core.domain.job.history.record import HistoryRecord
from jobmon_core.store.history.lines import append
from tests.commands.test_patrol import as_cron
from tests.support.cron_daemon import USERS_OWN
from tests.support.fake_discord import FakeDiscord
from tests.support.messages import title
from tests.support.shell import Shell, complaint


def connect(shell: Shell, discord: FakeDiscord) -> None:
    webhooks = {"success_webhook": discord.success_url, "error_webhook": discord.error_url}
    (shell.home / "config.json").write_text(json.dumps({"discord": webhooks}))
    (shell.home / "config.json").chmod(0o600)


def add_run_of_yesterday(shell: Shell) -> None:
    noon = time.mktime((*time.localtime()[:3], 12, 0, 0, 0, 0, -1)) - 86_400
    run = HistoryRecord(12, int(noon) - 7200, 1.0, name="train", outcome="success", state="COMPLETED")
    run = run._replace(started_s=int(noon) - 3600, ended_s=int(noon), run_s=3600.0, gpus=4)
    append(shell.home / "state" / "history", [run], "a", noon)


def entries(table: Path) -> list[str]:
    return [line for line in table.read_text().splitlines() if line not in USERS_OWN]


def test_yesterday_is_shown_and_the_entry_sends_it_once(shell: Shell, table: Path) -> None:
    add_run_of_yesterday(shell)
    with FakeDiscord() as discord:
        connect(shell, discord)
        shown = shell.jobmon("digest").stdout.splitlines()
        assert shown[0].endswith(": 1 run ended: 1 succeeded")
        assert shown[1:] == ["  took 4.0 GPU hours"]
        assert json.loads(shell.jobmon("digest", "--json").stdout)["totals"][0]["gpu_hours"] == 4.0
        done = shell.jobmon("digest", "--install", "--to", "success", "--yes")
        assert done.returncode == 0, done
        [line] = entries(table)
        assert line.startswith("3 7-22 * * * ")
        assert " digest --daily --unattended --to success # jobmon-" in line
        for _ in range(2):
            ran = as_cron(line.removeprefix("3 7-22 * * * "))
            assert (ran.returncode, ran.stdout, ran.stderr) == (0, "", "")
        again = shell.jobmon("digest", "--to", "success")
        assert again.stdout.splitlines() == shown
        assert "channel success has had the digest of " in again.stderr
        [message] = discord.received()
        assert title(message).endswith(": 1 run ended: 1 succeeded")
        assert "took 4.0 GPU hours" in json.dumps(message)


def test_a_second_entry_replaces_the_first_and_none_is_left(shell: Shell, table: Path) -> None:
    with FakeDiscord() as discord:
        connect(shell, discord)
        install = ("digest", "--install", "--to", "success", "--yes")
        assert shell.jobmon(*install).returncode == 0
        assert "already installed" in shell.jobmon(*install).stdout
        assert shell.jobmon(*install, "--weekly").returncode == 0
        [line] = entries(table)
        assert " digest --weekly --unattended --to success # " in line
    assert shell.jobmon("digest", "--uninstall", "--yes").returncode == 0
    assert table.read_text() == USERS_OWN
    assert "nothing is installed" in shell.jobmon("digest", "--uninstall", "--yes").stdout


def test_an_unknown_channel_is_named(shell: Shell) -> None:
    assert "there is no channel 'ops'" in complaint(shell.jobmon("digest", "--to", "ops"))


@pytest.mark.parametrize(
    "arguments",
    ["--daily --weekly", "--yes", "--unattended", "--install --yes", "--uninstall --json", "--every 1h"],
)
def test_a_wrong_command_line_is_refused_in_one_line(
    arguments: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["digest", *arguments.split()]) == 2
    said = capsys.readouterr()
    assert (said.out, said.err.count("\n")) == ("", 1)
