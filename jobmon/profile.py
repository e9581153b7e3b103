"""``jobmon --profile NAME COMMAND``: run a command on a cluster where another jobmon is installed."""

from __future__ import annotations

import os
import shlex
import sys
from typing import TYPE_CHECKING

from jobmon import log
from jobmon.commands.common import open_context, stdout_console
from jobmon.errors import UsageError, say
from jobmon_core.app.remote.profile import RemoteCommand, RemoteJobmon

if TYPE_CHECKING:
    from collections.abc import Callable, Container

_OPTION, _VARIABLE = "--profile", "JOBMON_PROFILE"
_OPTIONS = {_OPTION: "the name of one of `profiles` in config.json"}
# about this machine: its configuration, its connections, its shell
_HERE = ("init", "connect", "test", "test-alerts", "test-discord", "help", "completion", "inbox")
_GROUP_LOOKS = [["group", verb] for verb in ("status", "list", "wait")]
_READ_DASH = ("diagnose", "notify", "progress")


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
    return _run_there(name, words, only_looks=words[0] in looks or words[:2] in _GROUP_LOOKS)


def _words_here(words: list[str], name: str) -> list[str]:
    """Return the command that runs here for one that is about the cluster; empty: it runs there."""
    if words[0] == "web" and "--stdio" not in words:
        return ["web", "--connect", name, *words[1:]]
    if words[0] == "mcp" and any(word.startswith("--print-config") for word in words):
        return [*words, "--ssh", name]
    return []


def _run_there(name: str, words: list[str], *, only_looks: bool) -> int:
    remote = RemoteJobmon(open_context(), name)
    is_live = words[0] in ("mcp", "web")  # talks to a program on its stdin
    # what acts must go on when the connection breaks, so it has no terminal
    has_terminal = only_looks and not is_live and sys.stdin.isatty() and sys.stdout.isatty()
    stdin = None if is_live or has_terminal else _input_of(words)
    colour = not has_terminal or stdout_console().colour  # a job would inherit $NO_COLOR
    try:
        code = remote.run(RemoteCommand(words, stdin, only_looks or is_live, has_terminal, colour))
    except KeyboardInterrupt:
        if not only_looks:
            say(f"{name} may still run the command: look with `jobmon --profile {name} status`")
        raise
    script = next((word for word in words[1:] if os.path.isfile(word)), "")  # noqa: PTH113 - pathlib is slow to import
    if code and script and words[0] == "submit":
        line = f"jobmon --profile {name} submit < {shlex.quote(script)}"
        say(f"{script} is a file here, and paths are those on {name}: copy it there, or send it: `{line}`")
    return code


def _input_of(words: list[str]) -> bytes:
    """Return what a command there has to read."""
    reads = words[0] in _READ_DASH and "-" in words[1:]
    if words[0] == "submit":
        from jobmon.commands.submit import reads_script  # as there

        reads = reads_script(words[1:])
    return sys.stdin.buffer.read() if reads else b""
