"""A real sshd on loopback, with a user of its own, and the ssh client that reaches it.

The client is the real one, too: a script of the same name on PATH gives it its configuration, and counts its
calls.
"""

from __future__ import annotations

import os
import pwd
import shutil
import socket
import subprocess
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path

import psutil

from tests.support.loopback import free_ports
from tests.support.waiting import eventually

SSHD = "/usr/sbin/sshd"


def unusable() -> str:
    """Return why there can be no such server with jobs here; empty if there can."""
    if not Path(SSHD).exists() or not shutil.which("ssh"):
        return "openssh-server is not installed"
    if not shutil.which("tmux"):
        return "tmux is not installed"
    return "" if os.geteuid() == 0 else "only root can start an sshd that another user logs in to"


@dataclass
class Box:
    """A host named ``box``, which is this machine with another user."""

    folder: Path
    user: str
    port: int
    server: subprocess.Popen[bytes] | None = field(default=None, init=False)
    _started: list[subprocess.Popen[bytes]] = field(default_factory=list, init=False)

    @property
    def home(self) -> Path:
        """The home directory of the user there."""
        return Path(pwd.getpwnam(self.user).pw_dir)

    @property
    def calls(self) -> int:
        """How often ssh was called."""
        return (self.folder / "calls").read_text().count("\n")

    def logged(self, text: str) -> int:
        """How often the server has logged a text, e.g. ``Accepted publickey`` at each login."""
        return (self.folder / "sshd.log").read_text(errors="replace").count(text)

    def configure(self, *lines: str) -> None:
        """Restart the server with further lines of its configuration, in place of those of earlier calls."""
        path = self.folder / "sshd_config"
        first = path.read_text().partition("# further\n")[0]
        path.write_text("".join((first, "# further\n", *(f"{line}\n" for line in lines))))
        self.stop()
        self.start()

    def environment(self, environ: Mapping[str, str]) -> dict[str, str]:
        """Return the environment in which ``ssh box`` reaches it."""
        path = f"{self.folder / 'bin'}{os.pathsep}{environ.get('PATH', os.defpath)}"
        return {**environ, "PATH": path, "XDG_RUNTIME_DIR": str(self.folder / "run")}

    def start(self) -> None:
        """Start the server."""
        with (self.folder / "sshd.log").open("ab") as log:
            self.server = subprocess.Popen([SSHD, "-D", "-e", "-f", self.folder / "sshd_config"], stderr=log)
        eventually(self._listens)

    def _listens(self) -> bool:
        with socket.socket() as client:
            return client.connect_ex(("127.0.0.1", self.port)) == 0

    def stop(self) -> None:
        """Stop the server and all connections to it, so that further ones are refused."""
        if self.server is None:
            return
        for session in self.sessions():
            with suppress(psutil.NoSuchProcess):
                session.kill()
        self.server.kill()
        self.server.wait()
        self.server = None
        self.close_masters()

    def sessions(self) -> list[psutil.Process]:
        """Return the processes of the server, one or more for each connection."""
        assert self.server is not None
        found = []
        for child in psutil.Process(self.server.pid).children(recursive=True):
            with suppress(psutil.NoSuchProcess):  # it has just ended
                if child.name() == "sshd":
                    found.append(child)
        return found

    def close_masters(self) -> None:
        """End the shared connections of the client."""
        for process in psutil.process_iter(["name", "cmdline"]):
            if str(self.folder) in " ".join(process.info["cmdline"] or ()) and process.info["name"] == "ssh":
                with suppress(psutil.NoSuchProcess):
                    process.kill()

    def shell(self, command: str) -> str:
        """Run a command as the user there, without ssh; return its output."""
        done = subprocess.run(
            self._as_user(command),
            cwd=self.home,
            env=self._user_environment(),
            capture_output=True,
            text=True,
            check=False,
        )
        return done.stdout + done.stderr

    def detached(self, command: str) -> int:
        """Start a command as the user there, in the background; return its PID."""
        with Path(os.devnull).open("r+b") as null:
            process = subprocess.Popen(
                self._as_user(command),
                cwd=self.home,
                env=self._user_environment(),
                start_new_session=True,
                stdin=null,
                stdout=null,
                stderr=null,
            )
        self._started.append(process)
        return process.pid

    def has_ended(self, pid: int) -> bool:
        """Whether a command of `detached` has ended."""
        return next(each for each in self._started if each.pid == pid).poll() is not None

    def _as_user(self, command: str) -> list[str]:
        user = (f"--reuid={self.user}", f"--regid={self.user}", "--clear-groups")
        return ["/usr/bin/setpriv", *user, "/bin/sh", "-c", command]

    def _user_environment(self) -> dict[str, str]:
        return {"HOME": str(self.home), "PATH": os.environ["PATH"], "USER": self.user}

    def end_processes(self) -> None:
        """Kill everything that the user runs there."""
        for process in psutil.process_iter(["username", "name"]):
            if process.info["username"] == self.user and process.info["name"] != "sshd":
                with suppress(psutil.NoSuchProcess):
                    process.kill()
        for child in self._started:
            child.wait()
        self._started.clear()

    def new_host_key(self) -> None:
        """Give the server another key; it applies once the server is restarted."""
        for path in self.folder.glob("host_key*"):
            path.unlink()
        _keygen(self.folder / "host_key")

    def trust_host_key(self) -> None:
        """Have the client know the present key of the server."""
        key = (self.folder / "host_key.pub").read_text()
        (self.folder / "known_hosts").write_text(f"[127.0.0.1]:{self.port} {key}")


def _keygen(path: Path) -> None:
    subprocess.run(["/usr/bin/ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", path], check=True)


@contextmanager
def running_box(folder: Path) -> Iterator[Box]:
    """Yield a running server with a new user; remove both in the end."""
    (port,) = free_ports(1)
    box = Box(folder, f"jobmonbox{os.getpid()}", port)
    home = folder / "home"
    for path in (folder, *folder.parents[:-2]):
        path.chmod(path.stat().st_mode | 0o011)  # the user must reach its home
    useradd = ("/usr/sbin/useradd", "--password", "*", "--create-home", "--home-dir", str(home))
    _change_users(*useradd, "--shell", "/bin/bash", box.user)
    try:
        _configure(box)
        box.start()
        yield box
        box.stop()
    finally:
        box.close_masters()
        if box.server:
            box.server.kill()
        box.end_processes()
        _change_users("/usr/sbin/userdel", "--force", box.user)


@contextmanager
def own_server(folder: Path, name: str, settings: str, variables: Mapping[str, str]) -> Iterator[Path]:
    """Run a server to which this user logs in as ``name``; yield the folder with the client.

    Sessions there have the ``variables``; ``settings`` are further lines of its configuration.
    """
    (port,) = free_ports(1)
    folder.mkdir(mode=0o700)
    box = Box(folder, pwd.getpwuid(os.geteuid()).pw_name, port)
    _configure(box, name)
    pairs = " ".join(f'{key}="{value}"' for key, value in variables.items())
    with (folder / "sshd_config").open("a") as file:
        file.write(f"PermitRootLogin yes\n{settings}SetEnv {pairs}\n")
    try:
        box.start()
        yield folder / "bin"
    finally:
        box.stop()


def _change_users(*command: str) -> None:
    """Add or remove a user, when no other program is changing the users of this machine."""
    eventually(lambda: subprocess.run(command, check=False, capture_output=True).returncode == 0, step_s=0.5)


def _configure(box: Box, name: str = "box") -> None:
    folder = box.folder
    for key in ("host_key", "id"):
        _keygen(folder / key)
    (folder / "run").mkdir(mode=0o700)
    (folder / "calls").touch()
    Path("/run/sshd").mkdir(mode=0o755, exist_ok=True)
    keys = folder / "authorized_keys"
    keys.write_text((folder / "id.pub").read_text())
    (folder / "sshd_config").write_text(
        f"Port {box.port}\nListenAddress 127.0.0.1\nHostKey {folder}/host_key\nPidFile none\nUsePAM no\n"
        f"AuthorizedKeysFile {keys}\nStrictModes no\nAllowUsers {box.user}\nMaxStartups 100\n"
        "LogLevel VERBOSE\n"
    )
    (folder / "ssh_config").write_text(
        f"Host {name}\n  HostName 127.0.0.1\n  Port {box.port}\n  User {box.user}\n"
        f"  IdentityFile {folder}/id\n  IdentitiesOnly yes\n  UserKnownHostsFile {folder}/known_hosts\n"
    )
    box.trust_host_key()
    (folder / "bin").mkdir()
    client = folder / "bin/ssh"
    client.write_text(
        f'#!/bin/sh\necho x >> {folder}/calls\nexec {shutil.which("ssh")} -F {folder}/ssh_config "$@"\n'
    )
    client.chmod(0o755)
