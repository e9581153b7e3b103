"""``jobmon test-discord``."""

from __future__ import annotations

from jobmon.commands.common import Options, Parser, add_flags, open_context, stdout_console
from jobmon.errors import say
from jobmon_core.app.setup import try_channels

DESCRIPTION = """\
Post an example of a message to each Discord channel and print the result. `jobmon test` tests channels
of every type."""
EPILOG = "examples:\n  jobmon test-discord\n  jobmon test-discord --largest"


def add_arguments(parser: Parser) -> None:
    add_flags(
        parser,
        largest="post the largest possible message instead, full of text that Discord could take for markup",
    )


def run(options: Options) -> int:
    console = stdout_console()
    failed = tested = 0
    for result in try_channels(open_context(), "discord", largest=options.largest):
        verdict = "FAILED"
        if result.worked:
            verdict = "works"
        print(*console.prose(f"{result.channel}: {verdict}, {result.destination}", hanging="  "), sep="\n")
        for line in filter(None, (result.why, result.advice)):
            print(*console.prose(line, "  "), sep="\n")
        failed += not result.worked
        tested += 1
    if not tested:
        say("no Discord channel is configured; `jobmon test` tests the other channels")
        return 1
    return int(failed > 0)
