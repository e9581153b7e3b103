"""``jobmon completion``: print the completion script of a shell, made from the parsers."""

from __future__ import annotations

from typing import TYPE_CHECKING

from jobmon.cli import COMMANDS
from jobmon.commands.common import open_context
from jobmon.parser import command_parser
from jobmon.views.command_model import command_model
from jobmon.views.completion import SCRIPTS

if TYPE_CHECKING:
    import argparse

    from jobmon.views.command_model import CommandModel

DESCRIPTION = """\
Print the completion script of a shell; it completes commands, options, files and job ids. pip also
puts the scripts into share/ beside the folder of the program; where your shell does not look there,
as after pipx or uv, use one of the examples. "jobs" prints the job ids that the scripts offer."""
EPILOG = """\
examples:
  mkdir -p ~/.local/share/bash-completion/completions
  jobmon completion bash > ~/.local/share/bash-completion/completions/jobmon
  mkdir -p ~/.zfunc                            # a folder of your $fpath
  jobmon completion zsh > ~/.zfunc/_jobmon
  mkdir -p ~/.config/fish/completions
  jobmon completion fish > ~/.config/fish/completions/jobmon.fish"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.description, parser.epilog = DESCRIPTION, EPILOG
    parser.add_argument("shell", choices=(*SCRIPTS, "jobs"), help="bash, zsh, fish or jobs")


def run(options: argparse.Namespace) -> int:
    """Print the script, or the job ids."""
    if options.shell == "jobs":
        ctx = open_context()
        if (ctx.home.root / "state").is_dir():
            for job_id in sorted(ctx.store.job_ids(), reverse=True):
                print(job_id)
    else:
        print(SCRIPTS[options.shell](command_models()), end="")
    return 0


def command_models() -> tuple[CommandModel, ...]:
    """Return the models of all commands."""
    return tuple(command_model(command_parser(name), summary) for name, summary in COMMANDS.items())
