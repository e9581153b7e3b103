"""``jobmon run``."""

from __future__ import annotations

import argparse

from jobmon.commands.common import Options, Parser, add_flags, open_context
from jobmon.commands.job_options import HOST_HELP, add_job_options, gpu_id, job_settings
from jobmon.commands.restart_options import add_restart_arguments, given_values, restart_change
from jobmon.errors import UsageError, report, say
from jobmon_core.app.processes.run import RunCommand, command_script
from jobmon_core.domain.errors import CommandMissing, ConfigInvalid

DESCRIPTION = """\
Run a command on this machine and watch it as jobmon watches a job. What it prints is copied to
stdout and to a log file. Its stderr goes there too, as in Slurm; with --error, it goes to stderr and
to a file of its own. The exit code is that of the command (128 + n after signal n): any other than
0 means that it did not end well. If its success is doubtful, stderr and the message say so;
with --strict, the exit code is then 1."""
EPILOG = """\
The command runs in a session of its own. Each Ctrl-C reaches it, as if it ran without jobmon.
SIGTERM cancels it: it gets SIGTERM, and SIGKILL 30 seconds later. If the terminal is closed or
jobmon is killed, the command goes on in the background, and a message tells how it ended. It can
read a file or a pipe from stdin, but not the terminal. Python does not buffer its output
(PYTHONUNBUFFERED=1), so that it appears at once. When the command ends, processes that it left running
are killed, as in Slurm.

With --restart, further attempts run in the background, with the environment of the first one; they read
nothing from stdin, and append to the log that --output names. `jobmon restarts` shows them.

With --host, the command starts on another host, in the background: in tmux (session jobmon-ID) where
that is installed, else in a session of its own. It gets the environment of a plain `ssh HOST`;
`bash -lc '...'` reads your login files first. The exit code of jobmon is then 0 if the command was
started. A wrapper records the exit code of the command in ~/.local/state/jobmon there, and the log is copied
from there at each look; 30 days after the end, a look removes these files. The command starts at most once,
even if the connection is lost meanwhile; jobmon installs nothing there.

examples:
  jobmon run -- python train.py --epochs 3
  jobmon run --name sweep-7 --output logs/sweep-7.log -- ./simulate input.dat
  jobmon run --gpu-ids 0 1 --total-items 50000 -- python embed.py
  jobmon run --error train.err -- python train.py > /dev/null
  jobmon run --restart --resume-arg '--resume {path}' -- python train.py
  jobmon run --host box --chdir /data/exp7 -- python train.py"""


def add_arguments(parser: Parser) -> None:
    parser.usage = "jobmon run [OPTIONS] -- COMMAND [ARGS]"
    parser.add_argument(
        "--name",
        "--job-name",
        dest="job_name",
        metavar="NAME",
        help="the job's name (default: from the command)",
    )
    parser.add_argument(
        "-o",
        "--output",
        metavar="FILE",
        help="the log file; Slurm's patterns are expanded, e.g. %%j to the job id (default: jobmon-%%j.out; "
        "with /dev/null, jobmon keeps it in its own folder)",
    )
    parser.add_argument("-e", "--error", metavar="FILE", help="a log file of its own for stderr")
    parser.add_argument(
        "--gpu-ids",
        type=gpu_id,
        nargs="+",
        action="extend",
        metavar="N",
        help="the GPUs to use: sets CUDA_VISIBLE_DEVICES",
    )
    add_flags(
        parser,
        strict="exit code 1 after a doubtful success (see `jobmon status --help`), or one that nobody "
        "analysed",
    )
    group = parser.add_argument_group("on another host, by ssh")
    group.add_argument(
        "--host",
        metavar="HOST",
        help=f"start it there, in the background: {HOST_HELP}",
    )
    group.add_argument(
        "--chdir", metavar="FOLDER", help="with --host: the folder there to run it in (default: your home)"
    )
    group.add_argument(
        "--files", metavar="FOLDER", help="with --host: the folder there whose files are counted as outputs"
    )
    add_job_options(parser)
    add_restart_arguments(parser)
    parser.add_argument("command", nargs=argparse.REMAINDER, metavar="COMMAND", help="the command to run")


def run(options: Options) -> int:
    command = options.command
    if options.command[:1] == ["--"]:
        command = options.command[1:]
    if not command:
        raise UsageError("no command given; `jobmon run -- COMMAND` runs one")
    if options.host and options.strict:
        raise UsageError("--strict is not for --host, which only starts the command")
    if options.host:
        from jobmon.commands.on_host import run_there

        return run_there(options, command)
    for name in ("chdir", "files"):
        if getattr(options, name):
            raise UsageError(f"--{name} names a folder of another host; it requires --host")
    output, error = options.output or "", options.error or ""
    try:
        settings = job_settings(options, command_script(command))
        restart = restart_change(options.restart, given_values(options))
        return RunCommand(open_context(), say).run(
            command, settings, output=output, error=error, strict=options.strict, restart=restart
        )
    except (ConfigInvalid, CommandMissing) as error:
        return report(error, "nothing was started: ")
