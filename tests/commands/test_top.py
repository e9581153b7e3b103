"""``jobmon top`` in a terminal, on a pipe, and where a terminal can do less."""

from __future__ import annotations

import os
import re
import time
from collections.abc import Mapping
from dataclasses import replace

import pytest

from jobmon_core.context import Context
from jobmon_core.domain.channels import Route, Tone
from jobmon_core.domain.delivery.outbox import Message, OutboxEntry
from jobmon_core.domain.job.job_progress import JobProgress
from jobmon_core.domain.slurm.log_paths import BY_USER, LogPaths
from jobmon_core.notify.channels.terminal import FEED, Terminal
from jobmon_core.store.home import Home
from jobmon_core.store.owner import Owner
from tests.support.drawn_screen import drawn_screen
from tests.support.job_records import PENDING, job_of, succeeded
from tests.support.live_jobs import progress_of, running_task
from tests.support.pseudo_terminal import terminal
from tests.support.shell import Shell

_DOWN = "\x1bOB"  # as a terminal sends it to a full-screen program
_ESCAPE = "\x1b"


@pytest.fixture
def ctx(shell: Shell) -> Context:
    """A home with two running jobs and a pending one."""
    ctx, now_s = Context(Home(shell.home), {}), time.time()
    log = shell.work / "train.log"
    log.write_text("loading\nstep 673 loss 0.35\n", encoding="utf-8")
    for number, name, task in (
        (12, "train", running_task(now_s=now_s)),
        (13, "eval", running_task(now_s=now_s)),
        (14, "later", PENDING),
    ):
        job = job_of(task, job_id=number, name=name)
        logs = LogPaths(str(log), str(log), BY_USER)
        ctx.store.save(replace(job, registered_s=now_s - 9300, answered_s=now_s, logs=logs))
        ctx.owner_record(job.id).write(Owner.this_process())
    _write_progress(ctx, 673)
    return ctx


def _write_progress(ctx: Context, current: float) -> None:
    now_s = time.time()
    ctx.progress_file("slurm-12-x").write(JobProgress(now_s, {"": progress_of(current, 1000, now_s=now_s)}))


@pytest.mark.usefixtures("ctx")
def test_a_job_is_selected_opened_and_its_log_read() -> None:
    with drawn_screen("top", environment=os.environ) as screen:
        screen.shows("67.3%")
        screen.shows("2 running, 1 pending")
        assert "█" in "".join(screen.lines)
        screen.press("\r")
        screen.shows("(673/1,000 steps)")
        screen.shows("step 673 loss 0.35")
        screen.press("l")
        screen.shows("train.log")
        screen.press(_ESCAPE)
        screen.shows("(673/1,000 steps)")
        screen.press(_DOWN)
        screen.shows("13 eval")
        screen.press(_ESCAPE)
        screen.shows("2 running, 1 pending")
        screen.press("/")
        screen.press("later")
        screen.lacks("eval")
        screen.press(f"{_ESCAPE}?")
        screen.shows("Keys")
        screen.press("q")
        assert screen.terminal.wait() == 0


def test_the_screen_follows_the_files(ctx: Context) -> None:
    with drawn_screen("top", environment=os.environ) as screen:
        screen.shows("67.3%")
        _write_progress(ctx, 700)
        screen.shows("70.0%")
        now_s = time.time()
        job = replace(job_of(succeeded(), job_id=12, name="train"), concluded_s=now_s)
        ctx.store.save(job)
        screen.shows("COMPLETED")
        assert screen.terminal.interrupt() == 0
    assert "Traceback" not in screen.terminal.text


@pytest.mark.usefixtures("ctx")
def test_the_window_may_change_its_size() -> None:
    with drawn_screen("top", "12", environment=os.environ) as screen:
        screen.shows("(673/1,000 steps)")
        for columns, lines in ((40, 10), (1, 1), (5, 3)):
            screen.resize(columns, lines)
        screen.resize(120, 40)
        screen.shows("step 673 loss 0.35")
        screen.press("q")
        assert screen.terminal.wait() == 0


@pytest.mark.usefixtures("ctx")
@pytest.mark.parametrize(
    "settings", [{"LC_ALL": "C"}, {"TERM": "linux"}, {"TERM": "vt100"}, {"LC_ALL": "xx_XX"}]
)
def test_bars_are_ascii_where_the_terminal_can_do_no_better(settings: Mapping[str, str]) -> None:
    with drawn_screen("top", environment=os.environ, settings=settings) as screen:
        screen.shows("67.3%")
        screen.press("q")
        assert screen.terminal.wait() == 0
    assert "#" in screen.terminal.text
    assert screen.terminal.text.isascii()


@pytest.mark.usefixtures("ctx")
def test_colours_are_left_out_where_they_are_not_wanted() -> None:
    with drawn_screen("top", "12", environment=os.environ) as screen:
        screen.shows("67.3%")
        screen.press("q")
        screen.terminal.wait()
    assert "\x1b[32m" in screen.terminal.text
    with drawn_screen("top", "12", environment=os.environ, settings={"NO_COLOR": "1"}) as screen:
        screen.shows("67.3%")
        screen.press("q")
        screen.terminal.wait()
    assert "\x1b[32m" not in screen.terminal.text
    assert not re.search(r"\x1b\[[34][0-7]m", screen.terminal.text)  # nor white on black


@pytest.mark.usefixtures("ctx")
@pytest.mark.parametrize("name", ["", "dumb", "no-such-terminal"])
def test_a_terminal_that_cannot_place_text_gets_the_list_once(name: str) -> None:
    with terminal("top", environment=os.environ, settings={"TERM": name}) as screen:
        assert screen.wait() == 0
    assert "67.3%" in screen.text
    assert "\x1b[H" not in screen.text


@pytest.mark.usefixtures("ctx")
def test_the_terminal_is_reset_when_the_command_is_terminated() -> None:
    with drawn_screen("top", environment=os.environ) as screen:
        screen.shows("67.3%")
        assert screen.terminal.terminate() == 143
    assert screen.terminal.text.rstrip().endswith(("\x1b[?1049l", "\x1b[?1l\x1b>"))


@pytest.mark.usefixtures("ctx")
def test_a_pipe_gets_the_list_once_and_uncut(shell: Shell) -> None:
    done = shell.jobmon("top", LC_ALL="C.UTF-8")
    assert (done.returncode, done.stderr) == (0, "")
    heading, header, *rows = done.stdout.splitlines()
    assert "2 running, 1 pending" in heading
    assert header.split()[:3] == ["JOB", "NAME", "PROGRESS"]
    assert [row.split()[:2] for row in rows] == [["12", "train"], ["13", "eval"], ["14", "later"]]
    assert "67.3%" in rows[0]
    assert shell.jobmon("top", LC_ALL="C").stdout.isascii()


@pytest.mark.usefixtures("ctx")
def test_one_named_job_is_printed_in_full(shell: Shell) -> None:
    done = shell.jobmon("top", "train", "--ascii")
    assert done.returncode == 0
    assert "(673/1,000 steps)" in done.stdout
    assert "step 673 loss 0.35" in done.stdout
    assert done.stdout.isascii()


def test_without_a_job_the_user_learns_how_to_start_one(shell: Shell) -> None:
    assert "`jobmon submit SCRIPT`" in shell.jobmon("top").stdout
    done = shell.jobmon("top", "4711")
    assert done.returncode
    assert "4711" in done.stderr


@pytest.mark.usefixtures("ctx")
def test_a_watched_job_is_followed_and_left_alone(shell: Shell) -> None:
    arguments = ("watch", "12", "--follow", "--backend", "slurm")
    with drawn_screen(*arguments, environment=os.environ) as screen:
        screen.shows("(673/1,000 steps)")
        assert screen.terminal.interrupt() == 0
    assert "stopped following job 12; jobmon watches it until it ends" in screen.terminal.text
    done = shell.jobmon(*arguments)
    assert done.returncode == 0
    assert "(673/1,000 steps)" in done.stdout
    assert "already watched" in done.stderr


def test_a_message_for_the_terminal_rings_and_shows_its_title(shell: Shell, ctx: Context) -> None:
    channel = Terminal(str(ctx.home.root / FEED))
    config = shell.home / "config.json"
    config.write_text('{"alerts": {"terminal": {"refresh_rate": 0.5}}}', encoding="utf-8")
    config.chmod(0o600)
    with drawn_screen("top", environment=os.environ) as screen:
        screen.shows("67.3%")
        assert "\a" not in screen.terminal.written
        message = Message(
            "12/end", Route.ERROR, Tone.FAILURE, "train (12) failed", created_s=int(time.time())
        )
        channel.deliver(OutboxEntry(message))
        screen.shows("train (12) failed")
        assert screen.terminal.written.count("\a") == 1
