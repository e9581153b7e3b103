"""All HTTP requests but those of Apprise and kubectl. They keep the secret URL out of every error and log.

Certificates are always checked. Proxies and CA bundles are read from the environment, because many sites
require them. ``~/.netrc`` is ignored, so that no other service's password is sent.
"""

from __future__ import annotations

import io
import logging
import threading
import time
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import partial
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

from jobmon_core.domain.webhook import is_loopback, mask_webhooks
from jobmon_core.system.events import log_request

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    import requests

LINK_LOCAL = "169.254.169.254"  # the metadata service that a cloud has for each of its machines
_MAX_BYTES = 65_536  # of a response body; Discord sends a few thousand
_CHUNK_BYTES = 512
# names of exceptions of requests and urllib3: no connection was made, or time ran out
_NOT_CONNECTED = (
    "NewConnectionError",
    "NameResolutionError",
    "ConnectTimeoutError",
    "ProxyError",
    "SSLCertVerificationError",
)
_TIMEOUTS = ("ConnectTimeout", "ReadTimeout", "ConnectTimeoutError", "ReadTimeoutError")


@dataclass(frozen=True, slots=True)
class HttpRequest:
    """One request. The URL is a secret, so ``repr`` leaves it out."""

    url: str = field(repr=False)
    receiver: str  # the destination without its secret, for errors
    body: bytes  # unused by a GET
    user_agent: str
    content_type: str = "application/json"  # of the body
    headers: Mapping[str, str] = field(default_factory=dict, repr=False)  # further ones, e.g. a token
    max_bytes: int = _MAX_BYTES  # of the response body; what follows is left out


@dataclass(frozen=True, slots=True)
class HttpResponse:
    """An HTTP response. Header names are in lower case; a long body is truncated."""

    status: int
    headers: Mapping[str, str]
    body: bytes

    @property
    def is_success(self) -> bool:
        """Whether the status is one of success."""
        return 200 <= self.status < 300  # noqa: PLR2004 - HTTP status classes


@dataclass(frozen=True, slots=True)
class NotSent:
    """No part of the body was sent, so sending it again is safe. ``why`` contains no URL."""

    why: str


@dataclass(frozen=True, slots=True)
class MaybeSent:
    """The body may have been sent, but no response came: a repeat may be a duplicate. ``why`` has no URL."""

    why: str


SendResult = HttpResponse | NotSent | MaybeSent


@contextmanager
def recorded_results(receiver: str) -> Iterator[list[SendResult]]:
    """Yield a list that gets the result of each request that a library sends through `requests` in the block.

    ``receiver`` is the destination without its secret, for errors. Only for a short-lived process that sends
    nothing else: in the block, `requests.Session.send` is replaced for the whole process.
    """
    import requests
    import urllib3

    results: list[SendResult] = []
    original = requests.Session.send

    def send_recorded(
        session: requests.Session,
        request: requests.PreparedRequest,
        **options: Any,  # noqa: ANN401 - as of requests
    ) -> requests.Response:
        try:
            response = original(session, request, **options)
        except (OSError, urllib3.exceptions.HTTPError) as error:
            results.append(_failure(error, receiver, options.get("timeout")))
            raise
        headers = {name.lower(): value for name, value in response.headers.items()}
        results.append(HttpResponse(response.status_code, headers, response.content[:_MAX_BYTES]))
        return response

    log = logging.getLogger("urllib3")
    level = log.level
    log.setLevel(logging.CRITICAL)  # its warnings contain the URL; the library may send from other threads
    requests.Session.send = send_recorded  # type: ignore[method-assign, assignment] # for the block
    try:
        yield results
    finally:
        log.setLevel(level)
        requests.Session.send = original  # type: ignore[method-assign] # as before


def _failure(error: Exception, receiver: str, timeout: object) -> SendResult:
    limits_s = [each for each in (timeout if isinstance(timeout, tuple) else (timeout,)) if each]
    why = f"{receiver}: {_reason(error, max(limits_s, default=0.0))}"
    if any(type(cause).__name__ in _NOT_CONNECTED for cause in _causes(error)):
        return NotSent(f"could not reach {why}")
    return MaybeSent(f"sent to {why}")


def encode_form(parts: Mapping[str, str | tuple[str, bytes, str]]) -> tuple[bytes, str]:
    """Return the body of a ``multipart/form-data`` request, and its content type.

    A part is a text, or a file: its name, its content and its type.
    """
    from urllib3.filepost import encode_multipart_formdata  # only needed to send

    return encode_multipart_formdata(parts)


def send(method: str, request: HttpRequest, timeout_s: float) -> SendResult:
    """Send a request by a method such as POST; return its result, also if it failed; raise no network error.

    Redirects are not followed, because the URL is a secret. ``timeout_s`` applies to connecting, to each wait
    for data, and to the whole response body.
    """
    # imported here so that an idle monitor does not hold these libraries in memory
    import requests
    import urllib3

    body, started_s = _Body(request.body), time.monotonic()
    try:
        with _silenced(), requests.Session() as session:
            response = _exchange(session, method, request, body, timeout_s)
            log_request(method, request.receiver, f"status {response.status}", time.monotonic() - started_s)
            return response
    except (OSError, ValueError, urllib3.exceptions.HTTPError) as error:
        # OSError includes every error of requests; only _reason reads their texts, which contain the URL
        why = f"{request.receiver}: {_reason(error, timeout_s)}"
        log_request(method, why, "no response", time.monotonic() - started_s)
    return MaybeSent(f"sent to {why}") if body.was_read else NotSent(f"could not reach {why}")


_sending = threading.local()  # its `is_on`: whether this thread sends a request of jobmon


@contextmanager
def _silenced() -> Iterator[None]:
    """Keep what urllib3 logs in this thread out of every log: it contains the URL.

    Other requests of the program, which may use jobmon as a library, are logged as before.
    """
    for name in list(logging.root.manager.loggerDict):
        if name.partition(".")[0] == "urllib3":
            logging.getLogger(name).addFilter(_is_of_others)
    before, _sending.is_on = getattr(_sending, "is_on", False), True
    try:
        yield
    finally:
        _sending.is_on = before


def _is_of_others(_record: logging.LogRecord) -> bool:
    return not getattr(_sending, "is_on", False)


class _Body(io.BytesIO):
    """A request body that records whether it was read.

    It is read only after the connection is made and the headers are sent, so ``was_read`` tells whether the
    message may have arrived before a failure.
    """

    was_read = False

    def read(self, size: int | None = -1, /) -> bytes:
        self.was_read = True
        return super().read(size)


def _exchange(
    session: requests.Session, method: str, request: HttpRequest, body: _Body, timeout_s: float
) -> HttpResponse:
    session.auth = _no_credentials  # otherwise requests reads ~/.netrc
    host = urlsplit(request.url).hostname or ""
    headers = {
        **request.headers,
        "User-Agent": request.user_agent,
        "Content-Type": request.content_type,
        "Accept": "application/json",
        "Accept-Encoding": "identity",  # no compression, so that max_bytes also limits the memory
        "Connection": "close",  # on a stale connection it would be unclear whether the message arrived
    }
    with session.request(
        method,
        request.url,
        data=None if method == "GET" else body,
        headers=headers,
        timeout=timeout_s,
        allow_redirects=False,
        stream=True,
        # a proxy cannot reach what belongs to this machine
        proxies={"no_proxy": host} if is_loopback(host) or host == LINK_LOCAL else None,
    ) as response:
        response_headers = {name.lower(): value for name, value in response.headers.items()}
        body_bytes = _read(response, timeout_s, request.max_bytes)
        return HttpResponse(response.status_code, response_headers, body_bytes)


def _read(response: requests.Response, timeout_s: float, max_bytes: int) -> bytes:
    """Return the start of a response body, or what arrived of it before an error: the status matters more."""
    import urllib3

    body = bytearray()
    deadline = time.monotonic() + timeout_s
    # a peer that sends a byte now and then would keep `iter_content` until it has a whole chunk
    read1 = getattr(response.raw, "read1", None)  # urllib3 1 lacks it
    chunks = response.iter_content(_CHUNK_BYTES if max_bytes <= _MAX_BYTES else _MAX_BYTES)
    try:
        for chunk in iter(partial(read1, _MAX_BYTES, decode_content=True), b"") if read1 else chunks:
            body += chunk
            if len(body) >= max_bytes or time.monotonic() > deadline:
                break
    except (OSError, urllib3.exceptions.HTTPError):
        return bytes(body)
    return bytes(body[:max_bytes])


def _no_credentials(request: requests.PreparedRequest) -> requests.PreparedRequest:
    return request


def _reason(error: Exception, timeout_s: float) -> str:
    """Return the reason of a failure in a text that cannot contain the URL."""
    for cause in _causes(error):
        name = type(cause).__name__
        if name in _TIMEOUTS:
            return f"no answer within {timeout_s:g} s"
        text = cause.args[0] if cause.args else None
        if isinstance(text, str) and text.startswith("Tunnel connection failed"):  # from http.client
            return f"the proxy refused the request: {mask_webhooks(text)}"
        if isinstance(cause, OSError) and cause.strerror:
            return mask_webhooks(cause.strerror)
    return f"the connection failed ({type(error).__name__})"


def _causes(error: BaseException) -> Iterator[BaseException]:
    """Yield an error, then its causes, each once, the outermost first."""
    pending, seen = [error], set[int]()
    while pending:
        cause = pending.pop(0)
        if id(cause) in seen:
            continue
        seen.add(id(cause))
        yield cause
        inner = (getattr(cause, "reason", None), *cause.args, cause.__cause__, cause.__context__)
        pending += [value for value in inner if isinstance(value, BaseException)]
