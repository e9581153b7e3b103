"""Starts a command on a host, at most once, with a wrapper that records its exit code.

The wrapper, a shell script in a folder of its own there, creates the folder ``taken``, or exits if it cannot:
so the command starts at most once, however often the start is repeated after a lost connection. It starts
itself again as a child, records both processes in ``pid``, waits, and records in ``exit`` how the command
ended. The child loads the environment of an ssh login from ``env`` and removes it, because a tmux server that
ran before has another, and becomes the command.
"""

from __future__ import annotations

import os
import shlex
import time
from contextlib import suppress
from dataclasses import replace
from typing import TYPE_CHECKING

from jobmon_core.domain.errors import SchedulerUnavailable, StorageFailed
from jobmon_core.domain.node.hosts.judge import apply_look
from jobmon_core.domain.node.hosts.model import HostJob, HostTarget, name_of_command
from jobmon_core.scheduler.ssh import script
from jobmon_core.scheduler.ssh.jobs import HostJobs, remote_job

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from jobmon_core.scheduler.base import RemoteJob

_NO_VARIABLES: Mapping[str, str] = {}
_PAUSES_S = (0.0, 2.0, 8.0)
_RUNS = ".local/state/jobmon"

_WRAPPER = """\
#!/bin/sh
folder=${0%%/*}
if [ "$1" = command ]; then  # the child
  . "$folder/env"
  command -p rm -f "${0%%/*}/env"
  cd %(workdir)s || exit 1
  export PYTHONUNBUFFERED="${PYTHONUNBUFFERED:-1}"%(exports)s
  set -- %(command)s
  exec "$@"
fi
mkdir "$folder/taken" 2>/dev/null || exit 0
read_start_ticks() {  # of a process: field 22 of its stat; ") " ends field 2
  read -r line < "/proc/$1/stat"; set -- ${line##*) }; shift 19; start_ticks=$1
}
finish() {
  rm -f "$folder/env"
  echo "$1 $(date +%%s)" > "$folder/exit.new" && mv "$folder/exit.new" "$folder/exit"
}
log=$folder/output.log
exec /usr/bin/env -i /bin/sh "$0" command >> "$log" 2>&1 < /dev/null &
child=$!
trap 'kill -TERM $child' TERM INT HUP
read -r boot < "${JOBMON_BOOT_ID_FILE:-/proc/sys/kernel/random/boot_id}"
read -r machine < "${JOBMON_HOSTNAME_FILE:-/proc/sys/kernel/hostname}"
namespace=$(readlink /proc/self/ns/pid)
read_start_ticks $$; wrapper_ticks=$start_ticks; read_start_ticks $child
echo "$$ $wrapper_ticks $child $start_ticks $boot ${namespace:--} $machine" > "$folder/pid.new"
mv "$folder/pid.new" "$folder/pid"
# in tmux, its terminal shows the output
if [ -t 1 ]; then tail -n +1 -f "$log" & shown=$!; fi
# a signal that the trap passes on interrupts `wait`, too
while :; do wait $child; code=$?; kill -0 $child 2>/dev/null || break; done
finish $code
if [ -n "$shown" ]; then sleep 1; kill $shown; fi
exit $code
"""

# `limited` is defined in script.py; connection.py keeps what the login had in `own_*` and `has_lc_all`
_START = """\
start() { # ID
  folder=%(runs)s/$1
  (umask 077; mkdir -p "$folder") || return
  if [ ! -d "$folder/taken" ]; then
    cat > "$folder/run.$$" <<'%(mark)s'
%(wrapper)s%(mark)s
    mv "$folder/run.$$" "$folder/run.sh"
    if [ -n "$has_lc_all" ]; then LC_ALL=$own_lc_all; else unset LC_ALL; fi
    printf '%%s\n' "$own_environment" > "$folder/env.$$" && mv "$folder/env.$$" "$folder/env" || return
    tmux=$(command -v tmux)
    if ! { [ -n "$tmux" ] && limited env PATH="$own_path" "$tmux" new-session -d -s "jobmon-$1" \\
        "exec /bin/sh '$folder/run.sh'"; }; then
      if command -v setsid >/dev/null; then setsid=setsid; else setsid=nohup; fi
      $setsid /bin/sh "$folder/run.sh" >/dev/null 2>&1 </dev/null &
    fi
    LC_ALL=C; export LC_ALL
  fi
  tries=0
  while [ ! -s "$folder/pid" ] && [ ! -s "$folder/exit" ] && [ $tries -lt 50 ]; do
    sleep 0.1 2>/dev/null || sleep 1
    tries=$((tries + 1))
  done
}
start %(run_id)s"""


def record_command(
    jobs: HostJobs, command: Sequence[str], name: str, workdir: str, output_dir: str = ""
) -> RemoteJob:
    """Record a command before it is started."""
    now_s = time.time()
    run_id = f"{int(now_s):x}{os.urandom(3).hex()}"
    job = HostJob(
        host=jobs.host.name,
        name=name or name_of_command(command),
        target=HostTarget(log=f"{_RUNS}/{run_id}/output.log", files=output_dir),
        run_id=run_id,
        registered_s=now_s,
        command=shlex.join(command),
        workdir=workdir,
    )
    try:
        folder = jobs.records.create(job)
        folder.save_starter()
    except OSError as error:
        raise StorageFailed(f"the command cannot be recorded, so it was not started: {error}") from error
    return remote_job(folder, job)


def start_command(
    jobs: HostJobs,
    number: int,
    command: Sequence[str],
    workdir: str,
    variables: Mapping[str, str] = _NO_VARIABLES,
    *,
    pause: Callable[[float], None] = time.sleep,
) -> str:
    """Start a recorded command; return why it is not known whether it started."""
    folder = jobs.records.of(number)
    job = folder.load()
    start = _start_text(job.run_id, command, workdir, variables)
    text = script.examine((start, script.run_line(number, job.run_id, prevent_start=False)))
    problem = ""
    for pause_s in _PAUSES_S:
        pause(pause_s)
        try:
            look = jobs.ask(text).look
        except SchedulerUnavailable as error:
            problem = str(error)
            continue
        run = look.runs.get(number)
        if run is not None and (run.command is not None or run.exit_code is not None):
            known, _ = apply_look(number, job, look, time.time())
            with suppress(StorageFailed):
                # without an end: the look that records it also copies the log
                folder.save(replace(known, end=None))
            return ""
        problem = f"{job.host} answered, but the command did not start in time"
    return problem


def _start_text(run_id: str, command: Sequence[str], workdir: str, variables: Mapping[str, str]) -> str:
    mark = f"jobmon-{os.urandom(8).hex()}"
    wrapper = _WRAPPER % {
        "workdir": script.path(workdir or "~"),
        "exports": "".join(f" {name}={shlex.quote(value)}" for name, value in variables.items()),
        "command": shlex.join(command),
    }
    return _START % {"runs": script.RUNS, "mark": mark, "wrapper": wrapper, "run_id": shlex.quote(run_id)}
