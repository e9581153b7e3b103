"""Submit again what was recorded: in its folder, with its script, and with its environment and limits."""

from __future__ import annotations

import os
import resource
import shutil
import tempfile
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING

from jobmon_core.analysis.job_logs import written_logs
from jobmon_core.app.sbatch_arguments import split
from jobmon_core.domain.backends import DEFAULT_BACKEND
from jobmon_core.domain.errors import JobmonError, SchedulerRejected, StateUnreadable, StorageFailed
from jobmon_core.domain.job.restart.next_submission import tracker_variables
from jobmon_core.domain.logs.tracker import TrackerRun
from jobmon_core.observe.logs.read import read_head
from jobmon_core.store.home import COPY_PREFIX
from jobmon_core.system.environment import own_secrets

if TYPE_CHECKING:
    from collections.abc import Iterator

    from jobmon_core.context import Context
    from jobmon_core.domain.job.restart.model import Lineage
    from jobmon_core.store.lineages import RecordedSubmission

_STDIN = 0


def become_like(recorded: RecordedSubmission) -> None:
    """Give this process what a job inherits from the one that submits it, as at the first submission.

    It keeps jobmon's secrets, for the monitor. Raise JobmonError if the folder is gone.
    """
    variables = {**recorded.environment, **own_secrets(os.environ)}
    os.environ.clear()
    os.environ.update(variables)
    _enter(recorded.folder)
    if recorded.umask is not None:
        os.umask(recorded.umask)
    for name, wanted in recorded.limits.items():
        with suppress(ValueError, OSError, AttributeError):  # the hard limit is lower here
            number = getattr(resource, name)
            resource.setrlimit(number, (wanted, resource.getrlimit(number)[1]))


@contextmanager
def in_recorded_folder(ctx: Context, recorded: RecordedSubmission) -> Iterator[tuple[str, ...]]:
    """Enter the folder of a submission and yield its arguments, as `with_script` does."""
    _enter(recorded.folder)
    with with_script(ctx, recorded, recorded.arguments) as arguments:
        yield arguments


def _enter(folder: str) -> None:
    try:
        os.chdir(folder)
    except OSError as error:
        raise JobmonError(f"{folder}: {error.strerror}") from error


@contextmanager
def with_script(
    ctx: Context,
    recorded: RecordedSubmission,
    arguments: tuple[str, ...],
    backend: str = DEFAULT_BACKEND,
) -> Iterator[tuple[str, ...]]:
    """Yield the arguments of sbatch; the script is a private copy if its file is not what was recorded.

    A script that came from stdin is there again.

    Raises:
        SchedulerRejected: there is such a script, and the options before it cannot be read.
        StorageFailed: the copy cannot be written.
    """
    if recorded.script is None:
        yield arguments
        return
    content = recorded.script.encode("utf-8", "surrogateescape")
    options, operands = split(arguments, backend)
    if operands and _content(operands[0]) == content:
        yield arguments
    elif not operands:
        replace_stdin(content)
        yield arguments
    else:
        with _script_copy(ctx, recorded.script_name, content) as copy:
            yield (*options, str(copy), *operands[1:])


@contextmanager
def _script_copy(ctx: Context, name: str, content: bytes) -> Iterator[Path]:
    """It has the name of the script, which sbatch gives the job by default."""
    try:
        folder = Path(tempfile.mkdtemp(prefix=COPY_PREFIX, dir=ctx.home.runs))
        path = folder / name
        path.write_bytes(content)
        path.chmod(0o600)
    except OSError as error:
        raise StorageFailed(f"a copy of the script cannot be written: {error.strerror}") from error
    try:
        yield path
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def replace_stdin(content: bytes) -> None:
    """Make a script the input of this process, where sbatch reads it."""
    with os.fdopen(os.memfd_create("script"), "w+b") as file:
        file.write(content)
        file.seek(0)
        os.dup2(file.fileno(), _STDIN)


def script_path(recorded: RecordedSubmission, backend: str = DEFAULT_BACKEND) -> str:
    """Return the file that the script came from, if any."""
    if recorded.script_path or recorded.run:
        return recorded.script_path
    with suppress(SchedulerRejected):
        if operands := split(recorded.arguments, backend)[1]:
            return os.path.join(recorded.folder, operands[0])  # noqa: PTH118 - texts
    return ""


def tracker_ids(ctx: Context, lineage: Lineage, recorded: RecordedSubmission) -> dict[str, str]:
    """Return the variables by which a further attempt goes on in the tracker's run of the first one."""
    lines, runs = list[str](), list[TrackerRun]()
    with suppress(StateUnreadable):  # the user may have removed it
        job = ctx.store.load(lineage.attempts[0].state_id)
        for path in {path for task in job.tasks.values() for path in written_logs(job, task)}:
            lines += read_head(path).texts
        for followed in ctx.progress_file(job.id).read().tasks.values():
            runs += followed.tracked
    return tracker_variables(lines, recorded.environment, runs)


def _content(path: str) -> bytes | None:
    try:
        return Path(path).read_bytes()
    except OSError:
        return None
