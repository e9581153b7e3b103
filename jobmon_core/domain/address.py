"""Taking a web address apart. No error repeats anything of it: what follows the host may be a secret."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

if TYPE_CHECKING:
    from urllib.parse import SplitResult

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
