"""The failure in the words of the log, for the title of a message."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from jobmon_core.domain.humanize import size
from jobmon_core.domain.logs.diagnosis.log_lines import without_label
from jobmon_core.domain.logs.diagnosis.model import NAN_LOSS
from jobmon_core.domain.logs.diagnosis.patterns import is_heading, label_of

if TYPE_CHECKING:
    from jobmon_core.domain.logs.diagnosis.model import Diagnosis

_MAX_CHARS = 100
_MAX_READ_CHARS = 600  # of the line; what follows is cut off anyway
_MIN_SENTENCE_CHARS = 30
_MAX_PATH_CHARS = 40  # a longer path is shortened to its last parts
# the log lines of these causes name processes, nodes and signals; the title of the cause says more
_LABELS_WITH_BETTER_TITLE = frozenset({
    "host_oom_kill", "slurm_timeout", "slurm_cancelled", "slurm_preempted", "node_fail", "nccl_timeout",
    "gpu_hardware", "cuda_device_assert", "segfault", "bus_error_shm", "mpi_error", "srun_error",
})  # fmt: skip
_TASK_EXIT = ".task_exit"  # these name the exit code
# what precedes the message in a log: dates, times, levels, the script and line of a shell's message
_PREFIX = re.compile(
    r"(?:[\[(]?\d{4}[-/]\d\d[-/]\d\d(?:[T ]\d\d:\d\d:\d\d[\d.,]*(?:Z|[+-]\d\d:?\d\d)?)?[\])]?[-:| ]*"
    r"|[\[(]?\d\d:\d\d:\d\d[\d.,]*[\])]?[-:| ]*"
    r"|[\[(]?(?:ERROR|CRITICAL|FATAL|Error|error|fatal)[\])]? ?[-:|][-:| ]*"
    r"|(?:slurmstepd|srun)(?:-\S{1,60})?: error: (?:pyxis: )?"
    r"|#\d+: \S+ line \d+ in \S+: "  # HDF5
    r"|[*|]+ +(?:\\_+/ +)?"  # the frame of a box, and the drawing in it
    r"|/\S+:\d+: (?:\w*Warning: )?"
    r"|/\S*/python[\d.]*: (?=can't |No module |Error )"  # the shell's errors about this path are not Python's
    r"|\S+:\d+:\d+ \[\d+\] "  # NCCL: node:pid:thread [GPU]
    r"|\[enforce fail at [^\]]*\] ?\.? ?"  # PyTorch
    r"|# "
    r"|[^\s:]*\b(?:slurm_script|sh|bash|zsh|[\w.-]+\.(?:sh|slurm|sbatch|job)): (?:line )?\d+: "
    r"|what\(\): *)"
)
_ERROR = re.compile(
    r"(?<![\w.'])(?:[A-Za-z_]\w{0,60}\.){0,8}([A-Z]\w{0,60}(?:Error|Exception|Invalid|Failed|Timeout|Expired))"
    r"(?:: +(\S.*))?$"
)
# the type of these exceptions adds nothing to their message
_VAGUE_TYPES = frozenset({
    "Exception", "FileNotFoundError", "ImportError", "IOError", "MemoryError", "ModuleNotFoundError",
    "OSError", "PermissionError", "RuntimeError",
})  # fmt: skip
_ERRNO = re.compile(r"^\[Errno \d+\] ")
_AMOUNT = re.compile(
    r"(?i:tried|failed|trying) to allocate (?:(?P<size>[\d.]+ ?[KMGT]i?B)|(?P<bytes>\d{1,18}) bytes)"
)
_PATH = re.compile(r"(?<![\w.:/])~?(?:/[\w.+@=~-]+){3,}")
# a log can name anything; only an ordinary name becomes part of a command to copy
_MISSING_MODULE = re.compile(r"^No module named '([A-Za-z0-9_]{1,40})(?:\.[A-Za-z0-9_.]{1,60})?'")
_SENTENCE_END = re.compile(r"[.;!] ")


def advice_with_module(diagnosis: Diagnosis) -> str:
    """Return the advice with the name of a missing module, if that is an ordinary one."""
    module = _MISSING_MODULE.search(diagnosis.what_failed)
    return re.sub(r"\bNAME\b", module[1], diagnosis.advice) if module else diagnosis.advice


def what_failed_in_log(diagnosis: Diagnosis) -> str:
    """Return the failure from the line that proves a cause, in at most 100 characters.

    Empty if the line has no message, or if the title of the cause says more.
    """
    if diagnosis.cause is None or not diagnosis.is_proved or not diagnosis.evidence:
        return ""
    has_better_title = label_of(diagnosis.cause) in _LABELS_WITH_BETTER_TITLE
    gives_reason = is_heading(diagnosis.cause) and len(diagnosis.evidence) > 1
    says_more = diagnosis.cause.endswith(_TASK_EXIT) or gives_reason
    if diagnosis.cause == NAN_LOSS or (has_better_title and not says_more):
        return ""
    line = " ".join(without_label(diagnosis.evidence[-1].text.strip())[:_MAX_READ_CHARS].split())
    if diagnosis.cause.startswith("cuda_oom"):
        amount = _AMOUNT.search(line)
        tried = amount and (amount["size"] or size(int(amount["bytes"])))
        return f"CUDA out of memory (tried {tried})" if tried else ""
    code_line = "".join(line.text.strip() for line in diagnosis.evidence[-2:-1])
    return _shortened(_message(line, code_line))


def _message(line: str, code_line: str) -> str:
    line = without_prefix(line)
    error = _ERROR.search(line)
    if error is None:
        return line if " " in line and not line.startswith("terminate called") else ""
    name, text = error[1], _ERRNO.sub("", error[2] or "")
    if not text or re.fullmatch(r"\w+:", text):  # the message follows in further lines
        return f"{name}: {code_line}" if code_line.startswith("assert ") else ""
    return text if name in _VAGUE_TYPES else f"{name}: {text}"


def without_prefix(line: str) -> str:
    """Return a log line without the date, the level and the like that precede its message."""
    while prefix := _PREFIX.match(line):
        line = line[prefix.end() :]
    return line


def _shortened(text: str) -> str:
    text = _PATH.sub(_short_path, text)
    if len(text) > _MAX_CHARS:
        end = _SENTENCE_END.search(text, _MIN_SENTENCE_CHARS, _MAX_CHARS)
        if end:
            text = text[: end.start()]
        else:
            text = f"{text[: _MAX_CHARS - 1].rpartition(' ')[0] or text[: _MAX_CHARS - 1]}…"
    return text.rstrip(" .:;,*|")


def _short_path(path: re.Match[str]) -> str:
    return path[0] if len(path[0]) <= _MAX_PATH_CHARS else f"…/{'/'.join(path[0].split('/')[-2:])}"
