"""The programs that start other programs: their options, and where the started command begins.

Sources: srun(1) of 20.11 to 25.05; mpirun(1) of Open MPI and of MPICH; ``torch/distributed/run.py``;
``accelerate launch --help``; ``deepspeed/launcher/runner.py``; apptainer-exec(1); conda run --help.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple

from jobmon_core.domain.slurm.sbatch_options import LETTERS, OPTIONS


class Launcher(NamedTuple):
    """Names of options have no leading dashes, and ``_`` for ``-``."""

    name: str
    # an empty value: a flag, or a value that only the job knows; `UNKNOWN`: always the latter
    options: Mapping[str, str]
    subject: str = ""  # the word before the program: an image, the duration of `timeout`


class _Form(NamedTuple):
    """How its options are written."""

    flags: str = ""  # without a value; if `valued` is None, all others have one
    valued: str | None = None  # with a value; all others have none
    operands: int = 0  # words between the options and the program
    subcommands: tuple[str, ...] = ()  # one of these follows the name
    pairs: str = ""  # options with two values


_SRUN_VALUED = " ".join(
    [
        *(name for name, option in OPTIONS.items() if option.argument == "="),
        *(letter for letter, option in LETTERS.items() if option.argument == "="),
        *("mpi", "cpu-bind", "cpu_bind", "epilog", "prolog", "task-epilog", "task-prolog", "het-group"),
        *("jobid", "relative", "r", "W", "T", "threads", "container-image", "container-mounts"),
        *("container-name", "container-workdir", "wait", "slurmd-debug"),
    ]
)
_MPI = _Form(
    valued="np n c N H host hostfile machinefile f x wdir bind-to map-by rank-by npernode ppn perhost "
    "ranks-per-proc output-filename hosts envlist launcher rmk configfile report-bindings-file",
    pairs="mca gmca genv env omca pmixmca prtemca",
)
_CONTAINER = _Form(
    flags="nv rocm cleanenv e contain c containall C no-home writable w writable-tmpfs fakeroot f userns u "
    "ipc pid nvccli compat no-init no-umask no-privs keep-privs allow-setuid uts net no-eval",
    operands=1,
    subcommands=("exec", "run", "shell"),
)
_CONDA = _Form(valued="n name p prefix cwd", subcommands=("run",))
_RUN = _Form(flags="no-sync frozen locked isolated offline no-dev quiet q verbose v", subcommands=("run",))
_FORMS = {
    "srun": _Form(valued=_SRUN_VALUED),
    "mpirun": _MPI,
    "mpiexec": _MPI,
    "mpiexec.hydra": _MPI,
    "orterun": _MPI,
    "prun": _MPI,
    "torchrun": _Form(flags="standalone no-python m module run-path virtual-local-rank h help"),
    "accelerate": _Form(
        flags="multi-gpu cpu tpu use-deepspeed use-fsdp use-megatron-lm use-xpu use-mps-device m module "
        "no-python quiet q debug same-network dynamo-use-fullgraph dynamo-use-dynamic tpu-use-cluster h help",
        subcommands=("launch",),
    ),
    "deepspeed": _Form(
        flags="force-multi no-ssh-check no-ssh no-local-rank no-python module m save-pid bind-cores-to-rank "
        "enable-elastic-training h help"
    ),
    "apptainer": _CONTAINER,
    "singularity": _CONTAINER,
    "conda": _CONDA,
    "mamba": _CONDA,
    "micromamba": _CONDA,
    "uv": _RUN,
    "poetry": _RUN,
    "pixi": _RUN,
    "pipenv": _RUN,
    "env": _Form(valued="u unset C chdir S"),
    "nohup": _Form(valued=""),
    "exec": _Form(valued="a"),
    "time": _Form(valued="f format o output"),
    "nice": _Form(valued="n adjustment"),
    "stdbuf": _Form(valued="i o e input output error"),
    "setsid": _Form(valued=""),
    "numactl": _Form(flags="l localalloc s show H hardware"),
    "timeout": _Form(valued="k kill-after s signal", operands=1),
    "taskset": _Form(valued="", operands=1),
    "command": _Form(valued=""),
    "xvfb-run": _Form(valued="n server-num s server-args e f"),
}
# the words that `python -m` with these modules stands for
MODULES = {
    "torch.distributed.run": ("torchrun",),
    "torch.distributed.launch": ("torchrun",),
    "accelerate.commands.launch": ("accelerate", "launch"),
}
CONTAINERS = ("apptainer", "singularity")
MANAGERS = ("uv", "poetry", "pixi", "pipenv")  # which choose the environment themselves
PYTHON_LAUNCHERS = ("torchrun", "accelerate", "deepspeed")
MPI_LAUNCHERS = ("mpirun", "mpiexec", "mpiexec.hydra", "orterun", "prun")

Words = Sequence[str | None]


def split_launcher(words: Words) -> tuple[Launcher, Words] | None:
    """The launcher at the start of a command and the words after it; None without one."""
    name = (words[0] or "").rpartition("/")[2] if words else ""
    form = _FORMS.get(name)
    if form is None:
        return None
    rest = list(words[1:])
    if form.subcommands:
        if not rest or rest[0] not in form.subcommands:
            return None
        del rest[0]
    options, rest = _read_options(rest, form)
    while name == "env" and rest and "=" in (rest[0] or ""):
        del rest[0]
    subject = rest[0] if form.operands and rest else ""
    rest = rest[form.operands :]
    return Launcher(name, options, subject or ""), rest


def _read_options(words: Words, form: _Form) -> tuple[dict[str, str], list[str | None]]:
    """And the words after them."""
    rest = list(words)
    options: dict[str, str] = {}
    while rest and (rest[0] or "").startswith("-"):
        word = rest.pop(0) or ""
        if word == "--":
            break
        name, has_value, value = word.lstrip("-").partition("=")
        name = name.replace("-", "_")
        if not word.startswith("--") and len(name) > 1 and _has_attached(name, form):
            name, value, has_value = name[0], name[1:], "="  # -n4
        if not has_value:
            for _ in range(_number_of_values(name, form)):
                value = (rest.pop(0) or "") if rest else ""
        options[name] = value
    return options, rest


def _names(text: str) -> list[str]:
    return text.replace("-", "_").split()


def _has_attached(name: str, form: _Form) -> bool:
    """A word with one dash is a letter and its value, rather than an option of several letters."""
    if form.valued is None:
        return name[1:].isdigit()
    return name[0] in _names(form.valued) and name not in _names(f"{form.valued} {form.flags} {form.pairs}")


def _number_of_values(name: str, form: _Form) -> int:
    if name in _names(form.pairs):
        return 2
    return int(name in _names(form.valued) if form.valued is not None else name not in _names(form.flags))
