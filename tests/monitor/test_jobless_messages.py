"""Messages that belong to no single job, sent to a channel type of the tests."""

from __future__ import annotations

import json
import os
from dataclasses import replace
from pathlib import Path

import pytest

from jobmon_core.context import Context
from jobmon_core.domain.channels import Route, Tone
from jobmon_core.domain.delivery.outbox import KEPT_S, Message, OutboxEntry, StoredMessage
from jobmon_core.monitor.jobless_messages import MESSAGES, MessageSender, keep_sending
from jobmon_core.notify.channels import CHANNEL_TYPES
from jobmon_core.store.home import Home
from jobmon_core.store.jobs import Unreadable
from jobmon_core.store.message_files import MessageStore
from jobmon_core.store.owner import Owner
from tests.support.clock import FakeClock
from tests.support.mailbox_channel import MAILBOX, messages_in

MESSAGE = Message("group/sweep1/digest", Route.ERROR, Tone.ATTENTION, "8 jobs are over", created_s=1_000)
OTHER = Message("group/sweep2/digest", Route.ERROR, Tone.ATTENTION, "3 jobs are over", created_s=900)


@pytest.fixture
def mailbox(tmp_path: Path) -> Path:
    folder = tmp_path / "mailbox"
    folder.mkdir()
    return folder


@pytest.fixture
def ctx(tmp_path: Path, mailbox: Path) -> Context:
    home = Home(tmp_path / "home")
    home.root.mkdir(mode=0o700)
    channels = {"box": {"type": "mailbox", "folder": str(mailbox)}}
    home.config.write_text(json.dumps({"channels": channels}), "utf-8")
    home.config.chmod(0o600)
    types = {**CHANNEL_TYPES, "mailbox": MAILBOX}
    return Context(home, {}, clock=FakeClock(), channel_types=lambda: types)


def send_all(ctx: Context, sender: MessageSender | None = None) -> float | None:
    """Send until nothing is due; return when the next attempt is due."""
    sender = sender or MessageSender(ctx)
    due_s = sender.send_due()
    while due_s is not None and due_s <= ctx.clock.now():
        due_s = sender.send_due()
    return due_s


def stored(ctx: Context, message: Message = MESSAGE) -> StoredMessage:
    found = ctx.messages.load(message.id)
    assert found is not None
    return found


def test_a_message_that_is_created_twice_is_sent_once(ctx: Context, mailbox: Path) -> None:
    assert ctx.messages.create(MESSAGE)
    assert not ctx.messages.create(MESSAGE)
    assert send_all(ctx) is None
    assert not ctx.messages.create(MESSAGE), "while the record of the delivery is kept"
    assert send_all(ctx) is None
    assert messages_in(mailbox) == [MESSAGE.id]


def test_messages_go_out_oldest_first(ctx: Context, mailbox: Path) -> None:
    ctx.messages.create(MESSAGE)
    ctx.messages.create(OTHER)
    send_all(ctx)
    assert messages_in(mailbox) == [OTHER.id, MESSAGE.id]


def test_a_running_sender_notices_a_new_message(ctx: Context, mailbox: Path) -> None:
    sender = MessageSender(ctx)
    assert send_all(ctx, sender) is None
    ctx.messages.create(MESSAGE)
    assert send_all(ctx, sender) is None
    assert messages_in(mailbox) == [MESSAGE.id]


def test_a_message_waits_for_a_channel_that_is_down(ctx: Context, mailbox: Path) -> None:
    mailbox.rmdir()
    ctx.messages.create(MESSAGE)
    sender = MessageSender(ctx)
    due_s = send_all(ctx, sender)
    assert due_s is not None
    assert stored(ctx).problem == "the folder is missing"
    mailbox.mkdir()
    keep_sending(ctx, sender)  # the fake clock passes the waits
    assert messages_in(mailbox) == [MESSAGE.id]


def test_an_interrupted_attempt_is_repeated_and_marked(ctx: Context, mailbox: Path) -> None:
    ctx.messages.create(MESSAGE)
    entry = replace(OutboxEntry(MESSAGE, channel="box"), attempts=1, attempt_since_s=ctx.clock.now() - 60)
    ctx.messages.save(StoredMessage(MESSAGE.id, (entry,)))
    send_all(ctx)
    (sent,) = (json.loads(path.read_text("utf-8")) for path in mailbox.iterdir())
    assert sent["repeat"]


def test_while_another_process_sends_nobody_else_does(ctx: Context, mailbox: Path) -> None:
    ctx.messages.create(MESSAGE)
    elsewhere = replace(Owner.this_process(), host=f"{os.uname().nodename}-2")
    ctx.owner_record(MESSAGES).write(elsewhere)
    os.utime(ctx.home.owner_file(MESSAGES))
    due_s = MessageSender(ctx).send_due()
    assert due_s is not None
    assert due_s > ctx.clock.now()
    assert messages_in(mailbox) == []


def test_a_delivered_message_is_removed_after_a_week(ctx: Context) -> None:
    ctx.messages.create(MESSAGE)
    send_all(ctx)
    assert isinstance(ctx.clock, FakeClock)
    path = ctx.messages.path(MESSAGE.id)
    ctx.clock.now_s += KEPT_S + 60
    os.utime(path, (ctx.clock.now() - KEPT_S - 50,) * 2)
    ctx.messages.create(OTHER)
    send_all(ctx)
    assert not path.exists()
    assert ctx.messages.load(OTHER.id)


def test_a_message_without_a_channel_is_given_up_and_kept(ctx: Context) -> None:
    ctx.home.config.write_text("{}", "utf-8")
    ctx.messages.create(MESSAGE)
    assert send_all(ctx) is None
    assert "jobmon init" in stored(ctx).given_up


@pytest.mark.parametrize("content", ["", "{", "[]", '{"id": "other", "outbox": []}', "[" * 100_000])
def test_a_damaged_file_is_named_and_left_alone(ctx: Context, content: str, mailbox: Path) -> None:
    path = ctx.messages.path("damaged")
    path.write_text(content, "utf-8")
    ctx.messages.create(MESSAGE)
    assert send_all(ctx) is None
    assert messages_in(mailbox) == [MESSAGE.id]
    assert [each.path for each in ctx.messages.all() if isinstance(each, Unreadable)] == [path]
    assert path.read_text("utf-8") == content


def test_any_id_makes_a_file_name(tmp_path: Path) -> None:
    store = MessageStore(tmp_path)
    ids = ["../../etc/passwd", "a" * 4_000, "a" * 4_001, "ü/\0\n", "."]
    for each in ids:
        assert store.create(Message(each, Route.ERROR, Tone.ATTENTION, "title"))
    assert {record.id for record in store.all() if isinstance(record, StoredMessage)} == set(ids)
    assert all(path.parent == tmp_path for path in store.paths())
