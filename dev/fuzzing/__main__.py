"""The command line of ``dev/fuzz``."""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Sequence
from pathlib import Path

from tabulate import tabulate

from fuzzing.mutator import Bound
from fuzzing.runner import has_atheris, run_all
from tests.fuzz.targets import TARGETS

_FOLDER = Path(__file__).resolve().parents[2] / ".fuzz"
_HEADERS = ("target", "driver", "inputs", "inputs/s", "crashes")


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the targets and return 1 if one has a defect; or replay a saved input, where a defect raises."""
    options = _parser().parse_args(arguments)
    names = options.targets or list(TARGETS)
    if options.replay:
        for name in names:
            TARGETS[name].check(options.replay.read_bytes())
            print(f"{name} holds")
        return 0
    if not has_atheris():
        print("fuzz: atheris is not installed: inputs are not guided by coverage", file=sys.stderr)
    bound = Bound(seconds=options.seconds) if options.inputs is None else Bound(inputs=options.inputs)
    _FOLDER.mkdir(exist_ok=True)
    started_s = time.monotonic()
    results = list(run_all(names, bound, _FOLDER))
    rows = []
    for result in results:
        tally = result.tally
        per_s = round(tally.inputs / tally.seconds) if tally.seconds else ""
        rows.append((result.target, result.driver, tally.inputs, per_s, tally.crashes))
    print(tabulate(rows, _HEADERS))
    print(f"{sum(result.tally.inputs for result in results)} inputs in {time.monotonic() - started_s:.0f} s")
    broken = [result for result in results if result.tally.crashes]
    for result in broken:
        print(f"\n{result.target} ({result.driver}):\n{result.stderr[-4000:]}")
        for path in result.saved:
            print(f"dev/fuzz --replay {path} {result.target}")
    return 1 if broken else 0


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="dev/fuzz",
        description="Run everything that reads external text on mutated inputs; report defects.",
    )
    bound = parser.add_mutually_exclusive_group()
    bound.add_argument(
        "--seconds", type=float, default=10.0, help="time for each driver of each target (default: 10)"
    )
    bound.add_argument("--inputs", type=int, help="inputs for each driver of each target")
    parser.add_argument("--replay", type=Path, metavar="FILE", help="run TARGET on this input alone")
    parser.add_argument(
        "targets", nargs="*", metavar="TARGET", choices=[[], *TARGETS], help=", ".join(TARGETS)
    )
    return parser


if __name__ == "__main__":
    sys.exit(main())
