"""``jobmon watch``: watch a job not submitted through jobmon."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from jobmon.commands.common import job_ref, open_context, stdout_console
from jobmon.errors import say
from jobmon.views.details import detail_lines
from jobmon_core.app.jobs.job_config import read_settings
from jobmon_core.app.watch import watch
from jobmon_core.context import backend_names
from jobmon_core.domain.errors import AlreadyReported, AlreadyWatched, JobmonError
from jobmon_core.domain.slurm.log_paths import LogPaths
from jobmon_core.lifecycle.health import job_status
from jobmon_core.lifecycle.start import MonitorStarter

if TYPE_CHECKING:
    import argparse
    from collections.abc import Sequence

    from jobmon_core.context import Context
    from jobmon_core.domain.slurm.job_ids import JobRef

DESCRIPTION = """\
Watch jobs that were not submitted through jobmon: pending, running or ended (an ended job is
analysed and reported at once). 12 is a job or a whole array, 12_3 one array task, 12+1 a component
of a het job."""
EPILOG = """\
examples:
  jobmon watch 8123
  jobmon watch 8123_7 --error /scratch/me/run-7.err
  jobmon watch --again 8123
  jobmon watch 8123 --follow"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.description, parser.epilog = DESCRIPTION, EPILOG
    parser.add_argument("job", nargs="+", metavar="JOB", type=job_ref, help="job ids")
    parser.add_argument(
        "--error", type=Path, metavar="FILE", help="the job's stderr, if Slurm does not know it"
    )
    parser.add_argument(
        "--output", type=Path, metavar="FILE", help="the job's stdout, if Slurm does not know it"
    )
    parser.add_argument(
        "--again", action="store_true", help="analyse and report a job again that was already reported"
    )
    parser.add_argument(
        "--job-config",
        type=Path,
        metavar="FILE",
        help="a YAML file about these jobs: their workers, logs, patterns and thresholds; see README.md",
    )
    parser.add_argument(
        "--follow", action="store_true", help="then follow the progress of the jobs, as `jobmon top` does"
    )
    parser.add_argument("--backend", choices=backend_names(), help="its scheduler (default: as configured)")


def run(options: argparse.Namespace) -> int:
    """Watch each job, even after an error with another one; return the highest exit code."""
    ctx = open_context()
    backend = options.backend or ctx.configuration().backend
    logs = LogPaths(_absolute(options.output or options.error), _absolute(options.error or options.output))
    settings = read_settings(options.job_config, say) if options.job_config else None
    exit_code, watched = 0, []
    for ref in options.job:
        try:
            watch(ctx, MonitorStarter(ctx), ref, backend, logs, settings=settings, again=options.again)
        except AlreadyReported as reported:
            say(str(reported))
            status = job_status(ctx, ctx.store.load(reported.state_id))
            print(*detail_lines(status, ref.key, ctx.clock.now(), stdout_console()), sep="\n")
        except JobmonError as error:
            say(str(error))
            if options.follow and isinstance(error, AlreadyWatched):
                watched.append(ref)
            else:
                exit_code = max(exit_code, error.exit_code)
        else:
            say(f"watching job {ref}; see `jobmon show {ref}`")
            watched.append(ref)
    if options.follow and watched:
        _follow(ctx, watched)
    return exit_code


def _follow(ctx: Context, refs: Sequence[JobRef]) -> None:
    """Show the progress of these jobs until the user quits, or print it once without a terminal."""
    from jobmon.commands.top import show_screen

    show_screen(ctx, refs)
    names = ", ".join(f"job {ref}" for ref in refs)
    say(f"stopped following {names}; jobs and monitors keep running; `jobmon top` follows them again")


def _absolute(path: Path | None) -> str:
    return str(path.absolute()) if path else ""
