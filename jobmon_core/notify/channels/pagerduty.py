"""PagerDuty's Events API v2: a message opens an incident, or resolves one.

Sent without Apprise, which opens an incident for anything but a success. Here a critical message or a warning
opens the incident of its job or array task, and a message that this job or task succeeded, was cancelled or
is back to normal resolves it; PagerDuty accepts that even if none is open. An outage of the scheduler has an
incident of its own. Those of groups, notices and patrols, and of tasks whose array ends with one message, are
resolved by hand. Anything else is a change event, which notifies nobody.

Source: PagerDuty's documentation, "Send an Event", "Send Change Events" and "Events API v2 Overview":
``dedup_key`` up to 255 characters, ``summary`` 1024, severity critical, error, warning or info, 512 KB in
all; 202 accepted, 400 invalid, 429 too many, 5xx retry.
"""

from __future__ import annotations

import os
import re
from functools import partial
from typing import TYPE_CHECKING, Any

from jobmon_core.domain.channels import Level, Tone
from jobmon_core.notify.http_channel import (
    DEAD,
    TEST_AGAIN,
    HttpChannel,
    JsonRequest,
    Service,
    ServiceError,
    json_object,
)
from jobmon_core.notify.plain_text import PlainText, fit, timestamp
from jobmon_core.notify.secret import Secret, SecretUrl, fingerprint

if TYPE_CHECKING:
    from jobmon_core.domain.config_section import Section
    from jobmon_core.domain.delivery.outbox import Message, OutboxEntry
    from jobmon_core.system.http import HttpResponse

_SERVER = "https://events.pagerduty.com"
_parse_key = Secret.matching(
    re.compile(r"[A-Za-z0-9]{32}"),
    "not an integration key: it has 32 letters and digits (service, Integrations, Events API v2)",
)
_MAX_SUMMARY = 1000  # of 1024
_MAX_KEY = 255
_MAX_TEXT, _MAX_VALUE = 10_000, 500
_SEVERITIES = {Level.CRITICAL: "critical", Level.WARNING: "warning"}  # of what opens an incident


def parse(section: Section) -> HttpChannel | None:
    """Read one channel; report faults to ``section``."""
    routing_key = section.secret("routing_key", _parse_key, required=True)
    server = section.parsed("server", SecretUrl.parse) or SecretUrl(_SERVER)
    if routing_key is None:
        return None
    key = routing_key.value
    return HttpChannel(
        name=f"PagerDuty ({server}, key …{key[-4:]})",
        fingerprint=fingerprint(f"pagerduty {server.host}", key),
        receiver=server.host,
        service=PAGERDUTY,
        request=partial(_request, server.url.rstrip("/"), key),
        secrets=(key,),
    )


def _request(server: str, key: str, entry: OutboxEntry) -> JsonRequest:
    event = event_of(entry)
    path = "change/enqueue"
    if "event_action" in event:
        path = "enqueue"
    return JsonRequest(f"{server}/v2/{path}", {"routing_key": key, **event})


def event_of(entry: OutboxEntry) -> dict[str, Any]:
    """Return the event of a message, without the key of the service; a change event has no action."""
    message = entry.message
    about = {"dedup_key": dedup_key(message), "client": "jobmon"}
    if is_resolved(message):
        return {"event_action": "resolve", **about}
    payload = _payload(entry)
    severity = _SEVERITIES.get(message.level)
    if severity is None:
        return {"payload": payload}
    component = message.id.partition("/")[0] or "jobmon"
    return {
        "event_action": "trigger",
        **about,
        "payload": {**payload, "severity": severity, "component": component},
    }


def is_resolved(message: Message) -> bool:
    """Whether a message says that nothing is wrong any more with what it is about."""
    if message.kind == "end":
        return message.tone in (Tone.SUCCESS, Tone.CANCELLED)
    return message.kind in ("progress-recovered", "outage-over")


def _payload(entry: OutboxEntry) -> dict[str, Any]:
    text = PlainText.of(entry)
    payload: dict[str, Any] = {
        "summary": text.fitted_title(_MAX_SUMMARY),
        "source": os.uname().nodename,
        **timestamp(entry.message.created_s),
    }
    if entry.plain:
        return payload
    details = {
        "text": fit(text.explanation, _MAX_TEXT),
        "log_lines": fit(text.log_lines, _MAX_TEXT),
        **{fit(field.name, _MAX_VALUE): fit(field.value, _MAX_VALUE) for field in text.fields},
    }
    return {**payload, "custom_details": details}


def dedup_key(message: Message) -> str:
    """Return the key of the incident of a message: one per job or array task, and one per outage."""
    is_outage = message.kind in ("outage", "outage-over")
    subject = message.ref
    if is_outage:
        subject = message.id.removesuffix("-over")
    return f"jobmon-{subject}"[:_MAX_KEY]


def _read_error(response: HttpResponse) -> ServiceError:
    data = json_object(response)
    errors = data.get("errors")
    words = [str(data.get("message") or ""), *map(str, errors if isinstance(errors, list) else ())]
    text = "; ".join(filter(None, words)) or response.body.decode(errors="replace")
    return ServiceError(text, DEAD if "routing" in text.lower() and "key" in text.lower() else None)


PAGERDUTY = Service(
    "PagerDuty",
    f"Check the integration key: service, Integrations, Events API v2. {TEST_AGAIN}",
    _read_error,
)
