"""One round-trip to a host by ssh: a shell script goes in, and what it prints comes back.

The script goes to the stdin of ``/bin/sh``: the user's login shell may be another. Its start-up files may
print, too, so only what stands between two random words counts. Without the second one, or if ssh itself
failed (exit code 255), nothing is known about the host.
"""

from __future__ import annotations

import os
import re
import stat
from pathlib import Path
from typing import TYPE_CHECKING

from jobmon_core.domain.node.hosts.settings import POD, exec_words
from jobmon_core.domain.slurm.rows import Unreachable
from jobmon_core.system.runner import NotStarted, Ran, Runner

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    from jobmon_core.domain.node.hosts.settings import Host
    from jobmon_core.system.runner import Result

TIMEOUT_S = 60.0
MAX_ANSWER_BYTES = 8 << 20
SSH_FAILED = 255
QUIETLY = ("BatchMode=yes", "LogLevel=ERROR")
_ALWAYS = (
    *("ConnectTimeout=15", "RemoteCommand=none", "ForwardAgent=no", "ForwardX11=no"),
    *("ClearAllForwardings=yes", "ServerAliveInterval=10", "ServerAliveCountMax=3"),
)
_PERSIST_S = 300
_MAX_SOCKET_PATH = 49  # characters of the folder; the kernel takes 107 for a socket, and ssh adds 58
_MAX_WHY = 300
_CHANGED_KEY = "REMOTE HOST IDENTIFICATION HAS CHANGED"
_LOG_OF_KUBECTL = r"[EWI]\d{4} .*"
_NOISE = re.compile(
    r"@+|\s*|@ .* @|Offending .*|  .*ssh-keygen .*|remove with:|[EWI]\d{4} .*"
)  # the last: log of kubectl


def ask(runner: Runner, host: Host, script: str, environment: Mapping[str, str]) -> str | Unreachable:
    """Run a script on a host; return what it prints."""
    nonce = os.urandom(8).hex()
    result = runner.feed(command(host, control_folder(environment)), framed(script, nonce), TIMEOUT_S)
    return answer(result, nonce, host)


def command(host: Host, sockets: Path | None) -> tuple[str, ...]:
    """The command line of ssh; with a folder for ``sockets``, later calls reuse the connection.

    A shell in a pod of Kubernetes is reached by ``kubectl exec`` instead.
    """
    if host.destination.startswith(POD):
        return (*exec_words(host.destination), "--", "/bin/sh", "-s")
    shared: tuple[str, ...] = ("ControlPath=none",)
    if sockets:
        shared = (f"ControlPath={sockets}/%C", "ControlMaster=auto", f"ControlPersist={_PERSIST_S}")
    return ssh(host, (*QUIETLY, "RequestTTY=no", *shared), "exec /bin/sh -s")


def ssh(host: Host, options: Iterable[str], *command: str, flags: tuple[str, ...] = ()) -> tuple[str, ...]:
    """The command line of ssh for a connection that forwards nothing and notices a dead peer within 30 s."""
    words = (word for option in (*options, *_ALWAYS) for word in ("-o", option))
    return ("ssh", *flags, *words, "--", host.destination, *command)


def control_folder(environment: Mapping[str, str]) -> Path | None:
    """The private folder for the sockets of shared connections; None if there can be none.

    Paths of sockets are short, and on a local file system: so not in the home of jobmon.
    """
    for path in _candidates(environment):
        if len(str(path)) > _MAX_SOCKET_PATH:
            continue
        try:
            path.mkdir(0o700, exist_ok=True)
            status = path.lstat()
        except OSError:
            continue
        is_private = status.st_uid == os.geteuid() and not stat.S_IMODE(status.st_mode) & 0o077
        if stat.S_ISDIR(status.st_mode) and is_private:
            return path
    return None


def _candidates(environment: Mapping[str, str]) -> Iterator[Path]:
    if runtime := environment.get("XDG_RUNTIME_DIR", ""):
        yield Path(runtime, "jobmon-ssh")
    yield Path("/tmp", f"jobmon-ssh-{os.geteuid()}")  # noqa: S108 - refused unless it is the user's and private


def framed(script: str, nonce: str) -> str:
    """The script between the words that mark its output.

    The shell runs a function only once all of it has arrived: if the connection is cut before, no part of
    the script runs.
    """
    return (
        # the user's own environment, for commands to start: kept as a script before any variable changes
        'own_environment=$(echo "umask $(umask)"; export -p; [ -z "$BASH_VERSION" ] || declare -fx); '
        "own_lc_all=${LC_ALL-} has_lc_all=${LC_ALL+yes} own_path=$PATH; "
        "LC_ALL=C; export LC_ALL; PATH=$PATH:/usr/local/bin:/usr/bin:/bin:/usr/sbin:/sbin; export PATH\n"
        f"jobmon() {{\n{script}\n}}\n"
        f"{{ echo; echo {nonce}-begin; jobmon </dev/null; echo; echo {nonce}-end; }}\n"
    )


def answer(result: Result, nonce: str, host: Host) -> str | Unreachable:
    """What the script printed, or why nothing is known about the host."""
    if not isinstance(result, Ran):
        what = "kubectl" if result.argv[0] == "kubectl" else "the OpenSSH client"
        hint = f"; install {what}" if isinstance(result, NotStarted) else ""
        return Unreachable(f"{result.error_text}{hint}")
    program = result.argv[0]
    if result.exit_code == SSH_FAILED:
        return Unreachable(why_of(result.stderr, program) or f"ssh: no connection to {host.destination}")
    _, begin, rest = result.stdout.partition(f"\n{nonce}-begin\n")
    text, end, _ = rest.partition(f"\n{nonce}-end")
    if not begin or not end:
        why = why_of(result.stderr, program) or f"{program} ended with exit code {result.exit_code}"
        return Unreachable(f"{host.name} gave no complete answer: {why}")
    return text


def why_of(stderr: str, program: str = "ssh") -> str:
    """What ssh, or kubectl, says on stderr, as one line; empty without a word."""
    lines = [line.strip() for line in stderr.splitlines() if not _NOISE.fullmatch(line)]
    if _CHANGED_KEY in stderr:
        last = ""
        if lines:
            last = lines[-1]
        return f"ssh: the key of the host has changed, so ssh refuses to connect: {last}"[:_MAX_WHY]
    text = "; ".join(dict.fromkeys(line.removeprefix("ssh: ") for line in lines))
    if text:
        return f"{program}: {text}"[:_MAX_WHY]
    return ""
