"""Submission of a local job: read its script and options, then start its supervisor.

Options, directives and variables are sbatch's, with its precedence (environment over script, command line
over both) and syntax, but time limits are not rounded up to minutes. Source: sbatch(1), 22.05.
"""

from __future__ import annotations

import os
import re
import shutil
import sys
import time
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

from jobmon_core.domain.errors import SchedulerRejected
from jobmon_core.domain.slurm.job_ids import IndexSet, compact
from jobmon_core.domain.slurm.log_paths import templates_from_record
from jobmon_core.domain.slurm.sbatch_options import (
    OPTIONS,
    VARIABLES,
    GivenOption,
    Treatment,
    directive_words,
    parse_time_limit_s,
    read_arguments,
)
from jobmon_core.scheduler.local.job_dir import KILL_WAIT_S, JobDir, JobSpec
from jobmon_core.scheduler.local.task_env import TaskEnv
from jobmon_core.scheduler.numbered_files import reserve_folder
from jobmon_core.system.runner import start_detached
from jobmon_core.system.users import user_name

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

_SUPERVISOR = "jobmon_core.scheduler.local.supervisor"
_IMPORT_DIR = Path(__file__).resolve().parents[3]
_DEV_NULL = "/dev/null"
_WRAPPED = "#!/bin/sh\n# This script was created by sbatch --wrap.\n\n{}\n\n"


@dataclass(frozen=True, slots=True)
class LocalRequest:
    """A valid submission."""

    spec: JobSpec
    script: bytes
    options: Mapping[str, str]
    variables: Mapping[str, str] = field(default_factory=dict)


def read_request(arguments: Sequence[str]) -> LocalRequest:
    """Parse a submission in the environment, folder and standard input of this process."""
    given, operands = read_arguments(arguments)
    script, name, path = read_script(operands, dict(given).get("wrap"))
    options = read_options(directive_words(os.fsdecode(script)), os.environ, given)
    return LocalRequest(_spec(options, name, path, operands[1:]), script, options)


def _spec(options: Mapping[str, str], name: str, path: str, arguments: Sequence[str]) -> JobSpec:
    submit_dir = current_folder()
    chdir = options.get("chdir")
    workdir = os.path.join(submit_dir, chdir) if chdir else submit_dir  # noqa: PTH118 - see above
    array = compact(parse_array_indices(options.get("array", "")))
    logs = templates_from_record(
        options.get("output", ""), options.get("error", ""), workdir, is_array=bool(array)
    )
    stdin = options.get("input", "")
    has_stdin = stdin.lower() not in ("", "none")
    return JobSpec(
        name=options.get("job-name") or name,
        command=path,
        arguments=tuple(arguments),
        workdir=workdir,
        stdout=logs.stdout,
        stderr=logs.stderr,
        stdin=os.path.join(workdir, stdin) if has_stdin else _DEV_NULL,  # noqa: PTH118 - see above
        append=is_append_mode(options.get("open-mode", "")),
        limit_s=parse_time_limit_s(options["time"]) if "time" in options else None,
        array=array,
        export=options.get("export", ""),
        submit_s=int(time.time()),
        submit_dir=submit_dir,
        user=user_name(),
        uid=os.getuid(),
        kill_wait_s=KILL_WAIT_S,
        after_ok=parse_after_ok(options.get("dependency", "")),
    )


def current_folder() -> str:
    """The folder in which the user submits."""
    try:
        return str(Path.cwd())
    except OSError as error:
        raise SchedulerRejected(f"cannot determine the current directory: {error.strerror}") from error


def read_script(operands: Sequence[str], wrap: str | None) -> tuple[bytes, str, str]:
    """The script, the default name of its job, and its path, empty without a file.

    It is that of ``--wrap``, else the file named first, else standard input.
    """
    if wrap is not None and operands:
        raise SchedulerRejected("Script arguments not permitted with --wrap option")
    if wrap is not None:
        found = os.fsencode(_WRAPPED.format(wrap)), "wrap", ""
    elif operands:
        found = _read_file(operands[0])
    else:
        found = sys.stdin.buffer.read(), "sbatch", ""
    _check(found[0])
    return found


def _read_file(name: str) -> tuple[bytes, str, str]:
    path = Path(name)
    if not os.access(path, os.F_OK):
        path = Path(shutil.which(name, os.F_OK) or name)
    try:
        return path.read_bytes(), path.name, str(path.absolute())
    except OSError as error:
        raise SchedulerRejected(f"Unable to open file {name}") from error


def _check(content: bytes) -> None:
    if not content:
        raise SchedulerRejected("Batch script is empty!")
    if not content.startswith(b"#!"):
        raise SchedulerRejected(
            "This does not look like a batch script.  The first\n"
            "line must start with #! followed by the path to an interpreter.\n"
            "For instance: #!/bin/sh"
        )
    if b"\r\n" in content:
        raise SchedulerRejected(
            "Batch script contains DOS line breaks (\\r\\n)\ninstead of expected UNIX line breaks (\\n)."
        )


def start_job(root: Path, request: LocalRequest) -> JobDir:
    """Start a job with its supervisor, or leave nothing behind."""
    if any(not JobDir(root / str(job_id)).path.is_dir() for job_id in request.spec.after_ok):
        raise SchedulerRejected("Batch job submission failed: Job dependency problem")
    folder = JobDir(reserve_folder(root, lambda job_id: not _has_free_logs(request.spec, job_id)))
    try:
        folder.create(request.spec, request.script)
        _start_supervisor(folder, request.variables)
    except BaseException:
        shutil.rmtree(folder.path, ignore_errors=True)
        raise
    return folder


def _has_free_logs(spec: JobSpec, job_id: int) -> bool:
    this, other = (TaskEnv(spec, each, None, each, os.uname().nodename) for each in (job_id, job_id + 1))
    return not any(
        this.path(log) != other.path(log) and os.path.lexists(this.path(log))
        for log in (spec.stdout, spec.stderr)
    )


def _start_supervisor(folder: JobDir, variables: Mapping[str, str]) -> None:
    utf8 = f"utf8={sys.flags.utf8_mode}"  # the supervisor must decode file names as this process does
    # -E: the PYTHON* variables are meant for the job; -S: no start-up code of site-packages (.pth files)
    argv = [sys.executable, "-E", "-S", "-X", utf8, "-m", _SUPERVISOR, str(folder.path.absolute())]
    environment = {**os.environ, **variables}
    with Path(_DEV_NULL).open("r+b", buffering=0) as stdin, folder.log.open("ab") as log:
        streams = (stdin.fileno(), log.fileno(), log.fileno())
        # the process that is started forks the supervisor, and exits when that is ready
        exit_code = start_detached(argv, environment, streams, folder=str(_IMPORT_DIR)).wait()
    if exit_code != 0:
        output = folder.log.read_text(encoding="utf-8", errors="replace").strip()
        why = output or f"its supervisor ended with exit code {exit_code}"
        raise SchedulerRejected(f"the job could not be started: {why}")


_COMMAND_LINE_ONLY = ("quiet", "wrap")  # sbatch ignores them in a script


def read_options(
    directives: Iterable[Sequence[str]], environment: Mapping[str, str], command_line: Iterable[GivenOption]
) -> dict[str, str]:
    """The value of each option in effect."""
    variables = [
        (name, environment[key])
        for key, name in VARIABLES.items()
        if environment.get(key) and OPTIONS[name].treatment is not Treatment.IGNORED and name != "clusters"
    ]
    options = dict((*_from_script(directives), *variables, *command_line))
    for name in options:
        if OPTIONS[name].treatment is Treatment.REFUSED:
            raise SchedulerRejected(f"option '--{name}' is not supported on a single machine")
    parse_after_ok(options.get("dependency", ""))
    return options


def ignored_options(options: Iterable[str]) -> list[str]:
    """The options without effect on a single machine, each as ``--name``."""
    return [f"--{name}" for name in options if OPTIONS[name].treatment is Treatment.IGNORED]


def _from_script(directives: Iterable[Sequence[str]]) -> Iterator[GivenOption]:
    for words in directives:
        given, operands = read_arguments(words)
        if operands:
            raise SchedulerRejected(f"Invalid directive found in batch script: {operands[0]}")
        yield from (option for option in given if option[0] not in _COMMAND_LINE_ONLY)


_AFTER_OK = re.compile(r"afterok(?::\d{1,9})+", re.ASCII)


def parse_after_ok(text: str) -> tuple[int, ...]:
    """The jobs of e.g. ``afterok:12:13``, which must succeed before this one starts.

    If one does not, the job is cancelled; Slurm's default is to leave it pending for ever.
    """
    if not text.strip():
        return ()
    parts = text.strip().split(",")
    if not all(_AFTER_OK.fullmatch(part) for part in parts):
        raise SchedulerRejected(
            f"option '--dependency={text}' is not supported on a single machine; only afterok:JOB is"
        )
    return tuple(int(word) for part in parts for word in part.split(":")[1:])


_SPAN = r"\d{1,7}(?:-\d{1,7}(?::0*[1-9]\d{0,6})?)?"
_ARRAY = re.compile(rf"\[?({_SPAN}(?:,{_SPAN})*),?\]?(?:%\d*)?", re.ASCII)
_MAX_TASKS = 100_000
_MAX_INDEX = 4_000_000  # as in Slurm with the highest possible MaxArraySize, which is 4,000,001


def parse_array_indices(text: str) -> list[int]:
    """The sorted indices of e.g. ``1-9:2,12%4``; tasks run one at a time, so the throttle is ignored."""
    if not text.strip():
        return []
    match = _ARRAY.fullmatch(text.lstrip())
    indices = IndexSet.parse(match[1] if match else "")
    # IndexSet drops a reversed span such as 5-1
    if match is None or len(indices.spans) != match[1].count(",") + 1:
        raise SchedulerRejected("Invalid job array specification")
    if len(indices) > _MAX_TASKS or any(span[-1] > _MAX_INDEX for span in indices.spans):
        raise SchedulerRejected(
            f"Invalid job array specification: at most {_MAX_TASKS} tasks, the highest index {_MAX_INDEX}"
        )
    return sorted(set(indices))


def is_append_mode(text: str) -> bool:
    """Whether ``--open-mode`` means to append."""
    if text.lower() not in ("", "a", "append", "t", "truncate"):
        raise SchedulerRejected("Invalid --open-mode specification")
    return text.lower().startswith("a")
