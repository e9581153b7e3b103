"""All that this host checks before a submission; items with the same result are shown in this order."""

from __future__ import annotations

from jobmon_core.domain.checks.facts import Facts, PathKind
from jobmon_core.domain.checks.model import Item
from jobmon_core.domain.checks.rules import (
    environment,
    folders,
    gpus,
    inputs,
    safety,
    script,
    setup,
    shell,
    slurm,
)

_WITHOUT_TEXT = (script.script, script.options_order)
_RULES = (
    *(script.script, script.shebang, script.line_endings, script.options_order, script.directives),
    *(slurm.test_only, slurm.time_limit, slurm.logs),
    *(inputs.inputs, inputs.executables, inputs.valid_inputs, inputs.split),
    *(folders.output_folders, folders.earlier_outputs, folders.room),
    *(environment.environments, environment.packages, shell.variables),
    *(gpus.workers, gpus.gpu_ids),
    *(safety.checkpoints, safety.signals, shell.exit_status, shell.marker, shell.buffering),
    *(safety.past_runs, safety.running, setup.channels, setup.monitor_returns, setup.progress),
)


def check_all(facts: Facts) -> tuple[Item, ...]:
    """Return every item; if the script cannot be read, only that and the order of the options."""
    file = facts.script_file
    if file is not None and (file.kind is not PathKind.FILE or not file.can_read):
        return tuple(rule(facts) for rule in _WITHOUT_TEXT)
    return tuple(rule(facts) for rule in _RULES)
