from __future__ import annotations

import pickle

import pytest
from hypothesis import given
from hypothesis import strategies as st

from jobmon_core.domain.webhook import Webhook, is_loopback, mask_webhooks

ID = "112233445566778899"
TOKEN = "aB3-_" * 13 + "xYz"
BASE = f"https://discord.com/api/webhooks/{ID}/{TOKEN}"
SENT = f"https://discord.com/api/v10/webhooks/{ID}/{TOKEN}?wait=true"


@pytest.mark.parametrize(
    "text",
    [
        BASE,
        f"  {BASE}\n",
        f"{BASE}/",
        f"{BASE}?wait=false",
        BASE.replace("/api/", "/api/v6/"),
        BASE.replace("/api/", "/api/v10/"),
        BASE.replace("https://discord.com", "HTTPS://Discord.COM"),
    ],
)
def test_every_spelling_of_a_webhook_becomes_version_10_and_waits_for_the_answer(text: str) -> None:
    assert Webhook.parse(text).url == SENT


def test_a_thread_named_in_the_url_is_kept() -> None:
    assert Webhook.parse(f"{BASE}?thread_id=42").url == f"{SENT}&thread_id=42"


def test_what_was_parsed_is_parsed_again_to_the_same() -> None:
    webhook = Webhook.parse(f"{BASE}?thread_id=42")
    assert Webhook.parse(webhook.url) == webhook


@pytest.mark.parametrize(
    "origin",
    [
        "https://discordapp.com",
        "https://ptb.discord.com",
        "https://relay.example:8443",
        "https://[2001:db8::1]:9",
    ],
)
def test_https_may_go_to_any_host(origin: str) -> None:
    assert Webhook.parse(BASE.replace("https://discord.com", origin)).origin == origin


@pytest.mark.parametrize(
    "origin", ["http://localhost:8080", "http://127.0.0.1:1", "http://127.9.9.9", "http://[::1]:5"]
)
def test_plain_http_may_go_to_this_machine_itself(origin: str) -> None:
    assert Webhook.parse(BASE.replace("https://discord.com", origin)).origin == origin


@pytest.mark.parametrize(
    "origin",
    [
        "http://discord.com",
        "http://10.0.0.1",
        "http://localhost.evil.example",
        "http://[2001:db8::1]",
        "http://0.0.0.0",
    ],
)
def test_plain_http_to_another_machine_is_refused(origin: str) -> None:
    with pytest.raises(ValueError, match="plain http"):
        Webhook.parse(BASE.replace("https://discord.com", origin))


@pytest.mark.parametrize(
    "text",
    [
        "",
        TOKEN,
        f"discord.com/api/webhooks/{ID}/{TOKEN}",
        f"ftp://discord.com/api/webhooks/{ID}/{TOKEN}",
        f"https://discord.com/api/webhooks/{TOKEN}",
        f"https://discord.com/api/webhooks/{ID}/",
        f"https://discord.com/api/webhooks/x{ID}/{TOKEN}",
        f"https://discord.com/webhooks/{ID}/{TOKEN}",
        f"{BASE}/slack",
        f"{BASE}?thread_id={TOKEN}",
        f"https://discord.com/api/webhooks/{ID}/{TOKEN[:9]}\n{TOKEN[9:]}",
        f"https://discord.com/api/webhooks/{ID}/{TOKEN[:9]} {TOKEN[9:]}",
        f"https://me:{TOKEN}@discord.com/api/webhooks/{ID}/{TOKEN}",
        f"https://discord.com:{TOKEN}/api/webhooks/{ID}/{TOKEN}",
        f"https://[{TOKEN}]/api/webhooks/{ID}/{TOKEN}",
        f"https://discord.com:0/api/webhooks/{ID}/{TOKEN}",
        f"https://discord.com\\@x/api/webhooks/{ID}/{TOKEN}",
        f"https:///api/webhooks/{ID}/{TOKEN}",
        f"https://dïscord.com/api/webhooks/{ID}/{TOKEN}",
        f"'{BASE}'",
    ],
)
def test_what_is_no_webhook_is_refused_without_repeating_it(text: str) -> None:
    with pytest.raises(ValueError, match="webhook URL") as caught:
        Webhook.parse(text)
    assert TOKEN[:9] not in repr(caught.value)
    assert caught.value.__cause__ is None


@given(st.text() | st.text(alphabet="htps:/[]@.?#%\\w12a\n").map(lambda tail: f"https://{tail}"))
def test_no_text_makes_parsing_fail_in_another_way(text: str) -> None:
    try:
        webhook = Webhook.parse(text)
    except ValueError:
        return
    assert webhook.token in webhook.url


def test_neither_form_of_text_shows_the_token() -> None:
    webhook = Webhook.parse(BASE)
    assert str(webhook) == "discord.com …8899"
    assert TOKEN not in repr(webhook)


def test_a_webhook_survives_the_way_to_a_child() -> None:
    webhook = Webhook.parse(BASE)
    assert pickle.loads(pickle.dumps(webhook)) == webhook  # noqa: S301 - made one line above


@pytest.mark.parametrize(
    "text",
    [
        BASE,
        f"POST /api/v10/webhooks/{ID}/{TOKEN}?wait=true HTTP/1.1",
        f'{{"url": "https:\\/\\/discord.com\\/api\\/webhooks\\/{ID}\\/{TOKEN}"}}',
        f"next=https%3A%2F%2Fdiscord.com%2Fapi%2Fwebhooks%2F{ID}%2F{TOKEN}",
        f"HTTPS://DISCORD.COM/API/WEBHOOKS/{ID}/{TOKEN}",
        f"webhooks//{ID}//{TOKEN}",
    ],
)
def test_a_token_is_hidden_wherever_it_stands(text: str) -> None:
    masked = mask_webhooks(f"before {text} after")
    assert TOKEN not in masked
    assert "8899" in masked
    assert masked.startswith("before ")
    assert masked.endswith(" after")
    assert mask_webhooks(masked) == masked


def test_other_text_is_left_as_it_is() -> None:
    text = "see docs/webhooks/README and webhooks/12 and api/jobs/1/abc"
    assert mask_webhooks(text) == text


@pytest.mark.parametrize(
    ("host", "own"),
    [
        ("LOCALHOST", True),
        ("127.0.0.1", True),
        ("::1", True),
        ("10.1.1.1", False),
        ("127.0.0.1.nip.io", False),
        ("", False),
    ],
)
def test_this_machine_is_told_from_others(host: str, own: bool) -> None:  # noqa: FBT001 - a column of the table
    assert is_loopback(host) is own
