"""Run a jobmon that is installed on a cluster, from here, through one shared connection of ssh."""

from __future__ import annotations

import shlex
from contextlib import suppress
from dataclasses import replace
from typing import TYPE_CHECKING, NamedTuple

from jobmon_core import __version__
from jobmon_core.domain.errors import SchedulerMissing, SchedulerUnavailable, StorageFailed, UsageError
from jobmon_core.domain.humanize import duration
from jobmon_core.domain.node.hosts.profiles import INTERACTIVE, PROGRAM, PastAnswer
from jobmon_core.scheduler.ssh.connection import SSH_FAILED, TIMEOUT_S, why_of
from jobmon_core.scheduler.ssh.remote_jobmon import NO_SCRIPT, RemoteCommand, marks, new_nonce, read_end
from jobmon_core.scheduler.ssh.shared import INSTALL, SharedConnection
from jobmon_core.system.runner import NotStarted, Ran, Runner, TimedOut, run_in_foreground

if TYPE_CHECKING:
    from collections.abc import Callable

    from jobmon_core.context import Context
    from jobmon_core.domain.node.hosts.profiles import Profile
    from jobmon_core.scheduler.ssh.remote_jobmon import End
    from jobmon_core.system.relay import Marks

__all__ = ["RemoteCommand", "RemoteJobmon"]
_MAX_KEPT_CHARS = 60_000  # of an answer; the runner returns the last 64 KiB
_NOT_FOUND, _USAGE = 127, 2


class ProfileState(NamedTuple):
    """Whether the cluster of a profile can be reached."""

    profile: Profile
    is_open: bool
    reached_s: float  # Unix seconds of the last answer; 0: never


class RemoteJobmon:
    """The jobmon on the cluster of a profile."""

    def __init__(self, ctx: Context, name: str, tell: Callable[[str], None]) -> None:
        """Find the profile; ``tell`` gets what the user should know besides an answer.

        Raises:
            UsageError: there is no such profile.
            ConfigInvalid: the profiles are not valid.
            SchedulerMissing, StorageFailed: ssh, or a folder for its socket, is missing.
        """
        self._profile = _find(ctx, name)
        self._ctx, self._tell, self._runner = ctx, tell, Runner()
        self._memory = ctx.profile_memory(name)
        self._connection = SharedConnection(self._runner, self._profile.host, ctx.environment)

    def state(self) -> ProfileState:
        """Return whether there is a connection; opens none."""
        return ProfileState(self._profile, self._connection.is_open(), self._memory.read().reached_s)

    def connect(self) -> bool:
        """Open the connection on the user's terminal; return False if it is open already.

        SchedulerUnavailable if ssh, which says why on stderr, does not succeed.
        """
        if self._connection.is_open():
            return False
        if not self._connection.open_in_foreground():
            raise SchedulerUnavailable(f"there is no connection to {self._where()}")
        self._remember("", "")
        return True

    def disconnect(self) -> bool:
        """Close the connection; return whether there was one."""
        return self._connection.close()

    def run(self, command: RemoteCommand, kept: str = "") -> int:
        """Run a command there, with its output here; return its exit code.

        What it prints is kept under the name ``kept``; empty: it is not kept.

        Raises:
            SchedulerUnavailable: there is no connection, or it broke.
            SchedulerMissing: there is no jobmon, or here no ssh.
            UsageError: the batch script is not there, or the command line is too long.
        """
        self._require_connection()
        nonce = new_nonce()
        streams = out, errors = marks(nonce)
        argv = self._connection.command(self._line(command, nonce))
        result = self._runner.run_marked(argv, streams, command.stdin, TIMEOUT_S)
        if isinstance(result, NotStarted):
            raise SchedulerMissing(f"{result.error_text}; {INSTALL}")
        if isinstance(result, TimedOut) or not out.has_begun:
            raise SchedulerUnavailable(self._why_nothing(result, errors))
        end = read_end(errors)
        self._remember(kept if end and not end.exit_code else "", result.stdout)
        if end is None:
            raise SchedulerUnavailable(self._broken(command))
        return self._judge(end, command)

    def run_on_terminal(self, command: RemoteCommand) -> int:
        """Run a command there that draws on the terminal; return its exit code; raises as `run`."""
        self._require_connection()
        line = self._connection.command(self._line(command, ""), has_terminal=True)
        code = run_in_foreground(line)
        if code in (SSH_FAILED, -SSH_FAILED):
            raise SchedulerUnavailable(self._broken(command))
        if code == _NOT_FOUND:
            raise SchedulerMissing(self._not_installed())
        self._remember("", "")
        return code

    def argv_of(self, command: RemoteCommand) -> tuple[str, ...]:
        """Return what runs a command there that is asked on its stdin; raises as `run`."""
        self._require_connection()
        return self._connection.command(self._line(command, ""))

    def past(self, kept: str) -> tuple[PastAnswer, float] | None:
        """Return what was kept under this name, and its age in seconds; None without it."""
        answer = self._memory.read().answers.get(kept)
        if answer is None:
            return None
        return answer, self._ctx.clock.now() - answer.at_s

    def _line(self, command: RemoteCommand, nonce: str) -> str:
        try:
            return command.line(self._profile, nonce)
        except ValueError as error:
            raise UsageError(str(error)) from error

    def _require_connection(self) -> None:
        if self._connection.is_open():
            return
        name, last = self._profile.name, self._last()
        if self._profile.auth == INTERACTIVE:
            raise SchedulerUnavailable(f"{name} is not connected ({last}): `jobmon connect {name}` logs in")
        if why := self._connection.open_quietly():
            hint = f"`jobmon connect {name}` lets ssh ask you"
            raise SchedulerUnavailable(f"{self._where()} cannot be reached ({last}): {why}; {hint}")

    def _why_nothing(self, result: Ran | TimedOut, errors: Marks) -> str:
        name, said = self._profile.name, why_of(errors.before.decode(errors="replace"))
        if isinstance(result, TimedOut):
            return f"{name}: the shell there ran no command within {result.timeout_s:g} s"
        if not self._connection.is_open():
            return f"the connection to {name} has just ended ({self._last()}); try again"
        return f"{name}: the shell there ran no command: {said or 'it ended'}"

    def _broken(self, command: RemoteCommand) -> str:
        name = self._profile.name
        if command.ends_with_connection:
            return f"the connection to {name} broke: the answer is incomplete"
        return (
            f"the connection to {name} broke, so it is not known what came of the command: "
            f"look with `jobmon --profile {name} status` before you repeat it"
        )

    def _judge(self, end: End, command: RemoteCommand) -> int:
        name = self._profile.name
        if end.version == NO_SCRIPT:
            script = command.script
            raise UsageError(
                f"nothing was submitted: {script} is a file here, not on {name}, where paths are its own. "
                f"Copy it there, or send it: `jobmon --profile {name} submit < {shlex.quote(script)}`"
            )
        if end.exit_code == _NOT_FOUND and not end.version:
            raise SchedulerMissing(self._not_installed())
        if end.exit_code == _USAGE and end.version and end.version != __version__:
            self._tell(f"{name} has jobmon {end.version}, and this machine {__version__}")
        return end.exit_code

    def _not_installed(self) -> str:
        name, command = self._profile.name, self._profile.command
        what = "jobmon is not installed"
        if command != PROGRAM:
            what = f"`{command}` does not run"
        return (
            f"{what} on {self._where()}, or not on the PATH that ssh has there: install it, or set "
            f"profiles.{name}.command in {self._ctx.home.config} to its path there"
        )

    def _where(self) -> str:
        name, destination = self._profile.name, self._profile.host.destination
        return name if name == destination else f"{name} ({destination})"

    def _last(self) -> str:
        reached_s = self._memory.read().reached_s
        if not reached_s:
            return "never reached so far"
        return f"last reached {duration(self._ctx.clock.now() - reached_s)} ago"

    def _remember(self, kept: str, text: str) -> None:
        memory, now_s = self._memory.read(), self._ctx.clock.now()
        memory = replace(memory, reached_s=now_s)
        if kept and len(text) < _MAX_KEPT_CHARS:
            memory = memory.with_answer(kept, PastAnswer(text, now_s))
        with suppress(StorageFailed):  # the answer is what counts
            self._memory.write(memory)


def _find(ctx: Context, name: str) -> Profile:
    profiles = ctx.profiles()
    if name in profiles:
        return profiles[name]
    known = '; add e.g. "profiles": {"leo": {"host": "login.leo.example"}}'
    if profiles:
        known = f", only {', '.join(profiles)}"
    raise UsageError(f"no profile {name!r} in {ctx.home.config}{known}")
