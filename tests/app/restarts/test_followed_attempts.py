"""What is said of a failed job that went on as another attempt: nothing that somebody is to do."""

from __future__ import annotations

from pathlib import Path

from jobmon.commands.pages.now import NowMaker
from jobmon.views.html.parts import Visitor
from jobmon.views.patrol import seen_job
from jobmon_core.app.handover_facts import collect
from jobmon_core.app.live.patrol import look
from jobmon_core.context import Context
from jobmon_core.domain.many.patrol import Memory
from jobmon_core.store.home import Home
from tests.support.clock import FakeClock
from tests.support.job_records import NOW_S
from tests.support.lineages import NODE_FAIL, attempt, job_of_attempt, lineage_of, save


def test_a_failed_attempt_needs_nobody_once_another_follows_it(tmp_path: Path) -> None:
    """The page once advised to restart it although its lineage had succeeded: it would run twice."""
    ctx = Context(Home(tmp_path), {}, clock=FakeClock(NOW_S + 60))
    first, second = job_of_attempt(0, NODE_FAIL), job_of_attempt(1)
    for attempts, needy in (((attempt(0),), [first]), ((attempt(0), attempt(1)), [])):
        save(ctx, lineage_of(*attempts), first, second)
        assert [each.job.id for each in collect(ctx, ()).jobs if each.job.closed] == [job.id for job in needy]
        patrol = look(ctx, (), Memory(), seen_job)
        assert [each.id for each in patrol.jobs if each.is_over] == [job.id for job in needy]
        page = NowMaker(ctx).page("", Visitor())
        assert ("node_fail: " in page, "went on as 8124" in page) == (bool(needy), not needy)
    assert [each.job.id for each in collect(ctx, [first.id]).jobs] == [first.id]  # which the user names
