"""``jobmon connect``."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

from jobmon.commands.common import Errors, Options, Parser, add_flags, open_context, print_result
from jobmon.errors import UsageError, say
from jobmon.views.table import table_lines
from jobmon_core.app.remote.profile import RemoteJobmon
from jobmon_core.domain.humanize import duration

if TYPE_CHECKING:
    from jobmon.views.console import Console, Lines
    from jobmon.views.model import Json
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

--list --json prints a list of {profile, host, auth, connected, last_seen_s (Unix seconds, or null)}.

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
    name, remote = options.profile, RemoteJobmon(ctx, options.profile)
    if options.close:
        said = "disconnected" if remote.connection.close() else "is not connected"
    else:
        said = "connected" if remote.connect() else "is connected already"
    print(f"{name}: {said}")
    return 0


def _list(ctx: Context, options: Options) -> int:
    errors, states = Errors(), []
    for name in [options.profile] if options.profile else ctx.profiles():
        with errors.reported():
            remote = RemoteJobmon(ctx, name)
            state: Json = {"profile": name, "host": remote.profile.host.destination}
            state |= {"auth": remote.profile.auth, "connected": remote.connection.is_open()}
            states.append({**state, "last_seen_s": remote.last_seen_s() or None})
    if not states and not errors.exit_code:
        say(f"there are no profiles in {ctx.home.config}; see `jobmon connect --help`")
    if states or options.json:
        print_result(options, lambda states: states, partial(_as_lines, ctx.clock.now()), states)
    return errors.exit_code


def _as_lines(now_s: float, states: list[Json], console: Console) -> Lines:
    rows = []
    for state in states:
        connected = "yes" if state["connected"] else "no"
        seen = f"{duration(now_s - state['last_seen_s'])} ago" if state["last_seen_s"] else "never"
        rows.append((state["profile"], state["host"], connected, seen))
    yield from table_lines(("PROFILE", "HOST", "CONNECTED", "LAST SEEN"), rows, console, ((1, 12),))
