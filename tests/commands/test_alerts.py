"""``jobmon mute``, ``ack`` and ``replay`` in a shell, without Slurm."""

from __future__ import annotations

import json
import re
from dataclasses import replace

from jobmon_core.domain.channels import Route
from jobmon_core.domain.delivery.outbox import OutboxEntry
from jobmon_core.domain.many.groups.model import Group, Member
from jobmon_core.store.group_files import GroupStore
from jobmon_core.store.jobs import JobStore
from tests.support.fake_discord import FakeDiscord
from tests.support.job_records import ENTRY, NOW_S, RUNNING, failed, job_of
from tests.support.processes import processes_of
from tests.support.shell import Shell, complaint
from tests.support.waiting import eventually


def save(shell: Shell, *outbox: OutboxEntry) -> None:
    JobStore(shell.state).save(replace(job_of(failed(), concluded_s=NOW_S), outbox=outbox))
    JobStore(shell.state).save(job_of(RUNNING, job_id=13, name="eval"))


def test_a_mute_is_shown_listed_and_ended(shell: Shell) -> None:
    save(shell)
    done = shell.jobmon("mute", "12", "2h")
    assert re.fullmatch(
        r"12 train: muted until (\S+ )?\d\d:\d\d; critical messages and a list of the others follow then\n",
        done.stdout,
    ), done
    assert re.search(r"muted +until .*`jobmon mute` lists what you muted", shell.jobmon("show", "12").stdout)
    assert "muted" not in shell.jobmon("show", "13").stdout
    status = shell.jobmon("status")
    assert "jobmon: 12 train: muted until" in status.stderr
    assert shell.jobmon("mute").stdout.startswith("12 train: muted until ")
    (listed,) = json.loads(shell.jobmon("mute", "--json").stdout)
    assert listed["subject"] == "12 train"
    muted = {
        each["job_id"]: each["muted_until"]
        for each in json.loads(shell.jobmon("status", "12", "13", "--json").stdout)
    }
    assert muted == {"12": listed["muted_until"], "13": None}
    done = shell.jobmon("mute", "train", "--off")
    assert done.stdout == "12 train: not muted any more; what was held back follows within 5 minutes\n"
    done = shell.jobmon("mute", "train", "--off")
    assert (done.returncode, complaint(done)) == (1, "12 train: not muted; nothing was changed")
    assert shell.jobmon("mute").stdout == "nothing is muted\n"


def test_a_group_or_everything_can_be_muted(shell: Shell) -> None:
    save(shell)
    groups = GroupStore(shell.state / "groups")
    groups.folder.mkdir(mode=0o700)
    groups.create(Group("sweep1", NOW_S, members={"a": Member("slurm-13-x")}))
    assert shell.jobmon("mute", "sweep1", "1d").stdout.startswith("group sweep1: muted until ")
    found = json.loads(shell.jobmon("show", "13", "--json").stdout)
    assert found["muted_until"] > 0
    assert json.loads(shell.jobmon("show", "12", "--json").stdout)["muted_until"] is None
    assert shell.jobmon("mute", "all", "30m").stdout.startswith("everything: muted until ")
    assert json.loads(shell.jobmon("show", "12", "--json").stdout)["muted_until"] > 0


def test_what_cannot_be_muted_is_refused_in_one_line(shell: Shell) -> None:
    save(shell)
    assert "no record of job 99" in complaint(shell.jobmon("mute", "99", "2h"))
    for arguments in (["12"], ["12", "2h", "--off"], ["12", "2h", "--json"], ["12", "0h"], ["12", "31d"]):
        done = shell.jobmon("mute", *arguments)
        assert done.returncode == 2, done
        assert "Traceback" not in done.stderr
    assert shell.jobmon("mute").stdout == "nothing is muted\n"


def test_an_acknowledgement_is_shown_and_says_which_reminders_end(shell: Shell) -> None:
    save(shell, replace(ENTRY, channel="error", reminders=1, held="not acknowledged", held_until_s=NOW_S))
    done = shell.jobmon("ack", "train", "99")
    assert done.stdout == "12 train: acknowledged; 1 reminder will not be sent\n"
    assert done.returncode == 1
    assert "no record of job 99" in done.stderr
    shown = shell.jobmon("show", "12").stdout
    assert re.search(r"ack +you acknowledged it at \d\d:\d\d", shown)
    assert re.search(r"held to channel 'error' until .*: not acknowledged", shown)
    assert json.loads(shell.jobmon("show", "12", "--json").stdout)["acknowledged_at"] > NOW_S


def test_a_counted_message_is_neither_undelivered_nor_kept_from_being_forgotten(shell: Shell) -> None:
    save(shell, replace(ENTRY, channel="error", counted="muted"))
    assert "not sent to channel 'error' on its own: muted" in shell.jobmon("show", "12").stdout
    rows = json.loads(shell.jobmon("status", "12", "--json").stdout)
    assert [row["undelivered"] for row in rows] == [0]
    assert shell.jobmon("forget", "12").returncode == 0


def test_only_what_was_given_up_is_sent_again(shell: Shell) -> None:
    save(shell, replace(ENTRY, delivered_s=NOW_S))
    done = shell.jobmon("replay", "12")
    assert done.returncode == 1
    assert complaint(done) == "12 train: none of its messages was given up; nothing was changed"


def test_what_was_given_up_is_sent_again_on_request(shell: Shell) -> None:
    with FakeDiscord() as discord:
        config = {"discord": {"error_webhook": discord.error_url}}
        (shell.home / "config.json").write_text(json.dumps(config), "utf-8")
        (shell.home / "config.json").chmod(0o600)
        save(shell, replace(ENTRY, channel="error", given_up="404 Unknown Webhook", attempts=1))
        assert "then `jobmon replay JOB` sends the message again" in shell.jobmon("status", "12").stdout
        done = shell.jobmon("replay", "train")
        assert done.stdout == "12 train: sending 1 message again\n"
        discord.wait_for(1, route=Route.ERROR)
        eventually(lambda: not list(processes_of(shell.home)))
    (entry,) = JobStore(shell.state).load("slurm-12-x").outbox
    assert entry.delivered_s
    assert not entry.maybe_delivered


def test_the_example_for_a_forgotten_time_can_be_pasted(shell: Shell) -> None:
    done = shell.jobmon("mute", "my job")
    assert (done.returncode, "`jobmon mute 'my job' 2h`" in done.stderr) == (2, True)
