"""``jobmon --profile NAME COMMAND``: run a command on a cluster where another jobmon is installed."""

from __future__ import annotations

import os
import re
import shlex
import shutil
import sys
from datetime import datetime
from typing import TYPE_CHECKING

from jobmon import log
from jobmon.commands.common import TERMINAL_VARIABLE, open_context, stdout_console
from jobmon.errors import UsageError, report, say
from jobmon_core.app.remote.profile import RemoteCommand, RemoteJobmon
from jobmon_core.domain.errors import SchedulerUnavailable
from jobmon_core.domain.humanize import duration

if TYPE_CHECKING:
    from collections.abc import Callable, Container, Sequence

_OPTION, _VARIABLE = "--profile", "JOBMON_PROFILE"
# about this machine: its configuration, its connections, its shell
_HERE = ("init", "connect", "test", "test-alerts", "test-discord", "help", "completion", "inbox")
_LIVE = (["mcp"], ["web", "--stdio"])  # talk to a program on their stdin
_GROUP_LOOKS = [["group", verb] for verb in ("status", "list", "wait")]
_READ_DASH = ("diagnose", "notify", "progress")
_FOLLOW = ("logs", "progress")
_STYLE = re.compile(r"\x1b\[[0-9;]*m")
_DRAWN = (["top"], ["status", "--watch"])  # on a terminal


def run(
    argv: list[str],
    commands: Container[str],
    looks: Container[str],
    run_here: Callable[[list[str]], int],
) -> int:
    """Run a command on the cluster that ``--profile`` or $JOBMON_PROFILE names, or here if it is about here.

    ``looks`` are those of the ``commands`` that change nothing.

    Raises:
        UsageError: ``--profile`` is given with a command that is about this machine.
    """
    name, words = os.environ.pop(_VARIABLE, "").strip(), list(argv)
    is_option = words[:1] != [] and words[0].partition("=")[0] == _OPTION
    if is_option:
        _, equals, name = words.pop(0).partition("=")
        if not equals and words:
            name = words.pop(0)
        if not name:
            raise UsageError("--profile takes the name of one of `profiles` in config.json")
    if words and words[0].startswith("--log-"):
        words = log.set_up(words, os.environ)
    if is_option and words and words[0] in _HERE:
        raise UsageError(f"`{words[0]}` is about this machine: run it without --profile, or on {name}")
    if not name or _is_for_here(words, commands):
        return run_here(words)
    if words[0] == "web" and "--stdio" not in words:
        return run_here(["web", "--connect", name, *words[1:]])
    return _run_there(RemoteJobmon(open_context(), name, say), name, words, looks=_looks(words, looks))


def _is_for_here(words: Sequence[str], commands: Container[str]) -> bool:
    """Whether this machine answers: errors of the command line and the help need no cluster."""
    wants_help = words[1:2] in (["-h"], ["--help"])
    return not words or words[0] in _HERE or words[0] not in commands or wants_help


def _looks(words: list[str], looks: Container[str]) -> bool:
    return words[0] in looks or words[:2] in _GROUP_LOOKS


def _run_there(remote: RemoteJobmon, name: str, words: list[str], *, looks: bool) -> int:
    command, kept = _command(words, looks=looks), ""
    if words[0] == "status" and "--json" not in words:
        kept = shlex.join(words)
    has_terminal = sys.stdin.isatty() and sys.stdout.isatty()
    try:
        if has_terminal and any(words[: len(drawn)] == drawn for drawn in _DRAWN):
            return remote.run_on_terminal(command)
        return remote.run(command, kept)
    except SchedulerUnavailable as error:
        if past := remote.past(kept):
            answer, age_s = past
            said = datetime.fromtimestamp(answer.at_s).astimezone().strftime("%Y-%m-%d %H:%M")
            code = report(error)
            say(f"{name} was last seen {duration(age_s)} ago; its answer of {said} follows")
            print(answer.text if sys.stdout.isatty() else _STYLE.sub("", answer.text), end="")
            return code
        raise
    except KeyboardInterrupt:
        if words[0] in _FOLLOW and not {"-f", "--follow"}.isdisjoint(words):
            return 0  # the way to end it
        if not command.ends_with_connection:
            say(f"{name} may still run the command: look with `jobmon --profile {name} status`")
        raise


def _command(words: list[str], *, looks: bool) -> RemoteCommand:
    name = words[0]
    if any(words[: len(live)] == live for live in _LIVE):
        return RemoteCommand(words, {}, ends_with_connection=True, stdin=None)
    variables = {}
    if looks and sys.stdout.isatty():
        variables = {"COLUMNS": str(shutil.get_terminal_size().columns), TERMINAL_VARIABLE: "1"}
        if not stdout_console().colour:
            variables["NO_COLOR"] = "1"
    script, stdin = "", b""
    if name == "submit":
        from jobmon.commands.submit import script_or_stdin  # as there

        script, reads_stdin = script_or_stdin(words[1:])
        if reads_stdin:
            stdin = sys.stdin.buffer.read()
    elif name in _READ_DASH and "-" in words[1:]:
        stdin = sys.stdin.buffer.read()
    return RemoteCommand(words, variables, ends_with_connection=looks, stdin=stdin, script=script)
