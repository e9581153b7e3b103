"""`jobmon --profile` and `jobmon connect`, as far as no other machine is needed."""

from __future__ import annotations

import json
import os
import shutil
from collections.abc import Iterator
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest

from tests.support.shell import Shell

pytestmark = pytest.mark.skipif(not shutil.which("ssh"), reason="the OpenSSH client is not installed")
LEO = {"leo": {"host": "login.leo.example", "auth": "interactive"}}


@pytest.fixture
def laptop(tmp_path: Path) -> Iterator[Shell]:
    """A laptop whose ssh would fail the test if it used the network."""
    with TemporaryDirectory(prefix="jm-", dir="/tmp") as run:  # the path of a socket is short
        shell = Shell(tmp_path, {**os.environ, "XDG_RUNTIME_DIR": run})
        ssh = shutil.which("ssh")
        shell.program("ssh", f'case "$*" in *ProxyCommand=false*) exec {ssh} "$@";; esac', "kill -9 $PPID")
        (shell.home / "config.json").write_text(json.dumps({"profiles": LEO}))
        (shell.home / "config.json").chmod(0o600)
        yield shell


def test_a_profile_that_only_its_user_may_log_in_to_is_not_logged_in_to(laptop: Shell) -> None:
    for words in (["status"], ["status", "--json"], ["wait", "1"], ["submit", "--wrap", "x"], ["web"]):
        done = laptop.jobmon("--profile", "leo", *words)
        assert done.returncode == 69, done
        assert "leo is not connected (never reached so far): `jobmon connect leo` logs in" in done.stderr
        assert done.stdout == ""


def test_commands_about_this_machine_are_refused_with_the_option_and_run_here_with_the_variable(
    laptop: Shell,
) -> None:
    done = laptop.jobmon("--profile", "leo", "completion", "bash")
    assert (done.returncode, done.stdout) == (2, "")
    assert "`completion` is about this machine" in done.stderr
    done = laptop.jobmon("completion", "bash", JOBMON_PROFILE="leo")
    assert (done.returncode, done.stderr) == (0, "")
    done = laptop.jobmon("status", "--help", JOBMON_PROFILE="leo")
    assert "usage: jobmon status" in done.stdout


def test_the_configuration_of_an_agents_program_names_the_profile(laptop: Shell) -> None:
    wanted = ["--profile", "leo", "mcp", "--allow-actions", "--root", "jobs"]
    given = ("mcp", "--print-config", "claude", "--allow-actions", "--root", "jobs")
    by_option = laptop.jobmon("--profile", "leo", *given)
    by_variable = laptop.jobmon(*given, JOBMON_PROFILE="leo")
    for done in (by_option, by_variable):
        entry = json.loads(done.stdout)["mcpServers"]["jobmon"]
        assert [entry["command"], *entry["args"]][-len(wanted) :] == wanted
    other = json.loads(laptop.jobmon("mcp", "--print-config", "claude", "--ssh", "box").stdout)
    assert other["mcpServers"]["jobmon"]["args"] == ["-T", "box", "jobmon", "mcp"]


@pytest.mark.parametrize(
    ("words", "says"),
    [
        (["--profile"], "--profile takes the name"),
        (["--profile="], "--profile takes the name"),
        (["--profile", "leo"], "no command given"),
        (["--profile", "leo", "statsu"], "did you mean 'status'?"),
        (["--profile", "nix", "status"], "no profile 'nix' in "),
        (["connect", "nix"], "config.json, only leo"),
        (["connect"], "name a profile"),
        (["connect", "--json", "leo"], "name a profile"),
        (["--profile", "leo", "submit", "--backend", "lsf", "x"], "--backend takes one of"),
    ],
)
def test_a_wrong_command_line_is_explained(laptop: Shell, words: list[str], says: str) -> None:
    done = laptop.jobmon(*words)
    assert done.returncode == 2
    assert says in done.stderr


def test_profiles_are_listed_without_reaching_them(laptop: Shell) -> None:
    done = laptop.jobmon("connect", "--list")
    assert done.stdout.splitlines() == [
        "PROFILE  HOST               CONNECTED  LAST SEEN",
        "leo      login.leo.example  no         never",
    ]
    (listed,) = json.loads(laptop.jobmon("connect", "--list", "--json").stdout)
    assert listed == {
        "profile": "leo",
        "host": "login.leo.example",
        "auth": "interactive",
        "connected": False,
        "last_seen_s": None,
    }
    assert laptop.jobmon("connect", "leo", "--close").stdout == "leo: is not connected\n"


def test_without_profiles_nothing_is_listed(laptop: Shell) -> None:
    (laptop.home / "config.json").write_text("{}")
    done = laptop.jobmon("connect", "--list")
    assert (done.returncode, done.stdout) == (0, "")
    assert "there are no profiles in " in done.stderr
    assert laptop.jobmon("connect", "--list", "--json").stdout == "[]\n"


def test_without_ssh_it_says_what_to_install(laptop: Shell) -> None:
    done = laptop.jobmon("--profile", "leo", "status", PATH=os.devnull)
    assert done.returncode == 127
    assert "install the OpenSSH client" in done.stderr
