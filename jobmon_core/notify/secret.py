"""Secrets of channels: URLs and tokens that never appear in a text by accident, and their fingerprints."""

from __future__ import annotations

import re
import zlib
from typing import TYPE_CHECKING, NamedTuple
from urllib.parse import unquote, urlsplit

from jobmon_core.domain.webhook import is_loopback, split_address

if TYPE_CHECKING:
    from collections.abc import Callable

HIDDEN = "[hidden]"  # as in domain/redaction, whose regexes are more than a monitor should load
_MIN_SECRET_CHARS = 6  # a shorter text may occur by chance; hiding it would make the rest unreadable


class SecretUrl(NamedTuple):
    """An http(s) URL, whose path and query are a secret. ``str`` and ``repr`` show only the host."""

    url: str

    @classmethod
    def parse(cls, text: str) -> SecretUrl:
        """Read a URL; ValueError, which does not quote it, also for plain http to another machine."""
        parts = split_address(text.strip(), "not a URL")
        if parts.scheme == "http" and not is_loopback(parts.hostname or ""):
            raise ValueError(
                "plain http shows the secret to the network: use https (http works for localhost only)"
            )
        return cls(text.strip())

    @property
    def host(self) -> str:
        """The host and port."""
        return urlsplit(self.url).netloc

    @property
    def secrets(self) -> tuple[str, ...]:
        """The parts that no text may show, the longest first."""
        parts = urlsplit(self.url)
        pieces = {parts.path.strip("/"), parts.query, *parts.path.split("/"), *re.split("[&=]", parts.query)}
        return long_enough(*pieces, *map(unquote, pieces))

    def __str__(self) -> str:
        return self.host

    def __repr__(self) -> str:
        return f"SecretUrl({self.host})"


class Secret(NamedTuple):
    """A token or a password. ``str`` and ``repr`` do not show it."""

    value: str

    @classmethod
    def matching(cls, form: re.Pattern[str], fault: str) -> Callable[[str], Secret]:
        """Return what reads a secret of this form; other texts are a ValueError, which says ``fault``."""

        def parse(text: str) -> Secret:
            if not form.fullmatch(text):
                raise ValueError(fault)
            return cls(text)

        return parse

    def __str__(self) -> str:
        return HIDDEN

    def __repr__(self) -> str:
        return f"Secret({HIDDEN})"


parse_token = Secret.matching(
    re.compile(r"[!-~]{1,500}"), "not a token, which has up to 500 ASCII characters and no white space"
)


def fingerprint(name: str, *secrets: str) -> str:
    """Return a text for state files that changes with the name or with a secret, and shows none."""
    return f"{name} ({zlib.crc32(chr(0).join(secrets).encode()):08x})"


def password_fingerprint(name: str, password: str) -> str:
    """Do as `fingerprint`, with too few bits of the password to check guesses."""
    if password:
        return f"{name} ({zlib.crc32(password.encode()) & 0xFFF:03x})"
    return name


def long_enough(*secrets: str) -> tuple[str, ...]:
    """Return the secrets that can be hidden in a text, the longest first."""
    return tuple(
        sorted({secret for secret in secrets if len(secret) >= _MIN_SECRET_CHARS}, key=len, reverse=True)
    )


def without_secrets(text: str, secrets: tuple[str, ...]) -> str:
    """Return a text, e.g. of a server that repeats what it was sent, without these secrets."""
    for secret in secrets:
        text = text.replace(secret, HIDDEN)
    return text
