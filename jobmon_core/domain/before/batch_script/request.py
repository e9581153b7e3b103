"""What a submission asks of Slurm: by the command line, the environment and the script.

Source of the precedence: ``process_options_second_pass()`` of ``sbatch/opt.c``; see sbatch(1), INPUT
ENVIRONMENT VARIABLES. A job_submit plugin of the site may change any of it.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field

from jobmon_core.domain.errors import SchedulerRejected
from jobmon_core.domain.slurm.job_ids import IndexSet
from jobmon_core.domain.slurm.log_paths import expand_known, templates_from_record
from jobmon_core.domain.slurm.sbatch_options import (
    NEXT_COMPONENT,
    VARIABLES,
    directive_words,
    parse_time_limit_s,
    read_with_unknown,
    script_directives,
)

_NUMBER = re.compile(r"(\d{1,9})(?:-(\d{1,9}))?(?:[:,].*)?")
_TYPE = re.compile(r"([A-Za-z_][\w.-]*):\d")  # ``a100:2,v100:2``
_GRES_TYPE = re.compile(r"gpu[:=]([A-Za-z_][\w.-]*)")
_MORE_CPUS = {"exclusive", "cpus-per-gpu", "mincpus", "extra-node-info", "cores-per-socket"}
_COUNT = re.compile(r"[0-9]{1,6}")  # of GPUs
_MEMORY = re.compile(r"([0-9]{1,12})([KMGT]?)B?")
_MINUTE_S = 60


@dataclass(frozen=True, slots=True)
class Request:
    """None: not given, or not readable."""

    script: str = ""  # empty for ``--wrap`` or a script on stdin
    arguments: tuple[str, ...] = ()  # of the script
    options: Mapping[str, str] = field(default_factory=dict)  # by their long names
    is_het_job: bool = False
    has_directives: bool = False

    @property
    def nodes(self) -> int | None:
        """The smaller one of a range."""
        return _number(self.options.get("nodes", ""))

    @property
    def tasks(self) -> int | None:
        """On all nodes."""
        if tasks := _number(self.options.get("ntasks", "")):
            return tasks
        each = _number(self.options.get("ntasks-per-node", "") or self.options.get("tasks-per-node", ""))
        return each * (self.nodes or 1) if each else None

    @property
    def cpus(self) -> int | None:
        """On all nodes; None if the site decides."""
        if _MORE_CPUS & set(self.options):
            return None
        each = _number(self.options.get("cpus-per-task", "1"))
        return None if each is None else each * (self.tasks or self.nodes or 1)

    @property
    def gpu_types(self) -> str:
        """As Slurm names them, joined by ``+``; empty if any will do."""
        texts = (self.options.get(name, "") for name in ("gpus", "gpus-per-node", "gpus-per-task"))
        named = [*_TYPE.findall(",".join(texts)), *_GRES_TYPE.findall(self.options.get("gres", ""))]
        return "+".join(dict.fromkeys(named))

    @property
    def gpus_per_node(self) -> int | None:
        """0 if none are asked for; None if not known."""
        options = self.options
        if (each := options.get("gpus-per-node")) is not None:
            return _gpus(each)
        if (by_gres := _gres_gpus(options.get("gres", ""))) is not None:
            return by_gres
        total = self._gpus_of_job()
        if total is None:  # --exclusive may include the GPUs of the node
            return None if {"gpus", "gpus-per-task", "exclusive"} & set(options) else 0
        if not total or not self.nodes:
            return 0 if not total else (total if self.nodes is None and total <= 1 else None)
        return total // self.nodes if total % self.nodes == 0 else None

    @property
    def gpus(self) -> int | None:
        """As `gpus_per_node`, of the job."""
        total = self._gpus_of_job()
        if total is not None:
            return total
        each = self.gpus_per_node
        return None if each is None else each * (self.nodes or 1)

    def _gpus_of_job(self) -> int | None:
        if (total := self.options.get("gpus")) is not None:
            return _gpus(total)
        each = self.options.get("gpus-per-task")
        if each is not None and self.tasks:
            by_task = _gpus(each)
            return None if by_task is None else by_task * self.tasks
        return None

    @property
    def memory_bytes(self) -> int | None:
        """On each node, by ``--mem``; None if that is not given, or for all memory of the node."""
        found = _MEMORY.fullmatch(self.options.get("mem", "").upper())
        return int(found[1]) * 1024 ** (1 + "KMGT".index(found[2] or "M")) or None if found else None

    @property
    def time_limit_s(self) -> int | None:
        """None if not given, unlimited or invalid."""
        with suppress(SchedulerRejected):  # sbatch itself will reject an invalid limit
            limit_s = parse_time_limit_s(self.options["time"]) if "time" in self.options else None
            return (
                None if limit_s is None else -(-limit_s // _MINUTE_S) * _MINUTE_S
            )  # rounded up, as by Slurm
        return None

    @property
    def is_unlimited(self) -> bool:
        """As by ``--time=UNLIMITED``; False if it names none."""
        with suppress(SchedulerRejected):
            return "time" in self.options and parse_time_limit_s(self.options["time"]) is None
        return False

    @property
    def array(self) -> IndexSet | None:
        """Its indices."""
        indices = IndexSet.parse(self.options.get("array", ""))
        return indices if len(indices) else None

    @property
    def name(self) -> str:
        """By default as sbatch names it: for a script on stdin, ``sbatch``."""
        default = self.script.rpartition("/")[2] or ("wrap" if "wrap" in self.options else "sbatch")
        return self.options.get("job-name", "") or default


def log_files(request: Request, folder: str, user: str) -> tuple[str, ...]:
    """With patterns where only Slurm knows the value; the job starts in ``folder``."""
    options, is_array = request.options, request.array is not None
    paths = templates_from_record(
        options.get("output", ""), options.get("error", ""), folder, is_array=is_array
    )
    known = (expand_known(path, user, request.name) for path in (paths.stdout, paths.stderr))
    return tuple(dict.fromkeys(known))


def read_request(arguments: Sequence[str], environment: Mapping[str, str], script_text: str) -> Request:
    """Read a command line of sbatch.

    Raises SchedulerRejected if an option before the script lacks its argument, or is unknown. An unknown
    one is accepted in the form ``--name=value``, because plugins of a site add options.
    """
    given, operands = read_with_unknown(arguments)
    by_variable = {name: environment[key] for key, name in VARIABLES.items() if key in environment}
    options = {**script_directives(script_text), **by_variable, **dict(given)}
    words = list(directive_words(script_text))
    has_script = "wrap" not in options and bool(operands)
    return Request(
        operands[0] if has_script else "",
        tuple(operands[1:]) if has_script else (),
        options,
        any(each[:1] and each[0] in NEXT_COMPONENT for each in words) or ":" in arguments,
        bool(words),
    )


def _number(text: str) -> int | None:
    found = _NUMBER.fullmatch(text)
    return int(found[1]) if found else None


def _gpus(text: str) -> int | None:
    """The sum of ``4``, ``a100:4`` or ``a100:2,v100:2``."""
    counts = [part.rpartition(":")[2] for part in text.split(",")]
    numbers = [int(each) for each in counts if _COUNT.fullmatch(each)]
    return sum(numbers) if len(numbers) == len(counts) else None


def _gres_gpus(text: str) -> int | None:
    """Of ``gpu:4``, ``gpu:a100:4`` or ``gpu``; 0 if it names other resources only."""
    if not text:
        return None
    found = 0
    for part in text.split(","):
        name, *rest = part.removeprefix("gres/").removeprefix("gres:").partition("(")[0].split(":")
        if name == "gpu" or name.startswith("gpu="):
            last = rest[-1] if rest else name.partition("=")[2] or "1"
            found += int(last) if _COUNT.fullmatch(last) else 1
    return found
