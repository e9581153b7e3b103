"""E-mail by SMTP, with the standard library's smtplib.

Sent without Apprise, whose plug-in says only whether it worked: the codes of SMTP say more.

If the connection fails before the text is sent, the e-mail can be sent again; if it fails later, the e-mail
may have arrived. Every repeat has the same Message-ID, by which many mail systems recognise it, and all mails
about one job refer to the same one, so that mail programs show them together.

Sources: RFC 5321, section 4.2 (4yz is temporary, 5yz permanent) and 6.1; RFC 4954 (454, 535 of a login);
RFC 5322 (format, Message-ID, References); RFC 3834 (``Auto-Submitted``: no automatic replies).
"""

from __future__ import annotations

import os
import re
import time
from contextlib import suppress
from enum import StrEnum
from typing import TYPE_CHECKING, NamedTuple

from jobmon_core.domain.channels import ACCEPTED, DeliveryOutcome, Level, Receipt
from jobmon_core.domain.webhook import is_loopback
from jobmon_core.notify.attached import attached_file
from jobmon_core.notify.clean_text import cut_middle, one_line
from jobmon_core.notify.http_channel import DEAD, LATER, REFUSED, TEST_AGAIN
from jobmon_core.notify.plain_text import YEAR_10000_S, PlainText
from jobmon_core.notify.secret import Secret, long_enough, password_fingerprint, without_secrets
from jobmon_core.system.environment import SMTP_PASSWORD_VARIABLE

if TYPE_CHECKING:
    import smtplib
    import ssl
    from email.message import EmailMessage

    from jobmon_core.domain.config_section import Section
    from jobmon_core.domain.delivery.outbox import OutboxEntry

_ADDRESS = re.compile(r"[!-?A-~]+@[A-Za-z0-9._\[\]:-]+")
_HOST = re.compile(r"[A-Za-z0-9._-]+|[0-9A-Fa-f:.]+")
_PORT = 587  # message submission, RFC 6409
_MAX_PORT = 65_535
_MAX_SUBJECT = 200
_MAX_BODY = 60_000
_MAX_PLAIN_BODY = 2000
_SIGNATURE = "\n\n-- \njobmon"
_PERMANENT = 500
_MIN_STEP_S = 1.0
_MAX_WHY = 400
_FIX = (
    "Check `smtp_server`, `smtp_port`, `security`, `user` and `password` in the configuration. On many "
    f'clusters, `"smtp_server": "localhost", "smtp_port": 25, "security": "none"` works. {TEST_AGAIN}'
)
_ADVICE = {
    DEAD: _FIX,
    LATER: "Run `jobmon test` again later. Messages about jobs are retried automatically.",
    REFUSED: (
        "Ask the administrator of the mail server why it rejects this text. If it rejects a message about a "
        "job, jobmon sends that message once more, shorter and without its file."
    ),
    DeliveryOutcome.MAYBE_DELIVERED: (
        "Check whether the test message arrived. Messages about jobs are retried automatically."
    ),
}


class Security(StrEnum):
    """How the connection is encrypted."""

    STARTTLS = "starttls"
    TLS = "tls"  # from the start, usually on port 465
    NONE = "none"


class _Rejected(Exception):
    """The server refuses the e-mail. ``outcome`` is what this means for the message, ``text`` the reason."""

    def __init__(self, outcome: DeliveryOutcome, text: str) -> None:
        super().__init__(text)
        self.outcome, self.text = outcome, text


class Mail(NamedTuple):
    """One address, and the server that takes the mail. Another recipient is another channel."""

    address: str
    smtp_server: str = "localhost"
    smtp_port: int = _PORT
    sender: str = ""  # empty: the address itself
    user: str = ""
    password: Secret | None = None
    security: Security = Security.STARTTLS
    timeout_s: float = 45.0  # for the whole conversation; some servers greet only after many seconds
    trusted: ssl.SSLContext | None = None  # None: the certificates that this machine trusts

    @property
    def name(self) -> str:
        """The address and the server."""
        return f"e-mail ({self.address} by {self.smtp_server})"

    @property
    def fingerprint(self) -> str:
        """The address, the server and a few bits of the password."""
        server = f"{self.user or 'no user'} at {self.smtp_server}:{self.smtp_port} {self.security}"
        name = f"email {self.address} from {self.sender or self.address} by {server}"
        return password_fingerprint(name, self.secret)

    @property
    def secret(self) -> str:
        """The password; empty if there is none."""
        if self.password:
            return self.password.value
        return ""

    def deliver(self, entry: OutboxEntry) -> Receipt:
        """Do as `Channel.deliver`."""
        import smtplib  # not needed before a message is sent

        mail = mail_of(entry, self.sender or self.address, self.address, time.time())
        conversation = _Conversation(self, time.monotonic() + self.timeout_s)
        try:
            conversation.send(mail.as_bytes())
        except _Rejected as error:
            return self._result(error.outcome, error.text)
        except smtplib.SMTPException as error:
            return self._failed(conversation, one_line(str(error)) or type(error).__name__)
        except OSError as error:
            why = ""
            if isinstance(error, TimeoutError):
                why = f"no answer within {self.timeout_s:g} s"
            return self._failed(conversation, why or error.strerror or type(error).__name__)
        return ACCEPTED

    def _failed(self, conversation: _Conversation, why: str) -> Receipt:
        if conversation.has_sent_text:
            return self._result(DeliveryOutcome.MAYBE_DELIVERED, f"sent without an answer: {why}")
        return self._result(LATER, why, for_all=True)

    def _result(self, outcome: DeliveryOutcome, text: str, *, for_all: bool = False) -> Receipt:
        text = one_line(without_secrets(text, long_enough(self.secret)))
        why = cut_middle(f"{self.smtp_server}:{self.smtp_port}: {text}", _MAX_WHY)
        advice = _FIX if for_all else _ADVICE[outcome]
        return Receipt(outcome, why, for_all=for_all, advice=advice)


def parse(section: Section) -> Mail | None:
    """Read one channel; a password needs a user and encryption, or a server on this machine."""
    address = section.parsed("address", _parse_address, required=True)
    sender = section.parsed("from", _parse_address) or ""
    server = section.parsed("smtp_server", _parse_host) or "localhost"
    port = section.whole_number("smtp_port", _PORT, 1, _MAX_PORT)
    user = section.text("user")
    password = section.secret("password", Secret, variable=SMTP_PASSWORD_VARIABLE)
    security = Security(section.choice("security", tuple(Security), Security.STARTTLS))
    if password and not user:
        section.fault("user", "missing: the password needs the user that it belongs to")
        return None
    if password and security is Security.NONE and not is_loopback(server):
        section.fault("security", 'without encryption, the network sees the password: use "starttls"')
        return None
    if address is None:
        return None
    return Mail(address, server, port, sender, user, password, security)


def _parse_address(text: str) -> str:
    if not _ADDRESS.fullmatch(text):
        raise ValueError("expected one e-mail address, e.g. me@example.org; for more, make more channels")
    return text


def _parse_host(text: str) -> str:
    if not _HOST.fullmatch(text):
        raise ValueError("expected the name of a host, e.g. smtp.example.org; the port is smtp_port")
    return text


def mail_of(entry: OutboxEntry, sender: str, address: str, now_s: float) -> EmailMessage:
    """Return the e-mail of a message as of ``now_s`` (Unix seconds), with the file that it attaches."""
    from datetime import UTC, datetime  # none of these is needed before a message is sent
    from email.message import EmailMessage
    from email.policy import SMTP
    from email.utils import format_datetime

    message, plain_text = entry.message, PlainText.of(entry)
    mail = EmailMessage(policy=SMTP.clone(cte_type="7bit"))  # a server need not support 8BITMIME
    domain = sender.rpartition("@")[2]
    mail["From"] = f"jobmon <{sender}>"
    mail["To"] = address
    mail["Subject"] = plain_text.lead(_MAX_SUBJECT)
    date_s = now_s
    if 0 < message.created_s < YEAR_10000_S:
        date_s = message.created_s
    mail["Date"] = format_datetime(datetime.fromtimestamp(date_s, tz=UTC))
    mail["Message-ID"] = f"<{_digest(message.id, str(message.created_s), entry.channel)}@{domain}>"
    mail["References"] = f"<{_digest(message.id.partition('/')[0])}@{domain}>"
    mail["Auto-Submitted"] = "auto-generated"
    if message.level is Level.CRITICAL:
        mail["Importance"] = "high"
    text = plain_text.body(_MAX_PLAIN_BODY if entry.plain else _MAX_BODY) or plain_text.title
    mail.set_content(f"{text}{_SIGNATURE}\n")
    if file := attached_file(entry):
        name, content = file
        mail.add_attachment(
            content, maintype="text", subtype="plain", filename=name, params={"charset": "utf-8"}
        )
    return mail


def _digest(*parts: str) -> str:
    import hashlib

    return f"jobmon.{hashlib.sha256('|'.join(parts).encode()).hexdigest()[:32]}"


class _Conversation:
    """One connection to the server, up to a deadline."""

    def __init__(self, channel: Mail, deadline_s: float) -> None:
        self.has_sent_text = False
        self._channel, self._deadline_s = channel, deadline_s

    def send(self, mail: bytes) -> None:
        """Send an e-mail; raises _Rejected, or the errors of smtplib and of sockets."""
        smtp = self._connect()
        try:
            self._log_in(smtp)
            channel = self._channel
            _check(self._step(smtp).mail(channel.sender or channel.address), DEAD)
            _check(self._step(smtp).rcpt(channel.address), DEAD)
            self._send_text(smtp, mail)
        finally:
            with suppress(OSError):  # what was sent is sent, however the connection ends
                smtp.close()

    def _connect(self) -> smtplib.SMTP:
        import smtplib

        channel, timeout_s, host = self._channel, self._remaining_s(), os.uname().nodename
        # the name is given because finding the full one may need a name server that does not answer
        try:
            if channel.security is Security.TLS:
                return smtplib.SMTP_SSL(
                    channel.smtp_server,
                    channel.smtp_port,
                    local_hostname=host,
                    timeout=timeout_s,
                    context=self._context(),
                )
            smtp = smtplib.SMTP(
                channel.smtp_server, channel.smtp_port, local_hostname=host, timeout=timeout_s
            )
        except smtplib.SMTPConnectError as error:  # the greeting is an error: the server is busy or in repair
            raise _Rejected(LATER, _reply_text(error.smtp_code, error.smtp_error)) from None
        if channel.security is Security.STARTTLS:
            try:
                self._step(smtp).starttls(context=self._context())
            except smtplib.SMTPNotSupportedError:
                smtp.close()
                text = 'the server offers no encryption (STARTTLS); to do without, set "security": "none"'
                raise _Rejected(DEAD, text) from None
            except smtplib.SMTPResponseException as error:
                smtp.close()
                raise _Rejected(LATER, _reply_text(error.smtp_code, error.smtp_error)) from None
        return smtp

    def _log_in(self, smtp: smtplib.SMTP) -> None:
        import smtplib

        self._step(smtp).ehlo_or_helo_if_needed()
        if not self._channel.user:
            return
        try:
            self._step(smtp).login(self._channel.user, self._channel.secret)
        except smtplib.SMTPNotSupportedError:
            raise _Rejected(DEAD, "the server offers no login (AUTH); remove `user` and `password`") from None
        except smtplib.SMTPResponseException as error:
            outcome = LATER
            if error.smtp_code >= _PERMANENT:
                outcome = DEAD
            raise _Rejected(outcome, f"login: {_reply_text(error.smtp_code, error.smtp_error)}") from None

    def _send_text(self, smtp: smtplib.SMTP, mail: bytes) -> None:
        import smtplib

        try:
            self.has_sent_text = True
            answer = self._step(smtp).data(mail)
        except smtplib.SMTPDataError as error:
            self.has_sent_text = False
            answer = (error.smtp_code, error.smtp_error if isinstance(error.smtp_error, bytes) else b"")
        _check(answer, REFUSED)

    def _step(self, smtp: smtplib.SMTP) -> smtplib.SMTP:
        """Return the connection with the time that remains as the timeout of the next step."""
        if smtp.sock:
            smtp.sock.settimeout(self._remaining_s())
        return smtp

    def _remaining_s(self) -> float:
        return max(_MIN_STEP_S, self._deadline_s - time.monotonic())

    def _context(self) -> ssl.SSLContext:
        import ssl

        return self._channel.trusted or ssl.create_default_context()


def _check(answer: tuple[int, bytes], permanent: DeliveryOutcome) -> None:
    code, text = answer
    if not 200 <= code < 300:  # noqa: PLR2004 - the classes of SMTP's codes
        raise _Rejected(permanent if code >= _PERMANENT else LATER, _reply_text(code, text))


def _reply_text(code: int, text: bytes | str) -> str:
    if isinstance(text, bytes):
        text = text.decode(errors="replace")
    return f"{text} ({code})"
