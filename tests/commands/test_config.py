"""A broken configuration: every fault in one message, and nothing is submitted."""

from __future__ import annotations

import json

import pytest

from tests.support.shell import Shell

_URL = "https://discord.com/api/webhooks/123456789012345678/"
_TOKEN = "Sup3r-Secret_t0ken"

_BROKEN = {
    "no JSON": ("{", ["it is no JSON"]),
    "empty": ("", ["it is no JSON"]),
    "a list": ("[]", ["expected an object, found a list"]),
    "unknown keys": (
        json.dumps({"dicsord": {}, "poll": {"runing_s": 30}}),
        ["dicsord: unknown key", "poll.runing_s: unknown key"],
    ),
    "wrong types": (
        json.dumps({"poll": {"running_s": "30", "pending_s": True}, "discord": [], "backend": 3}),
        ["poll.running_s: expected a number", "poll.pending_s", "discord: expected an object", "backend"],
    ),
    "below the floor": (json.dumps({"poll": {"running_s": 1}}), ["poll.running_s: 1 is less than the floor"]),
    "a cut webhook": (
        json.dumps({"discord": {"success_webhook": _URL, "error_webhook": f"{_URL}{_TOKEN}/slack"}}),
        ["discord.success_webhook: not a webhook URL", "discord.error_webhook: not a webhook URL"],
    ),
    "a webhook in the clear": (
        json.dumps({"discord": {"error_webhook": f"http://discord.com/api/webhooks/1/{_TOKEN}"}}),
        ["discord.error_webhook: plain http shows the token"],
    ),
    "a missing secret": (
        json.dumps({"discord": {"error_webhook_file": "nowhere"}}),
        ["discord.error_webhook_file: nowhere can't be read: No such file"],
    ),
    "a webhook in the wrong place": (
        json.dumps({"backend": f"{_URL}{_TOKEN}", "discord": {"mention_on_failure": [f"{_URL}{_TOKEN}"]}}),
        ["backend: expected one of", "discord.mention_on_failure"],
    ),
}


@pytest.mark.parametrize(("content", "faults"), _BROKEN.values(), ids=_BROKEN)
def test_every_fault_is_named_at_once_and_nothing_is_submitted(
    shell: Shell, content: str, faults: list[str]
) -> None:
    shell.program("sbatch", f"touch {shell.work}/submitted; echo Submitted batch job 1")
    config = shell.home / "config.json"
    config.write_text(content)
    config.chmod(0o600)
    done = shell.jobmon("submit", "train.sh")
    assert (done.returncode, done.stdout) == (78, "")
    first, *named = done.stderr.splitlines()
    assert first == f"jobmon: {config} is not usable:"
    assert len(named) == len(faults)
    for line, fault in zip(sorted(named), sorted(faults), strict=True):
        assert fault in line
    assert _TOKEN not in done.stderr
    assert not (shell.work / "submitted").exists()


def test_a_configuration_that_can_not_be_read_is_told(shell: Shell) -> None:
    (shell.home / "config.json").mkdir()
    done = shell.jobmon("submit", "train.sh")
    assert done.returncode == 78
    assert "it can't be read" in done.stderr


@pytest.mark.parametrize("verb", ["status", "recover"])
def test_jobs_can_be_looked_at_whatever_the_configuration_is(shell: Shell, verb: str) -> None:
    (shell.home / "config.json").write_text("{")
    (shell.home / "config.json").chmod(0o600)
    assert shell.jobmon(verb).returncode == 0


def test_a_bad_webhook_in_the_environment_is_named_by_its_variable(shell: Shell) -> None:
    done = shell.jobmon("submit", "train.sh", JOBMON_ERROR_WEBHOOK=f"http://x.org/api/webhooks/1/{_TOKEN}")
    assert done.returncode == 78
    assert "$JOBMON_ERROR_WEBHOOK" in done.stderr
    assert _TOKEN not in done.stderr
