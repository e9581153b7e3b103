"""The only outbound HTTP of jobmon: one POST, whose secret address is in no error and no log.

Certificates are always checked. Proxies and CA bundles come from the environment, for many sites have no
other way out; ``~/.netrc`` does not, for a password meant for somebody else has no place in our request.
"""

from __future__ import annotations

import io
import logging
import re
import time
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

from jobmon_core.domain.webhook import is_loopback, mask_webhooks
from jobmon_core.notify.base import Answer, HttpRequest, HttpResponse, MaybeSent, NotSent

if TYPE_CHECKING:
    from collections.abc import Iterator

    import requests

_MOST_BYTES = 65_536  # of an answer: Discord's are a few thousand
_CHUNK_BYTES = 512
_TIMEOUTS = ("ConnectTimeout", "ReadTimeout", "ConnectTimeoutError", "ReadTimeoutError")
_OTHER_PATH = re.compile(r'("[A-Z]+ )(?!/api/v?[0-9]*/?webhooks/)\S+')
_TALKATIVE = ("urllib3.connectionpool", "urllib3.util.retry")  # log whole URLs at DEBUG and WARNING


def post(outgoing: HttpRequest, timeout_s: float) -> Answer:
    """Post ``outgoing`` and return the answer, or how far it got.

    Args:
        outgoing: The request; its body is JSON.
        timeout_s: Seconds for the connection, for each wait for the answer, and for the whole of its body.

    Returns:
        ``Reply`` for any status, redirects included, none of which is followed: the address is a secret.
        ``NotSent`` and ``MaybeSent`` hold a reason without the address.
    """
    # Imported here: a daemon that has nothing to say does not pay for the library's memory.
    import requests
    import urllib3

    _hush()
    body = _Body(outgoing.body)
    try:
        with requests.Session() as session:
            return _exchange(session, outgoing, body, timeout_s)
    except (OSError, ValueError, urllib3.exceptions.HTTPError) as error:
        # OSError covers everything of requests; its texts hold the URL and go no further than here.
        why = f"{outgoing.receiver}: {_reason(error, timeout_s)}"
    return MaybeSent(f"sent to {why}") if body.was_read else NotSent(f"could not reach {why}")


class _Body(io.BytesIO):
    """The bytes to send, which know whether anybody asked for them.

    They are asked for only when the connection stands and the headers are out, so this tells exactly
    whether a failure came before or after the message could have arrived.
    """

    was_read = False

    def read(self, size: int | None = -1, /) -> bytes:
        self.was_read = True
        return super().read(size)


def _exchange(
    session: requests.Session, outgoing: HttpRequest, body: _Body, timeout_s: float
) -> HttpResponse:
    """Send the request and read the answer; raises what requests and urllib3 raise."""
    session.auth = _no_credentials  # what is set here keeps ~/.netrc out
    host = urlsplit(outgoing.url).hostname or ""
    headers = {
        "User-Agent": outgoing.user_agent,
        "Content-Type": "application/json",
        "Accept": "application/json",
        "Accept-Encoding": "identity",  # so that the bound on the answer is one on memory too
        "Connection": "close",  # a kept connection may be dead, and then nobody knows what arrived
    }
    with session.post(
        outgoing.url,
        data=body,
        headers=headers,
        timeout=timeout_s,
        allow_redirects=False,
        stream=True,
        # a proxy has no way to this machine itself
        proxies={"no_proxy": host} if is_loopback(host) else None,
    ) as response:
        named = {name.lower(): value for name, value in response.headers.items()}
        return HttpResponse(response.status_code, named, _read(response, timeout_s))


def _read(response: requests.Response, timeout_s: float) -> bytes:
    """Return the start of an answer's body: the status has said what counts, so a broken one is cut."""
    import urllib3

    read = bytearray()
    deadline = time.monotonic() + timeout_s
    try:
        for chunk in response.iter_content(_CHUNK_BYTES):
            read += chunk
            if len(read) >= _MOST_BYTES or time.monotonic() > deadline:
                break
    except (OSError, urllib3.exceptions.HTTPError):
        return bytes(read)
    return bytes(read[:_MOST_BYTES])


def _no_credentials(request: requests.PreparedRequest) -> requests.PreparedRequest:
    """Add no credentials to a request."""
    return request


def _hush() -> None:
    """Keep webhook addresses out of what urllib3 logs; the same filter is added only once."""
    for name in _TALKATIVE:
        logging.getLogger(name).addFilter(_mask_record)


def _mask_record(record: logging.LogRecord) -> bool:
    """Hide in a log record what looks like a webhook's token, and the path of any other request."""
    record.msg, record.args = _OTHER_PATH.sub(r"\1/[hidden]", mask_webhooks(record.getMessage())), ()
    return True


def _reason(error: Exception, timeout_s: float) -> str:
    """Say what went wrong in words that cannot hold the URL: the system's own, or ours."""
    for cause in _causes(error):
        name = type(cause).__name__
        if name in _TIMEOUTS:
            return f"no answer within {timeout_s:g} s"
        said = cause.args[0] if cause.args else None
        if isinstance(said, str) and said.startswith("Tunnel connection failed"):  # http.client's own words
            return f"the proxy of this site refused it: {mask_webhooks(said)}"
        if isinstance(cause, OSError) and cause.strerror:
            return mask_webhooks(cause.strerror)
    return f"the connection failed ({type(error).__name__})"


def _causes(error: BaseException) -> Iterator[BaseException]:
    """Yield an error and what it was made from; innermost last, each once."""
    todo, seen = [error], set[int]()
    while todo:
        cause = todo.pop(0)
        if id(cause) in seen:
            continue
        seen.add(id(cause))
        yield cause
        inner = (getattr(cause, "reason", None), *cause.args, cause.__cause__, cause.__context__)
        todo += [each for each in inner if isinstance(each, BaseException)]
