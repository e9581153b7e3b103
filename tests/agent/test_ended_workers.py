"""Four workers of which one ends before the others: told as a death only if it had not done its share.

The workers are real processes with an agent beside them. Conditions must last for seconds here.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path

import pytest

from jobmon_core.domain.job.job_settings import JobSettings
from jobmon_core.domain.logs.progress.events.event import Event
from jobmon_core.domain.node.telemetry.model import Worker, WorkerStatus
from jobmon_core.store.telemetry import TaskTelemetry
from tests.support.files import write_whole
from tests.support.waiting import eventually
from tests.support.watched_program import QUICK, WITHIN_S, Watched, watched

_OLD_ENOUGH_S = 11.0  # a program without a rank is noted when it ends if it ran for ten seconds
_LONG_ENOUGH_S = 12.0  # many times as long as such a state must last here
_SLOWER = replace(QUICK, must_last_s=10, idle_s=3600)  # only the end of a worker is judged here

WORKER = """\
import os, sys, time
number, here = sys.argv[1], os.environ["DISK"]
for item in range(1, 100_000):
    print(f"Processed {item}/{40 if os.path.exists(here + '/last') else 100_000} items", flush=True)
    if number == "2" and os.path.exists(here + "/die"):
        os.kill(os.getpid(), 9)
    if number == "2" and os.path.exists(here + "/finish"):
        print(open(here + "/finish").read(), end="", flush=True)
        sys.exit(int(open(here + "/code").read()))
    time.sleep(0.1)
"""
# the launchers start the workers, and wait for all of them
SHELL = """\
import os, subprocess
script = 'for i in 0 1 2 3; do %s python3 "$DISK/w.py" $i > "$DISK/out_$i.txt" & sleep 0.1; done; wait'
os.execvp("bash", ["bash", "-c", script % os.environ["ASSIGN"]])
"""
PYTHON_IN_ORDER = """\
import os, subprocess
here = os.environ["DISK"]
workers = [subprocess.Popen(["python3", here + "/w.py", str(i)], stdout=open(f"{here}/out_{i}.txt", "w"),
                            env={**os.environ, "RANK": str(i)}) for i in range(4)]
for worker in workers:
    worker.wait()
"""
PYTHON_WITHOUT_RANKS = PYTHON_IN_ORDER.replace('"RANK"', '"X"')
PYTHON_THAT_POLLS = """\
import time
while None in [worker.poll() for worker in workers]:
    time.sleep(0.5)
"""
PYTHON_THAT_POLLS = PYTHON_WITHOUT_RANKS.partition("for worker in")[0] + PYTHON_THAT_POLLS
PYTHON_THAT_WAITS_FOR_NOTHING = PYTHON_IN_ORDER.partition("for worker in")[0] + "signal.pause()\n"
PYTHON_THAT_WAITS_FOR_NOTHING = f"import signal\n{PYTHON_THAT_WAITS_FOR_NOTHING}"


@dataclass
class Four:
    """Four workers that run, and the monitor's looks at them."""

    job: Watched

    def workers(self) -> tuple[Worker, ...]:
        return TaskTelemetry(self.job.folder / "telemetry").report("n1").latest.workers

    def are_old_enough(self) -> bool:
        alive = [each for each in self.workers() if each.status is not WorkerStatus.DEAD]
        return len(alive) == 4 and all(time.time() - each.started_s > _OLD_ENOUGH_S for each in alive)

    def one_has_ended(self) -> bool:
        gone = (WorkerStatus.DEAD, WorkerStatus.ZOMBIE)
        return any(each.status in gone for each in self.workers())

    def messages_until(self, is_enough: Callable[[list[Event]], bool]) -> list[Event]:
        found: list[Event] = []

        def look() -> bool:
            found[:] = [event for event in self.job.look() if not event.is_quiet]
            return is_enough(found)

        eventually(look, WITHIN_S)
        return found


def _started(folder: Path) -> None:
    (folder / "w.py").write_text(WORKER)


@pytest.mark.parametrize(
    ("launcher", "assign"),
    [
        pytest.param(SHELL, "RANK=$i", id="ranks of a shell"),
        pytest.param(SHELL, "X=1", id="without ranks"),
        pytest.param(PYTHON_IN_ORDER, "", id="a launcher that waits for another one first"),
        pytest.param(PYTHON_THAT_POLLS, "", id="a program without ranks that starts another"),
    ],
)
def test_a_killed_worker_is_critical_while_its_peers_go_on(
    tmp_path: Path, launcher: str, assign: str
) -> None:
    _started(tmp_path)
    with watched(tmp_path, launcher, {"ASSIGN": assign}) as job:
        job.thresholds = _SLOWER
        four = Four(job)
        eventually(four.are_old_enough, WITHIN_S)
        (tmp_path / "die").touch()
        (event,) = four.messages_until(bool)
    assert (event.subject, event.is_critical) == ("dead-worker", True)
    assert event.text.endswith("3 of 4 workers go on")
    assert "SIGKILL" in event.text or "nothing shows that its work was done" in event.text  # by the kernel


@pytest.mark.parametrize(
    ("last_line", "code"),
    [
        pytest.param("Processed 40/40 items\n", 1, id="its own log at its total"),
        pytest.param("worker 2: all done\n", 1, id="its own log with a success line"),
        pytest.param("", 0, id="exit code 0 that a zombie shows"),
    ],
)
def test_a_worker_that_finishes_first_is_no_death(tmp_path: Path, last_line: str, code: int) -> None:
    _started(tmp_path)
    launcher = SHELL if code else PYTHON_IN_ORDER
    with watched(tmp_path, launcher, {"ASSIGN": "RANK=$i"}, settings=JobSettings(num_workers=4)) as job:
        job.thresholds = _SLOWER
        four = Four(job)
        eventually(four.are_old_enough, WITHIN_S)
        (tmp_path / "code").write_text(str(code))
        write_whole(tmp_path / "finish", last_line)
        eventually(four.one_has_ended, WITHIN_S)
        until_s = time.monotonic() + _LONG_ENOUGH_S
        assert four.messages_until(lambda found: bool(found) or time.monotonic() > until_s) == []


def test_workers_that_all_died_and_that_nothing_has_noticed_are_critical(tmp_path: Path) -> None:
    _started(tmp_path)
    (tmp_path / "w.py").write_text(WORKER.replace('number == "2" and ', ""))
    with watched(tmp_path, PYTHON_THAT_WAITS_FOR_NOTHING) as job:
        job.thresholds = _SLOWER
        four = Four(job)
        eventually(four.are_old_enough, WITHIN_S)
        (tmp_path / "die").touch()
        found = four.messages_until(bool)
    assert [event.subject for event in found] == ["dead-worker"]
    assert found[0].is_critical
