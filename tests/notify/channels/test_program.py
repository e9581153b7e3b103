"""The user's own program: what it gets, and what becomes of each way in which it may end."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from jobmon_core.domain.channels import DeliveryOutcome, Level, Route, Tone
from jobmon_core.domain.delivery.outbox import (
    Change,
    Field,
    Message,
    OutboxEntry,
    apply_receipt,
    mark_attempt,
)
from jobmon_core.domain.slurm.states import Outcome
from jobmon_core.notify.channels.program import Program

TOKEN = "hf_" + "a1B2" * 9
END = Message(
    "12_3/end",
    Route.ERROR,
    Tone.FAILURE,
    "train (12_3) failed",
    fields=(Field("Exit code", "1"), Field("Ended", at_s=99)),
    evidence=(f"login with {TOKEN}",),
    created_s=100,
    outcome=Outcome.FAILURE,
)
ENTRY = mark_attempt(OutboxEntry(END, channel="on_event_1"), 100.0)


def program(folder: Path, *lines: str) -> Program:
    path = folder / "my program"
    path.write_text("\n".join(("#!/bin/sh", *lines, "")), "utf-8")
    path.chmod(0o755)
    return Program.parse(f"'{path}' --flag '$HOME; echo `id`' {folder}/out")


def test_it_gets_the_message_as_json_and_its_arguments_as_they_are(tmp_path: Path) -> None:
    hook = program(tmp_path, 'cat > "$3"; echo >> "$3"; echo "$2" >> "$3"')
    result = hook.deliver(ENTRY)
    assert result.outcome is DeliveryOutcome.DELIVERED
    event, argument = (tmp_path / "out").read_text("utf-8").splitlines()
    assert argument == "$HOME; echo `id`"  # no shell has read it
    got = json.loads(event)
    assert (got["event"], got["job_id"], got["level"], got["outcome"]) == (
        "message",
        "12_3",
        "critical",
        "failure",
    )
    assert got["fields"] == {"Exit code": "1", "Ended": 99}
    assert got["evidence"] == ["login with hf_[hidden]"]
    assert got["repeat"] is False


def test_a_change_of_state_has_what_was_and_what_is(tmp_path: Path) -> None:
    changes = (Change("12", "", "PENDING"), Change("12", "PENDING", "RUNNING"))
    message = Message("12/state-1", Route.SUCCESS, Tone.RESOLVED, "train (12)", changes=changes)
    hook = program(tmp_path, 'cat > "$3"')
    hook.deliver(OutboxEntry(message, attempts=2, maybe_delivered=True))
    got = json.loads((tmp_path / "out").read_text("utf-8"))
    assert (got["event"], got["level"], got["repeat"]) == ("state", Level.INFO, True)
    assert got["changes"] == [
        {"job_id": "12", "from": None, "to": "PENDING"},
        {"job_id": "12", "from": "PENDING", "to": "RUNNING"},
    ]


@pytest.mark.parametrize(
    ("line", "timeout_s", "why"),
    [
        ("echo no token >&2; exit 3", 60.0, "no token"),
        ("kill -9 $$", 60.0, "killed by signal 9"),
        ("exec sleep 60", 0.3, "did not end within 0.3 s and was killed"),
    ],
)
def test_a_program_that_fails_is_not_run_again(tmp_path: Path, line: str, timeout_s: float, why: str) -> None:
    result = program(tmp_path, line)._replace(timeout_s=timeout_s).deliver(ENTRY)
    entry = apply_receipt(ENTRY, result, 100.0)
    assert why in entry.given_up
    assert not entry.is_open


def test_a_program_that_is_missing_is_named_without_its_arguments() -> None:
    result = Program(("/no/such/program", TOKEN)).deliver(ENTRY)
    assert "/no/such/program" in result.why
    assert TOKEN not in result.why + Program(("/no/such/program", TOKEN)).fingerprint


def test_an_interrupted_start_is_repeated_once(tmp_path: Path) -> None:
    channel = program(tmp_path, 'echo x >> "$3"')
    entry = OutboxEntry(END)
    receipt = None
    for starts in (1, 2, 2):
        entry = mark_attempt(entry, 100.0)  # the monitor is killed before it saves the result
        receipt = channel.deliver(entry)
        assert len((tmp_path / "out").read_text("utf-8").splitlines()) == starts
        assert entry.maybe_delivered is (entry.attempts > 1)
    assert receipt
    assert receipt.why.endswith("was interrupted twice")


@pytest.mark.parametrize("command", ["notify-send hello", "", "/bin/echo 'a", "./here.sh"])
def test_a_command_that_depends_on_the_folder_or_is_none_is_refused(command: str) -> None:
    with pytest.raises(ValueError, match=r"absolute path|not a command line"):
        Program.parse(command)
