"""Read a submission: its command line, its script, and what the text of the script shows."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from jobmon_core.domain.before.batch_script.model import Command
from jobmon_core.domain.before.batch_script.parse import parse_script
from jobmon_core.domain.before.batch_script.paths import PathUse, paths_of
from jobmon_core.domain.before.batch_script.programs import Program, PythonRun, programs_of
from jobmon_core.domain.before.batch_script.request import Request, read_request
from jobmon_core.domain.before.batch_script.variables import values_of
from jobmon_core.domain.before.checks.facts import Facts, PathFact, PathKind
from jobmon_core.domain.errors import SchedulerRejected
from jobmon_core.domain.slurm.sbatch_options import read_with_unknown
from jobmon_core.observe.batch_script import find_program, look_at, read_text

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from jobmon_core.domain.before.batch_script.model import BatchScript

_MAX_TASKS = 200  # of an array: the inputs of so many are looked for
_WRAPPED = "#!/bin/sh\n{}\n"
_ALWAYS = ("HOME", "USER", "LOGNAME", "SHELL")  # that Slurm sets whatever --export says
_OFTEN_EXTENDED = ("PYTHONPATH", "LD_LIBRARY_PATH")  # scripts extend them (X=folder:$X): empty unless set
_TASK = "SLURM_ARRAY_TASK_ID"
_ON_NODE = dict.fromkeys(("TMPDIR", "SLURM_TMPDIR", "LOCAL_SCRATCH"), "/local/job")  # at most sites
_ONLY_IN_JOB = (
    "HOSTNAME",
    "TMPDIR",
    "CUDA_VISIBLE_DEVICES",
    "RANDOM",
    "SECONDS",
    "0",
    "@",
    "*",
    "#",
    "?",
    "$",
    "!",
)


def read_submission(arguments: Sequence[str], environment: Mapping[str, str]) -> Facts:
    """Return what sbatch would submit from the current folder with these arguments.

    Raise SchedulerRejected if there is no script, or sbatch would refuse an option before it.
    """
    given, operands = read_with_unknown(arguments)
    wrapped = dict(given).get("wrap")
    if wrapped is None and not operands:
        raise SchedulerRejected("no script given; `jobmon check --help` has examples")
    file = None if wrapped is not None else look_at(_script_path(operands[0], environment))
    text = _WRAPPED.format(wrapped) if file is None else read_text(file.path) or ""
    request = read_request(arguments, environment, text)
    script = parse_script(text)
    folder = os.path.abspath(request.options.get("chdir", ""))  # noqa: PTH100 - as Slurm: no links resolved
    own = _environment_of_job(request, environment)
    known = _known_values(request, own, folder)
    values = values_of(script, known)
    uses = tuple(paths_of(script, values, folder))
    return Facts(
        request,
        script,
        file,
        folder=folder,
        values=values,
        environment=own,
        programs=(*programs_of(script, values), *_python_script(script, file)),
        uses=uses,
        task_uses=dict(_uses_of_tasks(request, script, known, folder, uses)),
        node_uses=tuple(paths_of(script, values_of(script, {**known, **_ON_NODE}), folder, on_node=True)),
    )


def _script_path(name: str, environment: Mapping[str, str]) -> str:
    """Sbatch also looks for a bare name on PATH."""
    path = os.path.abspath(name)  # noqa: PTH100 - as above
    if "/" in name or look_at(path).kind is not PathKind.MISSING:
        return path
    return find_program(name, environment.get("PATH", "")) or path


def _environment_of_job(request: Request, environment: Mapping[str, str]) -> dict[str, str]:
    usual = {name: value for name, value in environment.items() if not name.startswith(("SLURM_", "SBATCH_"))}
    names = request.options.get("export", "ALL").split(",")
    own = dict(name.split("=", 1) for name in names if "=" in name)
    if "ALL" in names or names == [""]:
        return {**usual, **own}
    kept = {name: usual[name] for name in (*_ALWAYS, *names) if name in usual}
    return {**kept, **own}


def _known_values(request: Request, environment: Mapping[str, str], folder: str) -> dict[str, str | None]:
    """Return the variables that a job starts with; None for those that only it will know."""
    numbers = {
        "SLURM_NTASKS": request.tasks,
        "SLURM_NPROCS": request.tasks,
        "SLURM_NNODES": request.nodes,
        "SLURM_JOB_NUM_NODES": request.nodes,
        "SLURM_GPUS_ON_NODE": request.gpus_per_node or None,
    }
    arguments = {str(number): word for number, word in enumerate(request.arguments, 1)}
    return {
        **dict.fromkeys(_OFTEN_EXTENDED, ""),
        **environment,
        **dict.fromkeys(_ONLY_IN_JOB),
        **{name: None if number is None else str(number) for name, number in numbers.items()},
        **dict.fromkeys(("SLURM_JOB_ID", "SLURM_JOBID", "SLURM_ARRAY_JOB_ID", "SLURM_PROCID", _TASK)),
        "SLURM_SUBMIT_DIR": os.getcwd(),  # noqa: PTH109 - a text
        "SLURM_JOB_NAME": request.name,
        "PWD": folder,
        **arguments,
    }


def _python_script(script: BatchScript, file: PathFact | None) -> Iterator[Program]:
    if script.language.startswith("python") and file is not None:
        run = PythonRun(script.interpreter[-1], file=file.path, is_unbuffered="-u" in script.interpreter)
        yield Program(Command(1), (), (script.interpreter[0], file.path), run)


def _uses_of_tasks(
    request: Request,
    script: BatchScript,
    known: Mapping[str, str | None],
    folder: str,
    uses: tuple[PathUse, ...],
) -> Iterator[tuple[int, tuple[PathUse, ...]]]:
    if request.array is None or _TASK not in script.text:
        return
    for number, task in enumerate(request.array):
        if number >= _MAX_TASKS:
            return
        values = values_of(script, {**known, _TASK: str(task)})
        own = tuple(use for use in paths_of(script, values, folder) if use not in uses)
        if own:
            yield task, own
