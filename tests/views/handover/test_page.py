"""The handover page as a whole."""

from __future__ import annotations

import pytest

from jobmon.views.handover.page import handover_page
from jobmon_core.app.handover_facts import Handover
from jobmon_core.domain.many.groups.model import Group, GroupSettings
from tests.support.job_records import NOW_S


@pytest.mark.parametrize(
    ("settings", "what_stops"),
    [
        (GroupSettings(), "only the messages stop."),
        (
            GroupSettings(then=("make", "plots")),
            "the messages stop, and `--then` and `--hold-when-broken` of groups do nothing.",
        ),
    ],
)
def test_it_says_what_stops_if_jobmon_stops(settings: GroupSettings, what_stops: str) -> None:
    groups = (Group("sweep1", NOW_S, settings),)
    page = handover_page(Handover(NOW_S, "me", "login1", (), groups=groups), ())
    assert f"The jobs run without jobmon: if it stops, {what_stops}" in page
