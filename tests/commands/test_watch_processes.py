"""``jobmon watch`` for processes that run already: real processes and monitors, no Slurm."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from jobmon_core.context import Context
from jobmon_core.domain.delivery.outbox import Message
from jobmon_core.domain.job.tracking.model import WatchedJob
from jobmon_core.domain.logs.progress.model import TaskProgress
from jobmon_core.domain.node.telemetry.model import Worker
from jobmon_core.domain.slurm.job_ids import JobRef
from jobmon_core.domain.slurm.states import Outcome
from jobmon_core.lifecycle.health import Health, job_status
from jobmon_core.store.jobs import JobStore
from tests.support.processes import kill_monitors
from tests.support.shell import Shell, complaint
from tests.support.waiting import eventually

_PROGRAM = """
import sys
print("step 1", flush=True)
sys.stdin.read()
if sys.argv[1] == "fails":
    print({}["lr"])
print("Training completed")
"""


class Programs:
    """Programs that run until the test ends them."""

    def __init__(self, shell: Shell) -> None:
        self._folder = shell.work
        self._running: list[subprocess.Popen[bytes]] = []
        (shell.work / "train.py").write_text(_PROGRAM, encoding="utf-8")

    def start(self, how: str, log: str = "") -> int:
        """Start a program that ``fails`` or not and writes to a log, if any; return its PID."""
        path = self._folder / log if log else Path("/dev/null")
        with path.open("wb") as file:
            # the whole path, since processes are found by their command line, and other tests run beside
            argv = [sys.executable, str(self._folder / "train.py"), how]
            process = subprocess.Popen(
                argv, cwd=self._folder, stdin=subprocess.PIPE, stdout=file, stderr=file
            )
        self._running.append(process)
        if log:
            eventually(lambda: path.stat().st_size > 0)
        return process.pid

    def end(self) -> None:
        """Let all programs end."""
        for process in self._running:
            process.communicate()


@pytest.fixture
def programs(shell: Shell) -> Iterator[Programs]:
    (shell.home / "config.json").write_text(json.dumps({"poll": {"running_s": 5, "pending_s": 5}}))
    (shell.home / "config.json").chmod(0o600)
    programs = Programs(shell)
    yield programs
    programs.end()
    kill_monitors(shell.home)


def ended_process() -> int:
    """Return the PID of a process that has ended."""
    with subprocess.Popen([sys.executable, "-c", ""]) as process:
        process.wait()
    return process.pid


def job_of(shell: Shell, pid: int) -> WatchedJob:
    return JobStore(shell.state).find(JobRef(pid))[-1]


def message_about(shell: Shell, pid: int) -> Message:
    """Return the message about the end, when the monitor has sent it or given it up."""
    ctx = Context.open(os.environ)
    eventually(lambda: job_status(ctx, job_of(shell, pid)).health is Health.DONE)
    return job_of(shell, pid).outbox[-1].message  # on a busy machine, others may come before


def test_the_end_of_a_process_is_unknown_and_the_message_says_what_its_log_says(
    shell: Shell, programs: Programs
) -> None:
    pid = programs.start("ends", "out.log")
    done = shell.jobmon("watch", "--pid", str(pid))
    assert done.returncode == 0
    assert done.stderr.splitlines() == [
        f"jobmon: {pid}: {sys.executable} {shell.work}/train.py ends",
        f"jobmon: watching it as job {pid} (train.py); see `jobmon show {pid}`",
    ]
    assert f"log       {shell.work}/out.log" in shell.jobmon("show", str(pid)).stdout
    again = shell.jobmon("watch", "--process", f"{shell.work}/train.py")
    assert f"process {pid} is already watched" in complaint(again)
    programs.end()
    message = message_about(shell, pid)
    assert job_of(shell, pid).outcome is Outcome.UNKNOWN
    assert message.title == f"train.py ({pid}) ended, outcome unknown"
    assert message.summary == "Only the parent of a process learns its exit status."
    assert message.cause == "The log shows no failure, and its last lines report success."
    assert message.evidence == ("Training completed",)
    assert message.advice == "Check the log and the results: no source shows whether the job succeeded."


def test_a_traceback_in_the_log_explains_the_end(shell: Shell, programs: Programs) -> None:
    pid = programs.start("fails", "err.log")
    done = shell.jobmon("watch", "--process", f"{shell.work}/train.py fails", "--name", "lr")
    assert done.returncode == 0
    programs.end()
    assert message_about(shell, pid).title == f"lr ({pid}) ended, outcome unknown: KeyError: 'lr'"


def test_by_name_only_the_processes_that_are_not_watched_yet_are_taken(
    shell: Shell, programs: Programs
) -> None:
    old, new = programs.start("ends"), programs.start("ends")
    shell.jobmon("watch", "--pid", str(old))
    done = shell.jobmon("watch", "--process", f"{shell.work}/train.py")
    assert f"process {old} is left out: it is watched already" in done.stderr
    assert f"watching it as job {new} (train.py)" in done.stderr


def workers_of(shell: Shell, pids: list[int]) -> list[Worker]:
    """Return the workers that the agent beside the processes sees, when it sees one of them."""
    job = job_of(shell, pids[0])
    found: list[Worker] = []

    def look() -> bool:
        telemetry = Context.open(os.environ).telemetry(job.id, "")
        found[:] = [worker for node in telemetry.nodes() for worker in telemetry.report(node).latest.workers]
        return bool(found)

    eventually(look)
    return found


def test_several_processes_are_the_workers_of_one_job(shell: Shell, programs: Programs) -> None:
    logs = ("a.txt", "b.txt", "c.txt")
    pids = [programs.start("ends", log) for log in logs]
    (shell.work / "pids").write_text("".join(f"{pid}\n" for pid in pids))
    for log, done in zip(logs, (100, 200, 300), strict=True):
        with (shell.work / log).open("a") as file:
            file.write(f"Processed {done}/500 items\n")
    options = ("--name", "embed", "--num-workers", "3", "--total-items", "1500")
    watching = shell.jobmon("watch", "--pid-file", "pids", *options)
    assert f"watching these 3 processes as job {pids[0]} (embed)" in watching.stderr
    again = complaint(shell.jobmon("watch", "--pid", str(pids[2])))
    assert again.startswith(f"process {pids[2]} is already watched (job {pids[0]})")
    assert complaint(shell.jobmon("watch", f"pid:{pids[2]}")) == again
    job = job_of(shell, pids[0])
    assert (list(job.tasks), job.is_array) == ([""], False)
    ctx = Context.open(os.environ)

    def shown() -> TaskProgress:
        return ctx.progress_file(job.id).read().tasks.get("", TaskProgress())

    eventually(lambda: shown().progress is not None)
    progress = shown().progress
    assert progress is not None
    assert (progress.current, progress.total) == (600, 1500)
    assert set(shown().workers) == set(logs)
    assert {worker.pid for worker in workers_of(shell, pids)} == set(pids)
    stop = f"kill {' '.join(map(str, pids))}"
    assert stop in shell.jobmon("handover", str(pids[0])).stdout
    programs.end()
    message = message_about(shell, pids[0])
    assert message.title == f"embed ({pids[0]}) ended, outcome unknown"


def test_an_option_given_twice_names_both_processes(shell: Shell, programs: Programs) -> None:
    first, second = programs.start("ends"), programs.start("ends")
    watching = shell.jobmon("watch", "--pid", str(first), "--pid", str(second))
    assert f"watching these 2 processes as job {first} (train.py)" in watching.stderr


def test_processes_that_have_not_started_are_waited_for(shell: Shell, programs: Programs) -> None:
    script = str(shell.work / "train.py")
    with subprocess.Popen(
        [sys.executable, "-m", "jobmon", "watch", "--process", script, "--launch-timeout", "300"],
        stderr=subprocess.PIPE,
        text=True,
    ) as watching:
        pid = programs.start("ends", "out.log")
        _, said = watching.communicate()
    assert f"watching it as job {pid} (train.py)" in said


def test_with_each_the_processes_of_a_pid_file_are_tasks_with_a_log_each(
    shell: Shell, programs: Programs
) -> None:
    pids = [programs.start("ends", "worker_0.log"), programs.start("fails", "worker_1.log")]
    gone = ended_process()
    (shell.work / "worker_pids.txt").write_text("".join(f"{pid}\n" for pid in (*pids, gone)))
    options = ("--job-name", "embed", "--num-workers", "3", "--gpu-ids", "0", "1", "2", "--total-items", "99")
    done = shell.jobmon("watch", "--pid-file", "worker_pids.txt", "--each", *options)
    assert done.returncode == 0
    assert f"jobmon: process {gone} is left out: it does not run on this host" in done.stderr
    assert f"watching these 2 processes as job {pids[0]} (embed)" in done.stderr
    again = complaint(shell.jobmon("watch", "--pid", str(pids[1])))
    assert again == (
        f"process {pids[1]} is already watched (job {pids[0]}); `jobmon cancel {pids[0]}` ends that"
    )
    assert shell.jobmon("logs", str(pids[1])).stdout == "step 1\n"
    settings = job_of(shell, pids[0]).settings
    assert settings is not None
    assert (settings.num_workers, settings.gpu_ids, settings.total_items) == (3, (0, 1, 2), 99)
    programs.end()
    message = message_about(shell, pids[0])
    assert message.title == f"embed ({pids[0]}): 2 with unknown outcome"
    assert "KeyError: 'lr': 1 task (1)" in message.summary
    tasks = job_of(shell, pids[0]).tasks
    logs = [task.diagnosis.log_path for task in tasks.values() if task.diagnosis]
    assert logs == [f"{shell.work}/worker_0.log", f"{shell.work}/worker_1.log"]


def test_logs_that_the_user_names_replace_those_that_jobmon_finds(shell: Shell, programs: Programs) -> None:
    pid = programs.start("ends")
    found = shell.jobmon("watch", "--pid", str(pid), "--log", "a.log", "b.log")
    assert complaint(found).startswith("2 logs for 1 processes: give one for all, or one for each")
    (shell.work / "own.log").write_text("mine\n")
    assert shell.jobmon("watch", "--pid", str(pid), "--log", "own.log").returncode == 0
    assert shell.jobmon("logs", str(pid)).stdout == "mine\n"


def test_without_a_log_that_is_said(shell: Shell, programs: Programs) -> None:
    pid = programs.start("ends")
    done = shell.jobmon("watch", "--pid", str(pid))
    assert "jobmon: no file is found that its output goes to; --log names its log\n" in done.stderr


def test_what_does_not_run_is_not_watched(shell: Shell) -> None:
    gone = ended_process()
    assert complaint(shell.jobmon("watch", "--pid", str(gone))).startswith(
        f"no process {gone} runs on this host"
    )
    assert complaint(shell.jobmon("watch", "--process", "no-such-program")).startswith(
        "no process of yours on this host runs a program or script named 'no-such-program'"
    )
    assert list(JobStore(shell.state).all()) == []


@pytest.mark.parametrize(
    ("content", "problem"), [("", "is empty"), ("12\nabc\n", "contains 'abc'"), ("0\n", "contains '0'")]
)
def test_a_file_that_does_not_list_pids_is_an_error(shell: Shell, content: str, problem: str) -> None:
    (shell.work / "pids").write_text(content)
    done = shell.jobmon("watch", "--pid-file", "pids")
    assert complaint(done) == f"pids {problem}; expected one PID a line"


def test_a_pid_file_without_an_end_is_an_error(shell: Shell) -> None:
    done = shell.jobmon("watch", "--pid-file", "/dev/zero")
    assert complaint(done).startswith(r"/dev/zero contains '\x00\x00")
    assert len(done.stderr) < 300


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ((), "required: either JOB, or one of --pid, --pid-file and --process"),
        (("12", "--process", "x"), "required: either JOB, or one of --pid, --pid-file and --process"),
        (("12", "--log", "x"), "--log is for processes; the logs of a job are --output and --error"),
        (
            ("--pid", "1", "--output", "x"),
            "--output and --error are for jobs; the logs of processes are --log",
        ),
        (("--pid", "1", "--process", "x"), "argument --process: not allowed with argument --pid"),
        (("--pid", "train"), "argument --pid: 'train' is not a whole number of 1 or more"),
        (("pid:1,x",), "pid:1,x: 'x' is not a whole number of 1 or more"),
        (("pid:1", "12"), "required: either JOB, or one of --pid, --pid-file and --process"),
    ],
)
def test_a_wrong_command_line_watches_nothing(shell: Shell, arguments: tuple[str, ...], words: str) -> None:
    done = shell.jobmon("watch", *arguments)
    assert done.returncode == 2
    assert complaint(done).startswith(words)
