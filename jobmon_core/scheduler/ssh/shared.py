"""One connection to a host that all commands share: it is opened once, and no command ever opens another.

If the master of a connection is gone, or the server refuses a further session, ssh itself makes a connection
of its own, without a word: each is a login. What a command here gets instead of a network (``ProxyCommand``)
ends at once, so ssh can only use the master.
"""

from __future__ import annotations

import hashlib
from contextlib import suppress
from typing import TYPE_CHECKING

from jobmon_core.domain.errors import SchedulerMissing, SchedulerUnavailable, StorageFailed
from jobmon_core.scheduler.ssh.connection import QUIETLY, control_folder, ssh, why_of
from jobmon_core.system.lock import lock
from jobmon_core.system.runner import NotStarted, Ran, Runner, TimedOut, run_in_foreground, succeeded

if TYPE_CHECKING:
    from collections.abc import Mapping

    from jobmon_core.domain.node.hosts.settings import Host
    from jobmon_core.system.runner import Result

_LOCAL_S = 10.0  # to ask the client, or its master, on this machine
_LOGIN_S = 60.0
_IDLE_S = 12 * 3600  # after the last command, the connection is closed
_NO_NETWORK = ("ProxyCommand=false", "ControlMaster=no")


class SharedConnection:
    """The connection to a host, which outlives the commands that use it."""

    def __init__(self, host: Host, environment: Mapping[str, str]) -> None:
        """Find its socket; StorageFailed if there can be no private folder for it."""
        folder = control_folder(environment)
        if not folder:
            raise StorageFailed("no private folder for the socket of the connection can be made in /tmp")
        # no longer than what ssh makes of %C
        self._socket = folder / hashlib.sha256(host.destination.encode()).hexdigest()[:40]
        self._runner, self._host = Runner(), host

    def is_open(self) -> bool:
        """Whether there is a connection; asks only this machine.

        Raises:
            SchedulerUnavailable: it hangs.
            SchedulerMissing: there is no ssh.
        """
        result = self._control("check")
        if isinstance(result, TimedOut):
            name = self._host.name
            raise SchedulerUnavailable(
                f"the connection to {name} hangs: `jobmon connect {name} --close` ends it"
            )
        if isinstance(result, NotStarted):
            raise SchedulerMissing(f"{result.error_text}; install the OpenSSH client")
        return succeeded(result)

    def open_quietly(self) -> str:
        """Log in without asking the user anything, unless it is open; return why that failed, or nothing."""
        with lock(self._socket.with_suffix(".lock")):  # commands that start at once log in once
            if self.is_open():
                return ""
            result = self._runner.capture(self._master(*QUIETLY), _LOGIN_S)
            if self.is_open():
                return ""
        return (isinstance(result, Ran) and why_of(result.stderr)) or result.error_text

    def open_in_foreground(self) -> bool:
        """Log in on the user's terminal, where ssh may ask for a password; return whether it is open then."""
        return run_in_foreground(self._master()) == 0 and self.is_open()

    def close(self) -> bool:
        """End the connection, and all commands that use it; return whether there was one."""
        result = self._control("exit")
        if isinstance(result, TimedOut):
            with suppress(OSError):  # no command finds the hanging process any more
                self._socket.unlink()
        return isinstance(result, TimedOut) or succeeded(result)

    def command(self, line: str, *, has_terminal: bool = False) -> tuple[str, ...]:
        """The command line that runs a line of the user's login shell there, through the connection only."""
        tty = "force" if has_terminal else "no"
        options = (*QUIETLY, *_NO_NETWORK, f"ControlPath={self._socket}", f"RequestTTY={tty}")
        return ssh(self._host, options, line)

    def _control(self, what: str) -> Result:
        options = (*QUIETLY, *_NO_NETWORK, f"ControlPath={self._socket}")
        return self._runner.capture(ssh(self._host, options, flags=("-O", what)), _LOCAL_S)

    def _master(self, *options: str) -> tuple[str, ...]:
        # "auto" replaces the socket of a master that was killed; with "yes", ssh would stay without one
        shared = (f"ControlPath={self._socket}", "ControlMaster=auto", f"ControlPersist={_IDLE_S}")
        return ssh(self._host, (*options, "RequestTTY=no", *shared), flags=("-f", "-N"))
