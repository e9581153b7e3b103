"""One round-trip by ssh: its command line, and what counts as an answer."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from jobmon_core.domain.node.hosts.settings import Host
from jobmon_core.domain.slurm.rows import Unreachable
from jobmon_core.scheduler.ssh.connection import answer, command, control_folder
from jobmon_core.system.runner import NotStarted, Ran, Result, TimedOut, TooLong

BOX = Host("box", "me@gpu7")
CHANGED_KEY = """\
@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@
@    WARNING: REMOTE HOST IDENTIFICATION HAS CHANGED!     @
@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@
IT IS POSSIBLE THAT SOMEONE IS DOING SOMETHING NASTY!
Add correct host key in /home/me/.ssh/known_hosts to get rid of this message.
Offending ED25519 key in /home/me/.ssh/known_hosts:1
Host key verification failed.
"""


def ran(code: int, stdout: str = "", stderr: str = "") -> Ran:
    return Ran(("ssh",), code, stdout, stderr)


@pytest.mark.parametrize(
    ("result", "why"),
    [
        (ran(255, "\nN-begin\nboot b\n\nN-end\n"), "ssh: no connection to me@gpu7"),
        (
            ran(255, "", "ssh: connect to host gpu7 port 22: Connection refused\n"),
            "ssh: connect to host gpu7",
        ),
        (
            ran(255, "", CHANGED_KEY),
            "the key of the host has changed, so ssh refuses to connect: Host key ver",
        ),
        (ran(0, "\nN-begin\nboot b\n"), "box gave no complete answer: ssh ended with exit code 0"),
        (ran(0, "\nM-begin\nboot b\n\nM-end\n"), "box gave no complete answer"),
        (ran(1, "", "E1130 02:43:19.4 53 memcache.go:265] x\nrefused\n"), "no complete answer: ssh: refused"),
        (ran(127, "", "sh: not found"), "box gave no complete answer: ssh: sh: not found"),
        (TimedOut(("ssh",), 60.0), "ssh: no answer within 60 s"),
        (TooLong(("ssh",), 8 << 20), "ssh: stopped, since its answer is longer than 8 MiB"),
        (NotStarted(("ssh",), "not found on PATH"), "ssh: not found on PATH; install the OpenSSH client"),
    ],
)
def test_without_a_complete_answer_nothing_is_known(result: Result, why: str) -> None:
    found = answer(result, "N", BOX)
    assert isinstance(found, Unreachable)
    assert why in found.why


@pytest.mark.parametrize("code", [0, 1, 137])
def test_a_complete_answer_counts_whatever_surrounds_it(code: int) -> None:
    noisy = "Welcome!\nN-begin\n\nN-begin\nboot b\ngone 7\n\nN-end\ngoodbye"
    assert (
        answer(ran(code, noisy.replace("Welcome!\nN-begin\n", "Welcome! N-begin\n")), "N", BOX)
        == "boot b\ngone 7\n"
    )


def test_ssh_asks_nothing_and_gives_up_in_bounded_time() -> None:
    words = command(BOX, Path("/run/user/7/jobmon-ssh"))
    for option in (
        *("BatchMode=yes", "ConnectTimeout=15", "ServerAliveInterval=10", "ServerAliveCountMax=3"),
        *("LogLevel=ERROR", "ControlMaster=auto", "ControlPath=/run/user/7/jobmon-ssh/%C"),
    ):
        assert words[words.index(option) - 1] == "-o"
    assert words[-3:] == ("--", "me@gpu7", "exec /bin/sh -s")
    assert "ControlPath=none" in command(BOX, None)


def test_the_sockets_of_shared_connections_are_in_a_short_private_folder(tmp_path: Path) -> None:
    short = Path("/tmp") / f"jm-{tmp_path.name[-20:]}"
    short.mkdir(mode=0o700)
    try:
        runtime = {"XDG_RUNTIME_DIR": str(short)}
        folder = control_folder(runtime)
        assert folder == short / "jobmon-ssh"
        assert folder.stat().st_mode & 0o777 == 0o700
        folder.chmod(0o755)  # others could connect: it is not used
        assert control_folder(runtime) != folder
        folder.rmdir()
        folder.symlink_to(tmp_path)
        assert control_folder(runtime) != folder
        folder.unlink()
    finally:
        short.rmdir()


def test_a_folder_too_long_for_the_sockets_is_not_used(tmp_path: Path) -> None:
    longest = 107 - len("/") - 40 - len(".0123456789abcdef")  # %C is a SHA-1; ssh first adds a random suffix
    base = Path("/tmp") / f"jm-{tmp_path.name[-9:]}"
    base.mkdir(mode=0o700)
    runtime = base / ("r" * (longest - len(f"{base}/") - len("/jobmon-ssh")))
    too_long = runtime.with_name(f"{runtime.name}r")
    for folder in (runtime, too_long):
        folder.mkdir()
    try:
        assert len(str(runtime / "jobmon-ssh")) == longest
        assert control_folder({"XDG_RUNTIME_DIR": str(runtime)}) == runtime / "jobmon-ssh"
        assert control_folder({"XDG_RUNTIME_DIR": str(too_long)}) != too_long / "jobmon-ssh"
    finally:
        shutil.rmtree(base)
