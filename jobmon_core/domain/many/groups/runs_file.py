"""Check a file of runs: a mapping from the name of each run to what is submitted, or to a job id.

A value is one of:

    eval.sbatch --epoch 0                      a text: sbatch's options, the script and its arguments
    [--gres=gpu:1, eval.sbatch, --epoch, 0]    the same as a list of words
    12345690                                   a job that was submitted before (also 12_3 or 12+1)
"""

from __future__ import annotations

import shlex
from collections.abc import Callable, Iterator, Mapping, Sequence

from jobmon_core.domain.errors import ConfigInvalid, SchedulerRejected
from jobmon_core.domain.many.groups.model import PlannedRun
from jobmon_core.domain.slurm.job_ids import JobRef
from jobmon_core.domain.slurm.sbatch_options import read_with_unknown

MAX_RUN_NAME = 200  # characters
_MAX_FAULTS = 20
_RUNS = "runs"  # the key of the runs in a file that also says something else


def planned_run(words: Sequence[str]) -> PlannedRun:
    """Return the run for the arguments of sbatch."""
    try:
        given, operands = read_with_unknown(words)
    except SchedulerRejected as error:
        raise ValueError(str(error)) from error
    is_wrapped = "wrap" in dict(given)
    if not operands and not is_wrapped:
        raise ValueError("no script is given")
    options = list(words[: len(words) - len(operands)])
    if options[-1:] == ["--"]:
        options.pop()
    script, arguments = (operands[0], operands[1:]) if operands else ("", [])
    return PlannedRun(script, tuple(arguments), tuple(options))


Reader = Callable[[Sequence[str]], PlannedRun]  # of the words of one run; ValueError


def parse_runs(data: object, source: str, read: Reader = planned_run) -> dict[str, PlannedRun | JobRef]:
    """Return the runs by name, in the order of the file ``source``, whose content is ``data``.

    ``read`` reads the words of the scheduler to which the runs are submitted.
    """
    runs = data.get(_RUNS, data) if isinstance(data, Mapping) else data
    if not isinstance(runs, Mapping) or not runs:
        raise ConfigInvalid(
            source, ["it must map names of runs to scripts or job ids, e.g. `lr1: train.sbatch 0.1`"]
        )
    found: dict[str, PlannedRun | JobRef] = {}
    faults: list[str] = []
    for name, value in runs.items():
        try:
            found[_checked_name(str(name))] = _run(value, read)
        except ValueError as error:
            faults.append(f"{name}: {error}")
    faults += _repeated_jobs(found)
    if faults:
        more = [f"and {len(faults) - _MAX_FAULTS} more"] if len(faults) > _MAX_FAULTS else []
        raise ConfigInvalid(source, faults[:_MAX_FAULTS] + more)
    return found


def _checked_name(name: str) -> str:
    if not name.strip() or not name.isprintable() or len(name) > MAX_RUN_NAME:
        raise ValueError(f"a name has 1 to {MAX_RUN_NAME} printable characters")
    return name


def _run(value: object, read: Reader) -> PlannedRun | JobRef:
    if isinstance(value, bool) or value is None:
        raise ValueError("no script and no job id is given")
    if isinstance(value, int | float):
        return JobRef.parse(str(value))
    if isinstance(value, str):
        words = shlex.split(value)
        if len(words) == 1 and words[0][:1].isdigit():
            return _job_or_script(words[0], read)
        return read(words)
    if isinstance(value, list) and all(isinstance(word, str | int | float) for word in value):
        return read([str(word) for word in value])
    raise ValueError("expected a text such as `train.sbatch --lr 0.1`, a list of words, or a job id")


def _job_or_script(word: str, read: Reader) -> PlannedRun | JobRef:
    try:
        return JobRef.parse(word)
    except ValueError:
        return read([word])  # e.g. 8b.sbatch


def _repeated_jobs(runs: Mapping[str, PlannedRun | JobRef]) -> Iterator[str]:
    names: dict[JobRef, str] = {}
    for name, run in runs.items():
        if isinstance(run, JobRef) and names.setdefault(run, name) != name:
            yield f"{name}: job {run} is the run {names[run]} already"
