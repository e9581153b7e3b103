"""``jobmon --profile NAME COMMAND``: run a command on a cluster where another jobmon is installed."""

from __future__ import annotations

import json
import os
import re
import shlex
import shutil
import sys
import time
from contextlib import suppress
from typing import TYPE_CHECKING

from jobmon import log
from jobmon.commands.common import open_context, print_json, stdout_console
from jobmon.errors import TERMINAL_VARIABLE, UsageError, report, say
from jobmon.views.model import clock
from jobmon_core.app.remote.profile import AnswerCut, RemoteCommand, RemoteJobmon
from jobmon_core.domain.errors import SchedulerUnavailable
from jobmon_core.domain.humanize import duration

if TYPE_CHECKING:
    from collections.abc import Callable, Container

_OPTION, _VARIABLE = "--profile", "JOBMON_PROFILE"
_OPTIONS = {_OPTION: "the name of one of `profiles` in config.json"}
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
    name = os.environ.pop(_VARIABLE, "").strip()
    options, words = log.leading_options(argv, _OPTIONS)
    name = options.get(_OPTION, name)
    if words and words[0].startswith("--log-"):
        words = log.set_up(words, os.environ)
    if options and words and words[0] in _HERE:
        raise UsageError(f"`{words[0]}` is about this machine: run it without --profile, or on {name}")
    # errors of the command line and the help need no cluster
    is_about_here = not words or words[0] in _HERE or words[0] not in commands
    if not name or is_about_here or words[1:2] in (["-h"], ["--help"]):
        return run_here(words)
    if words_here := _words_here(words, name):
        return run_here(words_here)
    return _run_there(name, words, looks=words[0] in looks or words[:2] in _GROUP_LOOKS)


def _words_here(words: list[str], name: str) -> list[str]:
    """Return the command that runs here for one that is about the cluster; empty: it runs there."""
    if words[0] == "web" and "--stdio" not in words:
        return ["web", "--connect", name, *words[1:]]
    if words[0] == "mcp" and any(word.startswith("--print-config") for word in words):
        return [*words, "--ssh", name]
    return []


def _run_there(name: str, words: list[str], *, looks: bool) -> int:
    remote, command = RemoteJobmon(open_context(), name), _command(words, looks=looks)
    kept = shlex.join(words) if words[0] == "status" else ""
    has_terminal = sys.stdin.isatty() and sys.stdout.isatty()
    try:
        if has_terminal and any(words[: len(drawn)] == drawn for drawn in _DRAWN):
            return remote.run_on_terminal(command)
        return remote.run(command, kept)
    except SchedulerUnavailable as error:
        if not kept or isinstance(error, AnswerCut):
            raise
        code = report(error)
        _print_past(remote, kept, str(error), as_json="--json" in words)
        return code
    except KeyboardInterrupt:
        if words[0] in _FOLLOW and not {"-f", "--follow"}.isdisjoint(words):
            return 0  # the way to end it
        if not command.ends_with_connection:
            say(f"{name} may still run the command: look with `jobmon --profile {name} status`")
        raise


def _print_past(remote: RemoteJobmon, kept: str, error: str, *, as_json: bool) -> None:
    """Print the last answer: marked as such, so that no script takes it for a new one."""
    memory, answer = remote.memory(), None
    past = memory.answers.get(kept)
    if as_json:
        with suppress(ValueError):  # it was no jobmon
            answer = past and json.loads(past.text)
        seen = {"last_seen_s": memory.reached_s or None, "as_of_s": past and past.at_s, "answer": answer}
        print_json({"profile": remote.profile.host.name, "error": error, **seen})
    elif past:
        age = duration(time.time() - past.at_s)
        say(f"what `{kept}` printed {age} ago, {clock(past.at_s, time.time())}:")
        print(past.text if sys.stdout.isatty() else _STYLE.sub("", past.text), end="")


def _command(words: list[str], *, looks: bool) -> RemoteCommand:
    name = words[0]
    if any(words[: len(live)] == live for live in _LIVE):
        return RemoteCommand(words, {}, ends_with_connection=True, stdin=None)
    variables = {}
    if looks and sys.stdout.isatty():
        variables = dict.fromkeys(("COLUMNS", TERMINAL_VARIABLE), str(shutil.get_terminal_size().columns))
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
