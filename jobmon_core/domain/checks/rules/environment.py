"""The software that a job needs: environments and packages."""

from __future__ import annotations

from jobmon_core.domain.checks.facts import Facts
from jobmon_core.domain.checks.model import Item, failed, not_applicable, passed, warned

_SHOWN = 5


def environments(facts: Facts) -> Item:
    """The environments that the script activates exist."""
    name = "environment"
    if not facts.environments:
        return not_applicable(name, "the script activates no environment")
    for each in facts.environments:
        if each.problem:
            return failed(name, f"line {each.activation.line}: {each.problem}", "Check its name and path.")
    known = [each for each in facts.environments if each.is_known and each.python]
    if known:
        return passed(name, f"{known[-1].activation.subject} exists")
    unknown = facts.environments[-1].activation
    return not_applicable(
        name, f"line {unknown.line}: only a compute node shows what it loads; --on-node checks that"
    )


def packages(facts: Facts) -> Item:
    """The packages that the Python programs import are in the environment."""
    name = "packages"
    if not facts.python:
        return not_applicable(name, "the script starts no Python program")
    for each in facts.python:
        if each.source and each.source.fault:
            return failed(
                name, f"{each.path} is not valid Python: {each.source.fault}", "Fix it before you submit."
            )
    for each in facts.python:
        if each.not_found:
            return warned(
                name,
                f"line {each.program.line}: {each.not_found} is not on PATH here",
                "Activate the environment that has it, in the script or before you submit.",
            )
    for each in facts.python:
        if each.missing:
            names = ", ".join(each.missing[:_SHOWN])
            return failed(
                name,
                f"{each.python} does not find {names}, which {each.path} imports",
                "Install them there, or activate the right environment in the script.",
            )
    checked = [each for each in facts.python if each.python and each.path and not each.unknown_because]
    if not checked:
        return not_applicable(name, facts.python[0].unknown_because or "the source cannot be read")
    return passed(name, f"{checked[0].python} finds everything that {checked[0].path} imports")
