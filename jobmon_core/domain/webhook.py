"""Webhook URLs, whose path is a secret: parsing them, and hiding the secret in texts."""

from __future__ import annotations

import re
from typing import NamedTuple
from urllib.parse import SplitResult, parse_qs, urlsplit

API_VERSION = 10  # a URL without a version uses v6, which is deprecated and whose errors name no field

_FORM = "a webhook URL looks like https://discord.com/api/webhooks/<id>/<token>"
_PATH = re.compile(r"/api(?:/v[0-9]+)?/webhooks/([0-9]{1,20})/([A-Za-z0-9._~-]+)/?")
# Also matches the forms in JSON (\/) and in a query (%2F). A separator starts with a character that cannot
# occur in the part before it, which keeps the search linear.
_SECRET = re.compile(r"(webhooks(?:\\?/|%2f)+)([0-9]{1,20})((?:\\?/|%2f)+)[\w.~%+=-]+", re.IGNORECASE)


class Mentions(NamedTuple):
    """The users and roles that a failure mentions, by their numeric ids."""

    users: tuple[str, ...] = ()
    roles: tuple[str, ...] = ()


class Webhook(NamedTuple):
    """A webhook that messages are posted to. ``str`` and ``repr`` never show the token.

    Whoever has the URL can post, edit and delete messages as this webhook; only ``token``, ``url`` and
    ``message_url`` reveal it.
    """

    origin: str  # scheme, host and port
    id: str
    token: str
    thread_id: str = ""  # empty: the channel itself

    @classmethod
    def parse(cls, text: str) -> Webhook:
        """Read a webhook URL as Discord's settings show it; the text of a ValueError does not quote it."""
        if not text.strip():
            raise ValueError("no webhook URL given")
        try:
            parts = split_address(text.strip(), "not a webhook URL")
        except ValueError as error:
            raise ValueError(f"{error}; {_FORM}") from None
        if parts.scheme == "http" and not is_loopback(parts.hostname or ""):
            raise ValueError(
                "plain http shows the token to the network: use https (http works for localhost only)"
            )
        match = _PATH.fullmatch(parts.path)
        if match is None:
            raise ValueError(f"not a webhook URL: its path is incomplete or has more parts; {_FORM}")
        return cls(f"{parts.scheme}://{parts.netloc.lower()}", match[1], match[2], _thread_id(parts.query))

    @property
    def url(self) -> str:
        """The secret URL to post to.

        It asks Discord to respond after saving the message; otherwise a failed save would look like success.
        """
        thread = f"&thread_id={self.thread_id}" if self.thread_id else ""
        return f"{self.origin}/api/v{API_VERSION}/webhooks/{self.id}/{self.token}?wait=true{thread}"

    def message_url(self, message_id: str) -> str:
        """Return the secret URL of a message that this webhook posted."""
        thread = f"?thread_id={self.thread_id}" if self.thread_id else ""
        path = f"webhooks/{self.id}/{self.token}/messages/{message_id}"
        return f"{self.origin}/api/v{API_VERSION}/{path}{thread}"

    def __str__(self) -> str:
        """Return the host and the last four digits of the id, enough to tell two webhooks apart."""
        return f"{urlsplit(self.origin).hostname} …{self.id[-4:]}"

    def __repr__(self) -> str:
        return f"Webhook({self})"


def mask_webhooks(text: str) -> str:
    """Return ``text`` with the token of every webhook URL hidden and its id cut to the last four digits."""
    return _SECRET.sub(lambda match: f"{match[1]}…{match[2][-4:]}{match[3]}[hidden]", text)


def is_loopback(host: str) -> bool:
    """Whether ``host`` (a name or an address without brackets) is this machine itself."""
    if host.lower() == "localhost":
        return True
    from ipaddress import ip_address  # rarely needed, and `jobmon submit` must be fast

    try:
        return ip_address(host).is_loopback
    except ValueError:
        return False


def _thread_id(query: str) -> str:
    """Return the thread id of a query, a number; its other parameters are dropped."""
    thread_id = parse_qs(query).get("thread_id", [""])[-1]
    if thread_id and not re.fullmatch(r"[0-9]{1,20}", thread_id):
        raise ValueError("not a webhook URL: its thread_id must be a number")
    return thread_id


_HOST = re.compile(r"[a-z0-9._-]+|[0-9a-f:.]+")


def split_address(text: str, fault: str) -> SplitResult:
    """Split an http(s) URL; the ValueError begins with ``fault`` and does not quote the URL."""
    # urlsplit would silently drop a line break
    if not text.isascii() or not text.isprintable() or " " in text:
        raise ValueError(f"{fault}: it contains white space, control characters or non-ASCII characters")
    try:
        parts = urlsplit(text)
        host, port = parts.hostname or "", parts.port
    except ValueError:  # its text quotes the URL
        raise ValueError(f"{fault}: its host or port cannot be read") from None
    if parts.scheme not in ("https", "http"):
        raise ValueError(f"{fault}: it must begin with https://")
    if "@" in parts.netloc or not _HOST.fullmatch(host) or port == 0:
        raise ValueError(f"{fault}: https:// must be followed by a host without user name and password")
    return parts
