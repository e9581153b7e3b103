from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from jobmon.views.top.drawing import UNICODE
from jobmon.views.top.session import Session
from jobmon.views.top.state import Key
from jobmon_core.app.live.jobs import LiveJobs
from jobmon_core.context import Context
from jobmon_core.domain.channels import Route, Tone
from jobmon_core.domain.delivery.outbox import Message, OutboxEntry
from jobmon_core.domain.job.job_progress import JobProgress
from jobmon_core.domain.job.tracking.model import End, Source
from jobmon_core.domain.slurm.job_ids import JobRef
from jobmon_core.domain.slurm.log_paths import BY_USER, LogPaths
from jobmon_core.domain.slurm.states import JobState, Outcome
from jobmon_core.notify.channels.terminal import FEED, Terminal
from jobmon_core.store.home import Home
from tests.support.clock import FakeClock
from tests.support.job_records import NOW_S, job_of
from tests.support.live_jobs import progress_of, running_task
from tests.support.styled_lines import as_text

END = End(JobState.COMPLETED, "COMPLETED", Outcome.SUCCESS, Source.QUEUE)


def context(folder: Path) -> Context:
    ctx = Context(Home(folder / "home"), {}, clock=FakeClock(NOW_S))
    out, err = folder / "train.out", folder / "train.err"
    out.write_text("".join(f"line {number}\n" for number in range(100)), encoding="utf-8")
    err.write_text("a warning\n", encoding="utf-8")
    job = replace(job_of(running_task()), logs=LogPaths(str(out), str(err), BY_USER))
    ctx.store.save(job)
    ctx.progress_file(job.id).write(JobProgress(NOW_S, {"": progress_of(500, 1000)}))
    return ctx


def test_a_single_named_task_is_opened_at_once(tmp_path: Path) -> None:
    ctx = context(tmp_path)
    opened = Session(LiveJobs(ctx, [JobRef(12)]), UNICODE, opens_single=True)
    assert "(500/1,000 steps)" in "\n".join(as_text(opened.frame(80, 24)))
    assert "(500/1,000 steps)" in "\n".join(as_text(opened.plain()))
    assert "PROGRESS" in as_text(Session(LiveJobs(ctx), UNICODE).frame(80, 24))[1]


def test_the_log_moves_with_each_key_from_either_end(tmp_path: Path) -> None:
    session = Session(LiveJobs(context(tmp_path)), UNICODE)
    session.press("l")
    assert as_text(session.frame(80, 10))[-2] == "line 99"
    for key, last in ((Key.UP, "line 98"), (Key.HOME, "line 6"), (Key.DOWN, "line 7"), (Key.END, "line 99")):
        session.press(key)
        assert as_text(session.frame(80, 10))[-2] == last


def test_the_other_log_is_a_key_away(tmp_path: Path) -> None:
    session = Session(LiveJobs(context(tmp_path)), UNICODE)
    session.press("l")
    assert "tab other log" in as_text(session.frame(80, 10))[-1]
    session.press(Key.TAB)
    assert "a warning" in as_text(session.frame(80, 10))
    session.press(Key.TAB)
    assert "line 99" in as_text(session.frame(80, 10))


def test_an_empty_log_is_not_shown_first(tmp_path: Path) -> None:
    session = Session(LiveJobs(context(tmp_path)), UNICODE)
    (tmp_path / "train.out").write_bytes(b"")
    session.press("l")
    assert "a warning" in as_text(session.frame(80, 10))


def test_a_log_grows_on_the_screen(tmp_path: Path) -> None:
    session = Session(LiveJobs(context(tmp_path)), UNICODE)
    session.press("l")
    session.frame(80, 10)
    with (tmp_path / "train.out").open("a", encoding="utf-8") as file:
        file.write("the end\n")
    session.refresh()
    assert as_text(session.frame(80, 10))[-2] == "the end"


def test_the_errors_of_an_opened_job_are_shown_while_it_runs(tmp_path: Path) -> None:
    session = Session(LiveJobs(context(tmp_path)), UNICODE)
    with (tmp_path / "train.err").open("a", encoding="utf-8") as file:
        file.write("03:12:45 RuntimeError: CUDA out of memory. Tried to allocate 2 GiB\n")
    session.press(Key.ENTER)
    shown = as_text(session.frame(80, 24))
    assert "  [03:12:45] ERROR   RuntimeError: CUDA out of memory. Tried to allocate 2 GiB" in shown
    ended = replace(job_of(replace(running_task(), end=END)), logs=LogPaths(str(tmp_path / "train.err")))
    Context(Home(tmp_path / "home"), {}).store.save(ended)
    session.refresh()
    assert "Errors" not in as_text(session.frame(80, 24))


def test_a_new_message_rings_once_and_is_shown_above_the_keys(tmp_path: Path) -> None:
    ctx = context(tmp_path)
    feed = Terminal(str(ctx.home.root / FEED))
    old = Message("1/end", Route.ERROR, Tone.FAILURE, "an old one", created_s=int(NOW_S) - 3600)
    feed.deliver(OutboxEntry(old))
    session = Session(LiveJobs(ctx), UNICODE)
    assert "an old one" not in "\n".join(as_text(session.frame(80, 10)))
    new = Message("12/end", Route.ERROR, Tone.FAILURE, "train (12) failed: KeyError", created_s=int(NOW_S))
    feed.deliver(OutboxEntry(new))
    session.refresh()
    assert (session.take_bell(), session.take_bell()) == (True, False)
    lines = as_text(session.frame(80, 10))
    assert lines[-2].startswith("CRITICAL ")
    assert lines[-2].endswith("train (12) failed: KeyError")
    assert "q quit" in lines[-1]
    session.refresh()
    assert not session.take_bell()
    session.press("l")
    log = as_text(session.frame(80, 10))
    assert (log[-2], log[-1]) == ("line 99", lines[-2])
