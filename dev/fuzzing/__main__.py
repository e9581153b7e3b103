"""The command line of ``dev/fuzz``: drive, or replay; print what came of it."""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Sequence
from pathlib import Path

from tabulate import tabulate

from fuzzing.campaign import Result, has_atheris, run
from fuzzing.mutating import Bound
from tests.fuzz.targets import TARGETS

_FOLDER = Path(__file__).resolve().parents[2] / ".fuzz"
_SECONDS = 10.0  # by default, of each driver of each target: some minutes on two processors
_HEADERS = ("target", "driver", "inputs", "inputs/s", "crashes")


def main(arguments: Sequence[str] | None = None) -> int:
    """Return 1 where a target broke."""
    given = _parser().parse_args(arguments)
    names = given.targets or list(TARGETS)
    if given.replay:
        return _replay(given.replay, names)
    if not has_atheris():
        print("fuzz: atheris is not installed: no inputs guided by coverage", file=sys.stderr)
    bound = Bound(seconds=given.seconds) if given.inputs is None else Bound(inputs=given.inputs)
    _FOLDER.mkdir(exist_ok=True)
    started = time.monotonic()
    results = list(run(names, bound, _FOLDER))
    print(_table(results))
    print(f"{sum(result.tally.inputs for result in results)} inputs in {time.monotonic() - started:.0f} s")
    broken = [result for result in results if result.tally.crashes]
    for result in broken:
        _tell(result)
    return 1 if broken else 0


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="dev/fuzz", description="Feed spoiled inputs to every reader.")
    bound = parser.add_mutually_exclusive_group()
    bound.add_argument("--seconds", type=float, default=_SECONDS, help="of each driver of each target")
    bound.add_argument("--inputs", type=int, help="of each driver of each target")
    parser.add_argument("--replay", type=Path, metavar="FILE", help="feed this one input to TARGET")
    parser.add_argument(
        "targets", nargs="*", metavar="TARGET", choices=[[], *TARGETS], help=", ".join(TARGETS)
    )
    return parser


def _replay(path: Path, names: Sequence[str]) -> int:
    for name in names:
        TARGETS[name].check(path.read_bytes())
        print(f"{name} holds")
    return 0


def _table(results: Sequence[Result]) -> str:
    rows = [
        (
            each.target,
            each.driver,
            each.tally.inputs,
            round(each.tally.inputs / each.tally.seconds) if each.tally.seconds else "",
            each.tally.crashes,
        )
        for each in results
    ]
    return tabulate(rows, _HEADERS)


def _tell(result: Result) -> None:
    print(f"\n{result.target} ({result.driver}):\n{result.words[-4000:]}")
    for path in result.saved:
        print(f"dev/fuzz --replay {path} {result.target}")


if __name__ == "__main__":
    sys.exit(main())
