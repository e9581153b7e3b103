"""The shell scripts that look at a host: text for /bin/sh, which needs only what each Linux host has.

They print lines that begin with a word, see `answer.py`. Missing lines mean that something is not known;
only ``gone PID`` says that a process does not exist. A look runs no program for each process. Programs that
are known to hang, such as df, get a time limit.
"""

from __future__ import annotations

import re
import shlex
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable

    from jobmon_core.domain.node.hosts.model import HostProcess

MAX_LOG_BYTES = 512 * 1024
MAX_LOGS_BYTES = 4 * 1024 * 1024
MAX_FILES, LATEST_FILES = 20_000, 20  # how many files of a folder are counted, and listed, at most
RUNS = "$HOME/.local/state/jobmon"  # the folder there of the commands that jobmon starts
RUN_FILES = ("env", "exit", "exit.new", "output.log", "pid", "pid.new", "unstarted", "run.sh")

_PRELUDE = """\
boot_id() { read -r line < "${JOBMON_BOOT_ID_FILE:-/proc/sys/kernel/random/boot_id}"; }
limited() { if command -v timeout >/dev/null; then timeout 5 "$@"; else "$@"; fi 2>/dev/null; }
process() { # PID
  if read -r line 2>/dev/null < "/proc/$1/stat"; then printf 'proc %s\\n' "$line"
  elif [ -e /proc/$$/stat ] && [ ! -e "/proc/$1" ]; then printf 'gone %s\\n' "$1"; fi 2>/dev/null
}
identity() { # JOB KIND PID TICKS BOOT NAMESPACE MACHINE
  printf 'process %s\\n' "$*"; process "$3"
}
panes() {
  command -v tmux >/dev/null || return 0
  limited tmux list-panes -a -F 'pane #{pane_id}|#{pane_pid}|#{pane_dead}|#{pane_dead_status}|\
#{pane_dead_signal}|#{window_index}|#{pane_index}|#{session_name}'
}
host() {
  boot_id; printf 'boot %s\\n' "$line"
  read -r line < "${JOBMON_HOSTNAME_FILE:-/proc/sys/kernel/hostname}"; printf 'machine %s\\n' "$line"
  printf 'namespace %s\\n' "$(readlink /proc/self/ns/pid)"
  read -r line _ < "${JOBMON_UPTIME_FILE:-/proc/uptime}"; printf 'uptime %s\\n' "$line"
  echo "clock $(date +%s)"
}"""

_LOOK = """\
marker() { # JOB FILE
  [ -e "$2" ] && printf 'marker %s %s\\n' "$1" "$(stat -L -c '%i %s %Y' -- "$2" 2>/dev/null)"
}
log() { # JOB FILE INODE OFFSET MAX
  [ -f "$2" ] || return 0
  job=$1 file=$2 inode=$3 from=$4 max=$5
  set -- $(stat -L -c '%i %s %Y' -- "$file" 2>/dev/null)
  [ $# = 3 ] || return 0
  { [ "$1" = "$inode" ] && [ "$2" -ge "$from" ]; } || from=0
  [ $(($2 - from)) -le "$max" ] || from=$(($2 - max))
  echo "log $job $1 $2 $3 $from"
  [ "$2" -gt "$from" ] && tail -c "+$((from + 1))" -- "$file" | head -c $(($2 - from)) | base64
  echo "end"
}
ends() { # JOB FILE BYTES: its size, its last and its first bytes
  [ -f "$2" ] && log "$1" "$2" - 0 "$3" && echo "head $1" && head -c "$3" -- "$2" | base64 && echo "end"
}
files() { # JOB FOLDER MAX LATEST [TEST ...]: how many files there are in it, and the latest ones
  [ -d "$2" ] || { echo "files $1 missing"; return 0; }
  job=$1 folder=$2 max=$3 latest=$4
  shift 4
  {
    (cd "$folder" && limited find . "$@" -type f -exec stat -c '%Y %s %n' {} +; echo "0 ended $?") 2>/dev/null
  } | head -n "$max" | sort -rn | awk -v job="$job" -v latest="$latest" '
    $1 ~ /^[0-9]+$/ && $2 ~ /^[0-9]+$/ { if (count++ < latest) print "file", job, $0; bytes += $2 }
    $2 == "ended" { complete = $3 != 124 }
    END { print "files", job, count + 0, sprintf("%.0f", bytes), complete ? "all" : "part" }'
}
run() { # JOB ID TAKE
  folder=RUNS/$2
  if [ ! -d "$folder/taken" ]; then
    if [ "$3" = take ] && mkdir -p "$folder" && mkdir "$folder/taken"; then
      echo unstarted > "$folder/unstarted"; echo "run $1 unstarted"
    elif [ -d "$folder/taken" ]; then echo "run $1 taken"
    else echo "run $1 untaken"; fi 2>/dev/null
    return 0
  fi
  if [ -s "$folder/unstarted" ]; then echo "run $1 unstarted"; else echo "run $1 taken"; fi
  if [ -s "$folder/pid" ]; then
    read -r wrapper wrapper_start command command_start boot namespace machine < "$folder/pid"
    identity "$1" wrapper "$wrapper" "$wrapper_start" "$boot" "$namespace" "$machine"
    identity "$1" command "$command" "$command_start" "$boot" "$namespace" "$machine"
  fi
  [ -s "$folder/exit" ] && read -r code time < "$folder/exit" &&
    printf 'exit %s %s %s\\n' "$1" "$code" "$time"
}
remove() { # JOB ID: only what jobmon made; a link is not followed
  folder=RUNS/$2
  if [ ! -L "$folder" ] && [ -d "$folder" ]; then
    for name in OWN_FILES; do rm -f "$folder/$name"; done
    rm -f "$folder"/env.[0-9]* "$folder"/run.[0-9]*
    rmdir "$folder/taken" "$folder"
  fi 2>/dev/null
  { [ -e "$folder/run.sh" ] && [ ! -L "$folder" ]; } || echo "removed $1"
}
usage() { # FOLDER
  group=/sys/fs/cgroup
  for name in memory.current memory.max; do
    read -r line 2>/dev/null < "$group/$name" && printf '%s %s\\n' "$name" "$line"
  done
  for name in memory.usage_in_bytes memory.limit_in_bytes; do
    read -r line 2>/dev/null < "$group/memory/$name" && printf '%s %s\\n' "$name" "$line"
  done
  while read -r name line; do
    [ "$name" = oom_kill ] && printf 'oom_kill %s\\n' "$line"
  done 2>/dev/null < "$group/memory.events"
  while read -r name line _; do
    case $name in MemTotal:|MemAvailable:) printf '%s %s\\n' "$name" "$line";; esac
  done 2>/dev/null < /proc/meminfo
  limited df -Pk -- "$1" | while read -r line; do printf 'df %s\\n' "$line"; done
  limited df -Pi -- "$1" | while read -r line; do printf 'dfi %s\\n' "$line"; done
}""".replace("RUNS", RUNS).replace("OWN_FILES", " ".join(RUN_FILES))

_EXAMINE = """\
lineage() { # ID: the processes whose environment names it; that of grep shows that grep can read them
  id=$1; set -- /proc/[0-9]*/environ  # before grep is one of them
  JOBMON_LINEAGE=$id grep -lzxF -e "JOBMON_LINEAGE=$id" /proc/self/environ "$@" 2>/dev/null |
    while IFS=/ read -r _ _ pid _; do
      if [ "$pid" = self ]; then echo searched; else printf 'found %s\\n' "$pid"; fi
    done
}
link() { # FILE: where it points, in one line
  printf '%s' "$(readlink "$1" 2>/dev/null)" | tr '\\000-\\037' ' '
}
details() { # PID
  process "$1"
  printf 'argv %s %s\\n' "$1" "$(tr '\\000\\n' '\\037 ' 2>/dev/null < "/proc/$1/cmdline")"
  printf 'cwd %s %s\\n' "$1" "$(link "/proc/$1/cwd")"
  for fd in 1 2; do
    file=$(readlink "/proc/$1/fd/$fd" 2>/dev/null) && [ -f "$file" ] &&
      printf 'fd%s %s %s\\n' "$fd" "$1" "$(link "/proc/$1/fd/$fd")"
  done
}
foreground() { # PID: the leader of the foreground of its terminal
  read -r line 2>/dev/null < "/proc/$1/stat" || return 0
  set -- ${line##*) }
  [ "$6" -gt 1 ] 2>/dev/null && details "$6"
}
running() { # TEXT
  pgrep -u "$(id -u)" -f -- "$1" | while read -r pid; do printf 'found %s\\n' "$pid"; details "$pid"; done
}
writers() { # FILE
  FILE=$(readlink -f "$1") || return 0
  export FILE
  ls -l /proc/[0-9]*/fd 2>/dev/null | awk '
    /^\\/proc\\// { split($0, part, "/"); pid = part[3] }
    $1 ~ /^l.w/ { at = index($0, " -> "); if (substr($0, at + 4) == ENVIRON["FILE"]) print "writer " pid }'
}"""


def path(text: str) -> str:
    """A path as a word of the script; a relative one counts from the home directory there."""
    if text.startswith("/"):
        return shlex.quote(text)
    rest = text.removeprefix("~/")
    if text == "~":
        rest = ""
    if rest:
        return f'"$HOME"/{shlex.quote(rest)}'
    return '"$HOME"'


def look(lines: Iterable[str], data: str) -> str:
    """``data`` is the folder whose free space matters."""
    return "\n".join((_PRELUDE, _LOOK, "host", "panes", *lines, f"usage {path(data or '~')}"))


def examine(lines: Iterable[str]) -> str:
    """Find out about processes."""
    return "\n".join((_PRELUDE, _LOOK, _EXAMINE, "host", *lines))


def process_line(process: HostProcess) -> str:
    """Check whether a process exists."""
    return f"process {process.pid}"


def marker_line(job: int, file: str) -> str:
    """Look for a marker."""
    return f"marker {job} {path(file)}"


def log_line(job: int, file: str, inode: str, offset: int, max_bytes: int) -> str:
    """Read a log from ``offset``, or its last ``max_bytes``."""
    return f"log {job} {path(file)} {shlex.quote(inode or '-')} {offset} {max_bytes}"


def files_line(job: int, folder: str) -> str:
    """Count files, and list the latest ones."""
    return f"files {job} {path(folder)} {MAX_FILES} {LATEST_FILES}"


def saved_files_line(job: int, folder: str, levels: int, latest: int) -> str:
    """Print a folder's absolute path, and its latest files of the user and of root."""
    there = path(folder)
    owners = r'\( -user "$(id -u)" -o -user 0 \)'
    return (
        f'(cd {there} && printf "folder {job} %s\\n" "$PWD") 2>/dev/null; '
        f"files {job} {there} {MAX_FILES} {latest} -maxdepth {levels} {owners}"
    )


def ends_line(job: int, file: str, max_bytes: int) -> str:
    """Read the start and the end of a file."""
    return f"ends {job} {path(file)} {max_bytes}"


def run_line(job: int, run_id: str, *, prevent_start: bool) -> str:
    """Look at a command of jobmon's; with ``prevent_start``, it can no longer start if it has not."""
    return f"run {job} {shlex.quote(run_id)} {'take' if prevent_start else '-'}"


def remove_line(job: int, run_id: str) -> str:
    """Remove what jobmon made there."""
    return f"remove {job} {shlex.quote(run_id)}"


def running_line(text: str) -> str:
    """Find the user's processes by a text in their command line."""
    pattern = re.sub(r"[][\\.*^$()+{}|?]", r"\\\g<0>", text)  # pgrep takes a POSIX regex
    return f"running {shlex.quote(pattern)}"


def details_line(pid: int) -> str:
    """Print what is known of a process."""
    return f"details {pid}"


def writers_line(file: str) -> str:
    """Find the processes that write to a file."""
    return (
        f'writers {path(file)} | while read -r word pid; do printf "found %s\\n" "$pid"; details "$pid"; done'
    )


def lineage_line(lineage: str) -> str:
    """Find the processes of a lineage; ``searched`` shows that it could."""
    return f"lineage {shlex.quote(lineage)}"


PANES_LINE = "panes"
PANE_DETAILS_LINE = (
    "limited tmux list-panes -a -F '#{pane_pid}' |\n"
    'while read -r pid; do [ -z "$pid" ] || { details "$pid"; foreground "$pid"; }; done'
)
