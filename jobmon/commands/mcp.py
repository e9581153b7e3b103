"""``jobmon mcp``."""

from __future__ import annotations

import json
import os
import shlex
import sys
from pathlib import Path
from typing import TYPE_CHECKING, NoReturn

from jobmon.errors import UsageError, say

if TYPE_CHECKING:
    from argparse import ArgumentParser, Namespace

DESCRIPTION = """\
Let an AI agent look at your jobs. This is a server of the Model Context Protocol (MCP): the agent's program
starts it and sends requests to its stdin. Its tools only read: status, show, why, diagnose, health, progress,
logs and history. Each returns the JSON of the command of that name; `status` returns a short form. Text of
logs is marked as data, without secrets and control characters. No tool runs a shell or takes the path of a
file to read.

With --allow-actions, an agent may also ack, mute, note, submit and restart. Before it submits or restarts
anything, it gets a plan, and must confirm just that plan; its program should ask you in between."""
EPILOG = """\
--print-config prints on stdout what to paste into the configuration of the agent's program, and on stderr
where. With --ssh, the program runs on your laptop, and jobmon on a host that ssh reaches without a question,
or on the cluster of a profile (see `jobmon connect --help`).

docs/for-scripts-and-agents.md says what each tool takes and returns.

examples:
  jobmon mcp --print-config claude
  jobmon mcp --print-config codex --ssh login.example
  jobmon mcp --print-config cursor --allow-actions --root ~/jobs
  echo '{"jsonrpc": "2.0", "id": 1, "method": "tools/list"}' | jobmon mcp"""
# client -> where its configuration is
_PLACES = {
    "claude": ".mcp.json of a project, or run `claude mcp add jobmon -- {command}`",
    "codex": "~/.codex/config.toml",
    "cursor": "~/.cursor/mcp.json, or .cursor/mcp.json of a project",
}
# without the modules of the command line, and those that a site's Python loads at its start
_START = "import sys; sys.path.insert(0, sys.argv.pop(1)); from jobmon.mcp.server import main; main()"


def add_arguments(parser: ArgumentParser) -> None:
    text = "print what to paste into the configuration of a program: claude (Claude Code), codex or cursor"
    parser.add_argument("--print-config", choices=tuple(_PLACES), metavar="CLIENT", help=text)
    text = "with --print-config: let the program reach jobmon by ssh on this host, or cluster of a profile"
    parser.add_argument("--ssh", default="", metavar="HOST", help=text)
    text = "also offer ack, mute, note, submit and restart"
    parser.add_argument("--allow-actions", action="store_true", help=text)
    text = "with --allow-actions: submit only scripts below this folder; repeat it for more (default: the "
    text += "folder where the server starts)"
    parser.add_argument("--root", action="append", default=[], metavar="DIR", help=text)


def run(options: Namespace) -> int:
    if options.root and not options.allow_actions:
        raise UsageError("--root is only for --allow-actions")
    if not options.print_config:
        _serve(options)
    _print_config(options)
    return 0


def _serve(options: Namespace) -> NoReturn:
    if options.ssh:
        raise UsageError("--ssh is only for --print-config")
    for root in options.root:
        if not Path(root).is_dir():
            raise UsageError(f"--root {root}: no such folder")
    if sys.stdin.isatty():
        say("this server waits for requests of an AI agent on stdin, one JSON object a line; Ctrl-D ends it")
    roots = [str(Path(root).absolute()) for root in options.root or ["."]]
    settings = json.dumps({"can_act": options.allow_actions, "roots": roots})
    package = str(Path(__file__).resolve().parents[2])
    os.execv(sys.executable, [sys.executable, "-P", "-c", _START, package, settings])  # noqa: S606 - itself


def _print_config(options: Namespace) -> None:
    from jobmon.commands.common import jobmon_command, open_context  # the server has no use for them

    words = ["mcp"]
    if options.allow_actions:
        words.append("--allow-actions")
    for root in options.root:
        words += ["--root", root if options.ssh else str(Path(root).absolute())]
    if options.ssh.startswith("-"):
        raise UsageError(f"--ssh {options.ssh}: it is not the name of a host")
    program = jobmon_command()
    if options.ssh and options.ssh in open_context().profiles():
        program = (*program, "--profile", options.ssh)
    elif options.ssh:
        program = ("ssh", "-T", options.ssh, "jobmon")
    command = [*program, *words]
    entry = {"command": command[0], "args": command[1:]}
    text = json.dumps({"mcpServers": {"jobmon": entry}}, indent=2)
    if options.print_config == "codex":  # a string of JSON is one of TOML
        lines = (f"{key} = {json.dumps(value)}" for key, value in entry.items())
        text = "\n".join(("[mcp_servers.jobmon]", *lines))
    print(text)
    say(f"paste this into {_PLACES[options.print_config].format(command=shlex.join(command))}")
