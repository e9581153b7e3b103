"""The command line: one table from verbs to commands."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

from jobmon import streams
from jobmon.errors import UsageError, guarded

if TYPE_CHECKING:
    from collections.abc import Sequence

# Verb -> what it does, in a few words. Each is the module of the same name in jobmon.commands.
VERBS = {
    "submit": "submit a job as sbatch does, and watch it",
    "watch": "watch a job that was submitted otherwise",
    "status": "show every watched job",
    "show": "show everything known of one job",
    "logs": "show a monitor's own log",
    "diagnose": "say why a job failed, or what any log shows",
    "patterns": "list, check and try the known failures",
    "cancel": "stop watching a job; the job itself goes on",
    "recover": "restart monitors that a reboot or a kill ended",
    "test-discord": "post the largest possible test message to every channel",
    "init": "write config.json from two webhook URLs",
    "inbox": "receive messages here instead of in Discord, to try jobmon out",
}


def main(arguments: Sequence[str] | None = None) -> int:
    """Run jobmon with ``arguments``, by default the process's own; return the exit code."""
    streams.prepare()
    given = list(sys.argv[1:] if arguments is None else arguments)
    return guarded(lambda: _run(given))


def _run(given: list[str]) -> int:
    verb = given[0] if given else ""
    if verb == "submit":
        from jobmon.commands import submit

        return submit.run(given[1:])
    if not verb.startswith("-") and verb not in VERBS:
        raise UsageError(_no_verb(verb))
    from jobmon.parser import command, parser  # only submit, whose arguments are sbatch's, needs no parser

    options = parser(verb, VERBS).parse_args(given)
    return command(options.verb).run(options)


def _no_verb(given: str) -> str:
    """Say that this is no verb, and which one may be meant."""
    if not given:
        return f"what is to be done? One of: {', '.join(VERBS)}; `jobmon --help` tells more"
    from difflib import get_close_matches

    meant = get_close_matches(given, VERBS, n=1, cutoff=0.7)
    guess = f"did you mean `jobmon {meant[0]}`?" if meant else f"there are: {', '.join(VERBS)}"
    return f"there is no verb {given!r}; {guess}"
