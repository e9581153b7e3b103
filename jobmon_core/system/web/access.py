"""Who may ask: the user, in a browser that opened an address with a one-time token.

The socket's folder keeps other users out already. This keeps out other pages in the user's own browser, and,
on a port, everybody on the machine.
"""

from __future__ import annotations

import os

# what `hmac` has; that module, and `secrets`, would load 0.9 MB of OpenSSL
from _operator import _compare_digest as compare_digest
from base64 import urlsafe_b64encode
from dataclasses import dataclass, field, replace
from http import HTTPStatus
from typing import TYPE_CHECKING
from urllib.parse import quote

from jobmon_core.system.web.request import BadRequest, Request, Response

if TYPE_CHECKING:
    from collections.abc import Callable

TOKEN_VALID_S = 900.0
_HOSTS = ("localhost", "127.0.0.1", "[::1]")
_MAX_VISITORS = 32
_METHODS = ("GET", "HEAD", "POST")


@dataclass(slots=True)
class Access:
    """The tokens that may be used once, and the browsers that used one."""

    now_s: Callable[[], float]
    _tokens: dict[str, float] = field(default_factory=dict, init=False)  # until when each is valid
    _visitors: dict[str, str] = field(default_factory=dict, init=False)  # the key of its forms, by cookie
    # cookies know no ports: with a name of its own, no other server on this host overwrites it
    _cookie: str = field(default_factory=lambda: f"jobmon-{os.urandom(4).hex()}", init=False)

    def new_token(self) -> str:
        """Return a token that one browser may use, within 15 minutes."""
        token = _random()
        self._tokens[token] = self.now_s() + TOKEN_VALID_S
        return token

    def admit(self, request: Request) -> Request | Response:
        """Return the request of a known visitor; else an answer: a cookie for a token; or BadRequest."""
        host = request.headers.get("host", "").lower()
        name, colon, port = host.rpartition(":")
        # any other name may be one that someone pointed at this machine, to read the page by their own
        if (name if colon and port.isdecimal() else host) not in _HOSTS:
            raise BadRequest(HTTPStatus.MISDIRECTED_REQUEST)
        if request.method not in _METHODS:
            raise BadRequest(HTTPStatus.METHOD_NOT_ALLOWED)
        if "token" in request.query:
            return self._welcome(request)
        form_key = self._form_key(request.headers.get("cookie", ""))
        if not form_key:
            raise BadRequest(HTTPStatus.UNAUTHORIZED)
        if request.method == "POST":
            is_own_page = request.headers.get("origin", "").lower() == f"http://{host}"
            if not (is_own_page and compare_digest(request.form.get("key", "").encode(), form_key.encode())):
                raise BadRequest(HTTPStatus.FORBIDDEN)
        return replace(request, form_key=form_key)

    def _welcome(self, request: Request) -> Response:
        until_s = 0.0
        if request.method == "GET":
            until_s = self._tokens.pop(_same(request.query["token"], self._tokens), 0.0)
        if until_s <= self.now_s():
            raise BadRequest(HTTPStatus.UNAUTHORIZED)
        cookie, self._visitors = _random(), dict([*self._visitors.items()][-_MAX_VISITORS:])
        self._visitors[cookie] = _random()
        return Response(
            status=HTTPStatus.SEE_OTHER,
            headers=(
                f"Location: /{quote(request.path.lstrip('/'))}",  # two slashes would begin the name of a host
                f"Set-Cookie: {self._cookie}={cookie}; HttpOnly; SameSite=Strict; Path=/",
            ),
        )

    def _form_key(self, cookies: str) -> str:
        pairs = (each.strip().partition("=") for each in cookies.split(";"))
        for name, _, value in pairs:
            if name == self._cookie and (key := self._visitors.get(_same(value, self._visitors))):
                return key
        return ""


def _random() -> str:
    return urlsafe_b64encode(os.urandom(32)).decode().rstrip("=")


def _same(given: str, known: dict[str, float] | dict[str, str]) -> str:
    """Return which of ``known`` is ``given``, after comparing all; empty for none."""
    return "".join(
        [each for each in known if compare_digest(each.encode(), given.encode("utf-8", "replace"))]
    )
