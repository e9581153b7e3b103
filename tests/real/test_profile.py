"""`jobmon --profile` from a laptop: another user's jobmon behind a real sshd, with a real Slurm there."""

from __future__ import annotations

import json
import os
import re
import shlex
import subprocess
import sys
import sysconfig
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory

import psutil
import pytest
from private_slurm import Cluster

from tests.support.documentation import CHECKOUT
from tests.support.fake_discord import FakeDiscord
from tests.support.processes import is_running
from tests.support.pseudo_terminal import terminal
from tests.support.ssh_server import Box, unusable
from tests.support.user import User
from tests.support.waiting import PATIENCE_S, eventually

pytestmark = [
    pytest.mark.xdist_group("ssh"),
    pytest.mark.skipif(bool(unusable()), reason=unusable()),
]
LOGIN, CONNECTION, SESSION = "User child is on pid ", "Connection from ", "Starting session: "
PASSWORD = "correct horse"
ECHO = "printf '<%s>'"
HOSTILE_RC = """\
echo "Welcome to the box!"; printf 'a prompt without an end'; echo "conda: environment base" >&2
alias squeue='echo hijacked'; set -o noclobber; export JOBMON_PROFILE=leo PS1='> '
"""


class Laptop(User):
    """A user of a laptop, who has an account of another name on the cluster."""

    def __init__(
        self, folder: Path, discord: FakeDiscord, box: Box, python: str, slurm: Cluster | None
    ) -> None:
        without_slurm = {name: value for name, value in os.environ.items() if not name.startswith("SLURM")}
        super().__init__(folder, discord, box.environment(without_slurm))
        self.box = box
        variables = {"PYTHONPATH": f"{CHECKOUT}:{sysconfig.get_path('purelib')}"}
        if slurm:
            variables["SLURM_CONF"] = slurm.env["SLURM_CONF"]
        self.real = shlex.join(["env", *(f"{key}={value}" for key, value in variables.items()), python])
        self.real += " -P -m jobmon"
        self.profile()

    def profile(self, command: str = "", **keys: str) -> None:
        """Write the configuration with the profile ``leo``."""
        profile = {"host": "box", "command": command or self.real, "home": "~/jobmon", **keys}
        self.configure(profiles={"leo": profile})

    def there(self, *words: str, stdin: str = "", **environment: str) -> subprocess.CompletedProcess[str]:
        """Run a command of jobmon on the cluster."""
        return self.jobmon("--profile", "leo", *words, stdin=stdin, **environment)

    def master(self) -> psutil.Process:
        """The process that holds the shared connection."""
        found = self.run("ssh", "-O", "check", "-S", self.socket(), "box").stderr
        match = re.search(r"pid=(\d+)", found)
        assert match, found
        return psutil.Process(int(match[1]))

    def socket(self) -> str:
        (path,) = (
            each
            for each in Path(self.environment["XDG_RUNTIME_DIR"], "jobmon-ssh").iterdir()
            if each.is_socket()
        )
        return str(path)


def python_of(box: Box) -> str:
    """A Python of this version that the other user may run."""
    version = f"{sys.version_info.major}.{sys.version_info.minor}"
    for python in (sys.executable, "/usr/bin/python3"):
        if version in box.shell(f"{shlex.quote(python)} -c 'import sys; print(sys.version[:4])'"):
            return python
    pytest.skip(f"no Python {version} that another user can run")


@pytest.fixture
def laptop(box: Box, discord: FakeDiscord, tmp_path: Path) -> Iterator[Laptop]:
    """A laptop whose cluster has no Slurm."""
    yield from a_laptop(box, discord, tmp_path, None)


@pytest.fixture
def laptop_of_slurm(box: Box, discord: FakeDiscord, tmp_path: Path, slurm: Cluster) -> Iterator[Laptop]:
    """A laptop whose cluster has a real Slurm."""
    yield from a_laptop(box, discord, tmp_path, slurm)


def a_laptop(box: Box, discord: FakeDiscord, tmp_path: Path, slurm: Cluster | None) -> Iterator[Laptop]:
    box.close_masters()  # of another test
    (box.home / ".bashrc").write_text(HOSTILE_RC)
    laptop = Laptop(tmp_path, discord, box, python_of(box), slurm)
    yield laptop
    laptop.jobmon("connect", "leo", "--close")
    box.close_masters()
    box.shell("rm -rf ~/jobmon ~/work")


@pytest.fixture
def second_factor(box: Box) -> Iterator[None]:
    """The server wants a password besides the key, which only a user can type."""
    subprocess.run(["/usr/sbin/chpasswd"], input=f"{box.user}:{PASSWORD}", text=True, check=True)
    box.configure("AuthenticationMethods publickey,password")
    yield
    box.configure()


def test_a_hundred_commands_are_one_login_and_one_session_each(box: Box, laptop: Laptop) -> None:
    laptop.profile(ECHO)
    logins, sessions = box.logged(LOGIN), box.logged(SESSION)
    with ThreadPoolExecutor(4) as several:  # the first ones at once
        done = list(several.map(lambda number: laptop.there("show", str(number)), range(100)))
    assert [each.stdout for each in done] == [f"<show><{number}>" for number in range(100)]
    assert {each.stderr for each in done} == {""}
    assert box.logged(LOGIN) == logins + 1
    assert box.logged(SESSION) == sessions + 100


def test_arguments_arrive_unchanged(laptop: Laptop) -> None:
    laptop.profile(ECHO)
    words = ["show", "a'b\"c", "two\nlines", "$HOME `id`", "ü", "", "*", "--", "-h"]
    done = laptop.there(*words)
    assert done.stdout == "".join(f"<{word}>" for word in words)
    laptop.profile('printf "%s" "$NO_COLOR$COLUMNS$JOBMON_PROFILE"; true')
    assert laptop.there("submit", "--wrap", "x").stdout == ""  # nothing that a job would inherit


def test_jobs_are_submitted_and_shown_there_whatever_start_up_files_print(
    box: Box, laptop_of_slurm: Laptop
) -> None:
    laptop = laptop_of_slurm
    assert json.loads(laptop.there("status", "--json").stdout) == []
    script = "#!/bin/sh\n#SBATCH --job-name=far\necho from $(whoami)\n" + WAIT_FOR_GO
    (laptop.work / "far.sh").write_text(script)
    done = laptop.there("submit", "far.sh")
    assert (done.returncode, done.stdout) == (1, "")
    assert "far.sh is a file here, and paths are those on leo" in done.stderr
    done = laptop.there("submit", stdin=script)
    assert done.returncode == 0, done
    (number,) = re.findall(r"^Submitted batch job (\d+)\n$", done.stdout)
    (job,) = json.loads(laptop.there("status", "--json").stdout)
    assert job["job_id"] == number
    assert laptop.there("wait", number, "--for", "0s").returncode == 3
    (box.home / "go").touch()
    assert laptop.there("wait", number, "--for", "5m").returncode == 0
    done = laptop.there("logs", number)
    assert json.loads(laptop.there("show", number, "--json").stdout)["name"] == "far"
    assert f"from {box.user}\n" in done.stdout
    assert "Welcome" not in done.stdout + done.stderr
    box.shell("cat > ~/there.sh <<'EOF'\n#!/bin/sh\ntrue\nEOF")
    assert laptop.there("submit", "there.sh").returncode == 0  # paths are those of the cluster
    assert laptop.there("submit", "--no-such-option", "there.sh").returncode not in (0, 69)
    assert not (laptop.home / "state/monitors").exists()  # nothing is watched here


WAIT_FOR_GO = "until [ -e ~/go ]; do sleep 0.5; done\n"


def test_a_missing_jobmon_is_named(laptop: Laptop) -> None:
    laptop.profile("jobmon")
    done = laptop.there("status")
    assert done.returncode == 127
    assert "jobmon is not installed on leo (box)" in done.stderr


@pytest.mark.usefixtures("second_factor")
def test_where_a_second_factor_is_needed_only_the_user_logs_in(box: Box, laptop: Laptop) -> None:
    laptop.profile(ECHO)
    done = laptop.there("status")  # with "batch", it tries with the key alone
    assert done.returncode == 69
    assert "Permission denied" in done.stderr
    assert "`jobmon connect leo` lets ssh ask you" in done.stderr

    laptop.profile(ECHO, auth="interactive")
    connections = box.logged(CONNECTION)
    done = laptop.there("status")
    assert done.returncode == 69
    assert "leo is not connected (never reached so far)" in done.stderr
    assert box.logged(CONNECTION) == connections

    logins = box.logged(LOGIN)
    with terminal("connect", "leo", environment=laptop.environment) as shown:
        shown.shows("password:")
        shown.type(f"{PASSWORD}\n")
        assert shown.wait() == 0, shown.text
    assert shown.text.endswith("leo: connected\n")
    assert laptop.there("status").stdout == "<status>"
    assert laptop.jobmon("connect", "leo").stdout == "leo: is connected already\n"
    assert box.logged(LOGIN) == logins + 1

    # the socket is left over
    laptop.master().kill()
    eventually(lambda: not laptop_has_master(laptop))
    connections = box.logged(CONNECTION)
    done = laptop.there("status")
    assert done.returncode == 69
    assert re.search(r"leo is not connected \(last seen .* ago\)", done.stderr)
    assert done.stdout == ""
    assert Path(laptop.socket()).exists()
    assert box.logged(CONNECTION) == connections
    (listed,) = json.loads(laptop.jobmon("connect", "--list", "--json").stdout)
    assert (listed["connected"], listed["last_seen_s"] > 0) == (False, True)


def laptop_has_master(laptop: Laptop) -> bool:
    return laptop.run("ssh", "-O", "check", "-S", laptop.socket(), "box").returncode == 0


def test_while_the_cluster_is_away_commands_say_when_it_was_last_seen(box: Box, laptop: Laptop) -> None:
    laptop.profile(ECHO)
    began_s = time.time()
    assert laptop.there("status", "--json").returncode == 0
    assert laptop.jobmon("connect", "leo", "--close").returncode == 0
    box.stop()
    try:
        done = laptop.there("status", "--json")
        (listed,) = json.loads(laptop.jobmon("connect", "--list", "--json").stdout)
    finally:
        box.start()
    assert (done.returncode, done.stdout) == (69, "")
    assert re.search(r"leo \(box\) cannot be reached \(last seen .* ago\)", done.stderr)
    assert done.stderr.endswith("Connection refused\n")  # which no login helps
    assert began_s - 1 <= listed["last_seen_s"] <= time.time() + 1
    assert laptop.there("status", "--json").stdout == "<status><--json>"


def test_a_server_that_refuses_a_further_session_is_not_logged_in_to_again(box: Box, laptop: Laptop) -> None:
    box.configure("MaxSessions 1")
    try:
        laptop.profile(f"touch ~/started; {WAIT_FOR_GO.strip()}; true")
        with ThreadPoolExecutor(1) as first:
            waiting = first.submit(laptop.there, "wait", "1")
            eventually((box.home / "started").exists)
            connections = box.logged(CONNECTION)
            done = laptop.there("status")
            assert done.returncode == 69
            assert box.logged(CONNECTION) == connections
            (box.home / "go").touch()
            assert waiting.result().returncode == 0
    finally:
        box.configure()
        (box.home / "started").unlink()


def test_a_link_that_is_lost_or_silent_ends_the_commands_and_proves_nothing(box: Box, laptop: Laptop) -> None:
    laptop.profile("echo half an answer; sleep 600; true")
    losses: tuple[tuple[Callable[[], None], tuple[str, ...], str], ...] = (
        (lambda: laptop.master().kill(), ("wait", "1"), "leo broke: the answer is incomplete"),
        (lambda: laptop.master().kill(), ("note", "1", "x"), "it is not known what came of the command"),
        # a laptop that was asleep: the server does not answer any more
        (partial(suspend, box), ("wait", "1"), "the answer is incomplete"),
    )
    shown = laptop.work / "shown"
    for lose, words, says in losses:
        argv = (sys.executable, "-m", "jobmon", "--profile", "leo", *words)
        with (
            shown.open("wb") as output,
            subprocess.Popen(
                argv,
                cwd=laptop.work,
                env=laptop.environment,
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=subprocess.PIPE,
                text=True,
            ) as process,
        ):
            eventually(lambda: shown.read_text() == "half an answer\n")  # it has arrived here
            lose()
            _, errors = process.communicate(timeout=PATIENCE_S)
        assert process.returncode == 69, errors
        assert shown.read_text() == "half an answer\n"
        assert says in errors
    for session in box.sessions():
        session.resume()
    laptop.profile(ECHO)
    assert laptop.there("status").stdout == "<status>"  # "batch" logs in again


def suspend(box: Box) -> None:
    for session in box.sessions():
        session.suspend()


def test_a_master_that_hangs_is_named_and_can_be_ended(laptop: Laptop) -> None:
    laptop.profile(ECHO)
    assert laptop.there("status").returncode == 0
    master = laptop.master()
    master.suspend()
    try:
        done = laptop.there("show")
        assert done.returncode == 69
        assert "the connection to leo hangs: `jobmon connect leo --close` ends it" in done.stderr
        assert laptop.jobmon("connect", "leo", "--close").returncode == 0
        assert laptop.there("show").stdout == "<show>"
    finally:
        master.kill()


def test_a_changed_host_key_stops_it_with_the_words_of_ssh(box: Box, laptop: Laptop) -> None:
    laptop.profile(ECHO)
    assert laptop.there("status").returncode == 0
    box.stop()
    box.new_host_key()
    box.start()
    try:
        done = laptop.there("show")
        assert done.returncode == 69
        assert done.stderr.endswith(
            "the key of the host has changed, so ssh refuses to connect: Host key verification failed.\n"
        )
        done = laptop.jobmon("connect", "leo")
        assert done.returncode == 69
        assert "REMOTE HOST IDENTIFICATION HAS CHANGED" in done.stderr
    finally:
        box.trust_host_key()


def test_what_only_looks_ends_there_when_it_is_interrupted_or_its_reader_leaves(
    box: Box, laptop: Laptop
) -> None:
    # as jobmon itself does, it ends at Ctrl-C with the exit code 130
    loop = "echo $$ > ~/pid; trap 'exit 130' INT; while echo line; do sleep 0.2; done"
    laptop.profile(f"sh -c {shlex.quote(loop)}")

    def ended() -> bool:
        return not is_running(int((box.home / "pid").read_text()))

    with terminal("--profile", "leo", "logs", "-f", "1", environment=laptop.environment) as shown:
        shown.shows("line")
        assert "Welcome" not in shown.text
        assert not ended()
        shown.type("\x03")
        assert shown.wait() == 130, shown.text
    eventually(ended)
    done = laptop.run("bash", "-c", f"{sys.executable} -m jobmon --profile leo logs -f 1 | head -n 1")
    assert (done.stdout, done.stderr) == ("line\n", "")
    eventually(ended)


def test_it_looks_on_a_terminal_as_it_does_there(laptop: Laptop) -> None:
    with terminal("--profile", "leo", "status", environment=laptop.environment, columns=60) as shown:
        assert shown.wait() == 0
    assert max(map(len, shown.text.splitlines())) <= 60
    assert "no jobs are being watched" in shown.text
    with terminal("--profile", "leo", "show", "999", environment=laptop.environment, columns=60) as shown:
        assert shown.wait() == 1
    assert max(map(len, shown.text.splitlines())) <= 60  # messages, too
    with terminal("--profile", "leo", "top", environment=laptop.environment) as shown:
        shown.shows("jobmon top")
        shown.resize(100, 30)
        shown.type("q")
        assert shown.wait() == 0


def test_pages_come_through_the_shared_connection(box: Box, laptop: Laptop) -> None:
    assert laptop.there("status").returncode == 0
    logins = box.logged(LOGIN)
    with terminal("--profile", "leo", "web", environment=laptop.environment, columns=200) as shown:
        shown.shows("token=")
        (address,) = re.findall(r"http://127.0.0.1:\d+/\?token=\S+", shown.text)
        with TemporaryDirectory() as folder:
            page = laptop.run("curl", "-sSL", "-c", f"{folder}/jar", "-b", f"{folder}/jar", address)
        assert "<html" in page.stdout
        assert shown.interrupt() == 0
    assert box.logged(LOGIN) == logins


def test_an_agent_on_the_laptop_speaks_with_the_jobmon_there(laptop: Laptop) -> None:
    client = {
        "protocolVersion": "2025-06-18",
        "capabilities": {},
        "clientInfo": {"name": "x", "version": "1"},
    }
    asked = {"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": client}
    done = laptop.there("mcp", stdin=f"{json.dumps(asked)}\n")
    (answer,) = map(json.loads, done.stdout.splitlines())  # nothing of the start-up files is between
    assert answer["result"]["serverInfo"]["name"] == "jobmon"
