"""The settings of an e-mail channel: one address, and the SMTP server that takes the mail."""

from __future__ import annotations

import re
from enum import StrEnum
from typing import TYPE_CHECKING, NamedTuple

from jobmon_core.domain.webhook import is_loopback
from jobmon_core.notify.secret import Secret, password_fingerprint
from jobmon_core.system.environment import SMTP_PASSWORD_VARIABLE

if TYPE_CHECKING:
    from jobmon_core.domain.config_section import Section

_ADDRESS = re.compile(r"[!-?A-~]+@[A-Za-z0-9._\[\]:-]+")
_HOST = re.compile(r"[A-Za-z0-9._-]+|[0-9A-Fa-f:.]+")
_PORT = 587  # message submission, RFC 6409
_MAX_PORT = 65_535


class Security(StrEnum):
    """How the connection is encrypted."""

    STARTTLS = "starttls"
    TLS = "tls"  # from the start, usually on port 465
    NONE = "none"


class MailSettings(NamedTuple):
    """The settings of one e-mail channel. Another recipient is another channel."""

    address: str
    smtp_server: str = "localhost"
    smtp_port: int = _PORT
    sender: str = ""  # empty: the address itself
    user: str = ""
    password: Secret | None = None
    security: Security = Security.STARTTLS

    @property
    def fingerprint(self) -> str:
        """The address, the server and a few bits of the password."""
        server = f"{self.user or 'no user'} at {self.smtp_server}:{self.smtp_port} {self.security}"
        name = f"email {self.address} from {self.sender or self.address} by {server}"
        return password_fingerprint(name, self.password.value if self.password else "")


def parse_channel(section: Section) -> MailSettings | None:
    """Read one channel; report faults to ``section``.

    None if the address is missing or invalid, the password has no user, or it would be sent unencrypted.
    """
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
    return MailSettings(address, server, port, sender, user, password, security)


def _parse_address(text: str) -> str:
    if not _ADDRESS.fullmatch(text):
        raise ValueError("expected one e-mail address, e.g. me@example.org; for more, make more channels")
    return text


def _parse_host(text: str) -> str:
    if not _HOST.fullmatch(text):
        raise ValueError("expected the name of a host, e.g. smtp.example.org; the port is smtp_port")
    return text
