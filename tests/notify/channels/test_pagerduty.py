from __future__ import annotations

from dataclasses import replace

import pytest

from jobmon_core.domain.channels import DeliveryOutcome, Level, Tone
from tests.support.channel_cases import BY_KIND, ENTRY, FAILED, KEY, NOW, channel_at
from tests.support.channel_shapes import faults
from tests.support.discord_answers import Scripted
from tests.support.receiver import Receiver

CASE = BY_KIND["pagerduty"]


@pytest.mark.parametrize(
    ("message_id", "tone", "level", "action", "severity"),
    [
        ("8123/end", Tone.FAILURE, None, "trigger", "critical"),
        ("8123/end", Tone.ATTENTION, None, "trigger", "warning"),
        ("8123/progress-stalled-1", Tone.ATTENTION, None, "trigger", "warning"),
        ("8123/progress-recovered-2", Tone.RESOLVED, Level.INFO, "resolve", None),
        ("8123/end", Tone.SUCCESS, None, "resolve", None),
        ("8123/end", Tone.CANCELLED, None, "resolve", None),
        ("8123/progress-milestone-3", Tone.RESOLVED, Level.PROGRESS, None, None),
        ("8123/progress-checkpoint-3", Tone.RESOLVED, Level.INFO, None, None),
        ("8123/started-0", Tone.RESOLVED, Level.INFO, None, None),
    ],
)
def test_a_problem_opens_the_incident_of_its_job_and_a_recovery_resolves_it(
    message_id: str, tone: Tone, level: Level | None, action: str | None, severity: str | None
) -> None:
    message = replace(FAILED, id=message_id, tone=tone, stated_level=level)
    with Receiver(Scripted(202)) as receiver:
        channel_at(CASE, receiver.url).deliver(replace(ENTRY, message=message))
    (request,) = receiver.requests
    payload = request.payload
    assert request.path == ("/v2/enqueue" if action else "/v2/change/enqueue")
    assert payload.get("event_action") == action
    assert payload["routing_key"] == KEY
    assert payload.get("dedup_key") == ("jobmon-8123" if action else None)
    assert payload.get("payload", {}).get("severity") == severity
    if action:
        assert faults("pagerduty", payload) == []


def test_the_end_of_an_outage_has_the_key_of_its_begin() -> None:
    with Receiver(Scripted(202)) as receiver:
        for message_id, tone in (("12/outage-17", Tone.ATTENTION), ("12/outage-17-over", Tone.RESOLVED)):
            message = replace(FAILED, id=message_id, tone=tone)
            channel_at(CASE, receiver.url).deliver(replace(ENTRY, message=message))
    assert [(each["event_action"], each["dedup_key"]) for each in receiver.payloads] == [
        ("trigger", "jobmon-12/outage-17"),
        ("resolve", "jobmon-12/outage-17"),
    ]


def test_an_incident_has_the_cause_the_log_lines_and_the_fields() -> None:
    with Receiver(Scripted(202)) as receiver:
        channel_at(CASE, receiver.url).deliver(ENTRY)
    payload = receiver.payloads[0]["payload"]
    assert payload["summary"] == "train (4211_7) failed after 3h 12m: CUDA out of memory"
    assert payload["timestamp"] == "2025-08-06T17:06:40+00:00", NOW
    assert "Cause: Out of GPU memory." in payload["custom_details"]["text"]
    assert "torch.OutOfMemoryError" in payload["custom_details"]["log_lines"]
    assert payload["custom_details"]["Node"] == "n17"


def test_a_wrong_key_ends_the_channel_with_what_to_do() -> None:
    body = b'{"status":"invalid event","message":"Event object is invalid","errors":["Invalid routing key"]}'
    with Receiver(Scripted(400, body=body)) as receiver:
        result = channel_at(CASE, receiver.url).deliver(ENTRY)
    assert result.outcome is DeliveryOutcome.CHANNEL_DEAD
    assert "Invalid routing key" in result.why
    assert "integration key" in result.advice
