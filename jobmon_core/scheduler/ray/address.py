"""The address of a Ray dashboard, and the name that stands for it: ``127.0.0.1:8265``."""

from __future__ import annotations

from contextlib import suppress
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

from jobmon_core.domain.errors import SchedulerRejected

if TYPE_CHECKING:
    from collections.abc import Mapping

DEFAULT_URL = "http://127.0.0.1:8265"  # the default of `ray job submit`
_VARIABLES = ("RAY_API_SERVER_ADDRESS", "RAY_ADDRESS")  # in the order in which `ray job submit` reads them
_HTTP = "http://"


def find_service(address: str, environment: Mapping[str, str]) -> str:
    """Return the name of the Ray cluster: by ``--address``, else by Ray's variables, else this machine's.

    Raises:
        SchedulerRejected: it is not the address of a dashboard, or contains more, e.g. a password.
    """
    named = next((name for name in _VARIABLES if environment.get(name, "").strip()), "")
    text = address.strip() or environment.get(named, "").strip()
    if text in ("", "auto", "local"):
        return service_name(DEFAULT_URL)
    source = "--address" if address.strip() else named
    url = text if "://" in text else f"{_HTTP}{text}"
    if _has_secret(url):  # it is not shown
        raise SchedulerRejected(
            f"{source} contains more than a host and a port, perhaps a password; put headers for a proxy into"
            " the variable RAY_JOB_HEADERS"
        )
    if not _is_address(url):
        raise SchedulerRejected(
            f"{source} is {text!r}, which is not the address of a Ray dashboard; write {_HTTP}HOST:8265"
        )
    return service_name(url)


def _has_secret(url: str) -> bool:
    with suppress(ValueError):  # e.g. http://[::1
        parts = urlsplit(url)
        return any((parts.username, parts.password, parts.query, parts.fragment))
    return False


def _is_address(url: str) -> bool:
    with suppress(ValueError):  # as above, or a wrong port
        parts = urlsplit(url)
        return parts.scheme in ("http", "https") and bool(parts.hostname) and parts.port != 0
    return False


def service_name(url: str) -> str:
    """Return the name of the cluster with this dashboard, as users see it."""
    return url.removeprefix(_HTTP).rstrip("/")
