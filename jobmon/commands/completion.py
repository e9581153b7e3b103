"""``jobmon completion``."""

from __future__ import annotations

import re

from jobmon.commands.common import Options, Parser, open_context
from jobmon_core.app.jobs.find import all_jobs
from jobmon_core.app.where import completion_script

SHELLS = {"bash": "jobmon.bash", "zsh": "_jobmon", "fish": "jobmon.fish"}  # the script of each
DESCRIPTION = """\
Print the completion script of a shell; it completes commands, options, files and jobs. pip also
puts the scripts into share/ beside the folder of the program; where your shell does not look there,
as after pipx or uv, use one of the examples. "jobs" prints the ids and names that the scripts offer."""
EPILOG = """\
examples:
  mkdir -p ~/.local/share/bash-completion/completions
  jobmon completion bash > ~/.local/share/bash-completion/completions/jobmon
  mkdir -p ~/.zfunc                            # a folder of your $fpath
  jobmon completion zsh > ~/.zfunc/_jobmon
  mkdir -p ~/.config/fish/completions
  jobmon completion fish > ~/.config/fish/completions/jobmon.fish"""

_SIMPLE = re.compile(r"[\w.+@%-]+")  # a name that no shell splits or expands


def add_arguments(parser: Parser) -> None:
    parser.add_argument("shell", choices=(*SHELLS, "jobs"), help="bash, zsh, fish or jobs")


def run(options: Options) -> int:
    if options.shell == "jobs":
        ctx = open_context()
        if (ctx.home.root / "state").is_dir():
            names = {name for job in all_jobs(ctx) for name in job.names if _SIMPLE.fullmatch(name)}
            print(*sorted(ctx.store.job_ids(), reverse=True), *sorted(names), sep="\n")
    else:
        print(completion_script(SHELLS[options.shell]), end="")
    return 0
