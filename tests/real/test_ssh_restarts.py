"""What a restart needs of a host behind a real sshd: the checkpoints there, and proof of death."""

from __future__ import annotations

import json
import os
import pwd
import shlex
import signal
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from jobmon_core.context import Context
from jobmon_core.domain.job.job_settings import AttemptPlace, JobSettings
from jobmon_core.domain.job.restart.model import ProcessesLeft, Verdict, why_alive
from tests.support.fake_discord import FakeDiscord
from tests.support.ssh_jobs import WAIT
from tests.support.ssh_server import Box, unusable
from tests.support.user import User
from tests.support.waiting import eventually

pytestmark = [
    pytest.mark.xdist_group("ssh"),
    pytest.mark.skipif(bool(unusable()), reason=unusable()),
]

TRAINER = (Path(__file__).parent / "programs/saves_and_fails.py").read_text(encoding="utf-8")
LINEAGE = "5eed5eed5eed5eed"
# saves as torch does (a zip archive of a pickle and of the weights), and once only a part of it
SAVES = """\
import os, sys, zipfile
def save(path, size):
    os.makedirs(os.path.dirname(path) or ".", exist_ok=True)
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("archive/data.pkl", b"\\x80\\x02}q\\x00.")
        archive.writestr("archive/data/0", os.urandom(size))
for path in sys.argv[1:]:
    save(path, 400_000)
    if path.endswith("30.pt"):
        os.truncate(path, 200_000)
"""


@pytest.fixture
def somebody(box: Box, discord: FakeDiscord, tmp_path: Path) -> Iterator[User]:
    """A user without Slurm who reaches the host."""
    folder = tmp_path / "u"
    folder.mkdir()
    environment = {name: value for name, value in os.environ.items() if name != "SLURM_CONF"}
    user = User(folder, discord, box.environment(environment))
    user.configure(poll={"running_s": 5, "pending_s": 5})
    yield user
    user.leave()


def run_there(user: User, command: str, *options: str) -> None:
    done = user.jobmon("run", "--host", "box", *options, "--", "sh", "-c", command)
    assert done.returncode == 0, done
    eventually(lambda: user.job(1).ended)


def checkpoints(user: User) -> dict[str, object]:
    found: dict[str, object] = json.loads(user.jobmon("checkpoints", "1", "--json").stdout)
    return found


def test_checkpoints_are_looked_for_where_the_job_works_on_its_own_machine(box: Box, somebody: User) -> None:
    (box.home / "save.py").write_text(SAVES)
    box.shell("mkdir -p exp/other; sleep 2; python3 save.py exp/other/step_90.pt")  # before the job
    (box.home / "exp/other/step_90.pt").touch()
    os.utime(box.home / "exp/other/step_90.pt", (1e9, 1e9))
    stranger = box.home / "exp/out/step_99.pt"
    run_there(
        somebody, "python3 ~/save.py out/step_10.pt out/step_20.pt out/step_30.pt; exit 3", "--chdir", "exp"
    )
    stranger.write_bytes((box.home / "exp/out/step_20.pt").read_bytes())
    os.chown(stranger, 65534, 65534)
    os.utime(stranger, times=None)
    found = checkpoints(somebody)
    assert found["folder"] == f"{box.home}/exp"
    assert found["newest_complete"] == "out/step_20.pt"
    listed = {each["path"]: each["complete"] for each in found["checkpoints"]}  # type: ignore[attr-defined]
    assert listed == {"out/step_10.pt": True, "out/step_20.pt": True, "out/step_30.pt": False}
    text = somebody.jobmon("checkpoints", "1").stdout
    assert text.startswith(f"1 sh\nbox:{box.home}/exp: 3 checkpoints")
    page = somebody.jobmon("handover", "1").stdout
    assert f"3 checkpoints in `box:{box.home}/exp`" in page
    assert "/step_90.pt" not in page + text
    assert "/step_99.pt" not in page + text

    box.stop()
    unknown = checkpoints(somebody)
    box.start()
    assert unknown["checkpoints"] == []
    assert "the files of the job are on another machine: box does not answer" in str(unknown["problem"])


def test_the_log_and_the_option_lead_to_other_folders_there(box: Box, somebody: User) -> None:
    (box.home / "save.py").write_text(SAVES)
    save = "python3 ~/save.py ~/data/runs/step_7.pt; echo saved checkpoint to $HOME/data/runs/step_7.pt"
    run_there(somebody, save)
    assert checkpoints(somebody)["folder"] == f"{box.home}/data/runs"
    run = ("run", "--host", "box", "--checkpoint-dir", "data/b", "--", "sh", "-c")
    assert somebody.jobmon(*run, "python3 ~/save.py data/b/step_8.pt data/step_9.pt").returncode == 0
    eventually(lambda: somebody.job(2).ended)
    found = json.loads(somebody.jobmon("checkpoints", "2", "--json").stdout)
    assert (found["folder"], found["newest_complete"]) == (f"{box.home}/data/b", "step_8.pt")


def test_a_child_that_outlives_the_wrapper_there_is_named_until_it_ends(box: Box, somebody: User) -> None:
    script = (
        f"setsid sh -c 'echo $$ > child; {WAIT}' > /dev/null 2>&1 & until [ -s child ]; do :; done; exit 3"
    )
    run_there(somebody, f"export JOBMON_LINEAGE={LINEAGE}; exec sh -c {shlex.quote(script)}")
    child = int((box.home / "child").read_text())
    ctx = Context.open(somebody.environment)
    job = replace(somebody.job(1), settings=JobSettings(attempt=AttemptPlace(LINEAGE)))
    left = ctx.processes_left(job)
    assert isinstance(left, ProcessesLeft)
    assert child in left.pids
    assert "`ssh box kill " in why_alive(left)
    os.kill(child, signal.SIGKILL)
    (box.home / "go").touch()
    eventually(lambda: ctx.processes_left(job) == ProcessesLeft((), "ssh box kill"), step_s=0.5)

    (box.home / "hostname").write_text("login2\n")
    (box.home / "boot_id").write_text("boot-2\n")
    assert "another machine answers under the name box: login2" in why_alive(ctx.processes_left(job))


AWKWARD = "-rf $(touch hit) 'é"  # a folder there


def test_a_command_there_goes_on_once_the_child_that_it_left_is_gone(
    box: Box, discord: FakeDiscord, somebody: User
) -> None:
    folder = box.home / AWKWARD
    folder.mkdir()
    os.chown(folder, pwd.getpwnam(box.user).pw_uid, -1)
    (folder / "train.py").write_text(TRAINER)
    (folder / "leave").touch()
    (somebody.work / "r.yaml").write_text("restart: {mode: on, delay: [1, 2], resume_arg: '--from {path}'}\n")
    where = ("--host", "box", "--chdir", f"{box.home}/{AWKWARD}", "--job-config", "r.yaml")
    done = somebody.jobmon("run", *where, "--", "python3", "train.py", "1 'e")
    assert done.returncode == 0, done

    eventually(lambda: somebody.job(1).closed and somebody.job(1).decision is not None)
    decision = somebody.job(1).decision
    assert decision
    child = int((folder / "child").read_text())
    assert decision.verdict is Verdict.RESTART, decision
    named = f"But process {child} still runs, started by this job; `ssh box kill {child}` ends it"
    assert named in decision.why
    assert decision.checkpoint
    assert decision.checkpoint.path == f"{folder}/out/step_3.pt"
    assert f"process {child} still runs" in str(discord.wait_for(1)[0])
    waits = f"attempt 1: process {child} still runs"
    eventually(lambda: waits in somebody.jobmon("logs", "--monitor", "1").stdout, step_s=1)
    assert len((folder / "attempts").read_text().splitlines()) == 1

    (folder / "go").touch()  # the child ends, and no second decision is needed
    ended = '"state": "ended"'
    eventually(lambda: ended in somebody.jobmon("restarts", "1", "--json").stdout, step_s=2)
    last = (folder / "attempts").read_text().splitlines()[-1].split("|")
    given = ["1 'e", "--from", f"{folder}/out/step_6.pt"]
    assert last[:5] == ["2", f"{folder}/out/step_6.pt", "6", "again_on_exit", str(given)]
    assert not (box.home / "hit").exists()
