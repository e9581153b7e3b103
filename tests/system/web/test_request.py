"""Requests are read strictly: what is unusual is refused, and nothing makes the reader fail otherwise."""

from __future__ import annotations

from http import HTTPStatus

import pytest
from hypothesis import given
from hypothesis import strategies as st

from jobmon_core.system.web.request import BadRequest, Response, encoded, fields_of, parse_head


def test_a_request_is_read() -> None:
    request = parse_head(b"GET /job/8123%5F7?q=a%20b&x= HTTP/1.1\r\nHost: localhost:1\r\nX-Y:  z ")
    assert (request.method, request.path) == ("GET", "/job/8123_7")
    assert request.query == {"q": "a b", "x": ""}
    assert request.headers == {"host": "localhost:1", "x-y": "z"}


@pytest.mark.parametrize(
    "head",
    [
        b"",
        b"GET / HTTP/2.0",
        b"GET http://evil.example/ HTTP/1.1",
        b"GET  / HTTP/1.1",
        b"GET /a b HTTP/1.1",
        b"get / HTTP/1.1",
        b"GET /%ff HTTP/1.1",
        b"GET / HTTP/1.1\r\nHost : localhost",
        b"GET / HTTP/1.1\r\n folded: x",
        b"GET / HTTP/1.1\r\nHost: a\r\nhost: b",
        b"GET / HTTP/1.1\nHost: a",
        b"GET / HTTP/1.1\r\nA: b\x00c",
        b"GET /?" + b"a&" * 40 + b" HTTP/1.1",
        b"GET / HTTP/1.1" + b"".join(b"\r\nX-%d: y" % number for number in range(80)),
    ],
)
def test_what_is_unusual_is_refused(head: bytes) -> None:
    with pytest.raises(BadRequest):
        parse_head(head)


@pytest.mark.parametrize(
    ("header", "status"),
    [
        (b"Transfer-Encoding: chunked", HTTPStatus.NOT_IMPLEMENTED),
        (b"Content-Length: -1", HTTPStatus.BAD_REQUEST),
        (b"Content-Length: 1e3", HTTPStatus.BAD_REQUEST),
        (b"Content-Length: " + b"9" * 4000, HTTPStatus.REQUEST_ENTITY_TOO_LARGE),
    ],
)
def test_a_body_of_unclear_or_large_size_is_refused(header: bytes, status: HTTPStatus) -> None:
    request = parse_head(b"POST /act HTTP/1.1\r\n" + header)
    with pytest.raises(BadRequest) as refused:
        _ = request.content_bytes
    assert refused.value.status is status


@given(st.binary(max_size=300))
def test_no_bytes_make_the_reader_fail(head: bytes) -> None:
    for data in (head, b"GET /" + head + b" HTTP/1.1", b"GET / HTTP/1.1\r\n" + head):
        try:
            parse_head(data)
        except BadRequest:
            continue


@given(st.text(max_size=200))
def test_no_form_makes_the_reader_fail(text: str) -> None:
    try:
        fields_of(text)
    except BadRequest:
        return


def test_an_answer_names_no_server_and_carries_the_policy() -> None:
    head = encoded(Response("text")).decode()
    assert "Server:" not in head
    assert "default-src 'none'; script-src 'self'" in head
    assert "unsafe" not in head
    for line in (
        "X-Content-Type-Options: nosniff",
        "Cache-Control: no-store",
        "Referrer-Policy: same-origin",
    ):
        assert line in head
    assert head.endswith("Content-Length: 4\r\n\r\ntext")
