"""The GPUs that a job asks for against the processes that it starts."""

from __future__ import annotations

from collections.abc import Iterator

from jobmon_core.domain.before.batch_script.launchers import MPI_LAUNCHERS, Launcher
from jobmon_core.domain.before.batch_script.programs import Program
from jobmon_core.domain.before.checks.facts import Facts
from jobmon_core.domain.finding import Finding, failed, passed, unknown, warned
from jobmon_core.domain.humanize import count

_VISIBLE = "CUDA_VISIBLE_DEVICES"


def workers(facts: Facts) -> Finding:
    """As many workers are started as GPUs are asked for."""
    gpus = facts.request.gpus_per_node
    if facts.request.is_het_job:
        return unknown("the components of a het job are not compared")
    items = [item for program in facts.work if (item := _of_program(facts, program, gpus))]
    if items:
        return max(items, key=lambda item: item.severity)
    if not gpus:
        return unknown("the job asks for no GPU" if gpus == 0 else "the number of GPUs is not known")
    return unknown(f"the script does not show how many of the {count(gpus, 'GPU')} the program uses")


def _of_program(facts: Facts, program: Program, gpus: int | None) -> Finding | None:
    for rule in (_torchrun, _accelerate, _deepspeed, _tasks, _single):
        if item := rule(facts, program, gpus):
            return item
    return None


def _compared(
    program: Program, started: int, gpus: int | None, option: str, scope: str = ""
) -> Finding | None:
    """Both numbers are those of one node, or of the job."""
    place = f"line {program.line}: {option} starts {count(started, 'worker')}{scope}"
    if gpus is None:
        return None
    if gpus == 0:
        if started == 1:
            return None
        return warned(f"{place}, but the job asks for no GPU", f"Request them: --gres=gpu:{started}.")
    if started > gpus:
        return failed(
            f"{place}, but the job asks for {count(gpus, 'GPU')}{scope}", "Make the two numbers equal."
        )
    if started < gpus:
        return warned(
            f"{place}, but the job asks for {count(gpus, 'GPU')}{scope}",
            "Start a worker for each GPU, or ask for fewer, unless a worker uses several.",
        )
    return passed(f"{place}, one for each GPU")


def _torchrun(_facts: Facts, program: Program, gpus: int | None) -> Finding | None:
    launcher = program.launcher("torchrun")
    if launcher is None:
        return None
    each = _number(launcher, "nproc_per_node", "nproc")
    given = launcher.options.get("nproc_per_node", "1")
    if each is None and given in ("gpu", "auto"):
        if gpus:
            return passed(f"line {program.line}: torchrun starts a worker for each GPU")
        return None
    if each is None and "nproc_per_node" in launcher.options:  # only the job knows it
        return None
    return _compared(program, each or 1, gpus, "torchrun", " per node")


def _accelerate(facts: Facts, program: Program, gpus: int | None) -> Finding | None:
    launcher = program.launcher("accelerate")
    if launcher is None or "cpu" in launcher.options:
        return None
    total = _number(launcher, "num_processes")
    if total is None:
        if "num_processes" in launcher.options or "config_file" in launcher.options or not gpus:
            return None
        return passed(
            f"line {program.line}: accelerate takes the number of workers from its own configuration"
        )
    machines = _number(launcher, "num_machines") or 1
    nodes = facts.request.nodes or 1
    if machines < nodes and total <= (gpus or 0):
        return None  # one launch on each node, e.g. by srun
    scope = ""
    if machines > 1 or nodes > 1:
        scope = " per node"
    return _compared(program, total // machines or 1, gpus, "accelerate", scope)


def _deepspeed(_facts: Facts, program: Program, gpus: int | None) -> Finding | None:
    launcher = program.launcher("deepspeed")
    if launcher is None:
        return None
    each = _number(launcher, "num_gpus")
    if each is None:
        if gpus:
            return passed(f"line {program.line}: deepspeed starts a worker for each GPU")
        return None
    return _compared(program, each, gpus, "deepspeed", " per node")


def _tasks(facts: Facts, program: Program, gpus: int | None) -> Finding | None:
    """More processes of mpirun than the job has tasks always fail."""
    total = facts.request.gpus
    srun, mpi = program.launcher("srun"), program.launcher(*MPI_LAUNCHERS)
    if not (srun or mpi) or not gpus or total is None:
        return None
    started = _number(mpi, "np", "n", "c") if mpi else _srun_tasks(facts, srun)
    asked = facts.request.tasks
    if mpi and started and asked and started > asked:
        return failed(
            f"line {program.line}: {mpi.name} starts {started} processes; the job has {count(asked, 'task')}",
            f"Ask for --ntasks={started}.",
        )
    if not started or not program.python or (started == 1 and _may_use_several(facts, program)):
        return None
    return _compared(program, started, total, mpi.name if mpi else "srun")


def _may_use_several(facts: Facts, program: Program) -> bool:
    source = facts.source_of(program)
    return source is None or bool(source.fault) or source.may_use_many_gpus


def _srun_tasks(facts: Facts, srun: Launcher | None) -> int | None:
    """None with several steps, since they may share the GPUs."""
    if srun is None or len([each for each in facts.work if each.launcher("srun")]) > 1:
        return None
    own = _number(srun, "n", "ntasks")
    each = _number(srun, "ntasks_per_node")
    if own is None and each:
        own = each * (_number(srun, "N", "nodes") or facts.request.nodes or 1)
    return own or facts.request.tasks or facts.request.nodes or 1


def _single(facts: Facts, program: Program, gpus: int | None) -> Finding | None:
    """A single process whose source seems to use only one GPU."""
    alone = not program.launchers and not program.command.in_background and not program.command.in_loop
    if not gpus or gpus == 1 or not alone or program.python is None:
        if gpus == 1 and program.python:
            return passed(f"the job asks for {_asked(facts, 1)}")
        return None
    if _may_use_several(facts, program):
        return None
    return warned(
        f"line {program.line}: starts one process, which seems to use one GPU, but the job asks for "
        f"{_asked(facts, gpus)}",
        f"Ask for 1 GPU, or start it with `torchrun --nproc_per_node={gpus}`.",
    )


def _asked(facts: Facts, gpus: int) -> str:
    """Return e.g. ``4 GPUs``, or ``4 GPUs per node`` of a job on several nodes."""
    return f"{count(gpus, 'GPU')}{' per node' if (facts.request.nodes or 1) > 1 else ''}"


def _number(launcher: Launcher | None, *names: str) -> int | None:
    values = (launcher.options.get(name, "") for name in names) if launcher else ()
    return next(
        (int(each) for each in values if each.isascii() and each.isdigit() and len(each) < len("100000")),
        None,
    )


def gpu_ids(facts: Facts) -> Finding:
    """Neither the script nor its programs choose GPUs by number: Slurm chooses them."""
    gpus = facts.request.gpus_per_node
    chosen = list(_chosen(facts))
    for place, ids, _is_shared in chosen:
        numbers = [int(each) for each in ids.split(",") if each.isdigit()]
        if gpus and any(number >= gpus for number in numbers):
            return failed(
                f"{place}: {_VISIBLE}={ids}, but the job has {_asked(facts, gpus)}, numbered from 0",
                "Do not set the variable: Slurm sets it.",
            )
    if fixed := [(place, ids) for place, ids, is_shared in chosen if not is_shared]:
        place, ids = fixed[0]
        return warned(
            f"{place}: {_VISIBLE}={ids} overrides the GPUs that Slurm chose",
            "Do not set the variable: Slurm sets it.",
        )
    if gpus:
        return passed("Slurm chooses the GPUs")
    return unknown("the job asks for no GPU")


def _chosen(facts: Facts) -> Iterator[tuple[str, str, bool]]:
    for command in facts.script.commands:
        pairs = [(name, value.value(facts.values)) for name, value in command.assignments]
        pairs += [(_VISIBLE, value) for value in _exported(command.texts(facts.values))]
        for variable, value in pairs:
            if variable == _VISIBLE and value and value.replace(",", "").isdigit():
                yield f"line {command.line}", value, bool(command.words) and command.in_background
    for each in facts.python:
        if each.source and each.source.visible_devices:
            yield each.path, each.source.visible_devices, False


def _exported(words: tuple[str | None, ...]) -> list[str]:
    if words[:1] != ("export",):
        return []
    return [word.partition("=")[2] for word in words[1:] if word and word.startswith(f"{_VISIBLE}=")]
