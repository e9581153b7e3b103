"""``jobmon connect``."""

from __future__ import annotations

from typing import TYPE_CHECKING

from jobmon.commands.common import Errors, Options, Parser, add_flags, open_context, print_result
from jobmon.errors import UsageError, say
from jobmon.views.table import table_lines
from jobmon_core.app.remote.profile import ProfileState, RemoteJobmon
from jobmon_core.domain.humanize import duration

if TYPE_CHECKING:
    from jobmon.views.console import Console, Lines
    from jobmon_core.context import Context

DESCRIPTION = """\
Log in to the cluster of a profile, so that `jobmon --profile NAME COMMAND` can run commands there. ssh asks
for passwords and second factors here, once. The connection then stays in the background for all commands,
until twelve hours after the last one, until the network breaks, or until --close."""
EPILOG = """\
A profile is a cluster on which jobmon is installed, too. It stands in config.json of this machine:

  "profiles": {"leo": {"host": "login.leo.example", "auth": "interactive"}}

With "auth": "interactive", no command logs in by itself: without a connection, they end with exit code 69.
By default ("batch"), a command logs in with your key if there is no connection, and asks nothing.

--list --json prints a list of {profile, host, auth, connected, reached_s}; reached_s: Unix seconds, or null.

examples:
  jobmon connect leo                    log in, then:
  jobmon --profile leo status
  export JOBMON_PROFILE=leo             for all commands of this shell
  jobmon connect --list                 which clusters are connected?
  jobmon connect leo --close"""


def add_arguments(parser: Parser) -> None:
    parser.add_argument("profile", nargs="?", metavar="NAME", help="a profile of config.json")
    add_flags(
        parser,
        close="end the connection, and what runs through it",
        list="list the profiles, and whether they are connected",
        json="with --list: print JSON, as described below",
    )


def run(options: Options) -> int:
    """Connect, disconnect or list; the exit code is 69 if there is no connection then."""
    ctx = open_context()
    if options.list:
        return _list(ctx, options)
    if not options.profile or options.json:
        raise UsageError("name a profile, or use --list; see `jobmon connect --help`")
    name, remote = options.profile, RemoteJobmon(ctx, options.profile, say)
    if options.close:
        said = "disconnected" if remote.disconnect() else "is not connected"
    else:
        said = "connected" if remote.connect() else "is connected already"
    print(f"{name}: {said}")
    return 0


def _list(ctx: Context, options: Options) -> int:
    errors, states = Errors(), []
    for name in [options.profile] if options.profile else ctx.profiles():
        with errors.reported():
            states.append(RemoteJobmon(ctx, name, say).state())
    if not states and not errors.exit_code:
        say(f"there are no profiles in {ctx.home.config}; see `jobmon connect --help`")
    print_result(options, _as_json, _as_lines, states, ctx.clock.now())
    return errors.exit_code


def _as_json(states: list[ProfileState], _now_s: float) -> object:
    return [
        {
            "profile": state.profile.name,
            "host": state.profile.host.destination,
            "auth": state.profile.auth,
            "connected": state.is_open,
            "reached_s": state.reached_s or None,
        }
        for state in states
    ]


def _as_lines(states: list[ProfileState], now_s: float, console: Console) -> Lines:
    rows = []
    for state in states:
        reached = "never"
        if state.reached_s:
            reached = f"{duration(now_s - state.reached_s)} ago"
        connected = "yes" if state.is_open else "no"
        rows.append((state.profile.name, state.profile.host.destination, connected, reached))
    if rows:
        yield from table_lines(("PROFILE", "HOST", "CONNECTED", "LAST REACHED"), rows, console, ((1, 12),))
