"""Errors in input, configuration, logs and state files: a clear message and no wrong outcome."""

from __future__ import annotations

import os
import re
import shutil
import signal
from pathlib import Path

import pytest

from jobmon_core.domain.channels import Route
from jobmon_core.domain.slurm.states import Outcome
from jobmon_core.lifecycle.health import Health
from tests.support.discord_answers import rate_limited, server_error
from tests.support.failing_job import UNTIL_GO, assert_failed_and_told_once, let_go
from tests.support.files import contents, write_whole
from tests.support.messages import message_about, only, read
from tests.support.user import User
from tests.support.waiting import eventually

_FAILS = "python3 -c 'import no_such_module_anywhere'"


def test_an_unknown_job_cannot_be_watched(user: User) -> None:
    done = user.jobmon("watch", "1")
    assert (done.returncode, done.stdout) == (1, "")
    assert done.stderr == (
        "jobmon: unknown job 1: neither the scheduler nor its accounting lists it; check the job id\n"
    )
    assert list(user.home.rglob("*.json")) == [user.home / "config.json"]


def test_one_bad_id_does_not_prevent_watching_other_jobs(user: User) -> None:
    user.script(UNTIL_GO)
    job_id = int(user.slurm("sbatch", "--parsable", "job.sh"))
    done = user.jobmon("watch", "1", str(job_id))
    assert done.returncode == 1
    assert f"jobmon: watching job {job_id};" in done.stderr
    assert user.snapshot(job_id).health is Health.ALIVE


# --- the configuration


_NO_WEBHOOK = "no Discord webhook is configured for success and error messages: run `jobmon init`"


def test_without_a_configuration_a_job_is_submitted_and_watched(user: User) -> None:
    (user.home / "config.json").unlink()
    done = user.jobmon("submit", "--wrap", "sleep 600")
    assert done.returncode == 0
    assert _NO_WEBHOOK in done.stderr
    assert user.snapshot(int(done.stdout.split()[-1])).health is Health.ALIVE


@pytest.mark.parametrize("webhook", [None, "", "  "])
def test_without_webhooks_the_message_waits_for_them(user: User, webhook: str | None) -> None:
    none = {} if webhook is None else {"success_webhook": webhook, "error_webhook": webhook}
    user.configure(discord=none)
    done = user.jobmon("submit", "--wrap", "exit 5")
    assert _NO_WEBHOOK in done.stderr
    job_id = int(done.stdout.split()[-1])
    assert user.told(job_id).outcome is Outcome.FAILURE
    assert user.status(job_id)["undelivered"] == 1
    assert "after `jobmon init` run `jobmon recover`" in user.jobmon("show", str(job_id)).stdout
    urls = f"{user.discord.success_url}\n{user.discord.error_url}\n"
    done = user.jobmon("init", stdin=urls)
    assert done.returncode == 0
    assert f"Sending the undelivered messages of 1 job:\n  {job_id} wrap\n" in done.stdout
    assert_failed_and_told_once(user, job_id)
    assert user.jobmon("recover").stdout == "nothing to do: no jobs are being watched\n"


@pytest.mark.parametrize("broken_part", ["the webhook's id", "the webhook's token"])
def test_a_dead_webhook_is_reported_and_the_message_is_sent_after_its_repair(
    user: User, broken_part: str
) -> None:
    user.script(UNTIL_GO)
    job_id = user.submit("job.sh")
    user.watched_as(job_id, "RUNNING")
    config = user.home / "config.json"
    valid = config.read_text()
    bad = {
        "the webhook's id": valid.replace("webhooks/", "webhooks/5"),
        "the webhook's token": re.sub(r'.(", "|"})', r"0\1", valid, count=2),
    }
    write_whole(config, bad[broken_part], 0o600)
    let_go(user)
    user.told(job_id)
    assert user.discord.received() == []
    assert user.status(job_id)["undelivered"] == 1
    assert "not delivered to channel 'error', given up: " in user.jobmon("show", str(job_id)).stdout
    assert len(user.discord.attempts) == 2  # the other channel is tried too
    user.jobmon("recover")  # the configuration is unchanged, so nothing is sent
    assert len(user.discord.attempts) == 2
    write_whole(config, valid, 0o600)
    assert "sending its undelivered message again" in user.jobmon("recover").stdout
    assert_failed_and_told_once(user, job_id)


def test_a_broken_configuration_delays_the_message_until_it_is_repaired(user: User) -> None:
    user.script(UNTIL_GO)
    job_id = user.submit("job.sh")
    user.watched_as(job_id, "RUNNING")
    config = user.home / "config.json"
    valid = config.read_text()
    write_whole(config, "{", 0o600)
    let_go(user)
    eventually(lambda: user.status(job_id)["undelivered"] == 1)
    assert user.discord.attempts == []
    write_whole(config, valid, 0o600)
    assert_failed_and_told_once(user, job_id)


def test_a_rate_limit_is_respected_and_the_message_delivered(user: User) -> None:
    user.discord.script(rate_limited(1.7), rate_limited(0.4))
    job_id = user.submit("--wrap", "exit 5")
    assert_failed_and_told_once(user, job_id)
    first, second, third = (attempt.at_s for attempt in user.discord.attempts)
    assert second - first >= 1.7
    assert third - second >= 0.4


def test_after_server_errors_the_message_is_delivered(user: User) -> None:
    user.discord.script(server_error(500), server_error(502))
    job_id = user.submit("--wrap", "exit 5")
    assert_failed_and_told_once(user, job_id)
    assert len(user.discord.attempts) == 3


def test_a_broken_pattern_file_disables_only_its_own_patterns(user: User) -> None:
    (user.home / "patterns.json").write_text("{")
    job = user.told(user.submit("--wrap", _FAILS))
    payload = only(user, Route.ERROR)
    assert "no_such_module_anywhere" in read(payload)
    diagnosis = job.tasks[""].diagnosis
    assert diagnosis is not None
    assert f"{user.home / 'patterns.json'} has faults" in diagnosis.note
    assert "has faults" in user.jobmon("show", str(job.job_id)).stdout


# --- the job's logs

_LOGS = {
    "deleted": ("rm log", "does not exist"),
    "binary": ("head -c 100000 /dev/urandom", "is a binary file"),
    "a folder": ("rm log; mkdir log", "is a folder"),
    "a pipe": ("rm log; mkfifo log", "is a pipe"),
    "a link to itself": ("rm log; ln -s log log", "leads back to itself"),
    "empty": (":", "is empty"),
}


def test_logs_that_cannot_be_read_are_reported(user: User) -> None:
    jobs: dict[int, str] = {}
    for name, (command, reason) in _LOGS.items():
        (user.work / name).mkdir()
        script = user.script(f"{command}; exit 5", name=f"{name}.sh")
        jobs[user.submit("-D", name, "-o", "log", script)] = reason
    for job_id, reason in jobs.items():
        assert user.told(job_id).outcome is Outcome.FAILURE
        assert reason in read(message_about(user, job_id))


def test_a_log_with_read_errors_is_reported(user: User) -> None:
    job_id = int(user.slurm("sbatch", "--parsable", "--wrap", "exit 5"))
    done = user.jobmon("watch", str(job_id), "--error", "/proc/self/mem")
    assert done.returncode == 0
    user.told(job_id)
    assert "/proc/self/mem" in read(only(user, Route.ERROR))


# --- Slurm's output


@pytest.fixture
def squeue(user: User) -> Path:
    """The file that selects how `squeue` behaves; each call adds a line to the file ``calls``."""
    programs = user.work / "bin"
    programs.mkdir()
    real = shutil.which("squeue")
    (programs / "squeue").write_text(
        f"""#!/bin/bash
        case $(cat {user.work}/mode) in
            real) exec {real} "$@" ;;
            garbage) head -c 3000 /dev/urandom ;;
            half) {real} "$@" | head -c 9 ;;
            nothing) ;;
            html) echo "<html><body>504 Gateway Time-out</body></html>" ;;
            refusal) echo "slurm_load_jobs error: Unexpected message received" >&2; false ;;
            hang) echo call >> {user.work}/calls; exec sleep 600 ;;
        esac
        code=$?
        echo call >> {user.work}/calls
        exit $code
        """
    )
    (programs / "squeue").chmod(0o755)
    user.environment["PATH"] = f"{programs}:{user.environment['PATH']}"
    mode = user.work / "mode"
    mode.write_text("real")
    (user.work / "calls").touch()
    return mode


def _calls(user: User) -> int:
    return len((user.work / "calls").read_text().splitlines())


@pytest.mark.parametrize("mode", ["garbage", "half", "nothing", "html", "refusal"])
def test_unreadable_squeue_output_does_not_end_a_job(user: User, squeue: Path, mode: str) -> None:
    job_id = user.submit(user.script(UNTIL_GO))
    user.watched_as(job_id, "RUNNING")
    write_whole(squeue, mode)
    eventually(lambda: _calls(user) >= (2 if mode == "nothing" else 1))
    eventually(lambda: user.job(job_id).stale_since_s is not None or mode == "nothing")
    job = user.job(job_id)
    assert (job.ended, job.concluded_s, job.outbox) == (False, None, ())
    assert user.status(job_id)["outcome"] is None
    let_go(user)
    write_whole(squeue, "real")
    assert_failed_and_told_once(user, job_id)


def test_a_hanging_squeue_does_not_end_a_job_and_blocks_only_its_monitor(user: User, squeue: Path) -> None:
    job_id = user.submit(user.script(UNTIL_GO))
    user.watched_as(job_id, "RUNNING")
    write_whole(squeue, "hang")
    eventually(lambda: _calls(user) >= 1)
    let_go(user)
    assert user.status(job_id)["outcome"] is None
    write_whole(squeue, "real")
    user.in_state(job_id, "FAILED")
    assert user.discord.attempts == []
    (hung,) = _children(user.monitor_pid(job_id))
    os.kill(hung, signal.SIGKILL)
    assert_failed_and_told_once(user, job_id)


def _children(pid: int) -> list[int]:
    return [int(child) for child in Path(f"/proc/{pid}/task/{pid}/children").read_text().split()]


# --- state files and secrets


def test_invalid_state_files_do_not_affect_other_jobs(user: User) -> None:
    state = user.home / "state"
    state.mkdir(mode=0o700)
    (state / "slurm-1-x.json").write_text("{")
    (state / "slurm-2-x.json").symlink_to("/etc/passwd")
    (state / "x.json").mkdir()
    job_id = user.submit("--wrap", "exit 5")
    assert_failed_and_told_once(user, job_id)
    done = user.jobmon("status")
    assert len(done.stderr.splitlines()) == 3
    assert str(job_id) in done.stdout


def test_secrets_are_only_in_the_configuration(user: User) -> None:
    user.discord.script(server_error(500))
    script = user.script(f"echo {user.discord.error_url}; {UNTIL_GO}")
    submitted = user.jobmon("submit", script)
    job_id = int(submitted.stdout.split()[-1])
    output = submitted.stdout + submitted.stderr
    process = Path(f"/proc/{user.monitor_pid(job_id)}")
    places = [(process / name).read_bytes() for name in ("cmdline", "environ")]
    let_go(user)
    user.told(job_id)
    config = user.home / "config.json"
    write_whole(config, config.read_text().replace("webhooks/", "webhooks/5"), 0o600)
    verbs = (
        ("test-discord",),
        ("status", "--json"),
        ("show", "--json"),
        ("show",),
        ("logs", "--monitor"),
        ("recover",),
    )
    for verb, *options in verbs:
        done = user.jobmon(verb, *([str(job_id)] if verb in ("show", "logs") else []), *options)
        output += done.stdout + done.stderr
    user.configure(poll={"running_s": "often"})
    output += user.jobmon("submit", script).stderr
    places += [content for path, content in contents(user.home).items() if path != config]
    places.append(output.encode())
    for url in (user.discord.success_url, user.discord.error_url):
        token = url.rpartition("/")[2].encode()
        assert [place for place in places if token in place] == []
    assert "FAILED" in output
