"""Run a jobmon that is installed on a cluster, from here, through one shared connection of ssh."""

from __future__ import annotations

import os
from contextlib import suppress
from typing import TYPE_CHECKING

from jobmon_core.domain.errors import SchedulerMissing, SchedulerUnavailable, UsageError
from jobmon_core.domain.humanize import duration
from jobmon_core.domain.node.hosts.profiles import INTERACTIVE, PROGRAM
from jobmon_core.scheduler.ssh.connection import SSH_FAILED, why_of
from jobmon_core.scheduler.ssh.remote_jobmon import NOT_FOUND, RemoteCommand
from jobmon_core.scheduler.ssh.shared import SharedConnection
from jobmon_core.system.runner import Runner

if TYPE_CHECKING:
    from jobmon_core.context import Context

__all__ = ["RemoteCommand", "RemoteJobmon"]
_EXAMPLE = '; add e.g. "profiles": {"leo": {"host": "login.leo.example"}}'


class RemoteJobmon:
    """The jobmon on the cluster of a profile."""

    def __init__(self, ctx: Context, name: str) -> None:
        """Find the profile.

        Raises:
            UsageError: there is no such profile.
            ConfigInvalid: the profiles are not valid.
            StorageFailed: there can be no private folder for the socket of the connection.
        """
        profiles = ctx.profiles()
        if name not in profiles:
            known = f", only {', '.join(profiles)}" if profiles else _EXAMPLE
            raise UsageError(f"no profile {name!r} in {ctx.home.config}{known}")
        self._ctx, self._name, self.profile = ctx, name, profiles[name]
        self.connection = SharedConnection(self.profile.host, ctx.environment)

    def connect(self) -> bool:
        """Open the connection on the user's terminal; return False if it is open already.

        SchedulerUnavailable if ssh, which says why on stderr, does not succeed.
        """
        if self.connection.is_open():
            return False
        if not self.connection.open_in_foreground():
            raise SchedulerUnavailable(f"there is no connection to {self._where()}")
        self._remember()
        return True

    def run(self, command: RemoteCommand) -> int:
        """Run a command there, with its output here; return its exit code.

        Raises:
            SchedulerUnavailable: there is no connection, or it broke.
            SchedulerMissing: there is no jobmon, or here no ssh.
            UsageError: the command line is too long.
        """
        mark = os.urandom(8).hex()  # which nothing else prints
        code, noise = Runner().run_marked(self.argv_of(command, mark), mark.encode(), command.stdin)
        if noise is not None:
            why = why_of(noise) or "the login shell there ended, or asks something"
            if not self.connection.is_open():
                why = "the connection has just ended; try again"
            raise SchedulerUnavailable(f"{self._where()}: no command ran there: {why}")
        if code == SSH_FAILED and command.only_looks:
            raise SchedulerUnavailable(f"the connection to {self._name} broke: the answer is incomplete")
        if code == SSH_FAILED:
            raise SchedulerUnavailable(
                f"the connection to {self._name} broke, so it is not known what came of the command: "
                f"look with `jobmon --profile {self._name} status` before you repeat it"
            )
        self._remember()
        if code == NOT_FOUND:
            program = self.profile.command
            what = "jobmon is not installed" if program == PROGRAM else f"`{program}` does not run"
            raise SchedulerMissing(
                f"{what} on {self._where()}, or not on the PATH that ssh has there: install it, or set "
                f"profiles.{self._name}.command in {self._ctx.home.config} to its path there"
            )
        return code

    def argv_of(self, command: RemoteCommand, mark: str = "") -> tuple[str, ...]:
        """Return what runs a command there, after the connection is open; raises as `run`."""
        self._require_connection()
        try:
            line = command.line(self.profile, mark)
        except ValueError as error:
            raise UsageError(str(error)) from error
        return self.connection.command(line, has_terminal=command.has_terminal)

    def last_seen_s(self) -> float:
        """Return when a command last reached it, in Unix seconds; 0: never, as far as is known."""
        try:
            return self._ctx.home.profile_file(self._name).stat().st_mtime
        except OSError:
            return 0.0

    def _require_connection(self) -> None:
        if self.connection.is_open():
            return
        last = "never reached so far"
        if seen_s := self.last_seen_s():
            last = f"last seen {duration(self._ctx.clock.now() - seen_s)} ago"
        if self.profile.auth == INTERACTIVE:
            raise SchedulerUnavailable(
                f"{self._name} is not connected ({last}): `jobmon connect {self._name}` logs in"
            )
        if why := self.connection.open_quietly():
            is_unknown = "Host key verification failed" in why and "has changed" not in why
            if is_unknown or "Permission denied" in why:
                why = f"{why.rstrip('.')}; `jobmon connect {self._name}` lets ssh ask you"
            raise SchedulerUnavailable(f"{self._where()} cannot be reached ({last}): {why}")

    def _where(self) -> str:
        destination = self.profile.host.destination
        return self._name if self._name == destination else f"{self._name} ({destination})"

    def _remember(self) -> None:
        with suppress(OSError):  # the answer is what counts
            self._ctx.home.profile_file(self._name).touch(0o600)
