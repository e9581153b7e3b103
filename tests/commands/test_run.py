"""``jobmon run`` in a shell and in a terminal: real processes, supervisors and monitors."""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from jobmon_core.context import Context
from jobmon_core.domain.job.tracking.model import WatchedJob
from jobmon_core.domain.slurm.states import JobState
from jobmon_core.lifecycle.health import Health, job_status
from jobmon_core.store.jobs import JobStore
from tests.support.processes import kill, kill_monitors
from tests.support.shell import Shell, complaint
from tests.support.waiting import PATIENCE_S, eventually

_LINES = 200_000
_EXAMPLES = Path(__file__).resolve().parents[2] / "examples"
_HANDLES_INTERRUPTS = """
import signal, sys, time
count = 0
def handle(number, frame):
    global count
    count += 1
    print("interrupt", count, flush=True)
    if count == 2:
        sys.exit(7)
signal.signal(signal.SIGINT, handle)
print("ready", flush=True)
while True:
    time.sleep(60)
"""
_GROWS = """
import time
print("step 1/1000", flush=True)
open("out/epoch_1.pt", "w").close()
while True:
    with open("out/a.jsonl", "a") as file:
        file.write("{}\\n")
    time.sleep(0.1)
"""


@pytest.fixture(autouse=True)
def _end_monitors(shell: Shell) -> Iterator[None]:
    """Poll often, and end the monitors that the test left behind."""
    (shell.home / "config.json").write_text(json.dumps({"poll": {"running_s": 5, "pending_s": 5}}))
    (shell.home / "config.json").chmod(0o600)
    yield
    kill_monitors(shell.home)


def job_of(shell: Shell) -> WatchedJob:
    (job,) = (job for job in JobStore(shell.state).all() if isinstance(job, WatchedJob))
    return job


def reported(shell: Shell) -> WatchedJob:
    """Return the only job once its monitor has concluded."""
    ctx = Context.open(os.environ)
    eventually(lambda: job_status(ctx, job_of(shell)).health is Health.DONE)
    return job_of(shell)


@contextmanager
def running(shell: Shell, *command: str, options: tuple[str, ...] = ()) -> Iterator[subprocess.Popen[str]]:
    """Run a command in the foreground without a terminal."""
    argv = [sys.executable, "-m", "jobmon", "run", *options, "--", *command]
    with subprocess.Popen(
        argv,
        cwd=shell.work,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    ) as process:
        try:
            yield process
        finally:
            process.kill()


def test_the_output_goes_to_stdout_and_to_the_log_file_and_the_exit_code_is_the_commands(
    shell: Shell,
) -> None:
    done = shell.jobmon("run", "--name", "demo", "--", "bash", "-c", "echo out; echo err >&2; exit 3")
    assert (done.returncode, done.stdout) == (3, "out\nerr\n")
    assert (shell.work / "jobmon-1.out").read_text() == "out\nerr\n"
    lines = done.stderr.splitlines()
    assert lines[0] == "jobmon: watching job 1; `jobmon status` shows it"
    assert lines[1].startswith("jobmon: no Discord webhook is configured for success and error messages")
    why = "exit code 3, and nothing in its output explains it"
    assert re.fullmatch(rf"jobmon: demo \(1\) failed( after \d+s)?: {why}", lines[2])
    end = f"jobmon: its output is in {shell.work}/jobmon-1.out; `jobmon show 1` shows more"
    assert lines[-1] == end


def test_a_success_is_told_in_one_line_and_needs_no_separator(shell: Shell) -> None:
    done = shell.jobmon("run", "bash", "-c", "echo $0 $1 -- $2", "a", "--b", "c d")
    assert (done.returncode, done.stdout) == (0, "a --b -- c d\n")
    assert re.search(r"^jobmon: bash \(1\) completed( in \d+s)?$", done.stderr, re.MULTILINE)


def test_stderr_goes_to_stderr_if_it_has_a_file_of_its_own(shell: Shell) -> None:
    done = shell.jobmon(
        "run", "-o", "%x.out", "-e", "logs/%x-%j.err", "--", "bash", "-c", "echo out; echo err >&2"
    )
    assert done.stdout == "out\n"
    assert "err\n" in done.stderr
    assert (shell.work / "bash.out").read_text() == "out\n"
    assert (shell.work / "logs/bash-1.err").read_text() == "err\n"


def test_much_output_arrives_complete_and_in_order(shell: Shell) -> None:
    code = f"for n in range({_LINES}): print(n)"
    done = shell.jobmon("run", "--", sys.executable, "-c", code)
    assert done.stdout == "".join(f"{n}\n" for n in range(_LINES))


def test_output_appears_while_the_command_runs(shell: Shell) -> None:
    code = "import time; print('first', end='\\r'); time.sleep(1000)"
    with running(shell, sys.executable, "-c", code) as process:
        assert process.stdout is not None
        assert process.stdout.read(5) == "first"
        process.terminate()
        assert process.wait(PATIENCE_S) == 128 + signal.SIGTERM
    assert job_of(shell).backend == "local"


def test_outputs_and_checkpoints_are_shown_while_they_grow(shell: Shell) -> None:
    (shell.work / "out").mkdir()
    with running(shell, sys.executable, "-c", _GROWS, options=("--output-dir", "out")) as process:
        ctx = Context.open(os.environ)

        def is_growth_known() -> bool:
            found = ctx.progress_file(job_of(shell).id).read().artifacts_of("").outputs
            return bool(found and found.total.bytes_per_s)

        assert process.stdout is not None
        assert process.stdout.readline() == "step 1/1000\n"
        eventually(is_growth_known)
        values = json.loads(shell.jobmon("progress", "1", "--json").stdout)
        shown = shell.jobmon("show", "1").stdout
        process.terminate()
        process.wait(PATIENCE_S)
    assert [file["name"] for file in values["outputs"]["files"]] == ["a.jsonl"]
    assert values["outputs"]["bytes_per_min"] > 0
    assert values["checkpoints"]["latest"] == "epoch_1.pt"
    assert values["disk"]["total_bytes"] > 0
    assert "B, growing +" in shown


def test_the_diagnosis_of_a_failure_is_told_at_once_and_is_that_of_the_message(shell: Shell) -> None:
    (shell.work / "train.py").write_text("config = {}\nprint(config['lr'])\n")
    shell.program("python", f'exec {sys.executable} "$@"')
    done = shell.jobmon("run", "--", "python", "-u", "train.py")
    assert done.returncode == 1
    title = next(line for line in done.stderr.splitlines() if "KeyError" in line)
    assert re.fullmatch(r"jobmon: train\.py \(1\) failed( after \d+s)?: KeyError: 'lr'", title)
    assert "jobmon: A key is missing." in done.stderr
    (entry,) = reported(shell).outbox
    assert entry.message.title == title.removeprefix("jobmon: ")


def test_a_death_by_signal_has_the_exit_code_of_a_shell(shell: Shell) -> None:
    done = shell.jobmon("run", "--", "bash", "-c", "kill -KILL $$")
    assert done.returncode == 128 + signal.SIGKILL
    assert re.search(r"bash \(1\) failed( after \d+s)?: Killed \(SIGKILL\)", done.stderr)


def test_a_name_cannot_control_the_terminal(shell: Shell) -> None:
    done = shell.jobmon("run", "--name", "a\x1b[2J\x07b", "--", "bash", "-c", ":")
    assert "jobmon: a [2J b (1) completed" in done.stderr


def test_a_missing_command_starts_nothing(shell: Shell) -> None:
    done = shell.jobmon("run", "--", "trian.py")
    assert done.returncode == 127
    assert complaint(done) == "nothing was started: trian.py: command not found"
    assert list(shell.work.iterdir()) == []
    assert list(JobStore(shell.state).all()) == []


@pytest.mark.parametrize(
    ("command", "problem"),
    [("./script", "not executable; `chmod +x` makes it so"), ("./folder", "is a directory")],
)
def test_a_command_that_cannot_be_executed_has_the_exit_code_126_of_a_shell(
    shell: Shell, command: str, problem: str
) -> None:
    (shell.work / "script").write_text("#!/bin/sh\n")
    (shell.work / "folder").mkdir()
    done = shell.jobmon("run", "--", command)
    assert done.returncode == 126
    assert complaint(done) == f"nothing was started: {command}: {problem}"
    assert list(JobStore(shell.state).all()) == []


def test_a_log_that_cannot_be_written_is_a_failure(shell: Shell) -> None:
    (shell.work / "file").touch()
    done = shell.jobmon("run", "-o", "file/log", "--", "bash", "-c", "echo out")
    assert (done.returncode, done.stdout) == (1, "")
    assert done.stderr.splitlines()[-1] == (
        f"jobmon: job 1 could not start: could not open {shell.work}/file: File exists"
    )


def test_a_log_of_another_run_is_never_overwritten(shell: Shell) -> None:
    (shell.work / "jobmon-1.out").write_text("of another jobmon home\n")
    (shell.work / "jobmon-2.out").symlink_to("elsewhere")
    done = shell.jobmon("run", "--", "bash", "-c", "echo out")
    assert (done.returncode, done.stdout) == (0, "out\n")
    assert (shell.work / "jobmon-1.out").read_text() == "of another jobmon home\n"
    assert (shell.work / "jobmon-3.out").read_text() == "out\n"
    assert job_of(shell).job_id == 3


def test_a_named_log_is_overwritten_as_by_a_shell(shell: Shell) -> None:
    (shell.work / "train.log").write_text("the run before\n")
    shell.jobmon("run", "-o", "train.log", "--", "bash", "-c", "echo out")
    assert (shell.work / "train.log").read_text() == "out\n"
    assert job_of(shell).job_id == 1


def test_without_a_log_in_the_users_folders_the_terminal_still_shows_the_output(shell: Shell) -> None:
    command = ("bash", "-c", "echo out; echo err >&2; exit 3")
    done = shell.jobmon("run", "-o", "/dev/null", "--", *command)
    assert (done.returncode, done.stdout) == (3, "out\nerr\n")
    assert f"its output is in {shell.state}/local/1/output;" in done.stderr
    done = shell.jobmon("run", "-o", "/dev/null", "-e", "/dev/null", "--", *command)
    assert (done.returncode, done.stdout) == (3, "out\n")
    assert "\nerr\n" in done.stderr
    assert list(shell.work.iterdir()) == []


def test_a_named_pipe_that_nobody_reads_is_no_log(shell: Shell) -> None:
    os.mkfifo(shell.work / "pipe")
    done = shell.jobmon("run", "-o", "pipe", "--", "bash", "-c", "echo out")
    assert done.returncode == 1
    assert f"could not open {shell.work}/pipe" in done.stderr.splitlines()[-1]


def test_the_command_can_read_a_pipe_and_gets_the_users_environment(shell: Shell) -> None:
    done = shell.jobmon(
        "run", "--gpu-ids", "2", "3", "--", "bash", "-c", "head -1; env", stdin="config\n", SLURM_JOB_ID="99"
    )
    first, *variables = done.stdout.splitlines()
    assert first == "config"
    assert {"SLURM_JOB_ID=99", "CUDA_VISIBLE_DEVICES=2,3", "PYTHONUNBUFFERED=1"} <= set(variables)
    assert "SLURM_CLUSTER_NAME=local" not in variables


def test_ctrl_c_reaches_the_program_each_time_and_the_job_is_told_as_cancelled(shell: Shell) -> None:
    steps = (("ready", "\x03"), ("interrupt 1", "\x03"))
    arguments = ("run", "--name", "loop", "--", sys.executable, "-c", _HANDLES_INTERRUPTS)
    code, screen = shell.talk(arguments, *steps)
    assert code == 7
    assert "interrupt 2" in screen
    assert "loop (1) was cancelled by you" in screen
    job = reported(shell)
    end = job.tasks[""].end
    assert end is not None
    assert (end.state, end.exit_code, end.cancelled_by) == (JobState.CANCELLED, 7, os.getuid())
    assert "was cancelled by you" in job.outbox[0].message.title


def test_on_a_terminal_the_last_lines_do_not_stick_to_a_progress_bar(shell: Shell) -> None:
    arguments = ("run", "--", "bash", "-c", r"printf '\r 50%% |##  |'; printf '\r100%% |####|'")
    code, screen = shell.talk(arguments)
    assert code == 0
    assert "\r100% |####|\njobmon: bash (1) completed" in screen
    assert shell.jobmon(*arguments).stdout.endswith("100% |####|")


def test_a_program_that_ends_well_after_ctrl_c_completed(shell: Shell) -> None:
    code = "trap 'echo saved; exit 0' INT; echo ready; while true; do read -t 60 <> <(:); done"
    done, screen = shell.talk(("run", "--", "bash", "-c", code), ("ready", "\x03"))
    assert done == 0
    assert "bash (1) completed" in screen
    end = reported(shell).tasks[""].end
    assert end is not None
    assert (end.state, end.reason) == (JobState.COMPLETED, "InterruptedByUser")


def test_sigterm_cancels_the_job(shell: Shell) -> None:
    with running(shell, "bash", "-c", "echo up; sleep 1000") as process:
        assert process.stdout is not None
        assert process.stdout.readline() == "up\n"
        process.terminate()
        assert process.wait(PATIENCE_S) == 128 + signal.SIGTERM
        assert process.stderr is not None
        assert "was cancelled by you" in process.stderr.read()


@pytest.mark.parametrize("number", [signal.SIGHUP, signal.SIGKILL])
def test_the_job_goes_on_after_the_terminal_was_closed_or_jobmon_was_killed(
    shell: Shell, number: signal.Signals
) -> None:
    script = "echo up; while [[ ! -e go ]]; do read -t 0.5 <> <(:); done; echo end; exit 4"
    with running(shell, "bash", "-c", script) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == "up\n"
        process.send_signal(number)
        assert process.wait(PATIENCE_S) == {signal.SIGHUP: 129, signal.SIGKILL: -9}[number]
    (shell.work / "go").touch()
    end = reported(shell).tasks[""].end
    assert end is not None
    assert end.exit_code == 4
    assert (shell.work / "jobmon-1.out").read_text() == "up\nend\n"


def test_if_the_supervisor_is_killed_the_end_is_unknown_and_no_success(shell: Shell) -> None:
    script = "echo up; while [[ ! -e go ]]; do read -t 0.5 <> <(:); done; echo end"
    with running(shell, "bash", "-c", script) as process:
        assert process.stdout is not None
        assert process.stderr is not None
        assert process.stdout.readline() == "up\n"
        owner = json.loads((shell.state / "local/1/owner.json").read_text())
        kill(owner["pid"])
        (shell.work / "go").touch()
        assert process.wait(PATIENCE_S) == 1
        assert process.stdout.read() == "end\n"
        assert "job 1: its supervisor was killed, so it is not known how" in process.stderr.read()


def test_a_reader_that_leaves_does_not_end_the_command(shell: Shell) -> None:
    done = shell.line("jobmon run -- bash -c 'for n in {1..50000}; do echo $n; done' | head -1", PIPED="1")
    assert done.stdout == "1\n"
    assert done.returncode == 0
    assert (shell.work / "jobmon-1.out").read_text().endswith("\n50000\n")


def test_the_options_about_the_job_are_stored_with_it(shell: Shell) -> None:
    done = shell.jobmon(
        *("run", "--job-name", "embed", "--num-workers", "4", "--gpu-ids", "0", "1", "--total-items", "1000"),
        *("--output-dir", "out", "--log-dir", "logs", "--log-pattern", "worker_*.log"),
        *("--check-interval", "10", "--stall-timeout", "5m", "--", "bash", "-c", ":"),
    )
    assert done.returncode == 0
    job = reported(shell)
    assert job.settings is not None
    assert (job.name, job.settings.num_workers, job.settings.gpu_ids) == ("embed", 4, (0, 1))
    assert (job.settings.total_items, job.settings.stall_timeout_s) == (1000, 300.0)
    assert (job.settings.log_dir, job.settings.log_pattern) == (f"{shell.work}/logs", "worker_*.log")
    assert job.settings.output_dir == f"{shell.work}/out"


def test_the_example_starts_a_worker_with_a_log_for_each_gpu(shell: Shell) -> None:
    done = run_workers(shell, "echo step 3/3 on GPU $CUDA_VISIBLE_DEVICES")
    assert done.returncode == 0
    assert re.fullmatch(r"worker 0: process \d+, GPU 2\nworker 1: process \d+, GPU 5\n", done.stdout)
    logs = [(shell.work / f"logs/worker_{number}.log").read_text() for number in range(2)]
    assert logs == ["step 3/3 on GPU 2\n", "step 3/3 on GPU 5\n"]


def test_the_example_fails_as_its_first_failed_worker_does_and_its_log_explains_it(shell: Shell) -> None:
    fails = "if [ $WORKER_ID = 1 ]; then echo \"KeyError: 'lr'\"; exit 3; fi; sleep 1000"
    done = run_workers(shell, fails)
    assert done.returncode == 3
    assert "failed" in done.stderr
    assert "KeyError: 'lr'" in done.stderr


def run_workers(shell: Shell, script: str) -> subprocess.CompletedProcess[str]:
    (shell.work / "worker").write_text(script)
    return shell.jobmon(
        *("run", "--gpu-ids", "2", "5", "--num-workers", "2", "--log-dir", "logs"),
        *("--log-pattern", "worker_*.log", "--", "bash", str(_EXAMPLES / "workers.sh"), "bash", "worker"),
        PATH=os.environ["PATH"],
    )


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ((), "no command given; `jobmon run -- COMMAND` runs one"),
        (("--",), "no command given; `jobmon run -- COMMAND` runs one"),
        (("--gpu-ids", "0", "python"), "argument --gpu-ids: 'python' is not the number of a GPU"),
        (
            ("--num-workers", "0", "--", "true"),
            "argument --num-workers: '0' is not a whole number",
        ),
        (("--stall-timeout", "soon", "--", "true"), "argument --stall-timeout: 'soon' is not a time"),
        (("--stall-timeout", "٣", "--", "true"), "argument --stall-timeout: '٣' is not a time"),
        (
            ("--num-workers", "٣", "--", "true"),
            "argument --num-workers: '٣' is not a whole number",
        ),
        (("--nmae", "x", "--", "true"), "unknown option --nmae (did you mean --name?)"),
    ],
)
def test_a_wrong_command_line_starts_nothing(shell: Shell, arguments: tuple[str, ...], words: str) -> None:
    done = shell.jobmon("run", *arguments)
    assert done.returncode == 2
    assert words in complaint(done)


def test_a_success_is_doubted_on_the_terminal_and_strictly_by_the_exit_code(shell: Shell) -> None:
    ignored = ("bash", "-c", f"{sys.executable} no_such.py || true")
    done = shell.jobmon("run", "--", *ignored)
    assert done.returncode == 0
    assert re.search(r"with exit code 0, but its log ends in .*can't open file", done.stderr)
    assert shell.jobmon("run", "--strict", "--", *ignored).returncode == 1
    assert shell.jobmon("run", "--strict", "--", "bash", "-c", "echo accuracy 0.9").returncode == 0


def test_a_success_that_did_less_than_the_user_named_is_doubted_by_its_monitor(shell: Shell) -> None:
    short = ("--total-items", "5000", "--", "bash", "-c", "echo Processed 900/5000 items")
    for options, exit_code in ((("--strict",), 1), ((), 0)):
        done = shell.jobmon("run", *options, *short)
        assert done.returncode == exit_code, done.stderr
        assert re.search(
            r"^jobmon: job \d is doubtful: processed only 900 of 5,000 items", done.stderr, re.MULTILINE
        )
