"""Submission of a local job: read its script and options, then start its supervisor."""

from __future__ import annotations

import os
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from jobmon_core.domain.errors import SchedulerRejected
from jobmon_core.domain.slurm.log_paths import templates_from_record
from jobmon_core.domain.slurm.sbatch_options import directive_words
from jobmon_core.scheduler.local.job_dir import JobSpec
from jobmon_core.scheduler.local.options import SbatchOptions, read_command_line, read_options
from jobmon_core.system.process import user_name
from jobmon_core.system.runner import exit_code_within, start_detached

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from jobmon_core.scheduler.local.job_dir import JobDir

_SUPERVISOR = "jobmon_core.scheduler.local.supervisor"
_PACKAGE_ROOT = Path(__file__).resolve().parents[3]
_START_TIMEOUT_S = 60.0  # for a file system from which Python loads slowly
_DEV_NULL = "/dev/null"
_WRAPPED = "#!/bin/sh\n# This script was created by sbatch --wrap.\n\n{}\n\n"


@dataclass(frozen=True, slots=True)
class Script:
    """A batch script."""

    content: bytes
    name: str  # the job's default name
    path: str = ""  # empty if it came from no file

    def directives(self) -> Iterator[list[str]]:
        """Yield the words of each ``#SBATCH`` line."""
        return directive_words(os.fsdecode(self.content))


@dataclass(frozen=True, slots=True)
class Request:
    """A valid submission."""

    options: SbatchOptions
    spec: JobSpec
    script: Script


def read_request(arguments: Sequence[str], now_s: float, kill_wait_s: float) -> Request:
    """Parse a submission, with the environment, working directory and standard input of this process.

    Raises:
        SchedulerRejected: it is invalid; the message is sbatch's.
    """
    command_line = read_command_line(arguments)
    script = read_script(command_line.script, command_line.wrap, os.environ.get("PATH", ""))
    options = read_options(script.directives(), os.environ, command_line)
    return Request(options, _spec(options, script, command_line.script[1:], now_s, kill_wait_s), script)


def _spec(
    options: SbatchOptions, script: Script, arguments: Sequence[str], now_s: float, kill_wait_s: float
) -> JobSpec:
    submit_dir = _current_dir()
    # joined as text: Slurm keeps ../ and ./, pathlib would drop them
    workdir = os.path.join(submit_dir, options.chdir) if options.chdir else submit_dir  # noqa: PTH118 - see above
    logs = templates_from_record(options.output, options.error, workdir, is_array=bool(options.array))
    stdin = "" if options.input.lower() == "none" else options.input
    return JobSpec(
        name=options.job_name or script.name,
        command=script.path,
        arguments=tuple(arguments),
        workdir=workdir,
        stdout=logs.stdout,
        stderr=logs.stderr,
        stdin=os.path.join(workdir, stdin) if stdin else _DEV_NULL,  # noqa: PTH118 - see above
        append=options.append,
        limit_s=options.limit_s,
        array=options.array,
        export=options.export,
        submit_s=int(now_s),
        submit_dir=submit_dir,
        user=user_name(),
        uid=os.getuid(),
        kill_wait_s=kill_wait_s,
    )


def _current_dir() -> str:
    try:
        return str(Path.cwd())
    except OSError as error:
        raise SchedulerRejected(f"cannot determine the current directory: {error.strerror}") from error


def read_script(operands: Sequence[str], wrap: str | None, search_path: str) -> Script:
    """Return the script that is named first, or wrapped, or else read from standard input.

    Raises:
        SchedulerRejected: it cannot be read, or is not a batch script.
    """
    if wrap is not None:
        script = Script(os.fsencode(_WRAPPED.format(wrap)), "wrap")
    elif operands:
        script = _read_file(operands[0], search_path)
    else:
        script = Script(sys.stdin.buffer.read(), "sbatch")
    _check(script.content)
    return script


def _read_file(name: str, search_path: str) -> Script:
    """Read a script from the current directory or, if its name has no slash, from the search path."""
    folders = [""] if "/" in name else ["", *search_path.split(":")]
    candidates = (Path(folder, name) for folder in folders)
    path = next((path for path in candidates if os.access(path, os.F_OK)), Path(name))
    try:
        return Script(path.read_bytes(), path.name, str(path.absolute()))
    except IsADirectoryError:
        return Script(b"", path.name)  # sbatch reports a directory as an empty script
    except OSError as error:
        raise SchedulerRejected(f"Unable to open file {name}") from error


def _check(content: bytes) -> None:
    if not content:
        raise SchedulerRejected("Batch script is empty!")
    if not content.strip():
        raise SchedulerRejected("Batch script contains only whitespace!")
    if not content.startswith(b"#!"):
        raise SchedulerRejected(
            "This does not look like a batch script.  The first\n"
            "line must start with #! followed by the path to an interpreter.\n"
            "For instance: #!/bin/sh"
        )
    if b"\0" in content:
        raise SchedulerRejected(
            "The Slurm controller does not allow scripts that\ncontain a NULL character '\\0'."
        )
    if b"\r\n" in content:
        raise SchedulerRejected(
            "Batch script contains DOS line breaks (\\r\\n)\ninstead of expected UNIX line breaks (\\n)."
        )


def launch(folder: JobDir) -> None:
    """Start the job's supervisor, and wait until it has taken over the job.

    Raises:
        SchedulerRejected: the supervisor failed; the message contains its output.
        OSError: the supervisor cannot be started.
    """
    utf8 = f"utf8={sys.flags.utf8_mode}"  # the supervisor must decode file names as this process does
    # -E -S: without PYTHON* variables, which are meant for the job, and without a site's start-up hooks
    argv = [sys.executable, "-E", "-S", "-X", utf8, "-m", _SUPERVISOR, str(folder.path.absolute())]
    with Path(_DEV_NULL).open("r+b", buffering=0) as stdin, folder.log.open("ab") as log:
        streams = (stdin.fileno(), log.fileno(), log.fileno())
        process = start_detached(argv, os.environ, streams, folder=str(_PACKAGE_ROOT))
    exit_code = exit_code_within(process, _START_TIMEOUT_S)
    if exit_code is None:
        raise SchedulerRejected(f"its supervisor did not start within {_START_TIMEOUT_S:g} s")
    if exit_code != 0:
        output = folder.log.read_text(encoding="utf-8", errors="replace").strip()
        raise SchedulerRejected(output or f"its supervisor ended with exit code {exit_code}")
