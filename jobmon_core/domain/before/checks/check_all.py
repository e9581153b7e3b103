"""All that this host checks before a submission, in the order in which equal results are shown."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from jobmon_core.domain.before.checks.facts import Facts, PathKind
from jobmon_core.domain.before.checks.rules import (
    cost,
    folders,
    gpus,
    inputs,
    past,
    safety,
    script,
    setup,
    shell,
)
from jobmon_core.domain.finding import Finding, Severity

Rule = Callable[[Facts], Finding]
_WITHOUT_TEXT: dict[str, Rule] = {"script": script.script, "options": script.options_order}
_RULES: dict[str, Rule] = {  # by the ids of their items
    "script": script.script,
    "interpreter": script.shebang,
    "line_endings": script.line_endings,
    "options": script.options_order,
    "directives": script.directives,
    "sbatch": script.test_only,
    "time_limit": script.time_limit,
    "chdir": script.working_folder,
    "logs": script.logs,
    "inputs": inputs.inputs,
    "executables": inputs.executables,
    "input_format": inputs.valid_inputs,
    "data_split": inputs.split,
    "outputs": folders.output_folders,
    "earlier_outputs": folders.earlier_outputs,
    "space": folders.room,
    "environment": inputs.environments,
    "packages": inputs.packages,
    "variables": shell.variables,
    "gpus": gpus.workers,
    "gpu_ids": gpus.gpu_ids,
    "checkpoints": safety.checkpoints,
    "atomic_saves": safety.atomic_saves,
    "signals": safety.signals,
    "exit_status": shell.exit_status,
    "completion_marker": shell.marker,
    "python_output": shell.buffering,
    "past_runs": past.past_runs,
    "request": past.right_size,
    "nodes": past.suspect_nodes,
    "same_script": safety.running,
    "messages": setup.channels,
    "monitor": setup.monitor_returns,
    "progress": setup.progress,
    "patterns": setup.patterns,
}
_RESTARTS: dict[str, Rule] = {  # if the user asks for any
    "restart_owner": safety.owner,
    "restart_resume": safety.resumes,
    "restart_saves": safety.saves,
    "restart_folder": safety.folder,
}
_COST: dict[str, Rule] = {"cost": cost.limit_cost}  # if there are prices


def check_all(facts: Facts) -> tuple[Finding, ...]:
    """Every item; if the script cannot be read, only what needs no text of it."""
    if facts.unknown_option:
        asked = _items(facts, {"sbatch": script.test_only})
        if asked[0].severity is Severity.CRITICAL:
            return asked
        return (*_items(facts, {"script": script.unread}), *asked)
    file = facts.script_file
    if file is not None and (file.kind is not PathKind.FILE or not file.can_read):
        return _items(facts, _WITHOUT_TEXT)
    more = (_RESTARTS if facts.restart else {}) | (_COST if facts.prices else {})
    return _items(facts, _RULES | more)


def _items(facts: Facts, rules: dict[str, Rule]) -> tuple[Finding, ...]:
    return tuple(replace(rule(facts), id=name) for name, rule in rules.items())
