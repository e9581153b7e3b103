from __future__ import annotations

from dataclasses import replace

from tests.support.channel_cases import BY_KIND, ENTRY, FAILED, NOW, SECRET, TOKEN, channel_at
from tests.support.receiver import Receiver

CASE = BY_KIND["webhook"]


def test_the_json_has_everything_about_a_message() -> None:
    with Receiver() as receiver:
        channel_at(CASE, receiver.url).deliver(ENTRY)
    (request,) = receiver.requests
    assert request.path == f"/hook/{SECRET}"
    assert request.headers["authorization"] == f"Bearer {TOKEN}"
    assert request.payload == {
        "version": 1,
        "id": "4211_7/end",
        "created_at": NOW,
        "level": "critical",
        "kind": "failure",
        "route": "error",
        "title": FAILED.title,
        "headline": "CUDA out of memory",
        "summary": "The job ended with exit code 1.",
        "cause": "Out of GPU memory.",
        "log_lines": list(FAILED.evidence),
        "advice": "Reduce the batch size.",
        "also_seen": "a warning",
        "log_path": "/scratch/me/train.err",
        "fields": [
            {"name": "Node", "value": "n17", "at": None},
            {"name": "Ended", "value": "", "at": NOW},
        ],
        "results": [{"name": "metrics.csv", "text": "loss,0.3"}],
        "possible_repeat": False,
    }


def test_a_repeat_has_the_key_of_the_first_attempt_and_says_what_it_is() -> None:
    with Receiver() as receiver:
        channel = channel_at(CASE, receiver.url)
        channel.deliver(ENTRY)
        channel.deliver(replace(ENTRY, maybe_delivered=True))
        channel.deliver(replace(ENTRY, message=replace(FAILED, created_s=NOW + 1)))
    first, repeat, other = (request.headers["idempotency-key"] for request in receiver.requests)
    assert first == repeat != other
    assert [payload["possible_repeat"] for payload in receiver.payloads] == [False, True, False]
