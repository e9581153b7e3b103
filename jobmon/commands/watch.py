"""``jobmon watch``."""

from __future__ import annotations

import argparse
import re
from pathlib import Path
from typing import TYPE_CHECKING

from jobmon.commands.common import (
    Options,
    Parser,
    absolute,
    add_flags,
    job_ref,
    open_context,
    positive,
    stdout_console,
)
from jobmon.commands.job_options import HOST_HELP, add_job_options, gpu_id, job_settings
from jobmon.commands.watch_service import add_service_options, refuse_service_options, watch_service
from jobmon.errors import UsageError, report, say
from jobmon.views.details import detail_lines
from jobmon_core.app.outcome import ANSWERS, Watched
from jobmon_core.app.processes.watch import (
    Found,
    processes_of_file,
    processes_with_name,
    processes_with_pids,
    watch_processes,
)
from jobmon_core.app.submit_warnings import warning_in_job
from jobmon_core.app.watch import watch
from jobmon_core.context import configurable_backends
from jobmon_core.domain.backends import BY_TEXT, PBS
from jobmon_core.domain.errors import AlreadyReported, AlreadyWatched, JobmonError
from jobmon_core.domain.node.hosts.model import KINDS
from jobmon_core.domain.slurm.log_paths import LogPaths
from jobmon_core.domain.visible_text import one_line
from jobmon_core.lifecycle.health import job_status
from jobmon_core.lifecycle.start import MonitorStarter

if TYPE_CHECKING:
    from collections.abc import Sequence

    from jobmon_core.context import Context
    from jobmon_core.domain.job.job_settings import JobSettings
    from jobmon_core.domain.job.tracking.model import WatchedJob
    from jobmon_core.domain.slurm.job_ids import JobRef


DESCRIPTION = """\
Watch jobs that were not submitted through jobmon: pending, running or ended (an ended job is
analysed and reported at once). 12 is a job or a whole array, 12_3 one array task, 12+1 a component
of a het job.

With --pid, --pid-file or --process, watch processes of this host that run already, without Slurm:
together they are the workers of one job, with the PID of the first as its id. It runs until all of them
have ended, and their counts are summed. With --each, every process is a task of its own in one array.
Only the parent of a process learns its exit status. So the outcome of such a job is unknown, and the
message says what the logs show. For a known outcome, name in the job configuration what proves success,
e.g. done: {marker: out/DONE} (see `jobmon mark`).

With --host, watch one job on a host that is reached by ssh. One or more words describe it:
  tmux:NAME    what runs in this session of tmux, or in pane NAME:WINDOW.PANE:
               its command, or what its shell runs in the foreground now
  pid:N        this process
  process:TEXT the only one of yours with this text in its command line
  log:FILE     its log there (default: the file that its output goes to);
               alone: the process that writes to it now
  marker:FILE  a file that shows success if it exists once the process is gone;
               alone: wait for this file
  files:FOLDER the folder of its outputs: their number and the latest ones are shown
The first word may name the host, too: HOST:tmux:NAME. Likewise, ray:ID names a job of Ray,
kubernetes:job/NAME one on Kubernetes, pbs:ID one of PBS (12.server, a subjob 12[3].server), and pid:1,2,3
processes of this host. Paths are those of the host; relative ones begin at your home there. One round-trip
at each interval looks at all jobs on a host. A host that does not answer proves nothing; one message says so.
If a process is gone without a marker, and tmux has not kept its exit status, its outcome is unknown."""
EPILOG = """\
examples:
  jobmon watch 8123
  jobmon watch 8123_7 --error /scratch/me/run-7.err
  jobmon watch --again 8123
  jobmon watch 8123 --follow
  jobmon watch --backend ray raysubmit_9fTrcWEp1tJFvUfD
  jobmon watch --backend ray --all --address http://head:8265
  jobmon watch --backend kubernetes job/train
  jobmon watch --backend kubernetes --namespace ml --selector app=train
  jobmon watch --backend pbs 8123.pbs1
  jobmon watch 'pbs:8123[7].pbs1'
  jobmon watch --pid 4711 --log train.log
  jobmon watch --process train.py --name lr-3e-4
  jobmon watch --host box tmux:train log:/data/train.log marker:/data/DONE
  jobmon watch box:tmux:train           the same host, in one word
  jobmon watch --pod train-head-x7k2p process:train.py log:/tmp/train.log
  jobmon watch ray:raysubmit_9fTrcWEp1tJFvUfD
  jobmon watch pid:4711,4712 --log train.log
  jobmon watch --pid-file worker_pids.txt --log-dir logs --total-items 50000"""

USAGE = (
    "jobmon watch [OPTIONS] JOB...\n"
    "       jobmon watch [OPTIONS] --pid N... | --pid-file FILE | --process NAME\n"
    "       jobmon watch [OPTIONS] --host HOST tmux:NAME|pid:N|... (see below)"
)
_ON_HOST = re.compile(rf"(?P<host>[^:/]+):(?P<word>(?:{'|'.join(KINDS)}):.+)")


def add_arguments(parser: Parser) -> None:
    parser.usage = USAGE
    parser.add_argument(
        "job",
        nargs="*",
        metavar="JOB",
        help="ids; of Ray, submission ids; on Kubernetes, job/NAME or pod/NAME; with --host, words as above",
    )
    parser.add_argument("--host", metavar="HOST", help=f"watch a job on another host: {HOST_HELP}")
    parser.add_argument(
        "--pod",
        metavar="POD",
        help="watch a process in this pod of Kubernetes, e.g. one that `kubectl exec` started, by the words "
        "for --host; --context and --namespace say where the pod is",
    )
    parser.add_argument(
        "--error",
        type=Path,
        metavar="FILE",
        help="the job's stderr, if Slurm does not know it (default: --output)",
    )
    parser.add_argument(
        "--output",
        type=Path,
        metavar="FILE",
        help="the job's stdout, if Slurm does not know it (default: --error)",
    )
    add_flags(
        parser,
        again="analyse and report a job again that was already reported",
        follow="then follow the progress of the jobs, as `jobmon top` does",
    )
    parser.add_argument(
        "--backend",
        choices=configurable_backends(),
        metavar="NAME",
        help=f"the jobs' scheduler: {', '.join(configurable_backends())} (default: as configured)",
    )
    add_service_options(parser)
    _add_process_options(parser)
    add_job_options(parser)


def _add_process_options(parser: Parser) -> None:
    group = parser.add_argument_group("processes instead of jobs")
    which = group.add_mutually_exclusive_group()
    which.add_argument(
        "--pid",
        type=positive,
        nargs="+",
        action="extend",
        metavar="N",
        help="the processes with these PIDs",
    )
    which.add_argument(
        "--pid-file", type=Path, metavar="FILE", help="those whose PIDs are in this file, one a line"
    )
    which.add_argument(
        "--process",
        metavar="NAME",
        help="all of your processes that run this program or script (e.g. train.py), except those that are "
        "watched already and those whose parent runs it too; with --launch-timeout, wait so long for the "
        "first one, or for --num-workers of them",
    )
    add_flags(group, each="make each of them a task of an array instead")
    group.add_argument(
        "--log",
        type=Path,
        nargs="+",
        action="extend",
        metavar="FILE",
        help="one log for all of them, or one for each (default: the files that their output goes to)",
    )
    group.add_argument(
        "--name",
        "--job-name",
        dest="job_name",
        metavar="NAME",
        help="a name (default: from the command line)",
    )
    group.add_argument(
        "--gpu-ids", type=gpu_id, nargs="+", action="extend", metavar="N", help="the GPUs that they use"
    )


def run(options: Options) -> int:
    _read_targets(options)
    watched, exit_code = _watch(options)
    if options.follow and watched:
        _follow(open_context(), watched)
    return exit_code


def _read_targets(options: Options) -> None:
    if options.host or options.pod or not options.job:
        return
    first, *others = options.job
    kind, _, value = first.partition(":")
    if kind in (*BY_TEXT, PBS) and value:
        options.backend = options.backend or kind
        options.job = [each.removeprefix(f"{kind}:") for each in options.job]
    elif kind == "pid" and value:
        try:
            options.pid = [*(options.pid or ()), *map(positive, value.split(","))]
        except argparse.ArgumentTypeError as error:
            raise UsageError(f"{first}: {error}; see `jobmon watch --help`") from error
        options.job = others
    elif there := _ON_HOST.fullmatch(first):
        options.host = there["host"]
        options.job = [there["word"], *others]


def _watch(options: Options) -> tuple[list[JobRef], int]:
    """Watch jobs or processes; return what ``--follow`` shows, and the exit code."""
    if options.host or options.pod:
        from jobmon.commands.on_host import watch_in_pod, watch_on_host

        return [(watch_in_pod if options.pod else watch_on_host)(options).ref], 0
    is_about_processes = bool(options.pid or options.pid_file or options.process)
    backend = options.backend or ("" if is_about_processes else open_context().configuration().backend)
    if backend in BY_TEXT and not is_about_processes:
        return watch_service(options, backend, _show_reported)
    refuse_service_options(options)
    if is_about_processes == bool(options.job):
        raise UsageError(
            "required: either JOB, or one of --pid, --pid-file and --process; see `jobmon watch --help`"
        )
    if is_about_processes:
        return [_watch_processes(options).ref], 0
    if options.log:
        raise UsageError("--log is for processes; the logs of a job are --output and --error")
    return _watch_jobs(options)


def _follow(ctx: Context, refs: Sequence[JobRef]) -> None:
    """Show the progress of these jobs until the user quits; without a terminal, print it once."""
    from jobmon.commands.top import show_screen

    if show_screen(ctx, refs):
        names = ", ".join(f"job {ref}" for ref in refs)
        they, them, end = ("it", "it", "ends") if len(refs) == 1 else ("they", "them", "end")
        say(
            f"stopped following {names}; jobmon watches {them} until {they} {end}, and `jobmon top` shows "
            f"{them} again"
        )


_MAX_COMMAND = 200  # characters of a command line that are shown


def _watch_jobs(options: Options) -> tuple[list[JobRef], int]:
    """Watch each job, even after an error with another one; return those watched, and the exit code."""
    ctx = open_context()
    backend = options.backend or ctx.configuration().backend
    logs = LogPaths(absolute(options.output or options.error), absolute(options.error or options.output))
    settings = job_settings(options)
    exit_code, watched = 0, []
    for ref in _refs(options.job):
        try:
            job = watch(
                ctx,
                MonitorStarter(ctx),
                ref,
                backend,
                logs,
                settings=settings,
                again=options.again,
            )
        except AlreadyReported as reported:
            _show_reported(ctx, reported, ref.key)
        except JobmonError as error:
            report(error)
            if isinstance(error, AlreadyWatched) and (settings or logs != LogPaths()):
                say(
                    "the options of this command are not applied; to apply them, run "
                    f"`jobmon cancel {ref}`, then this command again"
                )
            if options.follow and isinstance(error, AlreadyWatched):
                watched.append(ref)
            else:
                exit_code = max(exit_code, error.exit_code)
        else:
            say(f"watching job {ref}; see `jobmon show {ref}`")
            if warning := warning_in_job(str(ref)):
                say(warning)
            watched.append(ref)
            ANSWERS.append(Watched(str(job.ref), job.id))
    return watched, exit_code


def _refs(words: Sequence[str]) -> list[JobRef]:
    try:
        return [job_ref(word) for word in words]
    except argparse.ArgumentTypeError as error:
        raise UsageError(f"argument JOB: {error}; see `jobmon watch --help`") from error


def _show_reported(ctx: Context, reported: AlreadyReported, task_key: str = "") -> None:
    report(reported)
    status = job_status(ctx, ctx.store.load(reported.state_id))
    print(*detail_lines(status, task_key, ctx.clock.now(), stdout_console()), sep="\n")


def _watch_processes(options: Options) -> WatchedJob:
    if options.output or options.error:
        raise UsageError("--output and --error are for jobs; the logs of processes are --log")
    if options.again or options.backend:
        raise UsageError("--again and --backend are for jobs, not for processes")
    ctx = open_context()
    settings = job_settings(options)
    found = _find(ctx, options, settings)
    for pid in found.missing:
        say(f"process {pid} is left out: it does not run on this host")
    for pid in found.watched:
        say(f"process {pid} is left out: it is watched already")
    logs = options.log or ()
    job = watch_processes(ctx, MonitorStarter(ctx), found.processes, logs, settings, each=options.each)
    for process in found.processes:
        say(one_line(f"{process.id.pid}: {process.command}")[:_MAX_COMMAND])
    what, whose, log = "it", "its output", "its log"
    if len(found.processes) > 1:
        what = f"these {len(found.processes)} processes"
        whose, log = "the output of some of them", "their logs"
    outputs = [paths.stdout for paths in job.task_logs.values()]
    if not logs:
        outputs += [process.stdout or process.stderr for process in found.processes]
    if not all(outputs):
        say(f"no file is found that {whose} goes to; --log names {log}")
    ANSWERS.append(Watched(str(job.ref), job.id))
    say(f"watching {what} as job {job.ref} ({job.name}); see `jobmon show {job.ref}`")
    return job


def _find(ctx: Context, options: Options, settings: JobSettings | None) -> Found:
    if options.pid:
        return processes_with_pids(options.pid)
    if options.pid_file:
        return processes_of_file(options.pid_file)
    return processes_with_name(ctx, options.process, settings)
