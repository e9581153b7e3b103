from __future__ import annotations

import pytest

from jobmon_core.domain.heartbeat import HeartbeatUrl, is_due, mask_addresses

SECRET = "eb095278-f28d-448d-87fb-7b75c171a6aa"


@pytest.mark.parametrize("scheme", ["http", "https"])
def test_any_web_address_will_do_and_shows_only_its_host(scheme: str) -> None:
    address = HeartbeatUrl.parse(f"{scheme}://hc.example.org:8443/ping/{SECRET}?m=1")
    assert address.url.endswith(f"/ping/{SECRET}?m=1")
    assert (str(address), repr(address)) == ("hc.example.org", "HeartbeatUrl(host='hc.example.org')")


@pytest.mark.parametrize(
    "text", ["", "hc-ping.com/x", "ftp://x/y", "https:///", "https://a:b@x/y", "https://x:0/", "https://x/é"]
)
def test_what_is_no_web_address_is_refused_without_being_repeated(text: str) -> None:
    with pytest.raises(ValueError, match="not a URL") as caught:
        HeartbeatUrl.parse(text and text + SECRET)
    assert SECRET not in str(caught.value)


@pytest.mark.parametrize("between", ["/", "?", "\\/", "#"])
def test_an_address_in_a_text_keeps_only_its_host(between: str) -> None:
    assert mask_addresses(f"'https://x.org{between}{SECRET}', no") == "'https://x.org/[hidden]', no"


def test_a_call_is_due_once_an_interval_and_when_the_clock_was_set_back() -> None:
    assert [is_due(now_s, 100.0, 30.0) for now_s in (100.0, 129.9, 130.0, 99.0)] == [False, False, True, True]


def test_failures_make_calls_less_frequent_down_to_one_in_ten_minutes() -> None:
    for interval_s, failures, wait_s in (
        (30, 0, 30),
        (30, 1, 60),
        (30, 2, 120),
        (30, 5, 600),
        (30, 10_000, 600),
        (1000, 3, 1000),
    ):
        assert not is_due(100.0 + wait_s - 0.1, 100.0, interval_s, failures)
        assert is_due(100.0 + wait_s, 100.0, interval_s, failures)
