"""The line that runs a jobmon elsewhere, in real shells, and what is dropped before its output."""

from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from jobmon_core.domain.node.hosts.profiles import Profile
from jobmon_core.domain.node.hosts.settings import Host
from jobmon_core.scheduler.ssh.remote_jobmon import NOT_FOUND, RemoteCommand
from jobmon_core.system.relay import Beginning
from tests.support.waiting import eventually

ECHO = Profile(Host("leo", "leo"), "printf '<%s>'")
HOSTILE = ["a'b\"c", "two\nlines", "$HOME `id` $(id)", "ü \udcff", "", "-n", "%s\\n!!", "*"]
SHELLS = [shell for shell in ("sh", "bash", "zsh", "fish", "tcsh", "csh") if shutil.which(shell)]


def run(
    command: RemoteCommand, profile: Profile = ECHO, stdin: bytes = b"", shell: str = "sh"
) -> tuple[bytes, bytes, int]:
    """Run a command by a login shell; return its output without the noise before it, and its exit code."""
    noise = "echo welcome; printf 'no end' >&2; "
    done = subprocess.run(
        [shell, "-c", noise + command.line(profile, "mark")],
        input=stdin,
        capture_output=True,
        check=False,
    )
    out, err = (Beginning(b"mark").after(got) for got in (done.stdout, done.stderr))
    return out, err, done.returncode


@pytest.mark.parametrize("shell", SHELLS)
def test_arguments_arrive_unchanged_through_each_login_shell(shell: str) -> None:
    out, err, code = run(RemoteCommand(HOSTILE, b""), shell=shell)
    assert out == b"".join(b"<%s>" % os.fsencode(word) for word in HOSTILE)
    assert (err, code) == (b"", 0)


@settings(max_examples=25, deadline=None)
@given(st.lists(st.text().filter(lambda text: "\0" not in text), min_size=1))
def test_any_text_arrives_unchanged(words: list[str]) -> None:
    assert run(RemoteCommand(words, b""))[0] == b"".join(b"<%s>" % word.encode() for word in words)


@pytest.mark.parametrize("code", [0, 1, 3, 69, 137, 254])
def test_the_exit_code_is_that_of_the_command(code: int) -> None:
    assert run(RemoteCommand(["x"], b""), ECHO._replace(command=f"sh -c 'exit {code}'"))[2] == code


def test_no_command_ends_with_the_exit_code_that_ssh_uses_for_itself() -> None:
    assert run(RemoteCommand(["x"], b""), ECHO._replace(command="sh -c 'exit 255'"))[2] == 254


def test_a_missing_program_is_told_from_one_that_misses_another(tmp_path: Path) -> None:
    program = tmp_path / "there"
    program.write_text('#!/bin/sh\n[ "$1" = --version ] || exit 127\n')
    program.chmod(0o755)
    assert run(RemoteCommand(["x"], b""), ECHO._replace(command=str(program))) == (b"", b"", 127)
    out, err, code = run(RemoteCommand(["x"], b""), ECHO._replace(command=f"{tmp_path}/none"))
    assert (out, code) == (b"", NOT_FOUND)
    assert b"not found" in err


def test_the_input_arrives_whole_or_the_command_does_not_run() -> None:
    script = b"#!/bin/sh\necho \0\xff\n" * 9000  # more than a pipe holds
    command, cat = RemoteCommand([], script), ECHO._replace(command="cat")
    assert run(command, cat, script) == (script, b"", 0)
    assert run(command, cat, script[:-1]) == (b"", b"", 74)


def test_without_colour_here_there_is_none_there() -> None:
    show = ECHO._replace(command='printf "%s" "$NO_COLOR"; true')
    assert run(RemoteCommand([], b"", has_colour=False), show)[0] == b"1"
    assert run(RemoteCommand([], b""), show)[0] == b""


def test_the_variables_of_a_profile_do_not_lead_back_to_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("JOBMON_PROFILE", "leo")
    show = ECHO._replace(command='printf "%s,%s" "$JOBMON_PROFILE" "$JOBMON_HOME"; true', home="~/a b")
    assert run(RemoteCommand([], b""), show)[0] == b",~/a b"


def test_what_only_looks_ends_with_the_connection_and_nothing_else_does(tmp_path: Path) -> None:
    for looks in (True, False):
        pid = tmp_path / f"pid-{looks}"
        wait = ECHO._replace(command=f"echo $$ > {pid}; sleep 60; echo done; true")
        command = RemoteCommand([], b"", only_looks=looks).line(wait, "mark")
        process = subprocess.Popen(
            ["/bin/sh", "-c", command],
            stdin=subprocess.PIPE,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            start_new_session=True,
        )
        eventually(lambda pid=pid: pid.exists() and bool(pid.read_text()))  # type: ignore[misc]
        assert process.stdin
        process.stdin.close()
        if looks:
            eventually(lambda process=process: process.poll() is not None)  # type: ignore[misc]
        else:
            assert process.poll() is None
            os.killpg(process.pid, 9)
        process.wait()


def test_without_a_mark_nothing_is_printed_on_stderr() -> None:
    for command in (RemoteCommand(["x"]), RemoteCommand(["x"], has_terminal=True)):
        line = command.line(ECHO)
        done = subprocess.run(
            ["/bin/sh", "-c", line], stdin=subprocess.DEVNULL, capture_output=True, check=True
        )
        assert (done.stdout, done.stderr) == (b"\n<x>", b"")


def test_a_command_line_that_no_kernel_takes_is_refused() -> None:
    with pytest.raises(ValueError, match="too long"):
        RemoteCommand(["x" * 100_000]).line(ECHO)


@settings(max_examples=200, deadline=None)
@given(st.binary(), st.lists(st.sampled_from([b"N", b"N-", b"\n", b"text", b"N-begin\n"])), st.data())
def test_what_follows_the_mark_is_the_same_however_a_stream_is_cut(
    noise: bytes, pieces: list[bytes], data: st.DataObject
) -> None:
    noise, text = noise.replace(b"N-begin\n", b"") + b"\n", b"".join(pieces)
    stream, out, passed = noise + b"N-begin\n" + text, Beginning(b"N-begin\n"), b""
    while stream:
        size = data.draw(st.integers(1, len(stream)))
        passed += out.after(stream[:size])
        stream = stream[size:]
    assert (passed, out.has_begun, out.before) == (text, True, noise)
