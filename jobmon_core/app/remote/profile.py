"""Run a jobmon that is installed on a cluster, from here, through one shared connection of ssh."""

from __future__ import annotations

import os
import shlex
from contextlib import suppress
from dataclasses import replace
from typing import TYPE_CHECKING

from jobmon_core.domain.errors import SchedulerMissing, SchedulerUnavailable, StorageFailed, UsageError
from jobmon_core.domain.humanize import duration
from jobmon_core.domain.node.hosts.profiles import INTERACTIVE, MAX_CHARS, PROGRAM, PastAnswer
from jobmon_core.scheduler.ssh.connection import SSH_FAILED, TIMEOUT_S, why_of
from jobmon_core.scheduler.ssh.remote_jobmon import NO_SCRIPT, NOT_FOUND, RemoteCommand
from jobmon_core.scheduler.ssh.shared import SharedConnection
from jobmon_core.system.relay import Beginning
from jobmon_core.system.runner import Ran, Runner, run_in_foreground

if TYPE_CHECKING:
    from jobmon_core.context import Context
    from jobmon_core.domain.node.hosts.profiles import ProfileMemory

__all__ = ["AnswerCut", "RemoteCommand", "RemoteJobmon"]
_NOT_FOUND = 127
_EXAMPLE = '; add e.g. "profiles": {"leo": {"host": "login.leo.example"}}'


class AnswerCut(SchedulerUnavailable):
    """The connection broke while a command ran, which may have printed a part of its answer."""


class RemoteJobmon:
    """The jobmon on the cluster of a profile."""

    def __init__(self, ctx: Context, name: str) -> None:
        """Find the profile.

        Raises:
            UsageError: there is no such profile.
            ConfigInvalid: the profiles are not valid.
            SchedulerMissing, StorageFailed: ssh, or a folder for its socket, is missing.
        """
        profiles = ctx.profiles()
        if name not in profiles:
            known = f", only {', '.join(profiles)}" if profiles else _EXAMPLE
            raise UsageError(f"no profile {name!r} in {ctx.home.config}{known}")
        self.profile = profiles[name]
        self._ctx, self._runner, self._memory = ctx, Runner(), ctx.profile_memory(name)
        self._connection = SharedConnection(self._runner, self.profile.host, ctx.environment)
        self.is_connected = self._connection.is_open  # opens none
        self.disconnect = self._connection.close

    def connect(self) -> bool:
        """Open the connection on the user's terminal; return False if it is open already.

        SchedulerUnavailable if ssh, which says why on stderr, does not succeed.
        """
        if self._connection.is_open():
            return False
        if not self._connection.open_in_foreground():
            raise SchedulerUnavailable(f"there is no connection to {self._where()}")
        self._remember()
        return True

    def run(self, command: RemoteCommand, kept: str = "") -> int:
        """Run a command there, with its output here; return its exit code.

        What it prints is kept under the name ``kept``; empty: it is not kept.

        Raises:
            SchedulerUnavailable: there is no connection, or it broke (AnswerCut).
            SchedulerMissing: there is no jobmon.
            UsageError: the batch script is not there, or the command line is too long.
        """
        mark = os.urandom(8).hex()  # which nothing else prints
        argv = self.argv_of(command, mark)
        out, errors = (Beginning(f"{mark}\n".encode()) for _ in range(2))
        result = self._runner.run_begun(argv, (out, errors), command.stdin, TIMEOUT_S)
        if not isinstance(result, Ran) or not out.has_begun:
            why = why_of(errors.before.decode(errors="replace"))
            if not isinstance(result, Ran):
                why = result.error_text
            elif not self._connection.is_open():
                why = "the connection has just ended; try again"
            raise SchedulerUnavailable(f"{self._where()}: no command ran there: {why or 'the shell ended'}")
        return self._judge(command, result.exit_code, kept, result.stdout)

    def run_on_terminal(self, command: RemoteCommand) -> int:
        """Run a command there that draws on the terminal; return its exit code; raises as `run`."""
        code = run_in_foreground(self.argv_of(command, has_terminal=True))
        return self._judge(command, NOT_FOUND if code == _NOT_FOUND else code)

    def argv_of(
        self, command: RemoteCommand, mark: str = "", *, has_terminal: bool = False
    ) -> tuple[str, ...]:
        """Return what runs a command there, after the connection is open; raises as `run`."""
        self._require_connection()
        try:
            line = command.line(self.profile, mark)
        except ValueError as error:
            raise UsageError(str(error)) from error
        return self._connection.command(line, has_terminal=has_terminal)

    def memory(self) -> ProfileMemory:
        """Return when it was last reached, and its past answers."""
        return self._memory.read()

    def _require_connection(self) -> None:
        if self._connection.is_open():
            return
        name, reached_s, last = self.profile.host.name, self.memory().reached_s, "never reached so far"
        if reached_s:
            last = f"last seen {duration(self._ctx.clock.now() - reached_s)} ago"
        if self.profile.auth == INTERACTIVE:
            raise SchedulerUnavailable(f"{name} is not connected ({last}): `jobmon connect {name}` logs in")
        if why := self._connection.open_quietly():
            is_unknown = "Host key verification failed" in why and "has changed" not in why
            if is_unknown or "Permission denied" in why:
                why = f"{why.rstrip('.')}; `jobmon connect {name}` lets ssh ask you"
            raise SchedulerUnavailable(f"{self._where()} cannot be reached ({last}): {why}")

    def _judge(self, command: RemoteCommand, code: int, kept: str = "", text: str = "") -> int:
        name, program, script = self.profile.host.name, self.profile.command, command.script
        if code != SSH_FAILED:
            self._remember("" if code else kept, text)
        if code == SSH_FAILED and command.ends_with_connection:
            raise AnswerCut(f"the connection to {name} broke: the answer is incomplete")
        if code == SSH_FAILED:
            raise AnswerCut(
                f"the connection to {name} broke, so it is not known what came of the command: "
                f"look with `jobmon --profile {name} status` before you repeat it"
            )
        if code == NO_SCRIPT:
            raise UsageError(
                f"nothing was submitted: {script} is a file here, not on {name}, where paths are its own. "
                f"Copy it there, or send it: `jobmon --profile {name} submit < {shlex.quote(script)}`"
            )
        if code == NOT_FOUND:
            what = "jobmon is not installed" if program == PROGRAM else f"`{program}` does not run"
            raise SchedulerMissing(
                f"{what} on {self._where()}, or not on the PATH that ssh has there: install it, or set "
                f"profiles.{name}.command in {self._ctx.home.config} to its path there"
            )
        return code

    def _where(self) -> str:
        name, destination = self.profile.host.name, self.profile.host.destination
        return name if name == destination else f"{name} ({destination})"

    def _remember(self, kept: str = "", text: str = "") -> None:
        now_s = self._ctx.clock.now()
        memory = replace(self.memory(), reached_s=now_s)
        if kept and len(text) <= MAX_CHARS:  # of a longer one, the runner returns only the end
            memory = memory.with_answer(kept, PastAnswer(text, now_s))
        with suppress(StorageFailed):  # the answer is what counts
            self._memory.write(memory)
