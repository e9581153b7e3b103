"""Use case: submit a chain of jobs, of which each starts when the one before it has succeeded."""

from __future__ import annotations

import json
import os
import shlex
import shutil
import time
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from jobmon_core.analysis.job_logs import read_script
from jobmon_core.app.runs.submit_request import SubmitRequest
from jobmon_core.app.sbatch_arguments import readable
from jobmon_core.app.submit import SubmitJob
from jobmon_core.domain.backends import DEFAULT_BACKEND
from jobmon_core.domain.errors import SchedulerRejected, UsageError
from jobmon_core.domain.job.job_settings import ChainStage
from jobmon_core.domain.redaction import redacted
from jobmon_core.domain.slurm.sbatch_options import UnknownOption, read_with_unknown, script_directives
from jobmon_core.scheduler.backends import find_backend
from jobmon_core.system.files import write_atomically

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from jobmon_core.context import Context
    from jobmon_core.domain.slurm.job_ids import JobRef
    from jobmon_core.scheduler.base import CommandLine

_SUBMIT_NOTHING = ("help", "usage", "version")  # options with which sbatch only prints


class Stage(NamedTuple):
    """One stage of a chain."""

    text: str  # as the user gave it
    arguments: tuple[str, ...]  # of sbatch, or of another submitter
    is_array: bool = False  # known only of another submitter, whose ids of arrays differ


@dataclass(slots=True)
class Chain:
    """A chain that is being submitted. After an error or an interruption, ``jobs`` says how far it got."""

    ctx: Context
    tell: Callable[[str], None]
    stages: tuple[Stage, ...]
    backend: str | None = None
    after: JobRef | None = None  # the job that must succeed before the first stage starts
    jobs: list[JobRef] = field(default_factory=list)  # of the stages that were submitted, in their order
    is_unclear: bool = False  # whether the stage after those may have been submitted all the same

    def submit(self) -> int:
        """Submit one stage after the other; return 0, or the exit code of an sbatch that submitted no job."""
        before, is_array = self.after, False
        backend = self.backend or self.ctx.configuration().backend
        for number, stage in enumerate(self.stages, start=1):
            after = _after(before, backend, is_array=is_array)
            request = SubmitRequest(
                self.backend or "", stage.arguments, chain=self._place(number), dependency=after
            )
            try:
                submission = SubmitJob(self.ctx, self.tell, request).submission()
            except KeyboardInterrupt:
                self.is_unclear = True
                raise
            if submission.job is None:
                self.is_unclear = bool(submission.note)  # set only if jobmon had to search for the job
                return submission.exit_code or 1
            before, is_array = submission.job.ref, stage.is_array
            self.jobs.append(before)
        return 0

    def _place(self, number: int) -> ChainStage | None:
        if len(self.stages) == 1:
            return None
        texts = tuple(redacted(stage.text) for stage in self.stages)
        options = f"--backend {self.backend}" if self.backend else ""
        return ChainStage(number, len(texts), texts[number - 1], texts[number:], options, str(Path.cwd()))


def _after(job: JobRef | None, backend: str, *, is_array: bool) -> tuple[str, ...]:
    line = find_backend(backend).command_line
    if job and line:
        return line.after("afterok", job.job_id, is_array=is_array)
    return (f"--dependency=afterok:{job.job_id}", "--kill-on-invalid-dep=yes") if job else ()


def read_stage(text: str, backend: str = DEFAULT_BACKEND) -> Stage:
    """Return a stage: a script, or sbatch's options, a script and its arguments; or raise UsageError."""
    try:
        words = [text] if _is_file(text) else shlex.split(text)
    except ValueError as error:  # a quotation that does not end
        raise UsageError(f"stage {text!r}: {error}") from error
    if line := find_backend(backend).command_line:
        return _read_with(line, text, words)
    try:
        options, operands = read_with_unknown(readable(words))
    except UnknownOption:  # only sbatch knows where its options end
        return Stage(text, tuple(words))
    except SchedulerRejected as error:
        raise UsageError(f"stage {text!r}: sbatch would refuse it: {error}") from error
    names = [name for name, _ in options]
    if any(name in _SUBMIT_NOTHING for name in names):
        raise UsageError(f"stage {text!r} submits nothing")
    if "dependency" in names:
        raise UsageError(
            f"stage {text!r}: --dependency is what makes the chain, so a stage cannot have one of its own; "
            "--after JOB delays the first stage"
        )
    if "wrap" not in names:
        _require_script(text, operands)
    return Stage(text, tuple(words))


def _read_with(line: CommandLine, text: str, words: Sequence[str]) -> Stage:
    """As `read_stage`, of another submitter than sbatch."""
    try:
        found = line.read(words)
    except SchedulerRejected as error:
        raise UsageError(f"stage {text!r}: {error}") from error
    if found.dependency:
        raise UsageError(f"stage {text!r}: the chain sets its dependency ({found.dependency}); remove it")
    if not found.operands:
        raise UsageError(f"stage {text!r} names no script")
    if found.script and not _is_file(found.script):
        raise UsageError(f"stage {text!r}: there is no script {found.script}")
    return Stage(text, tuple(words), is_array=bool(found.array))


def _require_script(text: str, operands: Sequence[str]) -> None:
    """Raise UsageError if a stage names no script, or its script is missing or sets --dependency.

    sbatch would report a missing script only after the stages before it were submitted.
    """
    if not operands:
        raise UsageError(f"stage {text!r} names no script")
    script = operands[0]
    if "dependency" in script_directives(read_script(script)):
        raise UsageError(f"stage {text!r}: remove the line #SBATCH --dependency: the chain sets it")
    if not _is_file(script) and shutil.which(script, os.F_OK) is None:
        raise UsageError(f"stage {text!r}: there is no script {script}")


def _is_file(path: str) -> bool:
    return os.path.isfile(path)  # noqa: PTH113 - Path.is_file raises without permission


def write_marker(ctx: Context, name: str, exit_status: int, note: str = "") -> Path:
    """Write one line of JSON at the path ``name``, in place of an older one; return the absolute path."""
    path = Path(name).expanduser().absolute()
    now_s = ctx.clock.now()
    content = {
        "exit_status": exit_status,
        "at_s": int(now_s),
        "time": time.strftime("%Y-%m-%dT%H:%M:%S%z", time.localtime(now_s)),
        "host": os.uname().nodename,
        "job_id": ctx.environment.get("SLURM_JOB_ID", ""),
        "note": note,
    }
    write_atomically(path, f"{json.dumps(content)}\n".encode())
    return path
