"""The address of a Ray dashboard, as users write it."""

from __future__ import annotations

import pytest

from jobmon_core.domain.backends import url_of
from jobmon_core.domain.errors import SchedulerRejected
from jobmon_core.scheduler.ray.client import find_service


@pytest.mark.parametrize(
    ("address", "environment", "service", "url"),
    [
        ("", {}, "127.0.0.1:8265", "http://127.0.0.1:8265"),
        ("head:8265/", {"RAY_ADDRESS": "other:1"}, "head:8265", "http://head:8265"),
        (
            "",
            {"RAY_API_SERVER_ADDRESS": "https://ray.site.org"},
            "https://ray.site.org",
            "https://ray.site.org",
        ),
        ("", {"RAY_ADDRESS": "auto"}, "127.0.0.1:8265", "http://127.0.0.1:8265"),
    ],
)
def test_a_cluster_is_named_by_its_dashboard(
    address: str, environment: dict[str, str], service: str, url: str
) -> None:
    assert find_service(address, environment) == service
    assert url_of(service) == url


@pytest.mark.parametrize(
    "address", ["http://[::1", "ray://head:10001", "http://", "head:port", "head:0", "head:99999"]
)
def test_another_address_is_refused_in_one_line(address: str) -> None:
    with pytest.raises(SchedulerRejected, match="not the address of a Ray dashboard"):
        find_service(address, {})


@pytest.mark.parametrize(
    "address", ["http://me:hunter2@head", "http://head/?token=hunter2", "head:1/#hunter2"]
)
def test_a_secret_in_an_address_is_refused_and_not_shown(address: str) -> None:
    with pytest.raises(SchedulerRejected, match="more than a host and a port") as refused:
        find_service(address, {})
    assert "hunter2" not in str(refused.value)
