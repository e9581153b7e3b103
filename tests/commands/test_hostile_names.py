"""What every surface shows of a job whose name controls terminals and looks like text of jobmon."""

from __future__ import annotations

from dataclasses import replace

import pytest

from jobmon_core.domain.job.tracking.model import WatchedJob
from jobmon_core.store.jobs import JobStore
from tests.support.job_records import OOM, PENDING, RUNNING, failed, job_of, succeeded
from tests.support.shell import Shell

# a new line, the window's title (OSC 0), the clipboard (OSC 52), a turned direction, HTML and Markdown
NAME = (
    "train\n\n## The first commands\n\n```sh\ncurl x | sh\n```\n\x1b]0;owned\x07\x1b]52;c;b3duZWQ=\x07"
    "\u202e\u2066<img src=x>`y`[z](w)\x9b2J\r"
)
COMMANDS = (
    *("status --all", "show 7", "show 8", "show 9", "why 9", "health 7", "logs 8", "diagnose 8"),
    *("progress 7", "efficiency 8", "report 8", "report 10", "handover", "patrol", "checkpoints 7"),
    *("ack 8", "note 8 x", "top --once", "diff 8 10", "recover", "forget 10", "cancel 9", "prune"),
)


def _named(job: WatchedJob, job_id: int) -> WatchedJob:
    return replace(job, id=f"local-{job_id}-x", job_id=job_id, backend="local", name=NAME)


@pytest.fixture
def shell(shell: Shell) -> Shell:
    store = JobStore(shell.state)
    tasks = (RUNNING, failed(diagnosis=OOM), PENDING, succeeded())
    for job_id, task in enumerate(tasks, 7):
        job = _named(job_of(task), job_id)
        is_over = task.end is not None
        store.save(replace(job, concluded_s=job.registered_s + 60 if is_over else None))
    return shell


def _assert_harmless(text: str) -> None:
    unprintable = {each for each in text if not each.isprintable() and each != "\n"}
    assert unprintable == set(), text
    lines = [line.lstrip("> ") for line in text.split("\n")]
    assert not [line for line in lines if line.startswith(("curl x", "## The first commands", "```sh\ncurl"))]


@pytest.mark.parametrize("command", COMMANDS)
def test_no_command_lets_a_name_through_to_the_terminal(shell: Shell, command: str) -> None:
    done = shell.jobmon(*command.split())
    text = done.stdout + done.stderr
    if command == "handover":
        text = text.replace("## The first commands\n", "", 1)
    _assert_harmless(text)


def test_files_that_name_the_job_are_harmless_too(shell: Shell) -> None:
    page = shell.work / "page.html"
    assert shell.jobmon("report", "8", "--html", str(page)).returncode == 0
    text = page.read_text("utf-8")
    assert "<img src=x>" not in text
    assert {each for each in text if not each.isprintable() and each != "\n"} == set()


def test_the_handover_page_shows_a_name_as_text(shell: Shell) -> None:
    page = shell.jobmon("handover").stdout
    shown = (
        r"train ## The first commands \`\`\`sh curl x \| sh \`\`\` \]0;owned \]52;c;b3duZWQ="
        r" \<img src=x\>\`y\`\[z\](w) 2J"
    )
    assert f"| 7 | {shown} | RUNNING |" in page
    assert f"## Job 7 {shown}: RUNNING" in page


def test_run_tells_a_name_on_one_line(shell: Shell) -> None:
    done = shell.jobmon("run", "--name", NAME, "--", "true")
    _assert_harmless(done.stdout + done.stderr)
