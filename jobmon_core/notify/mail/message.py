"""Turns a message into an e-mail.

Every repeat has the same Message-ID, by which many mail systems recognise it, and all mails about one job
refer to the same one, so that mail programs show them together. Sources: RFC 5322 (format, Message-ID,
References), RFC 3834 (``Auto-Submitted``: no automatic replies).
"""

from __future__ import annotations

import hashlib
from datetime import UTC, datetime
from email.message import EmailMessage
from email.policy import SMTP
from email.utils import format_datetime
from typing import TYPE_CHECKING

from jobmon_core.domain.channels import Level
from jobmon_core.notify.attached import attached_file
from jobmon_core.notify.plain_text import YEAR_10000_S, PlainText

if TYPE_CHECKING:
    from jobmon_core.domain.delivery.outbox import OutboxEntry

_MAX_SUBJECT = 200
_MAX_BODY = 60_000
_MAX_PLAIN_BODY = 2000
_POLICY = SMTP.clone(cte_type="7bit")  # a server need not support 8BITMIME
_SIGNATURE = "\n\n-- \njobmon"


def mail_of(entry: OutboxEntry, sender: str, address: str, now_s: float) -> EmailMessage:
    """Return the e-mail of a message as of ``now_s`` (Unix seconds), with the file that it attaches."""
    message, plain_text = entry.message, PlainText.of(entry)
    mail = EmailMessage(policy=_POLICY)
    domain = sender.rpartition("@")[2]
    mail["From"] = f"jobmon <{sender}>"
    mail["To"] = address
    mail["Subject"] = plain_text.lead(_MAX_SUBJECT)
    mail["Date"] = format_datetime(datetime.fromtimestamp(_date_s(message.created_s, now_s), tz=UTC))
    mail["Message-ID"] = f"<{_digest(message.id, str(message.created_s), entry.channel)}@{domain}>"
    mail["References"] = f"<{_digest(message.id.partition('/')[0])}@{domain}>"
    mail["Auto-Submitted"] = "auto-generated"
    if message.level is Level.CRITICAL:
        mail["Importance"] = "high"
    text = plain_text.body(_MAX_PLAIN_BODY if entry.plain else _MAX_BODY) or plain_text.title
    mail.set_content(f"{text}{_SIGNATURE}\n")
    if file := attached_file(entry):
        mail.add_attachment(
            file.content, maintype="text", subtype="plain", filename=file.name, params={"charset": "utf-8"}
        )
    return mail


def _date_s(created_s: int, now_s: float) -> float:
    return created_s if 0 < created_s < YEAR_10000_S else now_s


def _digest(*parts: str) -> str:
    return f"jobmon.{hashlib.sha256('|'.join(parts).encode()).hexdigest()[:32]}"
