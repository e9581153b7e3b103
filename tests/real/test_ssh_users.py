"""What users get about jobs on a host behind a real sshd: messages, and commands for a colleague."""

from __future__ import annotations

import os
import re
import shlex
import signal
import sys
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

import pytest

from jobmon_core.context import Context
from jobmon_core.domain.channels import Route
from jobmon_core.domain.slurm.states import Outcome
from tests.support.documentation import page
from tests.support.fake_discord import FakeDiscord
from tests.support.messages import end_of, only, read, title
from tests.support.receiver import Receiver
from tests.support.ssh_jobs import WAIT
from tests.support.ssh_server import Box, unusable
from tests.support.user import User
from tests.support.waiting import eventually

PAGE = page("for-scripts-and-agents")
pytestmark = [
    pytest.mark.xdist_group("ssh"),
    pytest.mark.skipif(bool(unusable()), reason=unusable()),
]


@pytest.fixture
def somebody(box: Box, discord: FakeDiscord, tmp_path: Path) -> Iterator[User]:
    """A user without Slurm who reaches the host."""
    folder = tmp_path / "u"
    folder.mkdir()
    environment = {name: value for name, value in os.environ.items() if name != "SLURM_CONF"}
    user = User(folder, discord, box.environment(environment))
    # a second monitor may reach the host some seconds after the first one has reported that it answers again
    user.configure(hosts={"box": {"data": "/tmp"}}, poll={"running_s": 5, "pending_s": 5, "warn_stale_s": 20})
    yield user
    user.leave()


def test_users_get_one_message_about_each_end_and_each_outage(
    box: Box, discord: FakeDiscord, somebody: User
) -> None:
    user = somebody
    code = "import time\nwhile not os.path.exists('go'): time.sleep(.2)\nraise KeyError('lr')"
    done = user.jobmon("run", "--host", "box", "--name", "lr-3", "--", "python3", "-uc", f"import os\n{code}")
    assert done.returncode == 0, done
    assert "started on box as job 1 (lr-3)" in done.stderr
    pid = box.detached(f"exec > out.log; echo step 1/2; {WAIT}; echo step 2/2; touch DONE")
    lost = box.detached(f"exec > lost.log; echo step 1/7; {WAIT}; echo unfinished work")
    for words in ((f"pid:{pid}", "marker:DONE"), (f"pid:{lost}",)):
        done = user.jobmon("watch", "--host", "box", *words)
        assert done.returncode == 0, done
        assert "watching it as job" in done.stderr
    assert "is already watched as job 2" in user.jobmon("watch", "--host", "box", f"pid:{pid}").stderr
    for number in (1, 2, 3):
        user.watched_as(number, "RUNNING")
    telemetry = Context.open(user.environment).telemetry(user.job(2).id, "")
    eventually(lambda: bool(telemetry.report("box").latest.disks))
    assert telemetry.report("box").latest.workers[0].pid == pid
    box.stop()
    (outage,) = discord.wait_for(1)
    assert title(outage) == "⚠ The connection to box is not responding"
    assert "Look at the console of box" in str(outage)
    unsure = user.jobmon("run", "--host", "box", "--", "touch", "never")
    assert unsure.returncode == 1
    assert "it is not known whether the command was started" in unsure.stderr
    assert {user.job(number).outcome for number in (1, 2, 3, 4)} == {None}

    (box.home / "go").touch()
    box.start()
    ends = {number: end_of(user.told(number)) for number in (1, 2, 3, 4)}
    assert {number: end.outcome for number, end in ends.items()} == {
        1: Outcome.FAILURE,
        2: Outcome.SUCCESS,
        3: Outcome.UNKNOWN,
        4: Outcome.FAILURE,
    }
    assert sorted(map(title, discord.received())) == sorted(TITLES)
    assert not (box.home / "never").exists()


TITLES = (
    "⚠ The connection to box is not responding",
    "🔵 The connection to box is responding again",
    "❌ lr-3 (1) failed: KeyError: 'lr'",
    "✅ sh (2) completed",
    "⚠ sh (3) ended, outcome unknown",
    "❌ touch (4) failed: It was not started",
)


def test_a_box_pushes_the_end_of_its_command_as_the_documentation_shows(box: Box, somebody: User) -> None:
    (push,) = re.findall(r"^curl .*$", PAGE, re.MULTILINE)
    (command,) = re.findall(r"^jobmon (run --host .*)$", PAGE, re.MULTILINE)
    with Receiver() as service:
        box.shell(f"umask 077; echo {service.url} > ~/.webhook; echo {shlex.quote(push)} > push.sh")
        words = shlex.split(command.replace("python train.py", "test -f trained"))
        assert somebody.jobmon(*words).returncode == 0
        end = end_of(somebody.told(1))
    assert (end.outcome, end.exit_code) == (Outcome.FAILURE, 1)
    assert service.payloads == [{"content": "eval is done"}]
    assert title(only(somebody, Route.ERROR)) == "❌ sh (1) failed"


def test_a_job_whose_wrapper_was_killed_has_an_unknown_outcome_with_the_reason_and_its_last_lines(
    box: Box, discord: FakeDiscord, somebody: User
) -> None:
    script = f"echo epoch 7 of 9; {WAIT}"
    assert somebody.jobmon("run", "--host", "box", "--", "sh", "-c", script).returncode == 0
    somebody.watched_as(1, "RUNNING")
    (run,) = (box.home / ".local/state/jobmon").glob("*/pid")
    eventually(lambda: run.with_name("output.log").read_text() != "")
    for pid in run.read_text().split()[:3:2]:  # the wrapper and the command
        with suppress(ProcessLookupError):  # the command may end with its wrapper
            os.kill(int(pid), signal.SIGKILL)
    assert end_of(somebody.told(1)).outcome is Outcome.UNKNOWN
    (message,) = discord.received()
    shown = read(message)
    assert "sh (1) ended, outcome unknown" in shown
    assert "without a recorded exit code: its wrapper was killed, too" in shown
    assert "epoch 7 of 9" in shown


def test_outputs_there_are_counted_and_a_patrol_and_a_wait_need_no_ssh(box: Box, somebody: User) -> None:
    (somebody.work / "jobmon.yaml").write_text("expected: {outputs: 4}\n")
    script = (
        f"mkdir out; for i in 1 2 3; do echo $i > out/part$i; done; echo step 3/4; {WAIT}; echo 4 > out/part4"
    )
    done = somebody.jobmon(
        "run", "--host", "box", "--job-config", "jobmon.yaml", "--files", "out", "--", "sh", "-c", script
    )
    assert (done.returncode, "ignored" in done.stderr) == (0, False), done
    counted = "- outputs: 3 of 4 files, 6 B, in `out`"
    eventually(lambda: counted in somebody.jobmon("handover").stdout, step_s=1)
    assert "outputs: 3 of 4 files" in somebody.jobmon("patrol").stdout
    with somebody.paused_monitor(1):
        calls = box.calls
        patrol = somebody.jobmon("patrol")  # one line, although nothing has changed
        assert (patrol.returncode, len(patrol.stdout.splitlines())) == (0, 1), patrol
        for limit_s in (0, 1):
            assert somebody.jobmon("wait", "1", "--for", f"{limit_s}s").returncode == 3  # not over yet
        assert box.calls == calls
    (box.home / "go").touch()
    assert somebody.jobmon("wait", "1", "--for", "9m").returncode == 0
    assert not somebody.told(1).is_doubtful_success


def block(page: str, label: str) -> str:
    """Return the commands below a label of a handover page."""
    found = re.search(rf"^{label}\n\n(?:[^`\n]+\n\n)?```sh\n(.*?)^```$", page, re.MULTILINE | re.DOTALL)
    assert found, page
    return found[1]


def test_who_stops_watching_a_job_there_learns_how_to_end_it(box: Box, somebody: User) -> None:
    pid = box.detached(WAIT)
    assert somebody.jobmon("watch", "--host", "box", f"pid:{pid}").returncode == 0
    done = somebody.jobmon("cancel", "1")
    found = re.search(r"`(ssh box .*)` ends it", done.stdout + done.stderr)
    assert found, done
    assert not box.has_ended(pid)
    assert somebody.run("bash", "-c", found[1]).returncode == 0
    eventually(lambda: box.has_ended(pid))


def test_the_hand_over_page_looks_at_a_job_there_stops_it_and_starts_it_again(
    box: Box, somebody: User
) -> None:
    folder = box.home / "a folder"
    folder.mkdir(exist_ok=True)
    folder.chmod(0o777)
    script = f"echo hello from '$PWD'; {WAIT}"
    done = somebody.jobmon("run", "--host", "box", "--chdir", str(folder), "--", "sh", "-c", script)
    assert done.returncode == 0, done
    somebody.watched_as(1, "RUNNING")
    page = somebody.jobmon("handover").stdout
    ours = [line for line in block(page, "Look:").splitlines() if "ssh box" in line]
    shown = [somebody.run("bash", "-c", line) for line in ours]
    assert "hello from $PWD" in shown[0].stdout, shown
    assert "until [ -e" in shown[-1].stdout, shown
    attach = next(line for line in block(page, "Look:").splitlines() if "tmux attach" in line)
    session = attach.partition("tmux attach -t ")[2].split("'")[0]
    assert session in box.shell("tmux list-sessions")
    stop, another = block(page, "Stop the job:"), block(page, "Stop the job:").replace("){19}", "){18}")
    assert somebody.run("bash", "-c", another).returncode == 1  # it has another start time
    assert somebody.run("bash", "-c", stop).returncode == 0
    end = end_of(somebody.told(1))
    assert (end.outcome, end.exit_code) == (Outcome.FAILURE, 143)
    page = somebody.jobmon("handover").stdout
    assert "ssh box" not in page
    (box.home / "go").touch()
    start = somebody.run("bash", "-c", block(page, "Resume:").replace("jobmon ", f"{PROGRAM} ", 1))
    assert "as job 2" in start.stderr, start
    assert end_of(somebody.told(2)).outcome is Outcome.SUCCESS
    assert somebody.job(2).workdir == str(folder)


def test_the_marker_of_a_job_there_is_a_sign_on_the_hand_over_page_and_of_a_patrol(
    box: Box, somebody: User
) -> None:
    marker = box.home / "STAGE_DONE"
    pid = box.detached(WAIT)
    done = somebody.jobmon("watch", "--host", "box", f"pid:{pid}", f"marker:{marker}")
    assert done.returncode == 0, done
    somebody.watched_as(1, "RUNNING")
    sign = f"marker {marker} on box"
    assert f"- sign that it is done: `{sign}` (not seen yet)" in somebody.jobmon("handover").stdout
    box.shell(f"touch {marker}")
    eventually(lambda: f"`{sign}` (seen)" in somebody.jobmon("handover").stdout, step_s=1.0)
    assert sign in somebody.jobmon("patrol").stdout
    box.shell(f"kill -9 {pid}")
    assert end_of(somebody.told(1)).outcome is Outcome.SUCCESS  # which the marker proves


PROGRAM = f"{sys.executable} -m jobmon"
