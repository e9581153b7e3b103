"""The channel of the services other than Discord that take a message as one JSON request."""

from __future__ import annotations

import json
import math
from typing import TYPE_CHECKING, Any, NamedTuple

from jobmon_core import __version__
from jobmon_core.domain.channels import ACCEPTED, DeliveryOutcome, Receipt
from jobmon_core.notify.clean_text import cut_middle, one_line
from jobmon_core.notify.secret import fingerprint, without_secrets

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from jobmon_core.domain.config_section import Section
    from jobmon_core.domain.delivery.outbox import OutboxEntry
    from jobmon_core.notify.secret import SecretUrl
    from jobmon_core.system.http import HttpResponse, SendResult

USER_AGENT = f"jobmon/{__version__} (+https://github.com/jobmon/jobmon)"


class JsonRequest(NamedTuple):
    """One request of a channel; its texts may hold secrets."""

    url: str
    payload: dict[str, Any]
    headers: dict[str, str] = {}  # noqa: RUF012 - nobody changes it
    is_put: bool = False


class HttpChannel(NamedTuple):
    """A channel of one service. ``name``, ``fingerprint`` and ``receiver`` hold no secrets."""

    name: str
    fingerprint: str
    receiver: str  # the destination, for errors
    service: Service
    request: Callable[[OutboxEntry], JsonRequest]
    secrets: tuple[str, ...]
    timeout_s: float = 10.0
    page: str = ""  # where a person can read the messages, if there is such a page: may be a secret

    def deliver(self, entry: OutboxEntry) -> Receipt:
        """Do as `Channel.deliver`."""
        from jobmon_core.system.http import HttpRequest, send  # not needed to read the configuration

        planned = self.request(entry)
        body = json.dumps(planned.payload, ensure_ascii=False).encode("utf-8", "replace")
        request = HttpRequest(planned.url, self.receiver, body, USER_AGENT, headers=planned.headers)
        result = send("PUT" if planned.is_put else "POST", request, self.timeout_s)
        return interpret(result, self.service, self.secrets)

    def __repr__(self) -> str:
        return f"HttpChannel({self.name} at {self.receiver})"


def webhook_channel(
    section: Section,
    service: Service,
    parse: Callable[[str], SecretUrl],
    full: Callable[[OutboxEntry], dict[str, Any]],
    plain: Callable[[OutboxEntry], dict[str, Any]],
) -> HttpChannel | None:
    """Read a channel that is no more than the URL ``webhook``; report faults to ``section``."""
    webhook = section.secret("webhook", parse, required=True)
    if webhook is None:
        return None
    return HttpChannel(
        name=f"{service.name} ({webhook})",
        fingerprint=fingerprint(f"{service.name.lower()} {webhook.host}", webhook.url),
        receiver=webhook.host,
        service=service,
        request=lambda entry: JsonRequest(webhook.url, plain(entry) if entry.plain else full(entry)),
        secrets=webhook.secrets,
    )


DEAD, LATER, REFUSED = DeliveryOutcome.CHANNEL_DEAD, DeliveryOutcome.TRY_AGAIN, DeliveryOutcome.REFUSED_BODY

_MAX_WAIT_S = 86_400.0  # the longest block by Discord that users have reported
_MAX_WHY = 500  # characters of a reason
_MAX_QUOTE = 300  # characters that a reason quotes from the response
TEST_AGAIN = "Then run `jobmon test`."
_NETWORK = (
    "Check that this machine can reach the host: on many clusters only login nodes can, or only through a "
    f"proxy (set HTTPS_PROXY). {TEST_AGAIN}"
)
_WAIT = "Run `jobmon test` again later. Messages about jobs are retried automatically."
REPORT = (
    "Please report this. If it happens to a message about a job, jobmon sends that once more in a plain form."
)


class ServiceError(NamedTuple):
    """What a service says about a request that it did not accept."""

    text: str  # to be quoted
    outcome: DeliveryOutcome | None = None  # None: the HTTP status decides
    wait_s: float | None = None  # None: none was asked for, or only by the header Retry-After


def quoted(response: HttpResponse) -> ServiceError:
    """Return the body of a response as an error, for a service without error codes that matter."""
    return ServiceError(response.body.decode(errors="replace"))


class Service(NamedTuple):
    """A service that takes messages by HTTP."""

    name: str  # for users
    fix: str  # what to do if it accepts no message at all: one or more sentences
    read_error: Callable[[HttpResponse], ServiceError] = quoted


_BY_STATUS: Mapping[int, tuple[DeliveryOutcome, str]] = {
    400: (REFUSED, "the message was rejected"),
    401: (DEAD, "the token or URL is rejected"),
    403: (DEAD, "the channel may not be used"),
    404: (DEAD, "the URL is not known"),
    405: (DEAD, "the URL takes no messages"),
    408: (LATER, "the request took too long to arrive"),
    410: (DEAD, "the URL is no longer valid"),
    413: (REFUSED, "the message is too large"),
    425: (LATER, "the server is not ready"),
    429: (LATER, "rate limited"),
}


def interpret(result: SendResult, service: Service, secrets: tuple[str, ...]) -> Receipt:
    """Return the outcome of an attempt by the result of its request; its texts contain no secret."""
    from jobmon_core.system.http import MaybeSent, NotSent

    if isinstance(result, NotSent):
        return Receipt(LATER, result.why, for_all=True, advice=_NETWORK)
    if isinstance(result, MaybeSent):
        advice = f"Check whether the test message arrived. {_NETWORK}"
        return Receipt(DeliveryOutcome.MAYBE_DELIVERED, result.why, advice=advice)
    if result.is_success:
        return ACCEPTED
    error = service.read_error(result)
    outcome, meaning = _of_status(result.status)
    outcome = error.outcome or outcome
    text = one_line(without_secrets(error.text, secrets))
    detail = f"{result.status}, {cut_middle(text, _MAX_QUOTE)}" if text else str(result.status)
    why = cut_middle(f"{service.name}: {meaning} ({detail})", _MAX_WHY)
    if outcome is not LATER:
        return Receipt(outcome, why, advice=REPORT if outcome is REFUSED else service.fix)
    waits_s = [wait for wait in (error.wait_s, retry_after_s(result)) if wait is not None]
    is_limit = result.status == 429  # noqa: PLR2004 - the HTTP status
    return Receipt(LATER, why, max(waits_s, default=None), for_all=is_limit, advice=_WAIT)


def _of_status(status: int) -> tuple[DeliveryOutcome, str]:
    if status in _BY_STATUS:
        return _BY_STATUS[status]
    if status >= 500:  # noqa: PLR2004 - HTTP status classes
        return LATER, "the server failed"
    if status < 400:  # noqa: PLR2004 - HTTP status classes
        return LATER, "the response was a redirect, which jobmon never follows because the URL is a secret"
    return REFUSED, "the message was rejected"


def retry_after_s(response: HttpResponse) -> float | None:
    """Return the seconds that the header ``Retry-After`` asks to wait; None if it is missing or invalid.

    A date counts only if the response also has the header ``Date``, from which the wait is counted.
    """
    text = response.headers.get("retry-after", "")
    if (wait_s := seconds(text)) is not None or not text:
        return wait_s
    from email.utils import parsedate_to_datetime  # rarely needed, and a monitor stays small

    try:
        until, at = parsedate_to_datetime(text), parsedate_to_datetime(response.headers.get("date", ""))
        return seconds(max(0.0, (until - at).total_seconds()))
    except (ValueError, TypeError):
        return None


def seconds(wait: object, unit_s: float = 1.0) -> float | None:
    """Return a wait, given in units of ``unit_s``, in seconds, at most a day; None without a valid one."""
    if isinstance(wait, bool) or not isinstance(wait, int | float | str):
        return None
    try:
        wait_s = float(wait) * unit_s
    except (ValueError, OverflowError):
        return None
    if math.isfinite(wait_s) and wait_s >= 0:
        return min(wait_s, _MAX_WAIT_S)
    return None


def json_object(response: HttpResponse) -> dict[str, object]:
    """Return the JSON object in a response; an empty one if there is none, as from a proxy."""
    try:
        data = json.loads(response.body)
    except (ValueError, RecursionError):
        return {}
    if isinstance(data, dict):
        return data
    return {}
