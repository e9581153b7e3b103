"""The address of a webhook, whose path is a secret: reading it, and keeping it out of every text."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import TYPE_CHECKING
from urllib.parse import parse_qs, urlsplit

if TYPE_CHECKING:
    from urllib.parse import SplitResult


API_VERSION = 10  # a URL without a version falls to v6, deprecated, whose errors name no field

_PATH = re.compile(r"/api(?:/v[0-9]+)?/webhooks/([0-9]{1,20})/([A-Za-z0-9._~-]+)/?")
# Also as it stands in JSON (\/) and in a query (%2F); each separator begins with another character
# than what follows it, so that the search stays linear.
_SECRET = re.compile(r"(webhooks(?:\\?/|%2f)+)([0-9]{1,20})((?:\\?/|%2f)+)[\w.~%+=-]+", re.IGNORECASE)


@dataclass(frozen=True, slots=True, repr=False)
class Webhook:
    """Where a channel's messages are posted. ``str`` and ``repr`` never show the token.

    Whoever holds the URL can post, edit and delete as this webhook: only ``url`` gives it away.
    """

    origin: str  # scheme, host and port
    id: str
    token: str = field(repr=False)
    thread_id: str = ""  # empty: the channel itself

    @classmethod
    def parse(cls, text: str) -> Webhook:
        """Read a webhook URL as Discord's settings show it, versioned or not.

        Raises:
            ValueError: It is not one; the message says what is wrong and repeats nothing of it.
        """
        parts = _split(text.strip())
        found = _PATH.fullmatch(parts.path)
        if found is None:
            raise ValueError("not a webhook URL: its path has to be /api/webhooks/<id>/<token> and no more")
        return cls(_origin(parts), found[1], found[2], _thread_id(parts.query))

    @property
    def url(self) -> str:
        """The secret address to post to.

        It asks Discord to wait until the message is saved: without that a message that was not saved
        is no error.
        """
        thread = f"&thread_id={self.thread_id}" if self.thread_id else ""
        return f"{self.origin}/api/v{API_VERSION}/webhooks/{self.id}/{self.token}?wait=true{thread}"

    @property
    def host(self) -> str:
        """The host's name or address, without the port."""
        return urlsplit(self.origin).hostname or ""

    def __str__(self) -> str:
        """Return the host and the last four digits of the id, enough to tell two webhooks apart."""
        return f"{self.host} …{self.id[-4:]}"

    def __repr__(self) -> str:
        """Return ``str`` in the form of a constructor."""
        return f"Webhook({self})"


def mask_webhooks(text: str) -> str:
    """Return ``text`` with the token of everything that looks like a webhook's address hidden."""
    return _SECRET.sub(lambda found: f"{found[1]}…{found[2][-4:]}{found[3]}[hidden]", text)


def is_loopback(host: str) -> bool:
    """Tell whether ``host`` (a name or an address without brackets) is this machine itself."""
    if host.lower() == "localhost":
        return True
    from ipaddress import ip_address  # rarely needed, and submitting must stay quick

    try:
        return ip_address(host).is_loopback
    except ValueError:
        return False


def _split(text: str) -> SplitResult:
    """Take a URL apart and check what comes before its path."""
    if not text:
        raise ValueError("no webhook URL given")
    parts = split_address(text, "not a webhook URL")
    if parts.scheme == "http" and not is_loopback(parts.hostname or ""):
        raise ValueError("plain http shows the token to the network: use https (http is for localhost alone)")
    return parts


def _origin(parts: SplitResult) -> str:
    """Join scheme, host and port again, in lower case."""
    host = parts.hostname or ""
    port = "" if parts.port is None else f":{parts.port}"
    return f"{parts.scheme}://[{host}]{port}" if ":" in host else f"{parts.scheme}://{host}{port}"


def _thread_id(query: str) -> str:
    """Return the thread that a URL names; what else a query holds is jobmon's to say."""
    given = parse_qs(query).get("thread_id", [""])[-1]
    if given and not re.fullmatch(r"[0-9]{1,20}", given):
        raise ValueError("not a webhook URL: its thread_id has to be a number")
    return given


_HOST = re.compile(r"[a-z0-9._-]+|[0-9a-f:.]+")


def split_address(text: str, fault: str) -> SplitResult:
    """Take an http(s) address apart.

    Args:
        text: the address.
        fault: how the message of an error begins, such as "not a webhook URL".

    Raises:
        ValueError: it is none; says why.
    """
    # urlsplit would silently drop a line break in the middle
    if not text.isascii() or not text.isprintable() or " " in text:
        raise ValueError(f"{fault}: it holds white space, control characters or non-ASCII letters")
    try:
        parts = urlsplit(text)
        host, port = parts.hostname or "", parts.port
    except ValueError:  # its words quote what it could not read
        raise ValueError(f"{fault}: its host or port cannot be read") from None
    if parts.scheme not in ("https", "http"):
        raise ValueError(f"{fault}: it has to begin with https://")
    if "@" in parts.netloc or not _HOST.fullmatch(host) or port == 0:
        raise ValueError(f"{fault}: after https:// comes a host, with no user name or password")
    return parts
