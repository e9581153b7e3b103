"""Only a browser that opened an address with a fresh token is let in, and only by the name of this host."""

from __future__ import annotations

from http import HTTPStatus

import pytest

from jobmon_core.system.web.access import TOKEN_VALID_S, Access
from jobmon_core.system.web.request import BadRequest, Request, Response


class _Now:
    """A clock that the test moves."""

    def __init__(self) -> None:
        self.s = 1000.0

    def __call__(self) -> float:
        return self.s


@pytest.fixture
def now() -> _Now:
    return _Now()


@pytest.fixture
def access(now: _Now) -> Access:
    return Access(now)


def _request(method: str = "GET", path: str = "/", **headers: str) -> Request:
    return Request(method, path, headers={"host": "localhost:8765", **headers})


def _with_token(token: str, method: str = "GET", path: str = "/") -> Request:
    return Request(method, path, {"token": token, "q": "x"}, {"host": "127.0.0.1:8765"})


def _cookie(access: Access) -> str:
    answer = access.admit(_with_token(access.new_token()))
    assert isinstance(answer, Response)
    return answer.headers[1].removeprefix("Set-Cookie: ").partition(";")[0]


def _refused(access: Access, request: Request) -> HTTPStatus:
    with pytest.raises(BadRequest) as refused:
        access.admit(request)
    return refused.value.status


def test_a_token_becomes_a_cookie_that_scripts_cannot_read_and_other_sites_cannot_send(
    access: Access,
) -> None:
    answer = access.admit(_with_token(access.new_token(), path="/job/8123"))
    assert isinstance(answer, Response)
    assert answer.status is HTTPStatus.SEE_OTHER
    location, cookie = answer.headers
    assert location == "Location: /job/8123"
    assert cookie.endswith("; HttpOnly; SameSite=Strict; Path=/")


def test_a_token_leads_to_no_other_host(access: Access) -> None:
    for path in ("//evil.example/", "/\\evil.example", "/a\r\nSet-Cookie: x=y"):
        answer = access.admit(_with_token(access.new_token(), path=path))
        assert isinstance(answer, Response)
        assert answer.headers[0].startswith("Location: /")
        assert not answer.headers[0].startswith("Location: //")
        assert "\n" not in answer.headers[0]
        assert "\\" not in answer.headers[0]


def test_a_token_works_once(access: Access) -> None:
    token = access.new_token()
    access.admit(_with_token(token))
    assert _refused(access, _with_token(token)) is HTTPStatus.UNAUTHORIZED


def test_a_token_expires(access: Access, now: _Now) -> None:
    token = access.new_token()
    now.s += TOKEN_VALID_S + 1
    assert _refused(access, _with_token(token)) is HTTPStatus.UNAUTHORIZED


@pytest.mark.parametrize("token", ["", "x", "x" * 43, "\udcff", "é"])
def test_a_guessed_token_is_refused(access: Access, token: str) -> None:
    access.new_token()
    assert _refused(access, _with_token(token)) is HTTPStatus.UNAUTHORIZED


def test_a_token_is_not_spent_by_other_methods(access: Access) -> None:
    token = access.new_token()
    assert _refused(access, _with_token(token, "HEAD")) is HTTPStatus.UNAUTHORIZED
    assert isinstance(access.admit(_with_token(token)), Response)


def test_a_cookie_lets_in(access: Access) -> None:
    admitted = access.admit(_request(cookie=f"other=1; {_cookie(access)}"))
    assert isinstance(admitted, Request)
    assert admitted.form_key


def test_another_cookie_does_not(access: Access) -> None:
    name, _, value = _cookie(access).partition("=")
    for cookie in (
        "",
        f"{name}=",
        f"{name}={value}x",
        f"{name}={value[:-1]}",
        f"jobmon={value}",
        f"{name}=é",
    ):
        assert _refused(access, _request(cookie=cookie)) is HTTPStatus.UNAUTHORIZED


def test_the_cookie_of_another_server_on_this_host_does_not(access: Access, now: _Now) -> None:
    assert _refused(access, _request(cookie=_cookie(Access(now)))) is HTTPStatus.UNAUTHORIZED


@pytest.mark.parametrize(
    "host", ["localhost", "LOCALHOST:1", "127.0.0.1", "127.0.0.1:80", "[::1]", "[::1]:80"]
)
def test_the_host_may_have_a_port(access: Access, host: str) -> None:
    assert isinstance(access.admit(_request(host=host, cookie=_cookie(access))), Request)


@pytest.mark.parametrize(
    "host",
    [
        *("", "evil.example", "evil.example:8765", "localhost.evil.example", "127.0.0.1.evil.example"),
        *("localhost:", "localhost:x", "localhost:1:2", "user@localhost", "10.0.0.1", "[::1", "::1", "127.1"),
    ],
)
def test_a_name_that_someone_pointed_at_this_machine_is_refused_even_with_the_cookie(
    access: Access, host: str
) -> None:
    assert _refused(access, _request(host=host, cookie=_cookie(access))) is HTTPStatus.MISDIRECTED_REQUEST


def test_a_form_needs_the_key_and_the_origin_of_the_page(access: Access) -> None:
    cookie = _cookie(access)
    admitted = access.admit(_request(cookie=cookie))
    assert isinstance(admitted, Request)
    key = admitted.form_key

    def post(origin: str, form_key: str) -> Request:
        headers = {"host": "localhost:8765", "cookie": cookie, "origin": origin}
        return Request("POST", "/act", headers=headers, form={"key": form_key})

    assert isinstance(access.admit(post("http://localhost:8765", key)), Request)
    for origin in ("", "null", "http://localhost:9999", "https://localhost:8765", "http://127.0.0.1:8765"):
        assert _refused(access, post(origin, key)) is HTTPStatus.FORBIDDEN
    for wrong in ("", key[:-1], "é"):
        assert _refused(access, post("http://localhost:8765", wrong)) is HTTPStatus.FORBIDDEN


@pytest.mark.parametrize("method", ["PUT", "DELETE", "OPTIONS", "TRACE", "CONNECT", "PATCH"])
def test_other_methods_are_refused(access: Access, method: str) -> None:
    assert _refused(access, _request(method, cookie=_cookie(access))) is HTTPStatus.METHOD_NOT_ALLOWED
