"""What a process runs: its name for the user, and whether it only starts or accompanies other programs."""

from __future__ import annotations

_MAX_NAME = 60
_SHELLS = {"sh", "bash", "dash", "zsh", "ksh", "csh", "tcsh", "fish", "ash", "slurm_script"}
_LAUNCHERS = {
    *(
        "srun",
        "mpirun",
        "mpiexec",
        "mpiexec.hydra",
        "hydra_pmi_proxy",
        "orterun",
        "orted",
        "prterun",
        "prted",
    ),
    *(
        "torchrun",
        "accelerate",
        "deepspeed",
        "horovodrun",
        "torch.distributed.run",
        "torch.distributed.launch",
    ),
    *("accelerate.commands.launch", "deepspeed.launcher.runner", "deepspeed.launcher.launch"),
}
_WRAPPERS = {
    *("env", "time", "timeout", "nohup", "nice", "ionice", "chrt", "stdbuf", "script", "unbuffer", "setsid"),
    *(
        "taskset",
        "numactl",
        "sudo",
        "su",
        "xargs",
        "make",
        "gmake",
        "parallel",
        "catatonit",
        "tini",
        "dumb-init",
    ),
    *("conda", "mamba", "micromamba", "poetry", "pipenv", "pixi", "uv", "uvx"),
    *("apptainer", "singularity", "starter", "starter-suid", "enroot", "docker", "podman", "conmon", "pyxis"),
}
_POOLS = {"xargs", "make", "gmake", "parallel", "ninja"}  # they say themselves which of their programs failed
_HELPERS = {"tee", "cat", "tail", "head", "grep", "sed", "awk", "gawk", "mawk", "sleep", "ts", "inotifywait"}
_INTERPRETERS = ("python", "perl", "ruby", "julia", "Rscript", "java", "node", "pypy")


def program_name(argv: tuple[str, ...], command: str) -> str:
    """Return the program and its script or module, without other arguments, e.g. ``python train.py``."""
    program, script = _program(argv, command), _script(argv)
    return f"{program} {script}".strip()[:_MAX_NAME]


def starts_others(argv: tuple[str, ...], command: str) -> bool:
    """Return whether a process is a shell, launcher or wrapper, which does nothing but start others."""
    wrappers = _SHELLS | _LAUNCHERS | _WRAPPERS
    script = _script(argv).removeprefix("-m ")
    return _program(argv, command).lstrip("-") in wrappers or script in _LAUNCHERS | _WRAPPERS


def is_launcher(argv: tuple[str, ...], command: str) -> bool:
    """Return whether a process is a launcher, e.g. ``torchrun``, which starts several workers."""
    script = _script(argv).removeprefix("-m ")
    return _program(argv, command) in _LAUNCHERS or script in _LAUNCHERS


def is_pool(argv: tuple[str, ...], command: str) -> bool:
    """Return whether a process starts a new program whenever one of its programs has ended."""
    return _program(argv, command) in _POOLS or _script(argv) in _POOLS


def is_helper(argv: tuple[str, ...], command: str) -> bool:
    """Return whether a process only accompanies others, e.g. ``tee``."""
    return _program(argv, command) in _HELPERS


def _program(argv: tuple[str, ...], command: str) -> str:
    return (argv[0].rpartition("/")[2] if argv else "") or command


def _script(argv: tuple[str, ...]) -> str:
    """Return the name of the script that an interpreter runs, or ``-m MODULE``; empty if it runs none."""
    if not argv or not argv[0].rpartition("/")[2].startswith(_INTERPRETERS):
        return ""
    for position, word in enumerate(argv[1:], 1):
        if word == "-m" and position + 1 < len(argv):
            return f"-m {argv[position + 1]}"
        if word == "-c":
            return ""
        if not word.startswith("-"):
            return word.rpartition("/")[2]
    return ""
