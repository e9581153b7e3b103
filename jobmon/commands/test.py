"""``jobmon test``, also called ``test-alerts``."""

from __future__ import annotations

from typing import TYPE_CHECKING

from jobmon.commands.common import Options, Parser, open_context, stdout_console
from jobmon.errors import say
from jobmon_core.app.setup import channels_under_test
from jobmon_core.domain.channels import Level

if TYPE_CHECKING:
    from collections.abc import Sequence

    from jobmon.views.console import Console
    from jobmon_core.app.setup import ChannelUnderTest
    from jobmon_core.context import Context

_WIDTH = max(map(len, Level))
_LEVELS = ", ".join(level.upper() for level in Level)
DESCRIPTION = f"""\
Send a short example of each level ({_LEVELS}) to each channel, regardless of `messages` and `routes`, and
print each answer."""
EPILOG = """\
If jobmon had stopped using a channel because its service refused it, a successful test makes jobmon use it
again; `jobmon recover` then sends the messages that waited for it. On PagerDuty, the example of INFO
resolves the incident that the others opened.

examples:
  jobmon test
  jobmon test email phone"""


def add_arguments(parser: Parser) -> None:
    parser.add_argument("channel", nargs="*", metavar="CHANNEL", help="test only these channels, by name")


def run(options: Options) -> int:
    return send_samples(open_context(), options.channel)


def send_samples(ctx: Context, names: Sequence[str] = ()) -> int:
    """Send the examples and print the answers; return 0 only if there is a channel, and all accepted."""
    channels = channels_under_test(ctx, names)
    if not channels:
        say("no channel is configured; run `jobmon init` or `jobmon init --phone`")
        return 1
    failed = [channel.name for channel in channels if not _send(channel, stdout_console())]
    return int(bool(failed))


def _send(channel: ChannelUnderTest, console: Console) -> bool:
    print(*console.prose(f"{channel.name}: {channel.destination}", hanging="  "), sep="\n", flush=True)
    worked, answers = True, 0
    for level, result in channel.results:
        answers += 1
        answer = "delivered" if result.is_delivered else f"FAILED: {result.why}"
        label = f"  {level.upper():<{_WIDTH}}  "
        indent = " " * len(label)
        print(*console.prose(answer, label, indent), sep="\n", flush=True)
        if not result.is_delivered and result.advice:
            print(*console.prose(result.advice, indent), sep="\n", flush=True)
        worked &= result.is_delivered
    if answers < len(Level):
        print(f"  {'':<{_WIDTH}}  The examples of the other levels were not sent.", flush=True)
    return worked
