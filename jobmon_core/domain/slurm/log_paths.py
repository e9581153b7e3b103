"""Paths of a job's logs: Slurm's file name patterns, expanded as slurmd does.

Source: ``expand_stdio_fields()`` of Slurm's ``print_fields.c`` and ``_create_batch_fname()`` of
``slurmd/common/fname.c``, checked against the files that 22.05, 25.05 and 25.11 create.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import ClassVar

NO_TASK = 4294967294  # NO_VAL: Slurm's value of %a if the job is not an array
BY_USER = "the user"  # who says where the logs are
BY_SLURM = "Slurm"
BY_SCRIPT = "the script"
DEFAULT_OUTPUT = "slurm-%j.out"
DEFAULT_ARRAY_OUTPUT = "slurm-%A_%a.out"
_MAX_PADDING = 10
_DEV_NULL = "/dev/null"
_NULL = ("", "(null)")
_ARRAY_MODULUS = 10
_REWRITTEN = (25, 11)  # slurmd then began to treat unknown letters in another way
# Slurm versions that introduced these letters; older ones do not expand them
_SINCE = {"b": (24, 11), "r": _REWRITTEN, "S": _REWRITTEN}

_FIELD = re.compile(r"%(\d*)(.?)", re.DOTALL)
_OLD_FIELD = re.compile(r"%(?:%|(\d*)([^\d%]?))")


@dataclass(frozen=True, slots=True)
class PathContext:
    """The values of the letters, for one task."""

    job_id: int
    array_job_id: int | None = None
    array_task: int | None = None
    user: str = ""
    job_name: str = ""
    node: str = ""
    restart: int = 0
    sluid: str = ""
    version: tuple[int, int] | None = None  # Slurm's, e.g. (24, 11); None: assume the newest

    def values(self) -> dict[str, int | str]:
        """By letter."""
        task = NO_TASK if self.array_task is None else self.array_task
        master = self.job_id if self.array_job_id is None else self.array_job_id
        known: dict[str, int | str] = {"S": self.sluid} if self.sluid else {}
        return known | {
            "j": self.job_id,
            "J": self.job_id,
            "A": master,
            "a": task,
            "b": task % _ARRAY_MODULUS,
            "r": self.restart,
            "n": 0,  # the batch script runs on the job's first node, as its only task
            "t": 0,
            "u": self.user,
            "x": self.job_name,
            "N": self.node,
            "s": "batch",
        }


@dataclass(frozen=True, slots=True)
class LogPaths:
    """Templates with Slurm's ``%`` patterns; empty while not known."""

    JSON_KEYS: ClassVar[dict[str, str]] = {"source": "told_by"}

    stdout: str = ""
    stderr: str = ""
    source: str = ""  # one of BY_USER, BY_SLURM and BY_SCRIPT; empty while not known


def expand(template: str, context: PathContext) -> str:
    r"""Expand a file name pattern as slurmd does; never raises.

    A backslash anywhere disables all expansion and is itself removed. Unknown letters are kept.
    """
    if "\\" in template:
        return template.replace("\\", "")
    is_old = context.version is not None and context.version < _REWRITTEN
    if is_old:
        return _OLD_FIELD.sub(lambda field: _expanded_by_old(field, context), template)
    return _FIELD.sub(lambda field: _expanded(field, context), template)


def expand_known(template: str, user: str, job_name: str) -> str:
    """Expand what is known before the submission."""
    known = {"u": user, "x": job_name}
    if "\\" in template:
        return template
    return _FIELD.sub(lambda field: literal(known.get(field[2], "")) or field[0], template)


def literal(path: str) -> str:
    """The template of a path, which must not contain a backslash."""
    return path.replace("%", "%%")


def _expanded(field: re.Match[str], context: PathContext) -> str:
    padding, letter = field.groups()
    value = _value(padding, letter, context)
    if value is None:
        return {"%": "", "%%": "%"}.get(field[0], field[0])
    return value


def _expanded_by_old(field: re.Match[str], context: PathContext) -> str:
    padding, letter = field.groups()
    if letter is None:
        return "%"
    value = _value(padding, letter, context)
    if value is not None:
        return value
    # before an unknown letter slurmd drops the % and all digits but the last
    if padding:
        return f"{padding[-1]}{letter}"
    return f"%{letter}"


def _value(padding: str, letter: str, context: PathContext) -> str | None:
    is_supported = context.version is None or context.version >= _SINCE.get(letter, (0, 0))
    value = None
    if is_supported:
        value = context.values().get(letter)
    if isinstance(value, int):
        width = int(padding.lstrip("0")[:3] or "0")
        return str(value).zfill(min(width, _MAX_PADDING))
    return value


def templates_from_record(
    stdout: str, stderr: str, workdir: str, *, is_array: bool, job_id: int | None = None
) -> LogPaths:
    """Make templates of the StdOut and StdErr that Slurm's commands print.

    An empty or ``(null)`` StdOut means Slurm's default name, such a StdErr that of StdOut. With ``job_id``,
    the default that squeue prints is recognised: it is wrong for an array.
    """
    output, error = (
        _template(value, workdir, is_array=is_array, job_id=job_id) for value in (stdout, stderr)
    )
    return LogPaths(output, output if stderr.strip() in _NULL else error)


def _template(value: str, workdir: str, *, is_array: bool, job_id: int | None) -> str:
    folder = workdir.rstrip("/")
    # up to 23.11 squeue prints WORKDIR/slurm-<jobid>.out as the default, even for arrays, where it is wrong
    printed = f"slurm-{job_id}.out"
    if value.strip() in _NULL or value == f"{folder}/{printed}":
        plain = printed if value.endswith(printed) else DEFAULT_OUTPUT
        return _in_workdir(DEFAULT_ARRAY_OUTPUT if is_array else plain, workdir)
    if value in (DEFAULT_OUTPUT, DEFAULT_ARRAY_OUTPUT):  # so squeue prints the default since 24.05
        return _in_workdir(value, workdir)
    if value.lower() == "none":
        return _DEV_NULL
    path = value if value.startswith("/") or not workdir else f"{folder}/{value}"
    if not is_array:
        return path
    return path.replace(str(NO_TASK), "%a")  # scontrol prints NO_TASK in the record of a whole array


def _in_workdir(default_name: str, workdir: str) -> str:
    if workdir:
        return f"{literal(workdir.rstrip('/'))}/{default_name}"
    return default_name
