"""Requests and responses of HTTP/1.1, read strictly and written with headers that keep a page private."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from http import HTTPStatus
from typing import TYPE_CHECKING
from urllib.parse import parse_qsl, unquote, urlsplit

if TYPE_CHECKING:
    from collections.abc import Mapping

MAX_HEAD_BYTES = 16_384
MAX_BODY_BYTES = 16_384
_MAX_HEADERS, _MAX_FIELDS = 64, 16
HTML, CSS, JAVASCRIPT = "text/html", "text/css", "text/javascript"
_LINE = re.compile(r"([A-Z]{1,16}) (/[!-~]*) HTTP/1\.[01]")
_HEADER = re.compile(r"([!#$%&'*+.^_`|~0-9A-Za-z-]+):[ \t]*([\t -~\x80-\xff]*?)[ \t]*")
# whatever a name or a log contains: only the page's own files are loaded, and no other page may frame it
_POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src data:; connect-src 'self'; "
    "form-action 'self'; base-uri 'none'; frame-ancestors 'none'"
)
_HEADERS = (
    f"Content-Security-Policy: {_POLICY}",
    "X-Content-Type-Options: nosniff",
    "X-Frame-Options: DENY",
    "Referrer-Policy: same-origin",  # with no-referrer, a form of the page would come from the origin "null"
    "Cross-Origin-Opener-Policy: same-origin",
    "Cross-Origin-Resource-Policy: same-origin",
    "Cache-Control: no-store",
    "Connection: close",
)


class BadRequest(Exception):
    """What was sent is refused with ``status``."""

    def __init__(self, status: HTTPStatus = HTTPStatus.BAD_REQUEST) -> None:
        """Refuse with ``status``."""
        super().__init__(status.phrase)
        self.status = status


@dataclass(frozen=True, slots=True)
class Request:
    """What a browser asks for. Names of headers are in lower case; ``path`` is decoded once."""

    method: str
    path: str
    query: Mapping[str, str] = field(default_factory=dict)
    headers: Mapping[str, str] = field(default_factory=dict)
    form: Mapping[str, str] = field(default_factory=dict)
    form_key: str = ""  # which a form of this visitor must bring back; set once the visitor is known

    @property
    def content_bytes(self) -> int:
        """How long its body is; BadRequest if it is too long or not said clearly."""
        text = self.headers.get("content-length", "0")
        if "transfer-encoding" in self.headers:
            raise BadRequest(HTTPStatus.NOT_IMPLEMENTED)
        if not (text.isascii() and text.isdecimal()):
            raise BadRequest
        if len(text) > len(str(MAX_BODY_BYTES)) or int(text) > MAX_BODY_BYTES:
            raise BadRequest(HTTPStatus.REQUEST_ENTITY_TOO_LARGE)
        return int(text)


@dataclass(frozen=True, slots=True)
class Response:
    """An answer. ``etag`` names its content; ``headers`` are further ones, each a line."""

    body: str = ""
    status: HTTPStatus = HTTPStatus.OK
    content_type: str = HTML
    etag: str = ""
    made_s: float = 0.0  # Unix seconds; 0: now, and of no interest
    headers: tuple[str, ...] = ()


def parse_head(head: bytes) -> Request:
    """Read the lines before the body; BadRequest for anything unusual."""
    lines = head.decode("latin-1").split("\r\n")
    match = _LINE.fullmatch(lines[0])
    if match is None or len(lines) > _MAX_HEADERS:
        raise BadRequest
    headers: dict[str, str] = {}
    for line in lines[1:]:
        header = _HEADER.fullmatch(line)
        if header is None or header[1].lower() in headers:  # which of two is meant?
            raise BadRequest
        headers[header[1].lower()] = header[2]
    try:
        target = urlsplit(match[2])
        path = unquote(target.path, errors="strict")
    except ValueError as error:
        raise BadRequest from error
    return Request(match[1], path, fields_of(target.query), headers)


def fields_of(text: str) -> dict[str, str]:
    """Read a query or the body of a form; BadRequest if it is none."""
    try:
        return dict(parse_qsl(text, keep_blank_values=True, errors="strict", max_num_fields=_MAX_FIELDS))
    except ValueError as error:
        raise BadRequest from error


def encoded(response: Response, *, with_body: bool = True) -> bytes:
    """Return the bytes of an answer."""
    body = response.body.encode("utf-8", "backslashreplace")
    lines = [
        f"HTTP/1.1 {response.status.value} {response.status.phrase}",
        f"Content-Type: {response.content_type}; charset=utf-8",
        *_HEADERS,
        *response.headers,
    ]
    if response.made_s:
        lines.append(f"Jobmon-Made: {response.made_s:.0f}")
    if response.etag:
        lines.append(f'ETag: "{response.etag}"')
    if response.status is not HTTPStatus.NOT_MODIFIED:
        lines.append(f"Content-Length: {len(body)}")
    head = "\r\n".join((*lines, "", "")).encode("latin-1")
    return head + body if with_body else head
