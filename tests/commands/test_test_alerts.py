"""`jobmon test-alerts` and `jobmon init --phone` in a shell."""

from __future__ import annotations

import json
import re
import stat

from tests.support.discord_answers import Scripted
from tests.support.fake_discord import FakeDiscord
from tests.support.receiver import Receiver
from tests.support.shell import Shell

SLACK_SECRET = "T000/B000/secretSecretSecret"
_NO_NETWORK = {"HTTPS_PROXY": "http://127.0.0.1:9"}  # nothing listens there


def configure(shell: Shell, data: object) -> None:
    path = shell.home / "config.json"
    path.write_text(json.dumps(data), encoding="utf-8")
    path.chmod(0o600)


def test_each_channel_gets_an_example_of_each_level_and_each_answer_is_printed(shell: Shell) -> None:
    with Receiver() as slack, Receiver(Scripted(404, body=b"no such room")) as matrix:
        room = {"type": "matrix", "server": matrix.url, "room": "!r:example.org", "token": "secretToken"}
        configure(
            shell,
            {
                "alerts": {
                    "slack": {"enabled": True, "webhook": f"{slack.url}/services/{SLACK_SECRET}"},
                    "log": {},
                    "terminal": {},
                },
                "channels": {"room": room},
            },
        )
        done = shell.jobmon("test-alerts")
        texts = [payload["text"] for payload in slack.payloads]
        assert len(matrix.requests) == 1
        only = shell.jobmon("test-alerts", "log", "slack")
    assert done.returncode == 1
    lines = done.stdout.splitlines()
    assert lines[0] == f"room: Matrix (127.0.0.1:{matrix.server_port}, room !r:example.org)"
    assert lines[1] == "  CRITICAL  FAILED: Matrix: the URL is not known (404, no such room)"
    assert lines[2].strip().startswith("Check the access token")
    assert lines[3].strip() == "The examples of the other levels were not sent."
    levels = [f"  {level:<8}  delivered" for level in ("CRITICAL", "WARNING", "INFO", "PROGRESS")]
    assert lines[5:9] == lines[10:14] == lines[15:19] == levels
    assert [re.findall("CRITICAL|WARNING|INFO|PROGRESS", text)[0] for text in texts] == [
        level.split()[0] for level in levels
    ]
    logged = (shell.home / "logs" / "messages.jsonl").read_text("utf-8").splitlines()
    assert [json.loads(line)["level"] for line in logged][:4] == ["critical", "warning", "info", "progress"]
    assert only.returncode == 0
    assert re.findall(r"^\S+:", only.stdout, re.MULTILINE) == ["slack:", "log:"]
    output = done.stdout + done.stderr
    assert "secretToken" not in output
    assert SLACK_SECRET not in output


def test_without_channels_or_with_an_unknown_one_it_says_what_to_do(shell: Shell) -> None:
    done = shell.jobmon("test-alerts")
    assert (done.returncode, done.stdout) == (1, "")
    assert "run `jobmon init` or `jobmon init --phone`" in done.stderr
    configure(shell, {"alerts": {"log": {}}})
    unknown = shell.jobmon("test-alerts", "slack")
    assert unknown.returncode == 1
    assert "no channel 'slack' is configured; there are: log" in unknown.stderr
    assert "no Discord channel is configured" in shell.jobmon("test-discord").stderr


def test_test_discord_leaves_other_channels_alone(shell: Shell) -> None:
    with FakeDiscord() as discord, Receiver() as slack:
        webhook = f"{slack.url}/services/{SLACK_SECRET}"
        configure(
            shell,
            {
                "discord": {"success_webhook": discord.success_url, "error_webhook": discord.error_url},
                "alerts": {"slack": {"webhook": webhook}},
            },
        )
        assert shell.jobmon("test-discord").returncode == 0
        assert len(discord.received()) == 2
        assert shell.jobmon("test-alerts").returncode == 0
        assert len(discord.received()) == 2 + 2 * 4
    assert len(slack.requests) == 4


def test_a_phone_gets_a_random_topic_which_is_kept_in_a_private_file(shell: Shell) -> None:
    configure(shell, {"poll": {"running_s": 45}, "alerts": {"email": {"address": "a@b.org"}}})
    done = shell.jobmon("init", "--phone", **_NO_NETWORK)
    path = shell.home / "config.json"
    data = json.loads(path.read_text("utf-8"))
    phone = data["channels"]["phone"]
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert data["poll"] == {"running_s": 45}
    assert re.fullmatch(r"jobmon-[a-z2-9]{26}", phone["topic"])
    assert phone["details"] == "short"
    assert f"topic   {phone['topic']}" in done.stdout
    assert done.stdout.count("█" * 37) >= 2 or done.stdout.count("#" * 74) >= 4
    assert done.returncode == 1
    assert "CRITICAL  FAILED" in done.stdout
    assert f"""to undo this, remove 'phone' from "channels" in {path}""" in done.stderr
    again = shell.jobmon("init", "--phone", **_NO_NETWORK)
    assert json.loads(path.read_text("utf-8")) == data
    assert f"topic   {phone['topic']}" in again.stdout


def test_without_a_code_nobody_is_told_to_scan_one(shell: Shell) -> None:
    (shell.work / "sitecustomize.py").write_text("import sys; sys.modules['segno'] = None")
    done = shell.jobmon("init", "--phone", PYTHONPATH=str(shell.work), **_NO_NETWORK)
    assert "pip install 'jobmon[alerts]'" in done.stdout
    assert "2. In the app, subscribe to the topic:" in done.stdout
    assert "Scan" not in done.stdout


def test_the_examples_go_to_the_phone_at_once_and_hold_no_cause(shell: Shell) -> None:
    with Receiver() as server:
        phone = {"type": "ntfy", "topic": "my-topic", "server": server.url}
        configure(shell, {"channels": {"phone": phone}})
        done = shell.jobmon("init", "--phone")
        payloads = server.payloads
    assert done.returncode == 0
    assert [payload["topic"] for payload in payloads] == ["my-topic"] * 4
    assert [payload["priority"] for payload in payloads] == [5, 4, 3, 2]
    assert "CUDA" not in json.dumps(payloads)
    configure(shell, {"channels": {"phone": {"type": "log"}}})
    assert "not a channel of ntfy" in shell.jobmon("init", "--phone").stderr
