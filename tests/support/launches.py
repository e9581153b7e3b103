"""Looks at a run that has just started, one every 5 seconds."""

from __future__ import annotations

from dataclasses import replace

from jobmon_core.domain.logs.progress.events.event import Event
from jobmon_core.domain.node.launch.judge import launch_events
from jobmon_core.domain.node.launch.model import LaunchFacts, LaunchState


def follow(facts: LaunchFacts, until_s: float = 90.0) -> tuple[LaunchState, list[Event]]:
    """Find the same facts at each look until ``until_s`` after the start; return the state and all events."""
    state: LaunchState | None = None
    events: list[Event] = []
    at_s = 0.0
    while at_s <= until_s:
        state, new = launch_events(state, replace(facts, now_s=facts.started_s + at_s))
        events += new
        at_s += 5.0
    assert state
    return state, events
