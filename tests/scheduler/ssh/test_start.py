"""A command that jobmon starts on a host, started here by /bin/sh: it runs as if the user had started it."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Mapping
from pathlib import Path

import pytest

from jobmon_core.scheduler.ssh import script
from jobmon_core.scheduler.ssh.connection import framed
from jobmon_core.scheduler.ssh.start import _start_text
from tests.support.waiting import eventually

PRINT = 'printf "%s\\n" "$(umask) ${LC_ALL-unset}"'


def started(home: Path, *command: str, tmux: str = "exit 1", variables: Mapping[str, str] = {}) -> Path:
    """Start a command and wait for its end; return its folder."""
    (home / "bin").mkdir()
    program = home / "bin/tmux"
    program.write_text(f"#!/bin/sh\n{tmux}\n")
    program.chmod(0o755)
    path = f"{home / 'bin'}{os.pathsep}{os.environ['PATH']}"
    done = subprocess.run(
        ["/bin/sh", "-s"],
        input=framed(script.examine([_start_text("r1", command, "", {})]), "N"),
        env={"HOME": str(home), "PATH": path, **variables},
        cwd=home,
        capture_output=True,
        text=True,
        check=False,
        umask=0o022,
    )
    assert "N-end" in done.stdout, done
    folder = home / ".local/state/jobmon/r1"
    eventually((folder / "exit").exists)
    return folder


def result(folder: Path) -> tuple[int, str]:
    return int((folder / "exit").read_text().split()[0]), (folder / "output.log").read_text()


@pytest.mark.parametrize("tmux", ["exit 1", 'shift 4; exec /bin/sh -c "$1" >/dev/null 2>&1'])
@pytest.mark.parametrize(
    ("variables", "shown"), [({}, "unset"), ({"LC_ALL": ""}, ""), ({"LC_ALL": "C.UTF-8"}, "C.UTF-8")]
)
def test_a_command_gets_the_umask_and_the_locale_of_the_user(
    tmp_path: Path, tmux: str, variables: Mapping[str, str], shown: str
) -> None:
    folder = started(tmp_path, "sh", "-c", PRINT, tmux=tmux, variables=variables)
    assert result(folder) == (0, f"0022 {shown}\n")
    assert folder.stat().st_mode & 0o777 == 0o700  # nobody else reads the log


_OLD_SERVER = 'shift 4; umask 077; PATH=/usr/bin:/bin OTHER=x exec /bin/sh -c "$1" >/dev/null 2>&1'


@pytest.mark.parametrize("tmux", ["exit 1", _OLD_SERVER])
def test_a_command_gets_the_environment_of_the_login_and_nothing_else(tmp_path: Path, tmux: str) -> None:
    """A server of tmux that runs already has another one; a look needs more folders on PATH."""
    awkward = {"folder": "/nowhere", "TEXT": "a 'b'\n$(c)", "PATHS": "x"}
    folder = started(tmp_path, "sh", "-c", "umask; env -0", tmux=tmux, variables=awkward)
    code, output = result(folder)
    umask, _, variables = output.partition("\n")
    assert (code, umask) == (0, "0022")
    path = f"{tmp_path / 'bin'}{os.pathsep}{os.environ['PATH']}"
    login = awkward | {"HOME": str(tmp_path), "PATH": path, "PYTHONUNBUFFERED": "1"}
    found = variables.rstrip("\0").split("\0")
    of_shells = [each for each in found if each.partition("=")[0] in ("PWD", "OLDPWD", "SHLVL", "_")]
    assert sorted(set(found) - set(of_shells)) == sorted(f"{name}={value}" for name, value in login.items())
    assert not (folder / "env").exists()  # it may hold secrets


@pytest.mark.parametrize("word", ["FOO=1", "finish", "cd", "no-such-program"])
def test_the_first_word_of_a_command_is_a_program(tmp_path: Path, word: str) -> None:
    code, output = result(started(tmp_path, word, "0"))
    assert code == 127
    assert word in output
    assert "not found" in output


def test_the_words_of_a_command_reach_it_unchanged(tmp_path: Path) -> None:
    words = ("a b", "$HOME", "*", "'", "", "x\ny", "\\n", "FOO=1", "-n")
    assert result(started(tmp_path, "printf", "%s|", *words)) == (0, "|".join((*words, "")))


def test_the_process_that_is_followed_is_the_command_itself(tmp_path: Path) -> None:
    folder = started(tmp_path, "sh", "-c", "echo $$; exit 3")
    code, output = result(folder)
    assert (code, output.strip()) == (3, (folder / "pid").read_text().split()[2])
