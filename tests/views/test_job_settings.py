"""The rows of `jobmon show` about a job's settings."""

from __future__ import annotations

from jobmon.views.details import settings_rows
from jobmon_core.domain.job.job_settings import Done, JobSettings
from jobmon_core.domain.node.triage.state import Thresholds


def test_every_setting_is_shown_with_what_it_does() -> None:
    settings = JobSettings(
        source="/w/jobmon.yaml",
        launch_timeout_s=300.0,
        stall_timeout_s=600.0,
        slowdown_percent=30.0,
        min_growth_bytes=1024.0,
        done=Done(marker="/w/DONE", log="finished"),
        stacks_on_stall=True,
        no_agent=True,
        thresholds=Thresholds(idle_s=60.0),
    )
    source, text = settings_rows(settings)
    assert source == "/w/jobmon.yaml"
    assert text.split(", ") == [
        "launch timeout 5m",
        "stall timeout 10m",
        "slowdown warning at -30%",
        "minimum output growth 1.0 KiB per check",
        "done marker /w/DONE and log /finished/",
        "stacks on stall",
        "no agent",
        "custom thresholds",
    ]


def test_no_agent_is_shown_although_it_is_the_only_setting() -> None:
    assert list(settings_rows(JobSettings(no_agent=True))) == ["no agent"]
