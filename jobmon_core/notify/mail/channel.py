"""The e-mail channel, by the standard library's smtplib.

Sent without Apprise, whose plug-in says only whether it worked: the codes of SMTP say more.

If the connection fails before the text is sent, the e-mail can be sent again; if it fails later, the e-mail
may have arrived. Source: RFC 5321, section 4.2 (4yz is temporary, 5yz permanent) and 6.1; RFC 4954 (454, 535
of a login).
"""

from __future__ import annotations

import os
import time
from contextlib import suppress
from dataclasses import dataclass
from typing import TYPE_CHECKING

from jobmon_core.domain.delivery.outbox import DeliveryOutcome, Receipt
from jobmon_core.notify.base import AttemptResult
from jobmon_core.notify.clean_text import cut_middle, one_line
from jobmon_core.notify.http_channel import DEAD, LATER, REFUSED, TEST_AGAIN
from jobmon_core.notify.mail.settings import Security
from jobmon_core.notify.secret import long_enough, without_secrets

if TYPE_CHECKING:
    import smtplib
    import ssl

    from jobmon_core.domain.delivery.outbox import OutboxEntry
    from jobmon_core.notify.mail.settings import MailSettings

_PERMANENT = 500
_MIN_STEP_S = 1.0
_MAX_WHY = 400
_FIX = (
    "Check `smtp_server`, `smtp_port`, `security`, `user` and `password` in the configuration. On many "
    f'clusters, `"smtp_server": "localhost", "smtp_port": 25, "security": "none"` works. {TEST_AGAIN}'
)
_ADVICE = {
    DEAD: _FIX,
    LATER: "Run `jobmon test-alerts` again later. Messages about jobs are retried automatically.",
    REFUSED: (
        "Ask the administrator of the mail server why it rejects this text. If it rejects a message about a "
        "job, jobmon sends that message once more, shorter and without its file."
    ),
    DeliveryOutcome.MAYBE_DELIVERED: (
        "Check whether the test message arrived. Messages about jobs are retried automatically."
    ),
}


class _Rejected(Exception):
    """The server refuses the e-mail. ``outcome`` is what this means for the message, ``text`` the reason."""

    def __init__(self, outcome: DeliveryOutcome, text: str) -> None:
        super().__init__(text)
        self.outcome, self.text = outcome, text


@dataclass(frozen=True, slots=True)
class MailChannel:
    """One address.

    ``timeout_s`` (seconds) is for the whole conversation; some servers greet only after many seconds.
    """

    settings: MailSettings
    timeout_s: float = 45.0
    trusted: ssl.SSLContext | None = None  # None: the certificates that this machine trusts

    @property
    def name(self) -> str:
        """The address and the server."""
        return f"e-mail ({self.settings.address} by {self.settings.smtp_server})"

    def deliver(self, entry: OutboxEntry) -> AttemptResult:
        """Make one attempt to send a message."""
        import smtplib  # neither is needed before a message is sent

        from jobmon_core.notify.mail.message import mail_of

        settings = self.settings
        mail = mail_of(entry, settings.sender or settings.address, settings.address, time.time())
        conversation = _Conversation(settings, time.monotonic() + self.timeout_s, self.trusted)
        try:
            conversation.send(mail.as_bytes())
        except _Rejected as error:
            return self._result(error.outcome, error.text)
        except smtplib.SMTPException as error:
            return self._failed(conversation, one_line(str(error)) or type(error).__name__)
        except OSError as error:
            why = f"no answer within {self.timeout_s:g} s" if isinstance(error, TimeoutError) else ""
            return self._failed(conversation, why or error.strerror or type(error).__name__)
        return AttemptResult(Receipt(DeliveryOutcome.DELIVERED))

    def _failed(self, conversation: _Conversation, why: str) -> AttemptResult:
        if conversation.has_sent_text:
            return self._result(DeliveryOutcome.MAYBE_DELIVERED, f"sent without an answer: {why}")
        return self._result(LATER, why, for_all=True)

    def _result(self, outcome: DeliveryOutcome, text: str, *, for_all: bool = False) -> AttemptResult:
        password = self.settings.password.value if self.settings.password else ""
        text = one_line(without_secrets(text, long_enough(password)))
        why = cut_middle(f"{self.settings.smtp_server}:{self.settings.smtp_port}: {text}", _MAX_WHY)
        advice = _FIX if for_all else _ADVICE[outcome]
        return AttemptResult(Receipt(outcome, why, for_all=for_all), advice)


class _Conversation:
    """One connection to the server, up to a deadline."""

    def __init__(self, settings: MailSettings, deadline_s: float, trusted: ssl.SSLContext | None) -> None:
        self.has_sent_text = False
        self._settings, self._deadline_s, self._trusted = settings, deadline_s, trusted

    def send(self, mail: bytes) -> None:
        """Send an e-mail; raises _Rejected, or the errors of smtplib and of sockets."""
        smtp = self._connect()
        try:
            self._log_in(smtp)
            settings = self._settings
            _check(self._step(smtp).mail(settings.sender or settings.address), DEAD)
            _check(self._step(smtp).rcpt(settings.address), DEAD)
            self._send_text(smtp, mail)
        finally:
            with suppress(OSError):  # what was sent is sent, however the connection ends
                smtp.close()

    def _connect(self) -> smtplib.SMTP:
        import smtplib

        settings, timeout_s, host = self._settings, self._remaining_s(), os.uname().nodename
        # the name is given because finding the full one may need a name server that does not answer
        try:
            if settings.security is Security.TLS:
                return smtplib.SMTP_SSL(
                    settings.smtp_server,
                    settings.smtp_port,
                    local_hostname=host,
                    timeout=timeout_s,
                    context=self._context(),
                )
            smtp = smtplib.SMTP(
                settings.smtp_server, settings.smtp_port, local_hostname=host, timeout=timeout_s
            )
        except smtplib.SMTPConnectError as error:  # the greeting is an error: the server is busy or in repair
            raise _Rejected(LATER, _reply_text(error.smtp_code, error.smtp_error)) from None
        if settings.security is Security.STARTTLS:
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
        if not self._settings.user:
            return
        password = self._settings.password.value if self._settings.password else ""
        try:
            self._step(smtp).login(self._settings.user, password)
        except smtplib.SMTPNotSupportedError:
            raise _Rejected(DEAD, "the server offers no login (AUTH); remove `user` and `password`") from None
        except smtplib.SMTPResponseException as error:
            outcome = DEAD if error.smtp_code >= _PERMANENT else LATER
            raise _Rejected(outcome, f"login: {_reply_text(error.smtp_code, error.smtp_error)}") from None

    def _send_text(self, smtp: smtplib.SMTP, mail: bytes) -> None:
        """Send the text; an SMTPDataError of smtplib means that the server refused it before it was sent."""
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

        return self._trusted or ssl.create_default_context()


def _check(answer: tuple[int, bytes], permanent: DeliveryOutcome) -> None:
    """Raise _Rejected unless the answer is positive; ``permanent`` is the outcome of a permanent error."""
    code, text = answer
    if not 200 <= code < 300:  # noqa: PLR2004 - the classes of SMTP's codes
        raise _Rejected(permanent if code >= _PERMANENT else LATER, _reply_text(code, text))


def _reply_text(code: int, text: bytes | str) -> str:
    words = text.decode(errors="replace") if isinstance(text, bytes) else text
    return f"{words} ({code})"
