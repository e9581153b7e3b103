"""``jobmon submit``: sbatch, and a monitor. Everything behind our own options is sbatch's, untouched."""

from __future__ import annotations

import sys
from collections.abc import Sequence

from jobmon.commands.shop import open_shop
from jobmon.errors import say
from jobmon_core.domain.config import BACKENDS
from jobmon_core.domain.errors import JobmonError

HELP = """\
usage: jobmon submit [--backend slurm|local] SBATCH-ARGUMENTS...

Submit a job exactly as `sbatch SBATCH-ARGUMENTS...` would, then watch it in the background:
stdout and the exit code are sbatch's own. Options of jobmon stand first; the first argument
that is none of them, and all after it, go to sbatch as they are.

  --backend slurm|local   where to submit; local runs the script on this machine,
                          without Slurm (default: the configuration's, else slurm)

examples:
  jobmon submit train.sbatch
  jobmon submit --gres=gpu:4 -p big -t 02:00:00 train.sbatch --epochs 3
  jobmon submit --wrap 'python train.py'
  jobmon submit --array=1-20%4 sweep.sbatch
  jobmon submit --backend local train.sbatch

What follows is sbatch's own help."""


def run(arguments: Sequence[str]) -> int:
    """Submit and watch; return sbatch's exit code."""
    from jobmon_core.engine.detach import Launcher
    from jobmon_core.engine.intake import Intake

    backend, rest = _own_options(list(arguments))
    if rest[:1] in (["--help"], ["-h"]):
        print(HELP, file=sys.stderr, flush=True)
    shop = open_shop()
    return _as_exit_code(Intake(shop, Launcher(shop.home), say).submit(backend, rest))


def _own_options(arguments: list[str]) -> tuple[str | None, list[str]]:
    """Take our own leading options off; whole words only, so that no sbatch abbreviation is ours."""
    backend = None
    while arguments and arguments[0].split("=", 1)[0] == "--backend":
        _, equals, value = arguments.pop(0).partition("=")
        backend = value if equals else (arguments.pop(0) if arguments else "")
        if backend not in BACKENDS:
            raise JobmonError(
                f"--backend takes one of {', '.join(BACKENDS)}, not {backend!r}; nothing was submitted"
            )
    return backend, arguments


def _as_exit_code(code: int) -> int:
    """Return what a shell would see: a death by signal n as 128 + n."""
    return code if code >= 0 else 128 - code
