from __future__ import annotations

import logging
import socket
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
import requests

from jobmon_core.domain.channels import Route
from jobmon_core.domain.webhook import Webhook
from jobmon_core.system.http import HttpRequest, HttpResponse, MaybeSent, NotSent, SendResult, send
from tests.support import discord_answers as answers
from tests.support.fake_discord import FakeDiscord
from tests.support.waiting import eventually

_MANY = 400  # pieces, one each 0.2 s: far longer than a request may take

TOKEN = "aB3-_" * 13 + "xYz"
BODY = b'{"content": "hello", "allowed_mentions": {"parse": []}}'
FAR = f"https://discord.invalid/api/webhooks/112233445566778899/{TOKEN}"


def outgoing(url: str, body: bytes = BODY) -> HttpRequest:
    webhook = Webhook.parse(url)
    return HttpRequest(webhook.url, str(webhook), body, "DiscordBot (https://example.org, 1.0)")


@pytest.fixture(autouse=True)
def _no_settings_of_this_site(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    for name in (
        "HTTP_PROXY",
        "HTTPS_PROXY",
        "ALL_PROXY",
        "NO_PROXY",
        "REQUESTS_CA_BUNDLE",
        "CURL_CA_BUNDLE",
        "NETRC",
    ):
        monkeypatch.delenv(name, raising=False)
        monkeypatch.delenv(name.lower(), raising=False)
    monkeypatch.setenv("HOME", str(tmp_path))


@pytest.fixture
def listener() -> Iterator[socket.socket]:
    """A port that accepts connections and says what the test says."""
    with socket.create_server(("127.0.0.1", 0)) as server:
        yield server


def url_of(server: socket.socket) -> str:
    return f"http://127.0.0.1:{server.getsockname()[1]}/api/webhooks/112233445566778899/{TOKEN}"


def speaking(server: socket.socket, talk: Callable[[socket.socket], None]) -> threading.Thread:
    def serve() -> None:
        connection, _ = server.accept()
        with connection:
            connection.recv(65_536)
            talk(connection)

    thread = threading.Thread(target=serve)
    thread.start()
    return thread


def test_an_answer_comes_back_with_status_headers_and_body(discord: FakeDiscord) -> None:
    discord.script(answers.rate_limited(0.376))
    answer = send("POST", outgoing(discord.error_url), 60)
    assert isinstance(answer, HttpResponse)
    assert answer.status == 429
    assert answer.headers["retry-after"] == "1"
    assert b'"retry_after": 0.376' in answer.body


def test_a_request_arrives_complete_with_our_user_agent(discord: FakeDiscord) -> None:
    send("POST", outgoing(discord.error_url), 60)
    (attempt,) = discord.attempts
    assert attempt.payload == {"content": "hello", "allowed_mentions": {"parse": []}}
    assert attempt.headers["user-agent"] == "DiscordBot (https://example.org, 1.0)"
    assert attempt.headers["content-type"] == "application/json"
    assert "?wait=true" in attempt.path


def test_a_refused_connection_means_nothing_was_sent() -> None:
    with socket.create_server(("127.0.0.1", 0)) as closed:
        url = url_of(closed)
    answer = send("POST", outgoing(url), 5)
    assert answer == NotSent("could not reach 127.0.0.1 …8899: Connection refused")


def test_a_name_that_does_not_exist_means_nothing_was_sent() -> None:
    answer = send("POST", outgoing(FAR), 60)
    assert isinstance(answer, NotSent)
    assert answer.why.startswith("could not reach discord.invalid …8899: ")


def test_silence_after_sending_may_mean_delivered(discord: FakeDiscord) -> None:
    discord.script(answers.hang(saves=True))
    answer = send("POST", outgoing(discord.error_url), 2.0)
    assert answer == MaybeSent("sent to 127.0.0.1 …2211: no answer within 2 s")
    eventually(lambda: bool(discord.received(Route.ERROR)))  # a busy server may read it only now


def test_a_connection_that_breaks_after_sending_may_mean_delivered(discord: FakeDiscord) -> None:
    discord.script(answers.close_read(saves=True))
    assert isinstance(send("POST", outgoing(discord.error_url), 60), MaybeSent)


def test_a_status_counts_even_if_the_body_breaks_off(discord: FakeDiscord) -> None:
    discord.script(answers.break_off())
    answer = send("POST", outgoing(discord.error_url), 60)
    assert isinstance(answer, HttpResponse)
    assert answer.status == 200


def test_a_peer_that_speaks_no_tls_was_sent_nothing(listener: socket.socket) -> None:
    peer = speaking(listener, lambda connection: connection.sendall(b"HTTP/1.1 400 Bad Request\r\n\r\n"))
    answer = send("POST", outgoing(url_of(listener).replace("http://", "https://")), 60)
    peer.join()
    assert isinstance(answer, NotSent)


def test_an_endless_body_is_read_in_part_only(listener: socket.socket) -> None:
    def talk(connection: socket.socket) -> None:
        connection.sendall(b"HTTP/1.1 200 OK\r\n\r\n")
        try:
            while True:
                connection.sendall(b"x" * 65_536)
        except OSError:
            return

    peer = speaking(listener, talk)
    answer = send("POST", outgoing(url_of(listener)), 60)
    peer.join()
    assert isinstance(answer, HttpResponse)
    assert len(answer.body) == 65_536


@pytest.mark.parametrize("size", [1, 512])
@pytest.mark.parametrize("coding", ["identity", "chunked"])
def test_a_body_that_trickles_ends_with_the_time_allowed(
    listener: socket.socket, coding: str, size: int
) -> None:
    ended, sent = threading.Event(), list[bytes]()

    def talk(connection: socket.socket) -> None:
        connection.sendall(f"HTTP/1.1 200 OK\r\nTransfer-Encoding: {coding}\r\n\r\n".encode())
        piece = b"x" * size
        while not ended.wait(0.2) and len(sent) < _MANY:
            connection.sendall(b"%x\r\n%b\r\n" % (size, piece) if coding == "chunked" else piece)
            sent.append(piece)

    peer = speaking(listener, talk)
    answer = send("POST", outgoing(url_of(listener)), 2.0)
    ended.set()
    peer.join()
    assert isinstance(answer, HttpResponse)
    assert set(answer.body) == {ord("x")}
    assert len(sent) < _MANY  # it was left before


def test_a_redirect_is_reported_and_never_followed(discord: FakeDiscord) -> None:
    with FakeDiscord() as elsewhere:
        discord.script(answers.redirect(elsewhere.error_url))
        answer = send("POST", outgoing(discord.error_url), 60)
        assert isinstance(answer, HttpResponse)
        assert answer.status == 307
        assert elsewhere.attempts == []


def test_passwords_of_the_netrc_file_are_not_sent(discord: FakeDiscord, tmp_path: Path) -> None:
    netrc = tmp_path / ".netrc"
    netrc.write_text("machine 127.0.0.1 login me password secret\ndefault login me password secret\n")
    netrc.chmod(0o600)
    send("POST", outgoing(discord.error_url), 60)
    assert "authorization" not in discord.attempts[0].headers


@pytest.mark.parametrize("name", ["HTTPS_PROXY", "https_proxy", "ALL_PROXY"])
def test_a_proxy_learns_the_host_and_not_the_token(
    name: str, listener: socket.socket, monkeypatch: pytest.MonkeyPatch
) -> None:
    heard: list[bytes] = []

    def serve() -> None:
        connection, _ = listener.accept()
        with connection:
            heard.append(connection.recv(65_536))
            connection.sendall(b"HTTP/1.1 403 Forbidden\r\n\r\n")

    peer = threading.Thread(target=serve)
    peer.start()
    monkeypatch.setenv(name, f"http://user:hunter2@127.0.0.1:{listener.getsockname()[1]}")
    answer = send("POST", outgoing(FAR), 60)
    peer.join()
    assert heard[0].startswith(b"CONNECT discord.invalid:443 ")
    assert TOKEN.encode() not in heard[0]
    assert isinstance(answer, NotSent)
    assert "the proxy refused the request: Tunnel connection failed: 403 Forbidden" in answer.why


def test_a_receiver_on_this_machine_is_reached_past_any_proxy(
    discord: FakeDiscord, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("HTTP_PROXY", "http_proxy", "ALL_PROXY"):
        monkeypatch.setenv(name, "http://127.0.0.1:1")
    assert isinstance(send("POST", outgoing(discord.error_url), 60), HttpResponse)


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("HTTPS_PROXY", "http://"),
        ("HTTPS_PROXY", "nonsense://127.0.0.1:1"),
        ("HTTPS_PROXY", "http://127.0.0.1:1"),
        ("HTTPS_PROXY", "socks5://127.0.0.1:1"),
        ("REQUESTS_CA_BUNDLE", "/no/such/bundle.pem"),
    ],
)
def test_a_broken_environment_is_a_reason_not_a_crash(
    name: str, value: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(name, value)
    assert isinstance(send("POST", outgoing(FAR), 60), NotSent)


def failures(listener: socket.socket, discord: FakeDiscord) -> Iterator[SendResult]:
    discord.script(answers.hang(), answers.close_read(), answers.close_unread(), answers.server_error())
    for _ in range(4):
        yield send("POST", outgoing(discord.error_url), 2.0)
    yield send("POST", outgoing(FAR), 60)
    yield send("POST", outgoing(f"https://{'x' * 70}.example/api/webhooks/1/{TOKEN}"), 5)
    port = listener.getsockname()[1]
    yield send("POST", outgoing(f"https://127.0.0.1:{port}/api/webhooks/1/{TOKEN}"), 0.2)


def test_no_failure_and_no_log_line_holds_the_token(
    listener: socket.socket, discord: FakeDiscord, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.DEBUG)
    for answer in failures(listener, discord):
        assert TOKEN not in repr(answer)
        assert "eRr0r" not in repr(answer)
    assert TOKEN not in caplog.text
    assert "eRr0r" not in caplog.text


def test_what_the_program_that_uses_jobmon_sends_itself_is_logged_as_before(
    discord: FakeDiscord, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.DEBUG)
    send("POST", outgoing(discord.error_url), 60)
    assert not [each for each in caplog.records if each.name.startswith("urllib3")]
    requests.get(discord.error_url, timeout=60)
    assert [each for each in caplog.records if each.name.startswith("urllib3")]


def test_a_request_does_not_show_its_address() -> None:
    assert TOKEN not in repr(outgoing(FAR))


def test_the_http_library_is_loaded_only_to_send() -> None:
    modules = "jobmon_core.system.http, jobmon_core.notify.discord.channel"
    check = f"import sys, {modules}; sys.exit('requests' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", check], check=False).returncode == 0
