"""A real SMTP server on a loopback port, by aiosmtpd, which can refuse, hang and encrypt."""

from __future__ import annotations

import asyncio
import ssl
import subprocess
from email import message_from_bytes, policy
from email.message import EmailMessage
from pathlib import Path
from shutil import which
from typing import Self

import pytest
from aiosmtpd.controller import Controller
from aiosmtpd.smtp import SMTP, AuthResult, Envelope, LoginPassword, Session

from tests.support.waiting import PATIENCE_S

USER, PASSWORD = "me@example.org", "correct-horse-battery"


class MailServer(Controller):
    """A server that keeps the mails. ``answers`` has the reply to a command, instead of the usual one."""

    def __init__(self, answers: dict[str, str] | None = None, tls: ssl.SSLContext | None = None) -> None:
        self.mails: list[EmailMessage] = []
        self.envelopes: list[tuple[str, list[str]]] = []
        self.answers = answers or {}
        super().__init__(
            self,
            hostname="127.0.0.1",
            port=0,
            ready_timeout=PATIENCE_S,
            tls_context=tls,
            require_starttls=bool(tls),
            authenticator=_check_login if tls else None,
            auth_required=bool(tls),
        )

    def _trigger_server(self) -> None:
        """Connect once, to the port that the system chose."""
        assert isinstance(self.server, asyncio.base_events.Server)
        self.port = int(self.server.sockets[0].getsockname()[1])
        super()._trigger_server()  # type: ignore[no-untyped-call] # aiosmtpd has few types

    def __enter__(self) -> Self:
        self.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.stop()

    async def handle_MAIL(  # noqa: N802 - aiosmtpd calls it by this name
        self, _server: SMTP, _session: Session, envelope: Envelope, address: str, _options: list[str]
    ) -> str:
        """Take the sender."""
        envelope.mail_from = address
        return self.answers.get("MAIL", "250 OK")

    async def handle_RCPT(  # noqa: N802 - aiosmtpd calls it by this name
        self, _server: SMTP, _session: Session, envelope: Envelope, address: str, _options: list[str]
    ) -> str:
        """Take the recipient."""
        envelope.rcpt_tos.append(address)
        return self.answers.get("RCPT", "250 OK")

    async def handle_DATA(  # noqa: N802 - aiosmtpd calls it by this name
        self, _server: SMTP, _session: Session, envelope: Envelope
    ) -> str:
        """Keep a mail, then answer, or never answer."""
        assert isinstance(envelope.content, bytes)
        mail = message_from_bytes(envelope.content, policy=policy.default)
        assert isinstance(mail, EmailMessage)
        self.mails.append(mail)
        self.envelopes.append((envelope.mail_from or "", envelope.rcpt_tos))
        if self.answers.get("DATA") == "hang":
            await asyncio.sleep(3600)
        return self.answers.get("DATA", "250 OK")


def certificate(folder: Path) -> tuple[ssl.SSLContext, ssl.SSLContext]:
    """Return the contexts of a server with a certificate of its own, and of a client that trusts it."""
    if which("openssl") is None:
        pytest.skip("needs openssl to make a certificate")
    key, cert = folder / "key.pem", folder / "cert.pem"
    command = "openssl req -x509 -newkey rsa:2048 -nodes -days 2 -subj /CN=localhost -addext"
    subprocess.run(
        [*command.split(), "subjectAltName=IP:127.0.0.1", "-keyout", str(key), "-out", str(cert)],
        check=True,
        capture_output=True,
    )
    server = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
    server.load_cert_chain(cert, key)
    return server, ssl.create_default_context(cafile=str(cert))


def _check_login(
    _server: SMTP, _session: Session, _envelope: Envelope, _mechanism: str, data: object
) -> AuthResult:
    is_right = isinstance(data, LoginPassword) and data.password == PASSWORD.encode()
    return AuthResult(success=is_right, handled=False)
