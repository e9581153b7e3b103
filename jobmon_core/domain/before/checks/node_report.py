"""Judge what the short job of `jobmon check --on-node` reports about its node."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import NamedTuple

from jobmon_core.domain.before.checks.facts import Facts
from jobmon_core.domain.before.checks.node_script import MARK, NodeScript
from jobmon_core.domain.finding import Finding, failed, passed, unknown, warned
from jobmon_core.domain.humanize import count, size

_MIB = 1024**2
_IN_USE = 0.1  # if more of a GPU's memory is in use before the job uses any, something else uses it
_GPU_FIELDS = 5
_MAX_REPORT = 100_000


NodeReport = Mapping[str, Sequence[str]]  # the lines by kind, which is the first word after the mark


def read_report(text: str) -> NodeReport:
    """The kind ``end`` shows that the short job came to its end."""
    lines: dict[str, list[str]] = {}
    for line in text[:_MAX_REPORT].splitlines():
        if line.startswith(f"{MARK} "):
            kind, _, rest = line.removeprefix(f"{MARK} ").partition(" ")
            lines.setdefault(kind, []).append(rest.strip())
    return lines


class _Gpu(NamedTuple):
    number: str
    name: str
    total_bytes: int
    used_bytes: int
    driver: str


def node_items(facts: Facts, script: NodeScript, report: NodeReport) -> Iterator[Finding]:
    """What only a node can show."""
    node = report.get("node", ["?"])[0]
    gpus = [gpu for line in report.get("gpu", ()) if (gpu := _gpu(line))]
    yield replace(_environment(facts, script, report, node), id="node_environment")
    yield replace(_imports(script, report, node), id="node_imports")
    yield replace(_cuda(script, report, gpus, node), id="node_cuda")
    yield replace(_gpu_memory(facts, script, gpus, node), id="node_gpu_memory")
    yield replace(_network(script, report, node), id="node_network")


def _environment(facts: Facts, script: NodeScript, report: NodeReport, node: str) -> Finding:
    lines = facts.script.text.split("\n")
    for text in report.get("setup", ()):
        number = int(text) if text.isdigit() else 0
        line = ""
        if 0 < number <= len(lines):
            line = lines[number - 1].strip()
        return _failed(
            script, f"line {number} fails on {node}: {line}", "Check the names of modules and paths there."
        )
    if script.left_out:
        return passed(f"{_left_out(script)}; what else the script sets up works on {node}")
    return passed(f"what the script sets up works on {node}")


def _left_out(script: NodeScript) -> str:
    """They could run a program of the user."""
    first, *others = script.left_out
    if not others:
        return f"line {first} is not run on the node"
    named = ", ".join(str(number) for number in (first, *others[:-1]))
    return f"lines {named} and {others[-1]} are not run on the node"


def _failed(script: NodeScript, text: str, advice: str) -> Finding:
    """Only a warning if a line that the short job leaves out may be the cause."""
    if not script.left_out:
        return failed(text, advice)
    return warned(f"{text}; {_left_out(script)}, which may be why", advice)


def _pythons(report: NodeReport) -> Iterator[dict[str, object]]:
    for line in report.get("python", ()):
        try:
            found = json.loads(line)
        except (ValueError, RecursionError):
            continue
        if isinstance(found, dict):
            yield found


def _imports(script: NodeScript, report: NodeReport, node: str) -> Finding:
    if lines := report.get("no-python", ()):
        return _failed(
            script,
            f"the Python of line {lines[0]} does not start on {node}",
            "Load or activate its environment first.",
        )
    found = list(_pythons(report))
    if not found:
        return unknown("the script starts no Python program whose imports the short job can try")
    for each in found:
        problems = each.get("failed")
        if isinstance(problems, dict) and problems:
            package, why = next(iter(problems.items()))
            others = ""
            if len(problems) > 1:
                others = f" (and {len(problems) - 1} more)"
            return _failed(
                script,
                f"on {node}, {each.get('executable')} cannot import {package}{others}: {why}",
                "Install it in that environment, or load what it needs.",
            )
    return passed(f"Python {found[0].get('python')} on {node} imports everything that the program imports")


def _gpu(line: str) -> _Gpu | None:
    fields = [field.strip() for field in line.split(",")]
    if len(fields) != _GPU_FIELDS or not (fields[2].isdigit() and fields[3].isdigit()):
        return None
    return _Gpu(fields[0], fields[1], int(fields[2]) * _MIB, int(fields[3]) * _MIB, fields[4])


def _cuda(script: NodeScript, report: NodeReport, gpus: list[_Gpu], node: str) -> Finding:
    if not script.needs_gpu:
        return unknown("the job asks for no GPU")
    torch = next((each["torch"] for each in _pythons(report) if isinstance(each.get("torch"), dict)), None)
    driver = report.get("driver-cuda", [""])[0]
    if not isinstance(torch, dict):
        if not gpus:
            return unknown(f"nvidia-smi shows no GPU on {node}")
        supports = ""
        if driver:
            supports = f", which supports CUDA up to {driver}"
        return passed(f"driver {gpus[0].driver} on {node}{supports}")
    return _cuda_of_torch(torch, driver, node)


def _cuda_of_torch(torch: dict[str, object], driver: str, node: str) -> Finding:
    """``driver`` is the newest CUDA that the driver supports."""
    if error := torch.get("error"):
        return warned(
            f"PyTorch on {node} cannot look for GPUs: {error}", "Install a PyTorch that fits the driver."
        )
    built_for = torch.get("cuda")
    if not built_for:
        return failed(
            f"this PyTorch ({torch.get('version')}) is built without CUDA", "Install one with CUDA."
        )
    if not torch.get("available"):
        newest = "no driver answers"
        if driver:
            newest = f"the driver supports CUDA up to {driver}"
        return failed(
            f"PyTorch for CUDA {built_for} finds no GPU on {node}; {newest}",
            f"Install a PyTorch for CUDA {driver} or older."
            if driver
            else f"Tell your administrators, or exclude the node: --exclude={node}.",
        )
    return passed(
        f"PyTorch for CUDA {built_for} works on {node} ({count(_number(torch.get('gpus')), 'GPU')})"
    )


def _number(value: object) -> int:
    if isinstance(value, int):
        return value
    return 0


def _gpu_memory(facts: Facts, script: NodeScript, gpus: list[_Gpu], node: str) -> Finding:
    if not script.needs_gpu:
        return unknown("the job asks for no GPU")
    if not gpus:
        return unknown(f"nvidia-smi shows no GPU on {node}")
    asked = facts.request.gpus_per_node or 0
    for gpu in gpus:
        if len(gpus) <= asked and gpu.used_bytes > gpu.total_bytes * _IN_USE:
            return warned(
                f"{size(gpu.used_bytes)} of GPU {gpu.number} on {node} are in use before the job uses any",
                f"Tell your administrators, or exclude the node: --exclude={node}.",
            )
    return passed(f"{gpus[0].name}: {size(gpus[0].total_bytes)} each on {node}")


def _network(script: NodeScript, report: NodeReport, node: str) -> Finding:
    if not script.hosts:
        return unknown("nothing in the script seems to need the Internet")
    for line in report.get("host", ()):
        host, _, code = line.partition(" ")
        if code != "0":
            return warned(
                f"{host} cannot be reached from {node}",
                "Download beforehand and set HF_HUB_OFFLINE=1 or WANDB_MODE=offline, or use a proxy.",
            )
    return passed(f"{', '.join(script.hosts)} can be reached from {node}")
