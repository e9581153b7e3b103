"""Jobs on a host behind a real sshd, under another user, in real tmux."""

from __future__ import annotations

import os
import shlex
import shutil
import signal
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

import pytest

from jobmon_core.context import Context
from jobmon_core.domain.errors import JobmonError, UnknownJob
from jobmon_core.domain.slurm.rows import Unreachable
from jobmon_core.domain.slurm.states import Outcome
from jobmon_core.scheduler.ssh import connection
from jobmon_core.scheduler.ssh.client import SshScheduler
from jobmon_core.scheduler.ssh.jobs import HostJobs
from jobmon_core.scheduler.ssh.start import CommandStarter
from jobmon_core.scheduler.status_row import StatusRow, from_answer
from tests.support.fake_discord import FakeDiscord
from tests.support.messages import end_of, title
from tests.support.ssh_server import Box, missing, running_box
from tests.support.user import User
from tests.support.waiting import eventually

pytestmark = [
    pytest.mark.xdist_group("ssh"),
    pytest.mark.skipif(bool(missing()), reason=missing()),
    pytest.mark.skipif(not shutil.which("tmux"), reason="tmux is not installed"),
]
# what the login shell of many users prints; and the boot id of a host that can be restarted in a test
_BASHRC = """\
echo "Welcome to the box!"; echo "conda: environment base" >&2
export JOBMON_BOOT_ID_FILE=$HOME/boot_id
[ -e ~/uptime ] && export JOBMON_UPTIME_FILE=$HOME/uptime
[ -e ~/no-tmux ] && export PATH=$HOME/nobin:$PATH
"""
WAIT = "until [ -e ~/go ]; do sleep 0.2; done"


@pytest.fixture(scope="module")
def running() -> Iterator[Box]:
    folder = Path(f"/tmp/jobmon-box-{os.getpid()}")
    folder.mkdir(mode=0o755)
    try:
        with running_box(folder) as box:
            yield box
    finally:
        shutil.rmtree(folder)


@pytest.fixture
def box(running: Box, monkeypatch: pytest.MonkeyPatch) -> Iterator[Box]:
    """A host without jobs."""
    (running.home / ".bashrc").write_text(_BASHRC)
    (running.home / "boot_id").write_text("boot-1\n")
    (running.home / "nobin").mkdir(exist_ok=True)
    tmux = running.home / "nobin/tmux"
    tmux.write_text("#!/bin/sh\nexit 1\n")
    tmux.chmod(0o755)
    for name, value in running.environment({}).items():
        monkeypatch.setenv(name, value if name != "PATH" else f"{value}{os.pathsep}{os.environ['PATH']}")
    yield running
    running.end_processes()
    for name in ("go", "no-tmux", "DONE", "uptime"):
        (running.home / name).unlink(missing_ok=True)


class Jobs:
    """The jobs on the host, as a monitor sees them."""

    def __init__(self, box: Box) -> None:
        self.box = box
        ctx = Context.open(os.environ)
        self.resources = ctx.backend_resources("ssh")
        self.scheduler = SshScheduler(self.resources, "box")

    def watch(self, *words: str) -> int:
        return HostJobs(self.resources, "box").register(shlex.join(words)).ref.job_id

    def run(self, script: str) -> int:
        starter = CommandStarter(self.resources, "box", pause=lambda _: None)
        command = ("sh", "-c", script)
        number = starter.record(command, "", "").ref.job_id
        assert starter.start(number, command, "") == ""
        assert starter.start(number, command, "") == ""  # after a cut connection, it is repeated
        return number

    def wrapper(self, number: int) -> int:
        """Return the PID of the wrapper of a command."""
        run_id = HostJobs(self.resources, "box").records.of(number).load().run_id
        return int(self.box.shell(f"cat ~/.local/state/jobmon/{run_id}/pid").split()[0])

    def rows(self) -> dict[int, StatusRow]:
        answer = self.scheduler.ask_queue("")
        assert not isinstance(answer, Unreachable), answer
        return {row.job_id: row for row in from_answer(answer.text, range(100))}

    def end_as(self, wanted: dict[int, tuple[str, int | None, int | None] | None]) -> None:
        """Wait until jobs have ended: their state, exit code and signal; None: gone, without an outcome."""

        def ends() -> bool:
            rows = self.rows()
            found = {
                number: (row.state, row.exit_code, row.signal) if (row := rows.get(number)) else None
                for number in wanted
            }
            return found == wanted

        eventually(ends, step_s=0.5)

    def log(self, number: int) -> str:
        row = self.scheduler.ask_record(number)
        assert isinstance(row, tuple)
        return Path(row[0].stdout).read_text()


@pytest.fixture
def jobs(box: Box) -> Jobs:
    return Jobs(box)


def tmux(box: Box, name: str, command: str) -> None:
    box.shell(f"tmux new-session -d -s {name} {shlex.quote(command)}")


def test_one_round_trip_shows_how_each_of_many_jobs_ended(box: Box, jobs: Jobs) -> None:
    count = "echo started >> ~/starts; "
    done, failed, killed = (jobs.run(f"{count}echo step 1/2; {WAIT}; echo last words; {end}") for end in ENDS)
    (box.home / "no-tmux").touch()
    alone = jobs.run(f"{count}{WAIT}; exit 7")
    wrapper_killed = jobs.run(f"{count}{WAIT}; exit 0")
    (box.home / "no-tmux").unlink()
    tmux(box, "kept", f"{WAIT}; exit 5")
    box.shell("tmux set-option -g remain-on-exit on")
    for name, end in (("killed", "kill -KILL $$"), ("ok", "exit 0")):
        tmux(box, name, f"{WAIT}; {end}")
    tmux(box, "shell", "bash --norc -i")
    box.shell(f"tmux send-keys -t shell 'sh -c \"{WAIT}; touch ~/DONE\"' Enter")
    plain = box.detached(f"{WAIT}; echo lost > ~/lost.log")
    logged = box.detached(f"exec > ~/logged.log; echo step 1/9; {WAIT}; echo step 9/9")
    eventually(lambda: "step 1" in box.shell("cat ~/logged.log"))
    box.shell("tmux set-option -t shell remain-on-exit off")
    in_shell = registered(jobs, "tmux:shell", "marker:DONE")
    kept, signalled, ok = (jobs.watch(f"tmux:{name}") for name in ("kept", "killed", "ok"))
    by_pid = jobs.watch("process:lost > ~/lost")
    assert jobs.watch(f"pid:{plain}") == by_pid  # the same process is the same job
    by_log = jobs.watch("log:~/logged.log")
    every = (done, failed, killed, alone, wrapper_killed, in_shell, kept, signalled, ok, by_pid, by_log)
    assert len(set(every)) == len(every)
    assert jobs.watch(f"pid:{logged}") == by_log  # the same process is the same job

    calls = box.calls
    assert {row.state for row in jobs.rows().values()} == {"RUNNING"}
    assert set(jobs.rows()) == set(every)
    assert box.calls == calls + 2  # one for each look, whatever the number of jobs

    os.kill(jobs.wrapper(wrapper_killed), signal.SIGKILL)
    eventually(lambda: jobs.rows()[wrapper_killed].reason.startswith("its wrapper was killed"))
    (box.home / "go").touch()
    jobs.end_as(
        {
            done: ("COMPLETED", 0, None),
            failed: ("FAILED", 3, None),
            killed: ("FAILED", 137, None),
            alone: ("FAILED", 7, None),
            wrapper_killed: None,
            in_shell: ("COMPLETED", None, None),
            kept: ("FAILED", 5, None),
            signalled: ("FAILED", None, 9),
            ok: ("COMPLETED", 0, None),
            by_pid: None,
            by_log: None,
        }
    )
    assert box.shell("cat ~/starts").count("started") == 5
    assert jobs.log(failed) == "step 1/2\nlast words\n"


ENDS = ("exit 0", "exit 3", "kill -KILL $$")


def registered(jobs: Jobs, *words: str) -> int:
    """Register a job as soon as its program runs in the foreground of its shell."""
    found: list[int] = []

    def register() -> bool:
        with suppress(UnknownJob):  # only the shell runs so far
            found.append(jobs.watch(*words))
        return bool(found)

    eventually(register, step_s=0.5)
    return found[0]


def test_a_host_that_does_not_answer_proves_nothing(
    box: Box, jobs: Jobs, monkeypatch: pytest.MonkeyPatch
) -> None:
    number = jobs.run(WAIT)

    def why() -> str:
        answer = jobs.scheduler.ask_queue("")
        assert isinstance(answer, Unreachable), answer
        return answer.why

    # a frozen peer: the connection stays open, and nothing comes
    monkeypatch.setattr(connection, "TIMEOUT_S", 2.0)
    sessions = box.sessions()
    for session in sessions:
        session.suspend()
    assert "no answer within 2 s" in why()
    for session in sessions:
        session.resume()
    monkeypatch.setattr(connection, "TIMEOUT_S", 60.0)
    assert jobs.rows()[number].state == "RUNNING"

    # a login shell that ends at once, and one that fails as ssh does
    for line, text in (("exit 0", "no complete answer"), ("exit 255", "ssh: ")):
        (box.home / ".bashrc").write_text(f"echo hello\n{line}\n")
        assert text in why()
    (box.home / ".bashrc").write_text(_BASHRC)

    box.stop()
    assert "Connection refused" in why()
    box.new_host_key()
    box.start()
    assert "the key of the host has changed" in why()
    box.trust_host_key()
    assert jobs.rows()[number].state == "RUNNING"

    (box.home / "boot_id").write_text("boot-2\n")
    (box.home / "uptime").write_text("9999999.00 1.00\n")
    assert "another machine answers" in why()
    (box.home / "boot_id").write_text("boot-1\n")
    assert jobs.rows()[number].reason == ""
    (box.home / "boot_id").write_text("boot-2\n")
    (box.home / "uptime").write_text("0.01 0.01\n")
    row = jobs.rows()[number]
    assert (row.state, row.reason) == ("NODE_FAIL", "the host was restarted")


def test_what_cannot_be_watched_is_refused_with_what_to_do(box: Box, jobs: Jobs) -> None:
    (box.home / "DONE").touch()
    (box.home / "old.log").write_text("x")
    tmux(box, "idle", "bash --norc -i")
    for words, text in (
        (("pid:4194300",), "no process 4194300 runs on box"),
        (("tmux:other",), "box has no session or pane 'other' of tmux: the sessions are idle"),
        (("tmux:idle",), "only a shell runs in tmux session 'idle'"),
        (("process:nothing",), "has 'nothing' in its command line"),
        (("marker:DONE",), "exists on box already"),
        (("log:old.log",), "no process of yours on box writes to old.log"),
    ):
        with pytest.raises(JobmonError, match=text):
            jobs.watch(*words)
    assert HostJobs(jobs.resources, "box").names() == ("tmux:idle",)
    assert jobs.watch("marker:LATER") == 1  # nothing was recorded before


def test_users_get_one_message_about_each_end_and_each_outage(
    box: Box, discord: FakeDiscord, tmp_path: Path
) -> None:
    folder = tmp_path / "u"
    folder.mkdir()
    environment = {name: value for name, value in os.environ.items() if name != "SLURM_CONF"}
    user = User(folder, discord, box.environment(environment))
    user.configure(hosts={"box": {"data": "/tmp"}}, poll={"running_s": 5, "pending_s": 5, "warn_stale_s": 5})
    try:
        follow(user, box, discord)
    finally:
        user.leave()


def follow(user: User, box: Box, discord: FakeDiscord) -> None:
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
    assert title(outage) == "⚠ ssh to box is not responding"
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
    "⚠ ssh to box is not responding",
    "🔵 ssh to box is responding again",
    "❌ lr-3 (1) failed: KeyError: 'lr'",
    "✅ sh (2) completed",
    "⚠ sh (3) ended, outcome unknown",
    "❌ touch (4) failed: It was not started",
)
