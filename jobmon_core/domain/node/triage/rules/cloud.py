"""Nodes that their cloud takes away."""

from __future__ import annotations

from collections.abc import Iterator

from jobmon_core.domain.logs.progress.events.event import Event
from jobmon_core.domain.node.telemetry.model import Notice
from jobmon_core.domain.node.triage.situation import NodeView, Situation
from jobmon_core.domain.node.triage.state import NODE_ENDS


def node_ends(situation: Situation) -> Event | None:
    """The metadata service of a node announces its end; the text names the one that ends first."""
    ending = [(node, node.notice) for node in situation.nodes if node.notice]
    if not ending:
        return None
    first, _ = min(ending, key=lambda each: each[1].ends_s or each[1].seen_s)
    return situation.finding(
        NODE_ENDS,
        "A node ends",
        f"its node {first.name} ends {f'at {first.ends_at}' if first.ends_at else 'soon'}",
        tuple(line for node, notice in ending for line in _evidence(node, notice)),
        "It runs until then, unless you or its program end it; then its cause is that it was preempted. "
        "`jobmon submit --restart` submits it again.",
        is_critical=True,
    )


def _evidence(node: NodeView, notice: Notice) -> Iterator[str]:
    when = f" at {node.ends_at}" if node.ends_at else ""
    yield f"{node.name}: {notice.cloud} announces {notice.word}{when}"
    if notice.signal:
        yield f"{node.name}: {notice.signal} was sent to {notice.signalled} of its processes, which catch it"
