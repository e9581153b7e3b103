"""Where a job's log lies: Slurm's file-name patterns, expanded as slurmd expands them.

Source: ``expand_stdio_fields()`` of Slurm's ``print_fields.c`` and ``_create_batch_fname()`` of
``slurmd/common/fname.c``, checked against the files that 22.05 and 25.05 create.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

NO_TASK = 4294967294  # NO_VAL: what Slurm prints for %a where a job is no array
DEFAULT_OUTPUT = "slurm-%j.out"
DEFAULT_ARRAY_OUTPUT = "slurm-%A_%a.out"
_MAX_PADDING = 10
_NOWHERE = "/dev/null"
_NULL = ("", "(null)")
_ARRAY_MODULUS = 10  # of %b
_SINCE = {"b": (24, 11), "r": (25, 11)}  # younger letters; older versions leave them as they are

_FIELD = re.compile(r"%(?:%|(\d*)([^\d%]?))")


@dataclass(frozen=True, slots=True)
class PathContext:
    """What the letters of a file-name pattern stand for, for one task of one job."""

    job_id: int
    array_job_id: int | None = None
    array_task: int | None = None
    user: str = ""
    job_name: str = ""
    node: str = ""  # short name of the job's first node
    restart: int = 0
    version: tuple[int, int] | None = None  # Slurm's, e.g. (24, 11); None: assume the newest

    def number(self, letter: str) -> int | None:
        """Return the number behind a letter, or None where the letter stands for no number."""
        task = NO_TASK if self.array_task is None else self.array_task
        master = self.job_id if self.array_job_id is None else self.array_job_id
        return {
            "j": self.job_id,
            "J": self.job_id,  # the batch step has no suffix
            "A": master,
            "a": task,
            "b": task % _ARRAY_MODULUS,
            "r": self.restart,
            "n": 0,  # the batch script runs on the job's first node, as its only task
            "t": 0,
        }.get(letter)

    def word(self, letter: str) -> str | None:
        """Return the text behind a letter, or None where the letter stands for no text."""
        return {"u": self.user, "x": self.job_name, "N": self.node, "s": "batch"}.get(letter)


@dataclass(frozen=True, slots=True)
class Templates:
    """The patterns of a job's two output files: absolute where the work folder was known."""

    stdout: str
    stderr: str


def expand(template: str, context: PathContext) -> str:
    r"""Expand a file-name pattern as slurmd does; total, whatever the ``template``.

    A backslash anywhere switches all expansion off and is itself removed. Unknown letters stay.
    """
    if "\\" in template:
        return template.replace("\\", "")
    return _FIELD.sub(lambda field: _expanded(field, context), template)


def _expanded(field: re.Match[str], context: PathContext) -> str:
    padding, letter = field.group(1), field.group(2)
    if letter is None:
        return "%"
    known = context.version is None or context.version >= _SINCE.get(letter, (0, 0))
    number = context.number(letter) if known else None
    if number is not None:
        return str(number).zfill(_width(padding))
    word = context.word(letter)
    if word is not None:
        return word
    # before a letter that it does not know slurmd drops the % and all digits but the last
    return f"{padding[-1]}{letter}" if padding else f"%{letter}"


def _width(padding: str) -> int:
    """Return the least width of a number; more than two digits mean more than the greatest width."""
    digits = padding.lstrip("0")
    return min(int(digits[:3] or "0"), _MAX_PADDING)


def templates_from_record(
    stdout: str, stderr: str, workdir: str, *, is_array: bool, job_id: int | None = None
) -> Templates:
    """Turn what Slurm's commands show as StdOut and StdErr into patterns to expand per task.

    Args:
        stdout: the value of squeue or scontrol; empty and ``(null)`` mean that none was given.
        stderr: likewise; where none was given, stderr goes where stdout goes.
        workdir: the job's folder, against which relative paths count.
        is_array: whether the job is an array, whose default name differs.
        job_id: the id of the row that was asked, to know a wrong default name of an array by it.
    """
    output = _template(stdout, workdir, is_array=is_array, job_id=job_id)
    same = stderr.strip() in _NULL
    return Templates(output, output if same else _template(stderr, workdir, is_array=is_array, job_id=job_id))


def _template(value: str, workdir: str, *, is_array: bool, job_id: int | None) -> str:
    folder = workdir.rstrip("/")
    # up to 23.11 squeue shows WORKDIR/slurm-<jobid>.out without -o, for an array too, which never has it
    shown = f"slurm-{job_id}.out"
    if value.strip() in _NULL or value == f"{folder}/{shown}":
        plain = shown if value.endswith(shown) else DEFAULT_OUTPUT
        name = DEFAULT_ARRAY_OUTPUT if is_array else plain
        return f"{folder.replace('%', '%%')}/{name}" if workdir else name  # Slurm takes this folder as it is
    if value.lower() == "none":
        return _NOWHERE
    path = value if value.startswith("/") or not workdir else f"{folder}/{value}"
    if not is_array:
        return path
    return path.replace(str(NO_TASK), "%a")  # scontrol's record of the whole array
