"""The relay of a program's output, through the runner and with real programs."""

from __future__ import annotations

import fcntl
import os
import signal
import subprocess
import time
from pathlib import Path

import pytest

from jobmon_core.system.runner import Ran, Runner
from tests.support.terminal import Terminal, sh

PATIENCE_S = 300.0


def test_the_user_gets_every_byte_of_both_streams(terminal: Terminal) -> None:
    ran = terminal.run(r"printf 'a\r\377\0b'; printf '\033[1mc' >&2; exit 7")
    assert terminal.out.read_bytes() == b"a\r\xff\x00b"
    assert terminal.err.read_bytes() == b"\x1b[1mc"
    assert ran.exit_code == 7


def test_lines_are_passed_on_while_the_program_runs(terminal: Terminal, tmp_path: Path) -> None:
    go = tmp_path / "go"

    def on_line(line: str) -> None:
        assert line == "Submitted batch job 5"
        assert terminal.out.read_bytes() == b"Submitted batch job 5\n", "the user sees it first"
        go.touch()

    # the program ends only because the line was passed on
    terminal.run(f"echo Submitted batch job 5; while [ ! -e {go} ]; do sleep 0.01; done", on_line)


def test_a_pause_of_the_program_and_its_end_are_reported(terminal: Terminal, tmp_path: Path) -> None:
    lines: list[str] = []
    seen: list[int] = []

    def on_pause() -> None:
        seen.append(len(lines))
        (tmp_path / "go").touch()

    # the program prints the second line only because it paused after the first
    script = f"echo 1; while [ ! -e {tmp_path}/go ]; do sleep 0.01; done; echo 2"
    terminal.programs.run_attached(sh(script), lines.append, None, on_pause)
    assert (seen[0], seen[-1]) == (1, 2)


def test_a_last_line_needs_no_newline(terminal: Terminal) -> None:
    lines: list[str] = []
    terminal.run(r"printf 'one\ntwo'", lines.append)
    assert lines == ["one", "two"]


def test_lines_of_stderr_are_not_passed_on(terminal: Terminal) -> None:
    lines: list[str] = []
    ran = terminal.run("echo no >&2", lines.append)
    assert (lines, ran.stderr) == ([], "no\n")


def test_only_the_end_of_long_output_is_kept(terminal: Terminal) -> None:
    ran = terminal.run("head -c 2000000 /dev/zero | tr '\\0' x; echo end")
    assert len(ran.stdout) < 100_000
    assert ran.stdout.endswith("xend\n")
    assert terminal.out.stat().st_size == 2_000_004


def test_an_exception_of_the_callback_is_raised_after_the_program_ended(
    terminal: Terminal, tmp_path: Path
) -> None:
    def fail(_line: str) -> None:
        raise ValueError("disk full")

    with pytest.raises(ValueError, match="disk full"):
        terminal.run(f"echo 1; sleep 0.2; echo 2; touch {tmp_path}/done", fail)
    assert (tmp_path / "done").exists()
    assert terminal.out.read_text() == "1\n2\n"


def test_a_background_child_does_not_keep_the_user_waiting(terminal: Terminal) -> None:
    began = time.monotonic()
    ran = terminal.run("sleep 1000 & echo $!")
    assert time.monotonic() - began < PATIENCE_S
    os.kill(int(ran.stdout), signal.SIGKILL)


def test_a_closed_output_does_not_affect_the_program(tmp_path: Path) -> None:
    reading, writing = os.pipe()
    os.close(reading)
    lines: list[str] = []
    script = f"echo 5; echo again; touch {tmp_path}/done"
    ran = Runner(stdout_fd=writing, stderr_fd=2).run_attached(sh(script), lines.append)
    os.close(writing)
    assert isinstance(ran, Ran)
    assert (ran.exit_code, lines, (tmp_path / "done").exists()) == (0, ["5", "again"], True)


def test_a_nonblocking_terminal_gets_all_output() -> None:
    reading, writing = os.pipe()
    flags = fcntl.fcntl(writing, fcntl.F_GETFL)
    fcntl.fcntl(writing, fcntl.F_SETFL, flags | os.O_NONBLOCK)
    with subprocess.Popen(sh("wc -c"), stdin=reading, stdout=subprocess.PIPE) as reader:
        os.close(reading)
        script = sh("head -c 1000000 /dev/zero")
        Runner(stdout_fd=writing, stderr_fd=2).run_attached(script, lambda _line: None)
        os.close(writing)
        assert reader.stdout is not None
        assert int(reader.stdout.read()) == 1_000_000
