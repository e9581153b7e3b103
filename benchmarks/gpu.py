"""Compare what an agent measures of a real GPU with what `nvidia-smi` says, and what the agent costs.

Run it on a machine with an NVIDIA GPU that nothing else uses, with a Python that has PyTorch::

    python3 -m benchmarks.gpu

Programs use the first GPU: one multiplies matrices without a pause, one in bursts, one only holds memory,
and two share the GPU. For each of these, the mean of the agent's samples is compared with that of
`nvidia-smi` over the same seconds. Then the first program runs alternately alone and beside an agent.

Bounds: utilisation within 10 points, memory and power within 5 %, temperature within 2 degrees (not in
bursts, where it changes by more within a second); the agent names the program's own process and counts the
other one; tensor cores are busy in the first program and idle in the one that holds memory, where the GPU
tells; the program is at most 1 % slower beside an agent, and the agent takes less than 1 % of a core and,
without what NVIDIA's library takes in each process, 25 MB. The exit status is 1 if a bound does not hold.
"""

from __future__ import annotations

import statistics
import sys
import tempfile
from collections.abc import Iterator, Sequence
from pathlib import Path

from benchmarks.figures import Figure, report
from benchmarks.gpu_parts.programs import HOLD, MULTIPLY, MULTIPLY_IN_BURSTS
from benchmarks.gpu_parts.runs import Comparison, compare, compare_shared, measure_cost
from benchmarks.options import options_parser

_MAX_POINTS, _MAX_RELATIVE, _MAX_DEGREES = 10.0, 0.05, 2.0
_BUSY_TENSOR_PERCENT, _IDLE_TENSOR_PERCENT = 20.0, 1.0
_MAX_RATIO, _MAX_CORES, _MAX_PSS_KB = 1.01, 0.01, 25 * 1024


def main(arguments: Sequence[str] | None = None) -> int:
    """Print the figures; return 0 if all bounds hold."""
    parser = options_parser(
        __doc__,
        seconds=(15.0, "length of each comparison"),
        pairs=(4, "runs of the first program alone, each followed by one beside an agent"),
    )
    options = parser.parse_args(arguments)
    with tempfile.TemporaryDirectory(prefix="jobmon-gpu-") as name:
        return report(list(_figures(Path(name), options.seconds, options.pairs)), as_json=options.json)


def _figures(folder: Path, seconds: float, pairs: int) -> Iterator[Figure]:
    busy = compare(MULTIPLY, seconds, folder / "busy")
    yield from _differences("multiplying", busy)
    if busy.tensor_percent is not None:
        yield Figure("multiplying: tensor cores in %", busy.tensor_percent, at_least=_BUSY_TENSOR_PERCENT)
    bursts = compare(MULTIPLY_IN_BURSTS, seconds, folder / "bursts")
    yield from _differences("in bursts", bursts, max_degrees=None)
    held = compare(HOLD, seconds, folder / "held")
    yield from _differences("holding memory", held)
    if held.tensor_percent is not None:
        yield Figure("holding memory: tensor cores in %", held.tensor_percent, at_most=_IDLE_TENSOR_PERCENT)
    shared = compare_shared(MULTIPLY, HOLD, seconds, folder / "shared")
    yield from _differences("beside another program", shared)
    alone = (busy, bursts, held)
    yield Figure("comparisons that name the own process", sum(each.is_own for each in (*alone, shared)), 4, 4)
    yield Figure("other processes seen where there are none", max(each.others for each in alone), 0)
    yield Figure("other processes seen where there is one", shared.others, 1, 1)
    cost = measure_cost(MULTIPLY, seconds, pairs, folder / "cost")
    yield Figure("time of a step beside an agent, ratio", statistics.median(cost.ratios), _MAX_RATIO)
    yield Figure("ratio, least", min(cost.ratios))
    yield Figure("ratio, greatest", max(cost.ratios))
    yield Figure("agent: cores", cost.cores, _MAX_CORES)
    yield Figure("agent: PSS in kB", cost.pss_kb)
    yield Figure("agent: PSS in kB without NVIDIA's library", cost.pss_kb - cost.driver_kb, _MAX_PSS_KB)


def _differences(name: str, found: Comparison, max_degrees: float | None = _MAX_DEGREES) -> Iterator[Figure]:
    agent, smi = found.agent, found.smi
    yield Figure(f"{name}: utilisation in %", agent.utilization_percent)
    yield Figure(
        f"{name}: utilisation, difference to nvidia-smi",
        abs(agent.utilization_percent - smi.utilization_percent),
        _MAX_POINTS,
    )
    yield Figure(f"{name}: memory in MiB", agent.memory_mib)
    yield Figure(
        f"{name}: memory, relative difference to nvidia-smi",
        _relative(agent.memory_mib, smi.memory_mib),
        _MAX_RELATIVE,
    )
    yield Figure(f"{name}: power in W", agent.power_w)
    yield Figure(
        f"{name}: power, relative difference to nvidia-smi",
        _relative(agent.power_w, smi.power_w),
        _MAX_RELATIVE,
    )
    yield Figure(f"{name}: temperature in degrees", agent.temperature_c)
    yield Figure(
        f"{name}: temperature, difference to nvidia-smi",
        abs(agent.temperature_c - smi.temperature_c),
        max_degrees,
    )


def _relative(value: float, reference: float) -> float:
    return abs(value - reference) / reference


if __name__ == "__main__":
    sys.exit(main())
