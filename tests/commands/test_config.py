"""A broken configuration: every fault in one message, and nothing is submitted."""

from __future__ import annotations

import json
import os
import stat
import subprocess
from pathlib import Path

import pytest

from tests.support.pseudo_terminal import terminal
from tests.support.shell import Shell

_URL = "https://discord.com/api/webhooks/123456789012345678/"
_TOKEN = "Sup3r-Secret_t0ken"

_BROKEN = {
    "no JSON": ("{", ["not valid JSON"]),
    "empty": ("", ["not valid JSON"]),
    "a list": ("[]", ["expected an object, found a list"]),
    "unknown keys": (
        json.dumps({"dicsord": {}, "poll": {"runing_s": 30}}),
        [
            "dicsord: unknown key; did you mean discord?",
            "poll.runing_s: unknown key; did you mean running_s?",
        ],
    ),
    "wrong types": (
        json.dumps({"poll": {"running_s": "30", "pending_s": True}, "discord": [], "backend": 3}),
        ["poll.running_s: expected a number", "poll.pending_s", "discord: expected an object", "backend"],
    ),
    "below the floor": (json.dumps({"poll": {"running_s": 1}}), ["poll.running_s: must be at least 5"]),
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
        ["discord.error_webhook_file: cannot read nowhere: No such file"],
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
    assert first == f"jobmon: nothing was submitted: {config} is not usable:"
    assert len(named) == len(faults)
    for line, fault in zip(sorted(named), sorted(faults), strict=True):
        assert fault in line
    assert _TOKEN not in done.stderr
    assert not (shell.work / "submitted").exists()


def test_a_configuration_that_can_not_be_read_is_told(shell: Shell) -> None:
    (shell.home / "config.json").mkdir()
    done = shell.jobmon("submit", "train.sh")
    assert done.returncode == 78
    assert "cannot be read" in done.stderr


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


def _opened_to_others(shell: Shell) -> Path:
    config = shell.home / "config.json"
    config.write_text(json.dumps({"discord": {"error_webhook": f"{_URL}{_TOKEN}"}}))
    config.chmod(0o644)
    return config


def test_nothing_is_submitted_with_a_configuration_that_others_can_read(shell: Shell) -> None:
    shell.program("sbatch", f"touch {shell.work}/submitted; echo Submitted batch job 1")
    config = _opened_to_others(shell)
    for arguments in (
        ("submit", "train.sh"),
        ("submit", "--backend", "local", "train.sh"),
        ("test-discord",),
    ):
        done = shell.jobmon(*arguments)
        assert (done.returncode, done.stdout) == (78, "")
        prefix = "nothing was submitted: " if arguments[0] == "submit" else ""
        assert done.stderr == (
            f"jobmon: {prefix}{config} is not usable:\n"
            f"  - may hold secrets, but its mode is 0644: run `chmod 600 {config}`\n"
        )
    assert not (shell.work / "submitted").exists()
    assert config.stat().st_mode & 0o777 == 0o644


def test_the_remedy_that_is_named_is_one(shell: Shell) -> None:
    shell.program("sbatch", f"touch {shell.work}/submitted; echo sbatch: error: refused >&2; exit 3")
    config = _opened_to_others(shell)
    remedy = shell.jobmon("submit", "train.sh").stderr.split("`")[1]
    subprocess.run(remedy.split(), check=True)
    assert config.stat().st_mode & 0o777 == 0o600
    assert shell.jobmon("submit", "train.sh").returncode == 3
    assert (shell.work / "submitted").exists()


def test_init_replaces_a_configuration_that_others_can_read_by_a_private_one(shell: Shell) -> None:
    config = _opened_to_others(shell)
    assert shell.jobmon("init", stdin=f"{_URL}{_TOKEN}\n" * 2).returncode == 0
    assert config.stat().st_mode & 0o777 == 0o600


@pytest.mark.parametrize("verb", ["status", "recover"])
def test_what_needs_no_webhook_works_with_a_configuration_that_others_can_read(
    shell: Shell, verb: str
) -> None:
    config = _opened_to_others(shell)
    done = shell.jobmon(verb)
    assert (done.returncode, done.stderr) == (0, "")
    assert ("chmod 600" in done.stdout) == (verb == "recover")
    assert config.stat().st_mode & 0o777 == 0o644


@pytest.mark.parametrize("umask", ["0000", "0022", "0777"])
def test_everything_that_jobmon_writes_is_private_whatever_the_umask(shell: Shell, umask: str) -> None:
    shell.state.rmdir()
    shell.home.rmdir()
    init = f"printf '{_URL}{_TOKEN}\\n%.0s' 1 2 | jobmon init"
    assert shell.line(f"umask {umask}; {init} && jobmon recover && jobmon status").returncode == 0
    made = [shell.home, *shell.home.rglob("*")]
    assert {path.name for path in made} >= {"config.json", "monitors", "recover.lock"}
    wrong = {str(path): oct(path.stat().st_mode) for path in made if not _is_private(path)}
    assert not wrong


def _is_private(path: Path) -> bool:
    return stat.S_IMODE(path.stat().st_mode) == (0o700 if path.is_dir() else 0o600)


def test_recover_names_an_invalid_configuration_and_does_not_count_it_as_a_job(shell: Shell) -> None:
    config = shell.home / "config.json"
    config.write_text('{"poll": {"running_s": 1}}')
    config.chmod(0o600)
    with terminal("recover", environment=os.environ, columns=60) as screen:
        assert screen.wait() == 0
    text = "".join(screen.text.split())
    assert text.startswith("configuration:invalid,somessagesarenotsent:poll.running_s:mustbe")
    assert f"(in{config})" in text
    assert text.endswith("nothingtodo:nojobsarebeingwatched")
