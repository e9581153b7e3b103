"""E-mail against a real SMTP server."""

from __future__ import annotations

import socket
from dataclasses import replace
from pathlib import Path

import pytest

from jobmon_core.domain.channels import DeliveryOutcome, Route
from jobmon_core.domain.delivery.outbox import OutboxEntry
from jobmon_core.domain.errors import ConfigInvalid
from jobmon_core.notify.channels.mail import Mail, Security
from jobmon_core.notify.secret import Secret
from jobmon_core.notify.test_message import worst_case_message
from tests.support.channel_cases import ENTRY, FAILED, NOW, config_of
from tests.support.mail_server import PASSWORD, USER, MailServer, certificate

ADDRESS = "user@example.com"
LATER, DEAD = DeliveryOutcome.TRY_AGAIN, DeliveryOutcome.CHANNEL_DEAD
REFUSED, MAYBE = DeliveryOutcome.REFUSED_BODY, DeliveryOutcome.MAYBE_DELIVERED


def plain_channel(server: MailServer) -> Mail:
    return Mail(ADDRESS, "127.0.0.1", server.port, "jobs@example.org", security=Security.NONE)


def test_a_mail_arrives_with_its_text_its_file_and_headers_for_its_thread(tmp_path: Path) -> None:
    bundle = tmp_path / "slurm-4211.diagnostics.txt"
    bundle.write_text("== Log\nKilled ä\n", encoding="utf-8")
    entry = replace(ENTRY, message=replace(FAILED, attachment=str(bundle)))
    warning = replace(ENTRY, message=replace(FAILED, id="4211_7/progress-stalled-1"))
    with MailServer() as server:
        channel = plain_channel(server)
        for each in (entry, replace(entry, maybe_delivered=True), warning):
            assert channel.deliver(each).outcome is DeliveryOutcome.DELIVERED
    first, repeat, other = server.mails
    assert server.envelopes[0] == ("jobs@example.org", [ADDRESS])
    assert first["subject"] == f"❌ {FAILED.title}"
    assert first["importance"] == "high"
    assert first["auto-submitted"] == "auto-generated"
    text = first.get_body(("plain",))
    assert text is not None
    lines = text.get_content().splitlines()
    assert lines[2:6] == ["Cause: Out of GPU memory.", "", *FAILED.evidence]
    (file,) = first.iter_attachments()
    assert (file.get_filename(), file.get_content()) == (bundle.name, bundle.read_bytes().decode())
    assert first["message-id"] == repeat["message-id"] != other["message-id"]
    assert first["references"] == other["references"]
    assert "(possible repeat)" in str(repeat)


def test_the_largest_message_is_plain_ascii_on_the_wire_with_short_lines() -> None:
    message = worst_case_message("c", Route.ERROR, NOW)
    with MailServer() as server:
        plain_channel(server).deliver(OutboxEntry(message))
    (mail,) = server.mails
    raw = mail.as_bytes()
    assert raw.isascii()
    assert max(map(len, raw.splitlines())) <= 998
    assert "\n" not in mail["subject"]


@pytest.mark.parametrize(
    ("command", "answer", "outcome", "advice"),
    [
        ("MAIL", "451 try later", LATER, "again later"),
        ("MAIL", "553 sender not allowed", DEAD, "Check `smtp_server`"),
        ("RCPT", "450 greylisted", LATER, "again later"),
        ("RCPT", "550 no such user", DEAD, "Check `smtp_server`"),
        ("DATA", "452 no room", LATER, "again later"),
        ("DATA", "554 looks like spam", REFUSED, "why it rejects this text"),
        ("DATA", "552 too large", REFUSED, "why it rejects this text"),
        ("DATA", "hang", MAYBE, "Check whether the test message arrived"),
    ],
)
def test_the_codes_of_smtp_decide(command: str, answer: str, outcome: DeliveryOutcome, advice: str) -> None:
    timeout_s = 10.0 if answer == "hang" else 60.0
    with MailServer({command: answer}) as server:
        result = plain_channel(server)._replace(timeout_s=timeout_s).deliver(ENTRY)
    receipt = result
    assert receipt.outcome is outcome
    assert advice in result.advice
    assert ("timed out" if answer == "hang" else answer[4:]) in receipt.why


def test_a_login_is_encrypted_and_a_wrong_password_ends_the_channel(tmp_path: Path) -> None:
    tls, trusted = certificate(tmp_path)
    with MailServer(tls=tls) as server:
        channel = plain_channel(server)._replace(
            user=USER, password=Secret(PASSWORD), security=Security.STARTTLS
        )
        good = channel._replace(trusted=trusted).deliver(ENTRY)
        wrong = channel._replace(password=Secret("a-wrong-password"), trusted=trusted)
        bad, untrusted = wrong.deliver(ENTRY), channel.deliver(ENTRY)
    assert good.outcome is DeliveryOutcome.DELIVERED
    assert bad.outcome is DEAD
    assert "login" in bad.why
    assert "a-wrong-password" not in f"{bad} {wrong}"
    assert (untrusted.outcome, untrusted.for_all) == (LATER, True)
    assert "certificate" in untrusted.why.lower()


def test_a_server_without_encryption_or_without_an_answer_gets_nothing() -> None:
    with MailServer() as server:
        channel = plain_channel(server)
        encrypted = channel._replace(security=Security.STARTTLS).deliver(ENTRY)
        mails = list(server.mails)
    refused = channel.deliver(ENTRY)
    with socket.create_server(("127.0.0.1", 0)) as silent:
        channel = channel._replace(smtp_port=silent.getsockname()[1])
        hanging = channel._replace(timeout_s=5.0).deliver(ENTRY)
    assert mails == []
    assert encrypted.outcome is DEAD
    assert '"security": "none"' in encrypted.why
    assert (refused.outcome, refused.for_all) == (LATER, True)
    assert "Connection refused" in refused.why
    assert (hanging.outcome, hanging.for_all) == (LATER, True)
    assert "timed out" in hanging.why


def test_the_password_comes_from_the_environment_and_only_goes_over_an_encrypted_connection() -> None:
    keys = {"type": "email", "address": ADDRESS, "smtp_server": "smtp.example.org", "user": USER}
    config = config_of({"channels": {"c": keys}}, JOBMON_SMTP_PASSWORD=PASSWORD)
    channel = config.channels[0].channel
    assert getattr(channel, "password", None) == Secret(PASSWORD)
    assert PASSWORD not in repr(channel) + channel.fingerprint
    other = config_of({"channels": {"c": {**keys, "password": "another-one"}}}).channels[0].channel
    assert other.fingerprint != channel.fingerprint
    for wrong, fault in (
        ({"security": "none", "password": "x"}, "channels.c.security: without encryption"),
        ({"user": "", "password": "x"}, "channels.c.user: missing"),
        ({"smtp_port": 70_000}, "channels.c.smtp_port: must be at most 65535"),
        ({"smtp_server": "smtp.example.org:587"}, "channels.c.smtp_server: expected the name of a host"),
        ({"address": "a@b.org, c@d.org"}, "channels.c.address: expected one e-mail address"),
    ):
        with pytest.raises(ConfigInvalid) as caught:
            config_of({"channels": {"c": {**keys, **wrong}}})
        assert caught.value.faults[0].startswith(fault)
