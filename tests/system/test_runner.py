"""The runner, with real programs."""

from __future__ import annotations

import os
import resource
import signal
import subprocess
import sys
import textwrap
import time
from dataclasses import dataclass
from pathlib import Path

import pytest

from jobmon_core.system.runner import NotStarted, Ran, Result, Runner, TimedOut, TooLong
from tests.support.processes import is_running
from tests.support.terminal import Terminal, sh
from tests.support.waiting import eventually

ROOT = Path(__file__).parents[2]
PATIENCE_S = 300.0


def query(script: str, timeout_s: float = PATIENCE_S) -> Result:
    return Runner().capture(sh(script), timeout_s)


class TestAnAnswerOfLimitedSize:
    def run(self, script: str, text: str = "", timeout_s: float = PATIENCE_S) -> Result:
        return Runner(max_bytes=1 << 20).feed(sh(script), text, timeout_s)

    def test_input_and_output_are_complete(self) -> None:
        text = "".join(f"line {number}\n" for number in range(40_000))
        result = self.run("cat; echo err >&2; exit 3", text)
        assert result == Ran(tuple(sh("cat; echo err >&2; exit 3")), 3, text, "err\n")

    def test_a_program_that_reads_nothing_gets_its_answer_through(self) -> None:
        result = self.run("exec <&-; echo out", "x" * 500_000)
        assert isinstance(result, Ran)
        assert result.stdout == "out\n"

    @pytest.mark.parametrize("where", ["", ">&2"])
    def test_endless_output_ends_the_program_with_its_children(self, tmp_path: Path, where: str) -> None:
        result = self.run(f"echo $$ > {tmp_path}/pid; yes {where} & wait", "input")
        assert isinstance(result, TooLong)
        assert result.error_text == "sh: stopped, since its answer is longer than 1 MiB"
        eventually(lambda: not is_running(int((tmp_path / "pid").read_text())))

    def test_a_slow_program_is_killed_with_its_error_output(self) -> None:
        result = self.run("echo why >&2; sleep 600", timeout_s=10.0)
        assert isinstance(result, TimedOut)
        assert result.stderr == "why\n"


class TestCapture:
    def test_a_result_has_the_output_and_the_exit_code(self) -> None:
        result = query("echo out; echo err >&2; exit 3")
        assert isinstance(result, Ran)
        assert (result.stdout, result.stderr, result.exit_code) == ("out\n", "err\n", 3)
        assert result.argv == ("sh", "-c", "echo out; echo err >&2; exit 3")

    def test_newlines_are_not_translated(self) -> None:
        result = query(r"printf 'a\r\nb\rc'")
        assert isinstance(result, Ran)
        assert result.stdout == "a\r\nb\rc"

    def test_undecodable_bytes_are_replaced(self) -> None:
        result = query(r"printf 'a\377b'")
        assert isinstance(result, Ran)
        assert result.stdout == "a\N{REPLACEMENT CHARACTER}b"

    def test_the_program_gets_no_input(self) -> None:
        result = query("cat")
        assert isinstance(result, Ran)
        assert result.stdout == ""

    def test_arguments_reach_the_program_unchanged(self) -> None:
        awkward = ["a b", "$HOME", "*", "'", '"', "", "x\ny", "ü"]
        result = Runner().capture(["printf", r"%s\0", *awkward], PATIENCE_S)
        assert isinstance(result, Ran)
        assert result.stdout.split("\0")[:-1] == awkward

    def test_a_query_runs_in_the_query_environment(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setenv("SQUEUE_USERS", "nobody")
        result = query("echo $SQUEUE_USERS $SLURM_TIME_FORMAT $LC_ALL")
        assert isinstance(result, Ran)
        assert result.stdout == "%s C\n"

    def test_a_query_may_get_variables_that_are_no_arguments(self) -> None:
        result = Runner().capture_with(
            {"SBATCH_EXPORT": "MY_PIN=1"}, sh("echo $SBATCH_EXPORT $SLURM_TIME_FORMAT"), PATIENCE_S
        )
        assert isinstance(result, Ran)
        assert result.stdout == "MY_PIN=1 %s\n"

    def test_a_death_by_signal_is_a_negative_exit_code(self) -> None:
        result = query("kill -9 $$")
        assert isinstance(result, Ran)
        assert result.exit_code == -signal.SIGKILL

    def test_a_missing_program_is_a_result(self) -> None:
        result = Runner().capture(["no-such-program-anywhere", "-x"], PATIENCE_S)
        assert result == NotStarted(("no-such-program-anywhere", "-x"), "not found on PATH")
        assert result.error_text == "no-such-program-anywhere: not found on PATH"

    def test_a_file_that_may_not_be_run_is_named_with_the_reason(self, tmp_path: Path) -> None:
        plain = tmp_path / "squeue"
        plain.write_text("#!/bin/sh\n")
        result = Runner().capture([str(plain)], PATIENCE_S)
        assert isinstance(result, NotStarted)
        assert "Permission denied" in result.error_text

    def test_a_hanging_program_is_killed_with_its_children(self, tmp_path: Path) -> None:
        began = time.monotonic()
        result = query(f"echo half; echo why >&2; sleep 1000 & echo $! >{tmp_path}/pid; wait", timeout_s=10.0)
        assert time.monotonic() - began < PATIENCE_S
        assert result == TimedOut(result.argv, 10.0, "why\n")
        assert result.error_text == "sh: no answer within 10 s; why"
        child = int((tmp_path / "pid").read_text())
        eventually(lambda: not is_running(child))

    def test_output_larger_than_a_pipe_arrives_complete(self) -> None:
        result = query("head -c 3000000 /dev/zero | tr '\\0' x; head -c 300000 /dev/zero >&2")
        assert isinstance(result, Ran)
        assert (len(result.stdout), len(result.stderr)) == (3_000_000, 300_000)


class TestErrorText:
    def test_an_error_is_one_line_that_names_the_program_once(self) -> None:
        ran = Ran(("squeue",), 1, "", "squeue: error: one\n\n  slurm_load_jobs error: two  \n")
        assert ran.error_text == "squeue: error: one; slurm_load_jobs error: two"

    def test_four_errors_about_a_missing_configuration_of_slurm_are_one(self) -> None:
        errors = (
            "error: resolve_ctls_from_dns_srv: res_nsearch error: Unknown host",
            "error: fetch_config: DNS SRV lookup failed",
            "error: _establish_config_source: failed to fetch config",
            "fatal: Could not establish a configuration source",
        )
        ran = Ran(("sacct",), 1, "", "".join(f"sacct: {error}\n" for error in errors))
        assert ran.error_text == "sacct: found no slurm.conf"

    def test_the_log_of_kubectl_does_not_hide_its_error(self) -> None:
        log = 'E1130 02:43:19.488034    5318 memcache.go:265] "Unhandled Error" err="..."\n'
        assert Ran(("kubectl",), 1, "", f"{log}{log}refused\n").error_text == "kubectl: refused"
        assert Ran(("kubectl",), 1, "", log).error_text.startswith("kubectl: E1130")

    def test_an_error_on_stdout_counts_if_stderr_is_empty(self) -> None:
        assert Ran(("squeue",), 1, "no\n", "").error_text == "squeue: no"

    def test_without_output_the_error_is_the_exit_code(self) -> None:
        assert Ran(("squeue",), 4, "", "").error_text == "squeue: failed with exit code 4"
        assert Ran(("squeue",), -9, "", "").error_text == "squeue: killed by signal 9"


class TestRunAttached:
    def test_a_missing_user_program_is_a_result(self, terminal: Terminal) -> None:
        result = terminal.programs.run_attached(["no-such-program-anywhere"], lambda _line: None)
        assert result == NotStarted(("no-such-program-anywhere",), "not found on PATH")

    def test_signal_handlers_are_restored(self, terminal: Terminal) -> None:
        before = [signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)]
        terminal.run("true")
        assert [
            signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
        ] == before

    def test_a_user_program_gets_the_users_umask_and_limits(self, terminal: Terminal) -> None:
        before = os.umask(0o027)
        soft, hard = resource.getrlimit(resource.RLIMIT_CORE)
        resource.setrlimit(resource.RLIMIT_CORE, (0, hard))
        try:
            ran = terminal.run("umask; ulimit -c")
        finally:
            os.umask(before)
            resource.setrlimit(resource.RLIMIT_CORE, (soft, hard))
        assert ran.stdout == "0027\n0\n"

    def test_a_descriptor_of_the_users_shell_stays_open(self, terminal: Terminal, tmp_path: Path) -> None:
        script = tmp_path / "script"
        script.write_text("#!/bin/sh\n")
        descriptor = os.open(script, os.O_RDONLY)
        os.set_inheritable(descriptor, True)
        try:
            assert terminal.run(f"cat /dev/fd/{descriptor}").stdout == "#!/bin/sh\n"
        finally:
            os.close(descriptor)

    def test_a_user_program_gets_the_users_environment_without_webhooks(
        self, terminal: Terminal, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setenv("SLURM_JOB_ID", "7")
        monkeypatch.setenv("JOBMON_ERROR_WEBHOOK", "https://secret")
        assert terminal.run('echo "$SLURM_JOB_ID:$JOBMON_ERROR_WEBHOOK"').stdout == "7:\n"


@dataclass
class Wrapped:
    """A stand-in for jobmon that runs a program attached, in its own process group."""

    process: subprocess.Popen[bytes]
    child: int

    def ended(self) -> str:
        out, _ = self.process.communicate(timeout=PATIENCE_S)
        return out.decode().splitlines()[-1]


def wrap(script: str, tmp_path: Path, *, before: str = "", trap: str = "") -> Wrapped:
    """Start ``script`` (sets its trap, writes its pid, waits) under a runner in another process."""
    pid_file = tmp_path / "pid"
    program = textwrap.dedent(f"""
        import signal, sys
        from jobmon_core.system.runner import Runner
        {before}
        ran = Runner().run_attached(["sh", "-c", sys.argv[1]], lambda line: None)
        print("exit", ran.exit_code)
    """)
    full = f"{trap}\necho $$ >{pid_file}.new; mv {pid_file}.new {pid_file}; {script}"
    process = subprocess.Popen(
        [sys.executable, "-c", program, full],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        cwd=ROOT,
        process_group=0,
    )
    eventually(pid_file.exists)
    return Wrapped(process, int(pid_file.read_text()))


class TestSignals:
    def test_ctrl_c_ends_the_program_as_without_jobmon(self, tmp_path: Path) -> None:
        wrapped = wrap("exec sleep 600", tmp_path)
        os.killpg(wrapped.process.pid, signal.SIGINT)  # as a terminal does
        assert wrapped.ended() == f"exit {-signal.SIGINT}"

    def test_after_ctrl_c_jobmon_waits_for_the_program(self, tmp_path: Path) -> None:
        wrapped = wrap("while :; do sleep 0.05; done", tmp_path, trap="trap 'sleep 0.3; exit 9' INT")
        os.killpg(wrapped.process.pid, signal.SIGINT)
        assert wrapped.ended() == "exit 9"

    @pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGHUP])
    def test_a_signal_to_jobmon_is_forwarded(self, tmp_path: Path, number: signal.Signals) -> None:
        wrapped = wrap("exec sleep 600", tmp_path)
        os.kill(wrapped.process.pid, number)
        assert wrapped.ended() == f"exit {-number}"

    def test_ignored_signals_stay_ignored_for_the_program(self, tmp_path: Path) -> None:
        wrapped = wrap(
            "read go; exit 4", tmp_path, before="signal.signal(signal.SIGHUP, signal.SIG_IGN)"
        )  # as under nohup
        os.killpg(wrapped.process.pid, signal.SIGHUP)
        assert wrapped.process.stdin is not None
        wrapped.process.stdin.write(b"go\n")
        wrapped.process.stdin.flush()
        assert wrapped.ended() == "exit 4"

    def test_the_program_reads_the_users_own_input(self, tmp_path: Path) -> None:
        wrapped = wrap("read word; [ $word = script ] && exit 6", tmp_path)
        assert wrapped.process.stdin is not None
        wrapped.process.stdin.write(b"script\n")
        wrapped.process.stdin.flush()
        assert wrapped.ended() == "exit 6"

    def test_an_interrupted_query_kills_the_program(self, tmp_path: Path) -> None:
        pid_file = tmp_path / "pid"
        script = f"echo $$ >{pid_file}.new; mv {pid_file}.new {pid_file}; sleep 600"
        program = textwrap.dedent(f"""
            from jobmon_core.system.runner import Runner
            try:
                Runner().capture(["sh", "-c", "{script}"], 600)
            except KeyboardInterrupt:
                print("interrupted")
        """)
        with subprocess.Popen(
            [sys.executable, "-c", program], stdout=subprocess.PIPE, cwd=ROOT, process_group=0
        ) as process:
            eventually(pid_file.exists)
            os.killpg(process.pid, signal.SIGINT)
            out, _ = process.communicate(timeout=PATIENCE_S)
        assert out == b"interrupted\n"
        child = int(pid_file.read_text())
        eventually(lambda: not is_running(child))
