from __future__ import annotations

import json
from dataclasses import replace

import pytest

from jobmon_core.domain.errors import ConfigInvalid
from tests.support.channel_cases import BY_KIND, ENTRY, FAILED, channel_at, config_of
from tests.support.channel_shapes import faults
from tests.support.discord_answers import Scripted
from tests.support.receiver import Receiver

CASE = BY_KIND["teams"]


def test_every_text_is_in_a_run_which_knows_no_markdown() -> None:
    message = replace(FAILED, summary="# heading\n**bold** [link](http://x) <at>all</at>")
    with Receiver(Scripted(202)) as receiver:
        channel_at(CASE, receiver.url).deliver(replace(ENTRY, message=message))
    (payload,) = receiver.payloads
    assert faults("teams", payload) == []
    runs = [run for block in payload["attachments"][0]["content"]["body"] for run in block["inlines"]]
    assert runs[0]["text"].startswith("❌ train (4211_7) failed")
    assert runs[0]["color"] == "Attention"
    assert "# heading" in [run["text"] for run in runs]


def test_log_lines_have_a_fixed_width() -> None:
    with Receiver(Scripted(202)) as receiver:
        channel_at(CASE, receiver.url).deliver(ENTRY)
    blocks = receiver.payloads[0]["attachments"][0]["content"]["body"]
    logs = [run for block in blocks for run in block["inlines"] if run.get("fontType") == "Monospace"]
    assert [run["text"] for run in logs] == list(FAILED.evidence)
    assert "Node" in json.dumps(blocks)


def test_a_retired_connector_is_refused_with_advice() -> None:
    url = "https://example.webhook.office.com/webhookb2/secretSecret/IncomingWebhook/x/y"
    with pytest.raises(ConfigInvalid, match="make a workflow from the template") as caught:
        config_of({"channels": {"c": {"type": "teams", "webhook": url}}})
    assert "secretSecret" not in str(caught.value)
